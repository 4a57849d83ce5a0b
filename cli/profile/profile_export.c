/* SPDX-License-Identifier: Apache-2.0 */

/*
 * morph profile export: a profile, or samples, in a form that other tools read (profiles/export/export.h).
 * Without -o to standard output; what was left out is said on standard error.
 */

#include "cli/profile/profile.h"

#include <errno.h>
#include <getopt.h>
#include <unistd.h>

#include "cli/shared/analysis.h"
#include "cli/shared/output.h"
#include "cli/verb.h"
#include "profiles/export/export.h"
#include "profiles/store/seen.h"

static int profile_convert(const struct exporter *exporter, const char *path, struct buffer *ret,
			   char *retleft, struct fault *reterr)
{
	_clean_(profile_freep) struct profile *profile = NULL;
	int r = profile_read(path, &profile, reterr);

	if (r == 0)
		r = seen_none(profile, path, reterr);
	return r < 0 ? r : exporter->run(&(struct export_input){ .profile = profile }, ret, retleft, reterr);
}

static int samples_convert(const struct exporter *exporter, const char *program, char *const *paths, size_t n,
			   struct buffer *ret, char *retleft, struct fault *reterr)
{
	_clean_(sample_log_freep) struct sample_log *log = NULL;
	_clean_(image_freep) struct image *image = NULL;
	struct export_input input;
	int r = image_open(program, &image, reterr);

	if (r == 0)
		r = sample_logs_sum(paths, n, &log, reterr);
	if (r < 0)
		return r;
	input = (struct export_input){ .image = image,
				       .module = sample_log_find(log, image_build_id(image)) };
	if (!input.module)
		return fault_set(reterr, -ENODATA, "no samples of this build of %s in the logs", program);
	return exporter->run(&input, ret, retleft, reterr);
}

static int help(void)
{
	profile_help("export");
	puts("\nFormats:");
	names_print(stdout, exporter_at);
	return VERB_DONE;
}

int profile_export_run(int argc, char **argv)
{
	static const struct option options[] = {
		{ "output", required_argument, NULL, 'o' },
		{ "format", required_argument, NULL, 'f' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	_clean_(buffer_donep) struct buffer bytes = { 0 };
	const struct exporter *exporter = NULL;
	char left[EXPORT_LEFT_BYTES] = "";
	const char *output = NULL;
	struct fault fault;
	int c, r, n;

	while ((c = getopt_long(argc, argv, "o:f:h", options, NULL)) != -1)
		if (c == 'o')
			output = optarg;
		else if (c == 'h')
			return help();
		else if (c != 'f')
			return profile_usage("export");
		else if (!(exporter = exporter_find(optarg, &fault)))
			return verb_refuse("profile export", &fault);
	n = argc - optind;
	if (!exporter || (exporter->of_samples ? n < 2 : n != 1))
		return profile_usage("export");
	if (exporter->is_binary && !output && isatty(STDOUT_FILENO)) {
		fprintf(stderr, "morph profile export: %s's form is binary; name a file with -o\n",
			exporter->name);
		return VERB_USAGE;
	}
	if (exporter->of_samples)
		r = samples_convert(exporter, argv[optind], argv + optind + 1, n - 1, &bytes, left, &fault);
	else
		r = profile_convert(exporter, argv[optind], &bytes, left, &fault);
	if (r == 0 && left[0])
		fprintf(stderr, "morph profile export: %s\n", left);
	if (r == 0)
		r = output_write(output, &bytes, &fault);
	return r < 0 ? profile_failed("export", &fault) : VERB_DONE;
}
