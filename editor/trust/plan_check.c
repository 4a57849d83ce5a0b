/* SPDX-License-Identifier: Apache-2.0 */

#include "editor/trust/plan_check.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/macro.h"

/* Options of ld.lld 22 without a value, and those of other linkers that it ignores; one dash or two. */
static const char *const flags[] = { "Bdynamic",
				     "Bno-symbolic",
				     "Bshareable",
				     "Bsymbolic",
				     "Bsymbolic-functions",
				     "Bsymbolic-non-weak",
				     "Bsymbolic-non-weak-functions",
				     "E",
				     "EL",
				     "S",
				     "X",
				     "add-needed",
				     "allow-multiple-definition",
				     "allow-shlib-undefined",
				     "apply-dynamic-relocs",
				     "check-sections",
				     "copy-dt-needed-entries",
				     "demangle",
				     "detect-odr-violations",
				     "disable-new-dtags",
				     "discard-all",
				     "discard-locals",
				     "discard-none",
				     "eh-frame-hdr",
				     "emit-relocs",
				     "enable-new-dtags",
				     "error-unresolved-symbols",
				     "export-dynamic",
				     "fatal-warnings",
				     "fix-cortex-a53-843419",
				     "gc-sections",
				     "gdb-index",
				     "gnu-unique",
				     "ignore-data-address-equality",
				     "ignore-function-address-equality",
				     "icf=all",
				     "icf=none",
				     "icf=safe",
				     "n",
				     "nmagic",
				     "no-add-needed",
				     "no-allow-multiple-definition",
				     "no-allow-shlib-undefined",
				     "no-apply-dynamic-relocs",
				     "no-check-sections",
				     "no-copy-dt-needed-entries",
				     "no-ctors-in-init-array",
				     "no-demangle",
				     "no-dynamic-linker",
				     "no-eh-frame-hdr",
				     "no-export-dynamic",
				     "no-fatal-warnings",
				     "no-gc-sections",
				     "no-gdb-index",
				     "no-gnu-unique",
				     "no-keep-memory",
				     "no-mmap-output-file",
				     "no-nmagic",
				     "no-omagic",
				     "no-pic-executable",
				     "no-pie",
				     "no-relax",
				     "no-rosegment",
				     "no-undefined",
				     "no-undefined-version",
				     "no-warn-backrefs",
				     "no-warn-common",
				     "no-warn-ifunc-textrel",
				     "no-warn-mismatch",
				     "no-warn-search-mismatch",
				     "no-warn-symbol-ordering",
				     "no-warnings",
				     "noinhibit-exec",
				     "nostdlib",
				     "pic-executable",
				     "pie",
				     "q",
				     "relax",
				     "rosegment",
				     "shared",
				     "sort-common",
				     "static",
				     "stats",
				     "strip-debug",
				     "undefined-version",
				     "use-android-relr-tags",
				     "w",
				     "warn-backrefs",
				     "warn-common",
				     "warn-execstack",
				     "warn-ifunc-textrel",
				     "warn-once",
				     "warn-shared-textrel",
				     "warn-symbol-ordering",
				     "warn-unresolved-symbols",
				     "x" };

/* With a value: behind "=", or the next word. */
static const char *const valued[] = { "Tbss",
				      "Tdata",
				      "Ttext",
				      "auxiliary",
				      "compress-debug-sections",
				      "defsym",
				      "dynamic-linker",
				      "entry",
				      "export-dynamic-symbol",
				      "filter",
				      "fini",
				      "hash-style",
				      "image-base",
				      "init",
				      "keep-unique",
				      "orphan-handling",
				      "pack-dyn-relocs",
				      "package-metadata",
				      "rpath",
				      "section-start",
				      "shuffle-sections",
				      "soname",
				      "sort-section",
				      "undefined",
				      "undefined-glob",
				      "unresolved-symbols",
				      "wrap" };

/*
 * With a value: the next word. Joined it may be only where no longer option begins so: ld.lld takes the longest that it knows, and
 * "-mllvm=-load=x" is none of -m.
 */
static const char lettered[] = "FIORefhmuz";
static const char joined[] = "Oz";

static const char *const file_options[] = { "--dynamic-list=", "--export-dynamic-symbol-list=",
					    "--retain-symbols-file=", "--version-script=" };

/* Of the code generator: they move code, name its sections, choose what is quick, and change nothing that it does. */
static const char *const codegen_options[] = { "-align-all-blocks",
					       "-align-all-functions",
					       "-align-all-nofallthru-blocks",
					       "-align-loops",
					       "-data-sections",
					       "-debugger-tune",
					       "-function-sections",
					       "-generate-arange-section",
					       "-import-instr-limit",
					       "-inline-threshold",
					       "-inlinehint-threshold",
					       "-unroll-threshold",
					       "-x86-align-branch",
					       "-x86-align-branch-boundary",
					       "-x86-branches-within-32B-boundaries",
					       "-x86-pad-for-align" };

static bool is_in(const char *const *list, size_t n, const char *text, size_t size)
{
	for (size_t i = 0; i < n; i++)
		if (strlen(list[i]) == size && strncmp(list[i], text, size) == 0)
			return true;
	return false;
}

/* Those above. */
unsigned plan_option_words(const char *word)
{
	const char *name = word + 1 + (word[0] == '-' && word[1] == '-');
	size_t n = strcspn(name, "=");

	if (word[0] != '-' || !*name)
		return 0;
	if (is_in(flags, ARRAY_SIZE(flags), name, strlen(name)))
		return 1;
	if (is_in(valued, ARRAY_SIZE(valued), name, n))
		return name[n] ? 1 : 2;
	if (word[1] == '-' || !strchr(lettered, name[0]))
		return 0;
	if (!name[1])
		return 2;
	return strchr(joined, name[0]) || strcmp(name, "melf_x86_64") == 0;
}

static int refused(const char *what, const char *option, struct fault *reterr)
{
	return fault_set(reterr, -ENOTSUP,
			 "it was %s with the option \"%s\", of which is not known that it does no harm in "
			 "another link; build it without",
			 what, option);
}

static int arguments_check(const struct link_plan *plan, struct fault *reterr)
{
	unsigned left = 0; /* words of the option under way */

	for (size_t i = 0; i < plan->n_inputs; i++) {
		const struct link_input *input = &plan->inputs[i];

		if (input->kind == LINK_FILE &&
		    !is_in(file_options, ARRAY_SIZE(file_options), input->text, strlen(input->text)))
			return refused("linked", input->text[0] ? input->text : "a linker script", reterr);
		if (input->kind != LINK_ARGUMENT) {
			if (left)
				return refused("linked", "no value", reterr);
			continue;
		}
		if (!left && !(left = plan_option_words(input->text)))
			return refused("linked", input->text, reterr);
		left--;
	}
	return left ? refused("linked", "no value", reterr) : 0;
}

int plan_check(const struct morph_data *data, struct fault *reterr)
{
	for (size_t i = 0; i < data->n_options; i++)
		if (!is_in(codegen_options, ARRAY_SIZE(codegen_options), data->options[i],
			   strcspn(data->options[i], "=")))
			return refused("compiled", data->options[i], reterr);
	return arguments_check(data->plan, reterr);
}
