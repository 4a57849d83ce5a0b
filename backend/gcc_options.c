/* SPDX-License-Identifier: Apache-2.0 */

#include "backend/gcc_options.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/macro.h"

static const char passes[] = "chooses among GCC's own passes; the code means the same",
		  tuning[] = "tunes GCC's choice of instructions; the code means the same",
		  reports[] = "reports on GCC's work", debug[] = "shapes GCC's debug information",
		  never[] = "clang does not do it anyway", always[] = "clang does it anyway",
		  messages[] = "shapes GCC's messages",
		  absent[] = "clang has no such instructions to leave out", openmp[] = "GCC's OpenMP runtime",
		  plugin[] = "a plug-in for GCC", libraries[] = "names a GCC runtime",
		  unknown[] = "GCC and GNU ld do not know it, and say so";

/*
 * -fNAME stands for -fno-NAME, too; a star for the rest of the word. The first rule that fits counts: those that clang
 * knows stand before the family that it does not. From `gcc --help=optimizers,common,target,c,c++` of GCC 12, each tried with clang
 * 22; tests/backend/masquerade_test.sh tries them again.
 */
static const struct rule {
	const char *pattern;
	enum gcc_option what;
	const char *why;
} rules[] = {
	// clang-format off: a table
	{ "-fopenmp", GCC_OPTION_NEEDED, openmp },
	{ "-fopenacc*", GCC_OPTION_NEEDED, openmp },
	{ "-fplugin*", GCC_OPTION_NEEDED, plugin },
	// Clang's own: slow code against speculation, and sanitizers. configure asks for them, and is told what GCC tells it.
	{ "-mretpoline*", GCC_OPTION_UNKNOWN, unknown },
	{ "-Wl,-z,retpolineplt", GCC_OPTION_UNKNOWN, unknown },
	{ "-mspeculative-load-hardening", GCC_OPTION_UNKNOWN, unknown },
	{ "-mlvi-*", GCC_OPTION_UNKNOWN, unknown },
	{ "-mseses", GCC_OPTION_UNKNOWN, unknown },
	{ "-fsanitize=cfi*", GCC_OPTION_UNKNOWN, unknown },
	{ "-fsanitize=safe-stack", GCC_OPTION_UNKNOWN, unknown },
	{ "-static-libasan", GCC_OPTION_NEEDED, libraries },
	{ "-static-libtsan", GCC_OPTION_NEEDED, libraries },
	{ "-static-libubsan", GCC_OPTION_NEEDED, libraries },
	{ "-fuse-linker-plugin", GCC_OPTION_DROPPED, "this linker needs no plug-in" },
	{ "-flto-partition=*", GCC_OPTION_DROPPED, passes },
	{ "-flto-compression-level=*", GCC_OPTION_DROPPED, passes },
	{ "-flto-odr-type-merging", GCC_OPTION_DROPPED, passes },
	{ "-flto-report*", GCC_OPTION_DROPPED, reports },

	{ "-ftree-vectorize", GCC_OPTION_OURS, NULL },
	{ "-ftree-slp-vectorize", GCC_OPTION_OURS, NULL },
	{ "-ftree-*", GCC_OPTION_DROPPED, passes },
	{ "-fipa-*", GCC_OPTION_DROPPED, passes },
	{ "-fira-*", GCC_OPTION_DROPPED, passes },
	{ "-fsched-*", GCC_OPTION_DROPPED, passes },
	{ "-fsched2-*", GCC_OPTION_DROPPED, passes },
	{ "-fsel-sched-*", GCC_OPTION_DROPPED, passes },
	{ "-fselective-scheduling*", GCC_OPTION_DROPPED, passes },
	{ "-fgraphite*", GCC_OPTION_DROPPED, passes },
	{ "-fgcse*", GCC_OPTION_DROPPED, passes },
	{ "-fcse-*", GCC_OPTION_DROPPED, passes },
	{ "-fssa-*", GCC_OPTION_DROPPED, passes },
	{ "-frerun-*", GCC_OPTION_DROPPED, passes },
	{ "-fif-conversion*", GCC_OPTION_DROPPED, passes },
	{ "-fpeephole*", GCC_OPTION_DROPPED, passes },
	{ "-fshrink-wrap*", GCC_OPTION_DROPPED, passes },
	{ "-fisolate-erroneous-paths-*", GCC_OPTION_DROPPED, passes },
	{ "-fbranch-target-load-optimize*", GCC_OPTION_DROPPED, passes },
	{ "-faggressive-loop-optimizations", GCC_OPTION_DROPPED, passes },
	{ "-fallocation-dce", GCC_OPTION_DROPPED, passes },
	{ "-fauto-inc-dec", GCC_OPTION_DROPPED, passes },
	{ "-fbit-tests", GCC_OPTION_DROPPED, passes },
	{ "-fbtr-bb-exclusive", GCC_OPTION_DROPPED, passes },
	{ "-fcode-hoisting", GCC_OPTION_DROPPED, passes },
	{ "-fcombine-stack-adjustments", GCC_OPTION_DROPPED, passes },
	{ "-fcompare-elim", GCC_OPTION_DROPPED, passes },
	{ "-fconserve-stack", GCC_OPTION_DROPPED, passes },
	{ "-fcprop-registers", GCC_OPTION_DROPPED, passes },
	{ "-fcrossjumping", GCC_OPTION_DROPPED, passes },
	{ "-fdce", GCC_OPTION_DROPPED, passes },
	{ "-fdse", GCC_OPTION_DROPPED, passes },
	{ "-fdelayed-branch", GCC_OPTION_DROPPED, passes },
	{ "-fdelete-dead-exceptions", GCC_OPTION_DROPPED, passes },
	{ "-fdevirtualize-at-ltrans", GCC_OPTION_DROPPED, passes },
	{ "-fearly-inlining", GCC_OPTION_DROPPED, passes },
	{ "-ffold-simple-inlines", GCC_OPTION_DROPPED, passes },
	{ "-fforward-propagate", GCC_OPTION_DROPPED, passes },
	{ "-ffunction-cse", GCC_OPTION_DROPPED, passes },
	{ "-fguess-branch-probability", GCC_OPTION_DROPPED, passes },
	{ "-fhoist-adjacent-loads", GCC_OPTION_DROPPED, passes },
	{ "-findirect-inlining", GCC_OPTION_DROPPED, passes },
	{ "-finline-limit*", GCC_OPTION_DROPPED, passes },
	{ "-fkeep-gc-roots-live", GCC_OPTION_DROPPED, passes },
	{ "-flimit-function-alignment", GCC_OPTION_DROPPED, passes },
	{ "-flive-range-shrinkage", GCC_OPTION_DROPPED, passes },
	{ "-floop-block", GCC_OPTION_DROPPED, passes },
	{ "-floop-flatten", GCC_OPTION_DROPPED, passes },
	{ "-floop-nest-optimize", GCC_OPTION_DROPPED, passes },
	{ "-floop-optimize", GCC_OPTION_DROPPED, passes },
	{ "-floop-parallelize-all", GCC_OPTION_DROPPED, passes },
	{ "-floop-strip-mine", GCC_OPTION_DROPPED, passes },
	{ "-floop-unroll-and-jam", GCC_OPTION_DROPPED, passes },
	{ "-flra-remat", GCC_OPTION_DROPPED, passes },
	{ "-fmove-loop-*", GCC_OPTION_DROPPED, passes },
	{ "-foptimize-register-move", GCC_OPTION_DROPPED, passes },
	{ "-foptimize-strlen", GCC_OPTION_DROPPED, passes },
	{ "-fpartial-inlining", GCC_OPTION_DROPPED, passes },
	{ "-fpredictive-commoning", GCC_OPTION_DROPPED, passes },
	{ "-fprintf-return-value", GCC_OPTION_DROPPED, passes },
	{ "-fprofile-partial-training", GCC_OPTION_DROPPED, passes },
	{ "-fprofile-reorder-functions", GCC_OPTION_DROPPED, passes },
	{ "-free", GCC_OPTION_DROPPED, passes },
	{ "-fno-ree", GCC_OPTION_DROPPED, passes },
	{ "-fregmove", GCC_OPTION_DROPPED, passes },
	{ "-freorder-blocks-*", GCC_OPTION_DROPPED, passes },
	{ "-freorder-functions", GCC_OPTION_DROPPED, passes },
	{ "-freschedule-modulo-scheduled-loops", GCC_OPTION_DROPPED, passes },
	{ "-fschedule-fusion", GCC_OPTION_DROPPED, passes },
	{ "-fsection-anchors", GCC_OPTION_DROPPED, passes },
	{ "-fsimd-cost-model=*", GCC_OPTION_DROPPED, passes },
	{ "-fsplit-ivs-in-unroller", GCC_OPTION_DROPPED, passes },
	{ "-fsplit-loops", GCC_OPTION_DROPPED, passes },
	{ "-fsplit-paths", GCC_OPTION_DROPPED, passes },
	{ "-fsplit-wide-types*", GCC_OPTION_DROPPED, passes },
	{ "-fstack-reuse=*", GCC_OPTION_DROPPED, passes },
	{ "-fstdarg-opt", GCC_OPTION_DROPPED, passes },
	{ "-fstore-merging", GCC_OPTION_DROPPED, passes },
	{ "-fthread-jumps", GCC_OPTION_DROPPED, passes },
	{ "-funroll-completely-grow-size", GCC_OPTION_DROPPED, passes },
	{ "-fvect-cost-model=*", GCC_OPTION_DROPPED, passes },
	{ "-fversion-loops-for-strides", GCC_OPTION_DROPPED, passes },
	{ "-fvpt", GCC_OPTION_DROPPED, passes },
	{ "-fzee", GCC_OPTION_DROPPED, passes },
	{ "-fallow-store-data-races", GCC_OPTION_DROPPED, never },
	{ "-flifetime-dse*", GCC_OPTION_DROPPED, never },
	{ "-fgnu-unique", GCC_OPTION_DROPPED, never },
	{ "-fstrong-eval-order*", GCC_OPTION_DROPPED, always },
	{ "-fnothrow-opt", GCC_OPTION_DROPPED, passes },

	{ "-fvar-tracking*", GCC_OPTION_DROPPED, debug },
	{ "-fmerge-debug-strings", GCC_OPTION_DROPPED, debug },
	{ "-feliminate-dwarf2-dups", GCC_OPTION_DROPPED, debug },
	{ "-femit-class-debug-always", GCC_OPTION_DROPPED, debug },
	{ "-femit-struct-debug-*", GCC_OPTION_DROPPED, debug },
	{ "-fgnat-encodings=*", GCC_OPTION_DROPPED, debug },
	{ "-gstatement-frontiers", GCC_OPTION_DROPPED, debug },
	{ "-gno-statement-frontiers", GCC_OPTION_DROPPED, debug },
	{ "-gvariable-location-views*", GCC_OPTION_DROPPED, debug },
	{ "-gno-variable-location-views", GCC_OPTION_DROPPED, debug },
	{ "-ginternal-reset-location-views", GCC_OPTION_DROPPED, debug },
	{ "-gno-internal-reset-location-views", GCC_OPTION_DROPPED, debug },
	{ "-gas-loc*-support", GCC_OPTION_DROPPED, debug },
	{ "-gno-as-loc*-support", GCC_OPTION_DROPPED, debug },
	{ "-gdescribe-dies", GCC_OPTION_DROPPED, debug },
	{ "-gno-describe-dies", GCC_OPTION_DROPPED, debug },

	{ "-fanalyzer*", GCC_OPTION_DROPPED, reports },
	{ "-fcallgraph-info*", GCC_OPTION_DROPPED, reports },
	{ "-fchecking*", GCC_OPTION_DROPPED, reports },
	{ "-fcompare-debug*", GCC_OPTION_DROPPED, reports },
	{ "-fdbg-cnt*", GCC_OPTION_DROPPED, reports },
	{ "-fdump-*", GCC_OPTION_DROPPED, reports },
	{ "-fmem-report*", GCC_OPTION_DROPPED, reports },
	{ "-fopt-info*", GCC_OPTION_DROPPED, reports },
	{ "-fpost-ipa-mem-report", GCC_OPTION_DROPPED, reports },
	{ "-fpre-ipa-mem-report", GCC_OPTION_DROPPED, reports },
	{ "-freport-bug", GCC_OPTION_DROPPED, reports },
	{ "-fstats", GCC_OPTION_DROPPED, reports },
	{ "-ftime-report-details", GCC_OPTION_DROPPED, reports },
	{ "-fcanonical-system-headers", GCC_OPTION_DROPPED, messages },
	{ "-fconcepts-diagnostics-depth=*", GCC_OPTION_DROPPED, messages },
	{ "-fdiagnostics-column-*", GCC_OPTION_DROPPED, messages },
	{ "-fdiagnostics-escape-format=*", GCC_OPTION_DROPPED, messages },
	{ "-fdiagnostics-generate-patch", GCC_OPTION_DROPPED, messages },
	{ "-fdiagnostics-minimum-margin-width=*", GCC_OPTION_DROPPED, messages },
	{ "-fdiagnostics-path-format=*", GCC_OPTION_DROPPED, messages },
	{ "-fdiagnostics-plain-output", GCC_OPTION_DROPPED, messages },
	{ "-fdiagnostics-show-caret", GCC_OPTION_DROPPED, messages },
	{ "-fdiagnostics-show-cwe", GCC_OPTION_DROPPED, messages },
	{ "-fdiagnostics-show-labels", GCC_OPTION_DROPPED, messages },
	{ "-fdiagnostics-show-path-depths", GCC_OPTION_DROPPED, messages },
	{ "-fdiagnostics-urls=*", GCC_OPTION_DROPPED, messages },
	{ "-fmax-include-depth=*", GCC_OPTION_DROPPED, messages },
	{ "-fpretty-templates", GCC_OPTION_DROPPED, messages },
	{ "-ftrack-macro-expansion*", GCC_OPTION_DROPPED, messages },
	{ "-fworking-directory", GCC_OPTION_DROPPED, messages },

	{ "-maccumulate-outgoing-args", GCC_OPTION_DROPPED, tuning },
	{ "-mno-accumulate-outgoing-args", GCC_OPTION_DROPPED, tuning },
	{ "-malign-data=*", GCC_OPTION_DROPPED, tuning },
	{ "-malign-stringops", GCC_OPTION_DROPPED, tuning },
	{ "-mno-align-stringops", GCC_OPTION_DROPPED, tuning },
	{ "-mavx256-split-unaligned-*", GCC_OPTION_DROPPED, tuning },
	{ "-mno-avx256-split-unaligned-*", GCC_OPTION_DROPPED, tuning },
	{ "-mbranch-cost=*", GCC_OPTION_DROPPED, tuning },
	{ "-mdispatch-scheduler", GCC_OPTION_DROPPED, tuning },
	{ "-minline-stringops-dynamically", GCC_OPTION_DROPPED, tuning },
	{ "-mmemcpy-strategy=*", GCC_OPTION_DROPPED, tuning },
	{ "-mmemset-strategy=*", GCC_OPTION_DROPPED, tuning },
	{ "-mmove-max=*", GCC_OPTION_DROPPED, tuning },
	{ "-mstore-max=*", GCC_OPTION_DROPPED, tuning },
	{ "-mstringop-strategy=*", GCC_OPTION_DROPPED, tuning },
	{ "-mtune-ctrl=*", GCC_OPTION_DROPPED, tuning },
	{ "-mprefer-avx128", GCC_OPTION_DROPPED, tuning },
	{ "-mpush-args", GCC_OPTION_DROPPED, tuning },
	{ "-mno-push-args", GCC_OPTION_DROPPED, tuning },
	{ "-mveclibabi=*", GCC_OPTION_DROPPED, tuning },
	{ "-mno-abm", GCC_OPTION_DROPPED, absent },
	{ "-mno-avx5124fmaps", GCC_OPTION_DROPPED, absent },
	{ "-mno-avx5124vnniw", GCC_OPTION_DROPPED, absent },
	{ "-mno-avx512er", GCC_OPTION_DROPPED, absent },
	{ "-mno-avx512pf", GCC_OPTION_DROPPED, absent },
	{ "-mno-hle", GCC_OPTION_DROPPED, absent },
	{ "-mno-pcommit", GCC_OPTION_DROPPED, absent },
	{ "-mno-prefetchwt1", GCC_OPTION_DROPPED, absent },
	{ "-mno-sse5", GCC_OPTION_DROPPED, absent },
	// clang-format on
};

