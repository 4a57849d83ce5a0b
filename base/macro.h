/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * macro.h - the few macros every file may use
 *
 * Ownership: a local that owns something is declared `_clean_(x_freep)`; TAKE() hands it over, to a
 * return value or a field, and leaves NULL behind.
 */

#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#define _clean_(f) __attribute__((cleanup(f)))
#define _printf_(fmt, args) __attribute__((format(printf, fmt, args)))
#define _unused_ __attribute__((unused))
#define _noreturn_ __attribute__((noreturn))

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))

#define TAKE(p)                             \
	({                                  \
		__typeof__(p) taken_ = (p); \
		(p) = NULL;                 \
		taken_;                     \
	})

/* For `T *f(...)`-style destructors: defines the `fp(T **)` that _clean_() needs. */
#define DEFINE_CLEANUP(type, func)          \
	static inline void func##p(type *p) \
	{                                   \
		if (*p)                     \
			func(*p);           \
	}                                   \
	struct cleanup_needs_a_semicolon_

static inline void freep(void *p)
{
	free(*(void **)p);
}

static inline void fd_closep(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}
