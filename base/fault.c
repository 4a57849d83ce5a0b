/* SPDX-License-Identifier: Apache-2.0 */

#include "base/fault.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

int fault_set(struct fault *reterr, int code, const char *fmt, ...)
{
	va_list ap;

	if (!reterr)
		return code;
	va_start(ap, fmt);
	vsnprintf(reterr->text, sizeof(reterr->text), fmt, ap);
	va_end(ap);
	text_clean(reterr->text, sizeof(reterr->text));
	return code;
}

int fault_errno(struct fault *reterr, int code, const char *fmt, ...)
{
	va_list ap;
	size_t n;

	if (!reterr)
		return code;
	va_start(ap, fmt);
	vsnprintf(reterr->text, sizeof(reterr->text), fmt, ap);
	va_end(ap);
	n = strlen(reterr->text);
	snprintf(reterr->text + n, sizeof(reterr->text) - n, ": %s", strerror(-code));
	text_clean(reterr->text, sizeof(reterr->text));
	return code;
}

int fault_prefix(struct fault *reterr, int code, const char *fmt, ...)
{
	struct fault inner;
	va_list ap;
	size_t n;

	if (!reterr)
		return code;
	inner = *reterr;
	va_start(ap, fmt);
	vsnprintf(reterr->text, sizeof(reterr->text), fmt, ap);
	va_end(ap);
	n = strlen(reterr->text);
	snprintf(reterr->text + n, sizeof(reterr->text) - n, ": %s", inner.text);
	text_clean(reterr->text, sizeof(reterr->text));
	return code;
}
