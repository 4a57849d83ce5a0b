/* SPDX-License-Identifier: Apache-2.0 */

/*
 * LLVM takes it that nobody looks at the flags of floating-point exceptions, lets them trap, or changes how results are rounded: it
 * computes what may not be needed, and in another order. Of what it makes of a program that does, the packager has tried the shipped
 * code only. So that code stays (decision 146).
 */

#include <errno.h>
#include <string.h>

#include "editor/steps/state.h"

int pass_environment(struct edit *edit, struct fault *reterr)
{
	static const char *const functions[] = { "feenableexcept",  "fesetenv",		"feupdateenv",
						 "fetestexcept",    "fetestexceptflag", "fegetexceptflag",
						 "fesetexceptflag", "fesetround" };

	if (edit->options->layout_only)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(functions); i++)
		if (name_set_has(edit->names.used, functions[i], strlen(functions[i])))
			return fault_set(
				reterr, -EBADMSG,
				"it uses the floating-point environment (%s), which LLVM takes nobody to do",
				functions[i]);
	return 0;
}
