/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * counts_file.h - what the fleet counted of a package, as a file for its packager: debian/PACKAGE.morph-counts
 *
 * Text (docs/format-fleet.md), so that it may lie in a source package: for each program of the package that carries IR a
 * paragraph with its path, build ID, and a stored profile. dh_morph(1) makes of it what is installed beside the sidecars.
 */

#include "fleet/exchange.h"

struct counts_report {
	size_t n_programs; /* that the fleet knows */
	size_t n_unknown;  /* that carry IR, and it does not */
	double samples;
};

/**
 * counts_file_write() - of the package @name, if it has no '/', else of the file @name, into the file @output
 * An installed generation counts as the shipped file that it was made of.
 * Return: 0; -ENOENT: there is no such package or file; -ENODATA: the fleet knows none of its programs; else as exchange_ask()
 */
int counts_file_write(struct exchange *exchange, const char *name, const char *output,
		      struct counts_report *retreport, struct fault *reterr);
