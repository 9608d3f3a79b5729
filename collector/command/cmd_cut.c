/* SPDX-License-Identifier: Apache-2.0
 *
 * cmd_cut - reads the trace twice: first for the range in its own times, or for
 * the selected calls, then to cut it. If a thread is selected, it first reads
 * the trace for that thread.
 */
#include "collector/command/cmd_cut.h"

#include <assert.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/base/log.h"
#include "collector/base/size.h"
#include "collector/base/text_out.h"
#include "collector/command/cut_calls.h"
#include "collector/command/cut_threads.h"
#include "collector/command/range_command.h"
#include "collector/command/trace_command.h"
#include "collector/cut/trace_cut.h"
#include "collector/options/limits.h"
#include "collector/options/opts.h"
#include "collector/output/own_files.h"
#include "collector/output/whole_file.h"
#include "collector/show/progress.h"

#define OUT_BYTES (256u << 10)

struct cut_line {
	const char *dir;
	const char *file; /* NULL: stdout */
	const char *margin; /* the option, if given */
	struct range_command range;
	struct cut_calls calls;
	const char *thread;
	bool compress;
};

struct cut_plan {
	char path[PATH_MAX];
	struct cut_ranges ranges;
	struct cut_threads threads; /* none: all */
	struct trace_bounds bounds;
	struct cut_calls_found found;
};

/* --- the command line --- */

static int take_cut_option(void *to, const struct opts_value *value)
{
	struct cut_line *line = to;
	bool taken;
	int result;

	if (range_command_take(&line->range, value))
		return OPTS_GO_ON;
	result = cut_calls_take(&line->calls, value, &taken);
	if (value->id == OPT_CUT_MARGIN)
		line->margin = value->name;
	if (taken)
		return result;
	switch (value->id) {
	case OPT_CALL_THREAD:
		line->thread = line->calls.thread = value->text;
		break;
	case OPT_CUT_COMPRESS:
		line->compress = true;
		break;
	case OPT_CUT_FILE:
		line->file = value->text;
		break;
	default:
		assert(!"an option of perfrec cut that nobody takes");
	}
	return OPTS_GO_ON;
}

/* --- the ranges --- */

/* Returns 0, -EDOM or -ESRCH after one line in the log, or another -errno. */
static int plan_ranges(const struct cut_line *line, struct cut_plan *plan)
{
	struct time_range range = TIME_RANGE_ALL;
	int err = 0;

	if (line->thread)
		err = cut_threads_find(line->thread, plan->path,
				       &plan->threads);
	if (!err && range_command_given(&line->range))
		err = range_command_read(&line->range, line->dir, plan->path,
					 NULL, true, &plan->bounds, &range);
	if (err)
		return err;
	if (!line->calls.option)
		return cut_ranges_add(&plan->ranges, range.from_ns,
				      range.to_ns);
	err = cut_calls_find(&line->calls, line->dir, plan->path, &range,
			     &plan->ranges, &plan->found);
	plan->bounds = plan->found.bounds;
	cut_ranges_order(&plan->ranges);
	return err;
}

/* --- messages --- */

static const char *time_text(uint64_t ns, const struct trace_bounds *bounds,
			     char text[TIME_RANGE_TEXT])
{
	return time_range_text(MIN(MAX(ns, bounds->first_ns), bounds->last_ns) -
				       bounds->first_ns,
			       text);
}

static int print_written(const struct cut_line *line,
			 const struct cut_plan *plan,
			 const struct trace_cut_result *result)
{
	const struct packet_window_totals *totals = &result->totals;
	char slices[SIZE_TEXT], threads[SIZE_TEXT], bytes[SIZE_TEXT],
		lost[SIZE_TEXT];
	const struct cut_ranges *ranges;
	char from[TIME_RANGE_TEXT], to[TIME_RANGE_TEXT], count[SIZE_TEXT],
		all[SIZE_TEXT];

	printf("%s: ", line->file);
	ranges = &plan->ranges;
	if (line->calls.option) {
		printf("%s call%s of '%s'",
		       size_format_count(plan->found.count, count),
		       plan->found.count == 1 ? "" : "s",
		       line->calls.expression.function);
		if (plan->found.matched > plan->found.count)
			printf(", the slowest of %s",
			       size_format_count(plan->found.matched, all));
		printf(", in %s range%s of %s from ",
		       size_format_count(ranges->count, count),
		       ranges->count == 1 ? "" : "s", line->dir);
	} else {
		printf("%s from ", line->dir);
	}
	printf("%s to %s\n", time_text(ranges->at[0].from, &plan->bounds, from),
	       time_text(ranges->at[ranges->count - 1].to, &plan->bounds, to));
	printf("  %s call%s of %s thread%s, %s\n",
	       size_format_count(totals->slices, slices),
	       totals->slices == 1 ? "" : "s",
	       size_format_count(totals->threads, threads),
	       totals->threads == 1 ? "" : "s",
	       size_format_bytes(result->bytes, bytes));
	if (totals->lost)
		printf("  %s call%s lost there while recording\n",
		       size_format_count(totals->lost, lost),
		       totals->lost == 1 ? " was" : "s were");
	printf("  open it in https://ui.perfetto.dev\n");
	return text_out_finish() ? OPTS_FAILED : OPTS_OK;
}

