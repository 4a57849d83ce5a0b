/* SPDX-License-Identifier: Apache-2.0 */

/*
 * morph profile export: a profile as LLVM text, pprof or collapsed text; samples as BOLT's fdata.
 * Without -o to standard output; what was left out is said on standard error.
 */

#include "cli/profile.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/verb.h"
#include "profiles/export/export.h"

static int output_write(const char *output, const struct buffer *bytes, struct fault *reterr)
{
	if (output)
		return file_write(output, bytes->data, bytes->size, 0644, reterr);
	if ((bytes->size && fwrite(bytes->data, bytes->size, 1, stdout) != 1) || fflush(stdout) != 0)
		return fault_errno(reterr, -errno, "standard output");
	return 0;
}

static int profile_convert(const char *path, enum export_format format, struct buffer *ret,
			   struct fault *reterr)
{
	_clean_(profile_freep) struct profile *profile = NULL;
	size_t n_nameless = 0;
	int r = profile_read(path, &profile, reterr);

	if (r < 0)
		return r;
	if (format == EXPORT_LLVM)
		r = export_llvm(profile, ret, &n_nameless);
	else if (format == EXPORT_PPROF)
		r = export_pprof(profile, ret);
	else
		r = export_collapsed(profile, ret);
	if (n_nameless)
		fprintf(stderr, "morph profile export: %zu functions without a name were left out\n",
			n_nameless);
	return r < 0 ? fault_errno(reterr, r, "%s", path) : 0;
}

static int logs_sum(char *const *paths, int n, struct sample_log **ret, struct fault *reterr)
{
	_clean_(sample_log_freep) struct sample_log *sum = sample_log_new();

	if (!sum)
		return fault_errno(reterr, -ENOMEM, "sample logs");
	for (int i = 0; i < n; i++) {
		_clean_(sample_log_freep) struct sample_log *log = NULL;
		int r = sample_log_read(paths[i], &log, reterr);

		if (r == 0 && sample_log_merge(sum, log) < 0)
			r = fault_errno(reterr, -ENOMEM, "%s", paths[i]);
		if (r < 0)
			return r;
	}
	if (sample_log_unite(sum) < 0)
		return fault_errno(reterr, -ENOMEM, "sample logs");
	*ret = TAKE(sum);
	return 0;
}

static int samples_convert(const char *program, char *const *paths, int n, struct buffer *ret,
			   struct fault *reterr)
{
	_clean_(sample_log_freep) struct sample_log *log = NULL;
	_clean_(image_freep) struct image *image = NULL;
	const struct sample_module *module;
	uint64_t mapped = 0;
	int r = image_open(program, &image, reterr);

	if (r == 0)
		r = logs_sum(paths, n, &log, reterr);
	if (r < 0)
		return r;
	module = sample_log_find(log, image_build_id(image));
	if (!module)
		return fault_set(reterr, -ENODATA, "no samples of this build of %s in the logs", program);
	r = export_bolt(image, module, ret, &mapped, reterr);
	if (r == 0 && mapped < module->total)
		fprintf(stderr,
			"morph profile export: %" PRIu64 " of %" PRIu64
			" samples are in no function symbol and were left out\n",
			module->total - mapped, module->total);
	return r;
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
	enum export_format format = 0;
	const char *output = NULL;
	struct fault fault;
	int c, r, n;

	while ((c = getopt_long(argc, argv, "o:f:h", options, NULL)) != -1)
		if (c == 'o')
			output = optarg;
		else if (c == 'h')
			return profile_help("export");
		else if (c != 'f' || !(format = export_parse(optarg)))
			return profile_usage("export");
	n = argc - optind;
	if (!format || (format == EXPORT_BOLT ? n < 2 : n != 1))
		return profile_usage("export");
	if (format == EXPORT_PPROF && !output && isatty(STDOUT_FILENO)) {
		fputs("morph profile export: pprof's form is binary; name a file with -o\n", stderr);
		return VERB_USAGE;
	}
	if (format == EXPORT_BOLT)
		r = samples_convert(argv[optind], argv + optind + 1, n - 1, &bytes, &fault);
	else
		r = profile_convert(argv[optind], format, &bytes, &fault);
	if (r == 0)
		r = output_write(output, &bytes, &fault);
	return r < 0 ? profile_failed("export", &fault) : VERB_DONE;
}
