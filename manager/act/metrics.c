/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "manager/act/metrics.h"

#include <errno.h>

#include "base/config.h"
#include "base/file.h"
#include "base/log.h"
#include "manager/act/measure.h"
#include "manager/act/queue.h"

/* One metric that SQL has: a number, and in the other columns, named as its labels, what it is of. */
struct metric {
	const char *name, *type, *help, *sql;
};

#define ACTIVE                                                                                       \
	" FROM target t JOIN generation g ON g.module = t.module AND g.number = t.generation WHERE " \
	"g.number > 0"

static const struct metric metrics[] = {
	{ "morph_samples_total", "counter", "Samples taken, by where they were.",
	  "SELECT value, key AS place FROM total WHERE key IN ('idle', 'kernel', 'user') ORDER BY key" },
	{ "morph_sample_logs_total", "counter", "Sample logs of the monitor that were taken in.",
	  "SELECT value FROM total WHERE key = 'logs'" },
	{ "morph_damaged_files_total", "counter", "Files of the spool that could not be read.",
	  "SELECT value FROM total WHERE key = 'damaged_files'" },
	{ "morph_events_total", "counter", "What happened to programs, by kind (morph-history(1)).",
	  "SELECT value, substr(key, 7) AS event FROM total WHERE key LIKE 'event\\_%' ESCAPE '\\' ORDER BY "
	  "key" },
	{ "morph_programs", "gauge", "Installed programs that carry IR, by whether a generation is active.",
	  "SELECT count(*), CASE WHEN generation > 0 THEN 'yes' ELSE 'no' END AS optimized FROM target GROUP "
	  "BY "
	  "optimized" },
	{ "morph_generations_bytes", "gauge", "Size of the generations in the store.",
	  "SELECT coalesce(sum(size), 0) FROM generation WHERE number > 0 AND state <> 'dropped'" },
	{ "morph_program_predicted_gain_ratio", "gauge",
	  "Predicted gain of the active generation: 0.1 is 10 % less.",
	  "SELECT g.gain, t.path AS path" ACTIVE " AND g.gain IS NOT NULL ORDER BY t.path" },
	{ "morph_program_measured_gain_ratio", "gauge", "Measured gain of the active generation.",
	  "SELECT g.measured, t.path AS path" ACTIVE " AND g.measured IS NOT NULL ORDER BY t.path" },
	{ "morph_program_measured_gain_low_ratio", "gauge", "Lower end of its interval of 95 %.",
	  "SELECT g.measured_low, t.path AS path" ACTIVE " AND g.measured IS NOT NULL ORDER BY t.path" },
	{ "morph_program_measured_gain_high_ratio", "gauge", "Upper end of its interval of 95 %.",
	  "SELECT g.measured_high, t.path AS path" ACTIVE " AND g.measured IS NOT NULL ORDER BY t.path" },
};

/* Names of files may have any bytes; what is not plain text becomes \xHH, with the backslash that the format asks for. */
static void label_print(struct buffer *ret, const char *name, const char *value)
{
	buffer_printf(ret, "{%s=\"", name);
	for (const char *p = value; *p; p++) {
		unsigned char c = (unsigned char)*p;

		if (c < 0x20 || c >= 0x7f || c == '"' || c == '\\')
			buffer_printf(ret, "\\\\x%02x", c);
		else
			buffer_u8(ret, c);
	}
	buffer_printf(ret, "\"}");
}

static void head_print(struct buffer *ret, const char *name, const char *type, const char *help)
{
	buffer_printf(ret, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static int metric_print(struct state *state, const struct metric *metric, struct buffer *ret,
			struct fault *reterr)
{
	_clean_(statement_freep) sqlite3_stmt *row = NULL;
	int r = state_prepare(state, &row, reterr, metric->sql, "");

	head_print(ret, metric->name, metric->type, metric->help);
	while (r == 0 && (r = state_step(state, row, reterr)) == 1) {
		buffer_printf(ret, "%s", metric->name);
		if (sqlite3_column_count(row) > 1)
			label_print(ret, sqlite3_column_name(row, 1),
				    (const char *)sqlite3_column_text(row, 1) ?: "");
		buffer_printf(ret, " %.15g\n", sqlite3_column_double(row, 0));
		r = 0;
	}
	return r;
}

static void value_print(struct buffer *ret, const char *name, const char *help, double value)
{
	head_print(ret, name, "gauge", help);
	buffer_printf(ret, "%s %.15g\n", name, value);
}

int metrics_print(struct manager *m, struct buffer *ret, struct fault *reterr)
{
	uint64_t seconds;
	double factor = 1;
	int r = measure_calibration(m->state, &factor, reterr);

	head_print(ret, "morph_build_info", "gauge", "Always 1.");
	buffer_printf(ret, "morph_build_info");
	label_print(ret, "version", MORPH_VERSION);
	buffer_printf(ret, " 1\n");
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(metrics); i++)
		r = metric_print(m->state, &metrics[i], ret, reterr);
	value_print(ret, "morph_edit_running", "Whether an edit is under way.", queue_module(m->queue) != 0);
	value_print(ret, "morph_edit_frozen", "Whether it stands still, because others want the machine.",
		    queue_frozen(m->queue, &seconds) != NULL);
	value_print(ret, "morph_prediction_factor", "By what predicted gains are multiplied on this machine.",
		    factor);
	return r == 0 && ret->bad ? fault_errno(reterr, -ENOMEM, "metrics") : r;
}

int metrics_tick(struct manager *m, struct fault *reterr)
{
	_clean_(buffer_donep) struct buffer text = { 0 };
	struct fault fault = { "" };
	char path[PATH_MAX];
	int r;

	if (!settings_has_metrics(&m->settings) ||
	    !settings_path(&m->settings, m->settings.metrics_file, path))
		return 0;
	r = metrics_print(m, &text, reterr);
	if (r < 0)
		return r;
	/* The operator's place, not ours: that it cannot be written must not stop the rest. */
	r = file_write(path, text.data, text.size, 0644, &fault);
	if (r < 0 && !m->metrics_failed)
		log_warning(
			"%s; metrics_file needs a directory that morphd may write to (ReadWritePaths= in a "
			"drop-in of morphd.service)",
			fault.text);
	m->metrics_failed = r < 0;
	return 0;
}
