/* SPDX-License-Identifier: Apache-2.0
 *
 * stats_text - writes the text format of Prometheus, version 0.0.4: two lines
 * of description for each metric, then a line for each value.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/base/path.h"
#include "collector/base/utf8.h"
#include "collector/record/recording.h"
#include "collector/serve/stats.h"
#include "collector/serve/stats_inner.h"

#define PREFIX "perfrec_"
#define NS_PER_S UINT64_C(1000000000)

static void write_metric_head(FILE *out, const char *prefix,
			      const struct stats_row *row)
{
	bool counts =
		row->kind == STATS_COUNTER || row->kind == STATS_COUNTER_NS;

	fprintf(out, "# HELP %s%s %s\n# TYPE %s%s %s\n", prefix, row->metric,
		row->help, prefix, row->metric, counts ? "counter" : "gauge");
}

static void write_value(FILE *out, const struct stats_row *row, const void *of)
{
	uint64_t value = stats_value(row, of);

	if (row->kind == STATS_GAUGE_NS || row->kind == STATS_COUNTER_NS)
		fprintf(out, " %" PRIu64 ".%09" PRIu64 "\n", value / NS_PER_S,
			value % NS_PER_S);
	else
		fprintf(out, " %" PRIu64 "\n", value);
}

/* Writes @text as the value of a label. Programs choose their names, so bytes
 * that are not UTF-8 and control characters become '?'. */
static void write_label(FILE *out, const char *text)
{
	const char *end = text + strlen(text);
	size_t length;

	for (; text < end; text += length) {
		length = utf8_length(text, (size_t)(end - text));
		if (!length || utf8_steers(text, length)) {
			fputc('?', out);
			length = length ? length : 1;
			continue;
		}
		if (*text == '"' || *text == '\\')
			fputc('\\', out);
		fwrite(text, 1, length, out);
	}
}

static void write_reasons_head(FILE *out, const char *member)
{
	for (size_t i = 0; i < stats_daemon_row_count; i++)
		if (!strcmp(stats_daemon_rows[i].member, member))
			write_metric_head(out, PREFIX, &stats_daemon_rows[i]);
}

static void write_recordings(FILE *out, const struct stats *stats)
{
	for (size_t i = 0; i < stats_recording_row_count; i++) {
		const struct stats_row *row = &stats_recording_rows[i];

		write_metric_head(out, PREFIX "recording_", row);
		for (size_t j = 0; j < stats->count; j++) {
			const struct stats_recording *recording =
				&stats->recordings[j];
			const char *path =
				recording_setup(recording->recording)->path;

			fprintf(out, PREFIX "recording_%s", row->metric);
			fputs("{folder=\"", out);
			write_label(out, path_name(path));
			fputs("\",program=\"", out);
			write_label(out, recording->program);
			fputs("\"}", out);
			write_value(out, row, recording);
		}
	}
}

char *stats_text(struct collector *collector)
{
	struct stats stats;
	char *text = NULL;
	size_t bytes;
	FILE *out;

	if (stats_gather(collector, &stats))
		return NULL;
	out = open_memstream(&text, &bytes);
	if (out) {
		uint64_t programs;
		const char *why;

		fprintf(out,
			"# HELP " PREFIX "build_info Version and process ID.\n"
			"# TYPE " PREFIX "build_info gauge\n" PREFIX
			"build_info{version=\"%s\",pid=\"%d\"} 1\n",
			PERFREC_VERSION, (int)getpid());
		for (size_t i = 0; i < stats_daemon_row_count; i++) {
			const struct stats_row *row = &stats_daemon_rows[i];

			/* Written below, with a label. */
			if (!strcmp(row->member, "refused") ||
			    !strcmp(row->member, "push_refused"))
				continue;
			write_metric_head(out, PREFIX, row);
			fprintf(out, PREFIX "%s", row->metric);
			write_value(out, row, &stats.daemon);
		}
		write_reasons_head(out, "refused");
		for (size_t i = 0; (why = stats_refusal(&stats, i, &programs));
		     i++) {
			fputs(PREFIX "refusals_total{reason=\"", out);
			write_label(out, why);
			fprintf(out, "\"} %" PRIu64 "\n", programs);
		}
		write_reasons_head(out, "push_refused");
		for (size_t i = 0; i < stats.push_refusal_count; i++) {
			fputs(PREFIX "push_refused_total{reason=\"", out);
			write_label(out, stats.push_refusals[i].why);
			fprintf(out, "\"} %" PRIu64 "\n",
				stats.push_refusals[i].requests);
		}
		write_recordings(out, &stats);
	}
	stats_release(&stats);
	if (!out)
		return NULL;
	if (fclose(out)) {
		free(text);
		return NULL;
	}
	return text;
}
