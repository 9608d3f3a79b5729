/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/command/report_range.h"

#include <errno.h>
#include <stdio.h>

#include "collector/base/log.h"
#include "collector/base/text_out.h"
#include "collector/command/trace_command.h"
#include "collector/read/curves.h"
#include "collector/read/trace_index.h"
#include "collector/read/trace_sums.h"
#include "collector/show/progress.h"
#include "collector/show/range_report.h"

bool report_range_given(const struct report_range *line)
{
	return line->thread || range_command_given(&line->range);
}

int report_range_check(const struct report_range *line)
{
	enum range_order order;
	const char *keys;

	if (line->sort && !range_report_find_order(line->sort, &order, &keys)) {
		log_err("--sort '%.200s': choose %s", line->sort, keys);
		return OPTS_WRONG;
	}
	return range_command_check(&line->range);
}

/* Reads the selected part. Returns 0, -EDOM or -errno as range_command_read().
 * The caller frees *@sums if set, and then *@index in any case. */
static int read_sums(const struct report_range *line,
		     struct range_report *report, struct trace_index **index,
		     struct trace_sums **sums, struct curves **curves)
{
	struct progress progress;
	const struct read_progress tell = { progress_tell, &progress };
	struct window_choice choice = { .thread = line->thread,
					.calls_only = true };
	struct curves_wish wish = { .buckets = 1 };
	char path[PATH_MAX];
	int err = trace_command_path(line->dir, path);

	if (!err)
		trace_index_read_beside(path, index);
	if (!err)
		err = range_command_read(&line->range, line->dir, path, *index,
					 true, &report->bounds, &report->range);
	if (err)
		return err;
	choice.range = wish.range = report->range;
	choice.index = wish.index = *index;
	progress_begin(&progress, "reading the trace", true);
	err = trace_sums_read(path, &choice, &tell, sums);
	if (!err)
		err = curves_read(path, &wish, &tell, curves);
	progress_end(&progress);
	return err;
}

static int print_range_sums(const struct report_range *line,
			    const struct range_report *report)
{
	const struct trace_sums *sums = report->sums;
	int status, err;

	if (!window_met_thread(sums->tree.window)) {
		trace_command_say_thread(line->thread, sums->tree.reader);
		return OPTS_FAILED;
	}
	if (line->json)
		err = range_report_write_json(report, stdout);
	else if (line->markdown)
		err = range_report_print_markdown(report, stdout);
	else
		err = range_report_print(report, stdout);
	trace_command_say_index(
		line->dir, trace_index_told(window_index(sums->tree.window)),
		sums->tree.totals.size);
	status = trace_command_check(line->dir, sums->tree.err,
				     &sums->tree.totals);
	if (err == -EIO)
		(void)text_out_finish();
	else if (err)
		log_err("out of memory");
	return err ? OPTS_FAILED : status;
}

int report_range_print(const struct report_range *line)
{
	struct trace_index *index = NULL;
	struct trace_sums *sums = NULL;
	struct curves *curves = NULL;
	struct range_report report = {
		.dir = line->dir,
		.thread = line->thread,
		.limit = line->limit,
		.full_names = line->full_names,
	};
	const char *keys;
	int status, err = read_sums(line, &report, &index, &sums, &curves);

	if (err) {
		if (err != -EDOM)
			trace_command_log_open(line->dir, err);
		trace_sums_free(&sums);
		trace_index_free(&index);
		return OPTS_FAILED;
	}
	if (line->sort)
		(void)range_report_find_order(line->sort, &report.order, &keys);
	report.sums = sums;
	report.curves = curves;
	status = print_range_sums(line, &report);
	curves_free(&curves);
	trace_sums_free(&sums);
	trace_index_free(&index);
	return status;
}