/* --- writing --- */

/* Writes the cut to @out. Returns 0, -ESRCH after one line in the log if there
 * was nothing to cut, or another -errno of writing. */
static int write_planned_cut(const struct cut_line *line,
			     const struct cut_plan *plan, FILE *out,
			     struct trace_cut_result *result)
{
	struct progress progress;
	const struct read_progress tell = { progress_tell, &progress };
	const struct trace_cut_wish wish = {
		.path = plan->path,
		.of = line->dir,
		.ranges = &plan->ranges,
		.origin_ns = plan->bounds.first_ns,
		.threads = line->thread ? &plan->threads : NULL,
		.thread = line->thread,
		.compress = line->compress,
		.progress = &tell,
	};
	int err;

	setvbuf(out, NULL, _IOFBF, OUT_BYTES);
	progress_begin(&progress, "cutting", progress_fits(out));
	err = trace_cut_write(&wish, out, result);
	progress_end(&progress);
	return err;
}

/* Returns true if reading ended early. Damage does not count, because a cut
 * skips it. */
static bool is_unread(const struct trace_cut_result *result)
{
	return result->read_err && result->read_err != -EBADMSG;
}

static int cut_to_file(const struct cut_line *line, const struct cut_plan *plan,
		       struct trace_cut_result *result)
{
	struct whole_file file;
	int err;

	err = whole_file_open(line->file, &file);
	if (err)
		return err;
	err = write_planned_cut(line, plan, file.out, result);
	if (!err && is_unread(result)) {
		(void)whole_file_close(&file, result->read_err);
		return 0;
	}
	return whole_file_close(&file, err);
}

static int run_plan(const struct cut_line *line, const struct cut_plan *plan)
{
	struct trace_cut_result result;
	struct trace_read_totals totals;
	int err, status;

	if (line->file)
		err = cut_to_file(line, plan, &result);
	else
		err = write_planned_cut(line, plan, stdout, &result);
	if (err) {
		if (line->file)
			log_err("cannot write '%.2000s': %s", line->file,
				strerror(-err));
		else if (err != -EPIPE)
			log_err("cannot write: %s", strerror(-err));
		return OPTS_FAILED;
	}
	totals = (struct trace_read_totals){
		.size = result.size,
		.at = result.at,
		.cut = result.left,
		.packets = result.totals.packets,
		.bad_bundles = result.bad_bundles,
		.bad_events = result.totals.bad_events,
		.refused = result.totals.refused,
	};
	trace_command_say_index(line->dir, result.told, result.size);
	status = trace_command_check(line->dir, result.read_err, &totals);
	if (line->file && !is_unread(&result) &&
	    print_written(line, plan, &result) != OPTS_OK)
		return OPTS_FAILED;
	return status;
}

int cmd_cut(int argc, char **argv)
{
	struct cut_line line = { 0 };
	struct cut_plan plan = { 0 };
	int err, result = opts_parse(CMD_CUT, argc, argv, take_cut_option,
				     &line);

	if (result != OPTS_GO_ON)
		return result;
	if (argc - optind > 1) {
		log_err("'%s': one recording at a time", argv[optind + 1]);
		return OPTS_WRONG;
	}
	line.dir = optind < argc ? argv[optind] : RECORDING_DIR;
	if (!line.dir[0]) {
		log_err("'': give the name of a folder");
		return OPTS_WRONG;
	}
	if (!line.calls.option && !range_command_given(&line.range)) {
		log_err("give the range: --from and --until with times, "
			"--around 'FUNC > TIME', or --slowest FUNC");
		return OPTS_WRONG;
	}
	if (line.margin && !line.calls.option) {
		log_err("--margin: only with --around and --slowest");
		return OPTS_WRONG;
	}
	if (!line.file && isatty(STDOUT_FILENO)) {
		log_err("a trace is no text for a terminal: give -o FILE");
		return OPTS_WRONG;
	}
	result = range_command_check(&line.range);
	if (result != OPTS_GO_ON)
		return result;
	if (line.file && own_files_has(line.dir, line.file)) {
		log_err("-o '%.2000s': that is a file of the recording itself; "
			"choose another name",
			line.file);
		return OPTS_WRONG;
	}
	err = trace_command_path(line.dir, plan.path);
	if (!err)
		err = plan_ranges(&line, &plan);
	if (!err)
		result = run_plan(&line, &plan);
	else if (err != -EDOM && err != -ESRCH)
		trace_command_log_open(line.dir, err);
	cut_ranges_release(&plan.ranges);
	free(plan.threads.tids);
	return err ? OPTS_FAILED : result;
}