/* One star at most, which may stand anywhere. */
static bool pattern_fits(const char *pattern, const char *arg)
{
	size_t head = strcspn(pattern, "*"), n = strlen(arg), tail;

	if (!pattern[head])
		return strcmp(pattern, arg) == 0;
	tail = strlen(pattern + head + 1);
	return n >= head + tail && memcmp(pattern, arg, head) == 0 &&
	       strcmp(arg + n - tail, pattern + head + 1) == 0;
}

enum gcc_option gcc_option_judge(const char *arg, const char **retwhy)
{
	char positive[256] = "";

	if (strncmp(arg, "-fno-", 5) == 0)
		snprintf(positive, sizeof(positive), "-f%s", arg + 5);
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
		const struct rule *rule = &rules[i];
		bool fits = pattern_fits(rule->pattern, arg);

		/* What is switched off needs nothing. */
		if (!fits && positive[0] && rule->what != GCC_OPTION_NEEDED)
			fits = pattern_fits(rule->pattern, positive);
		if (!fits)
			continue;
		*retwhy = rule->why;
		return rule->what;
	}
	return GCC_OPTION_OURS;
}

bool gcc_option_query(const char *arg)
{
	static const char *const queries[] = { "-dumpmachine",
					       "-dumpfullversion",
					       "-dumpspecs",
					       "-print-multiarch",
					       "-print-multi-os-directory",
					       "-print-sysroot",
					       "-print-sysroot-headers-suffix" };

	for (size_t i = 0; i < ARRAY_SIZE(queries); i++)
		if (strcmp(arg, queries[i]) == 0 || (arg[0] == '-' && strcmp(arg + 1, queries[i]) == 0))
			return true;
	return false;
}
