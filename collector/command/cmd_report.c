/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/command/cmd_report.h"

#include <assert.h>
#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "collector/base/log.h"
#include "collector/base/text_out.h"
#include "collector/command/page_range.h"
#include "collector/command/report_range.h"
#include "collector/command/report_several.h"
#include "collector/command/report_trace.h"
#include "collector/command/trace_command.h"
#include "collector/doctor/repair.h"
#include "collector/options/limits.h"
#include "collector/options/opts.h"
#include "collector/output/own_files.h"
#include "collector/page/page.h"
#include "collector/read/summary_read.h"
#include "collector/read/summary_snapshot.h"
#include "collector/show/report_view.h"
#include "collector/show/summary_print.h"
#include "collector/show/summary_sched.h"
#include "shared/compiler.h"

#define MARKDOWN_LIMIT 10 /* rows to read in a bug report */

struct report_options {
	struct summary_print_options print;
	/* NULL, NULL: functions. */
	const struct report_view *view;
	const struct report_trace_view *trace_view;
	const char *view_name; /* as given, or NULL */
	const char *sort; /* as given, or NULL */
	bool stacks;
	bool raw;
	bool recorded;
	bool json;
	bool markdown;
	bool limited; /* --limit was given */
	bool named; /* the recording was given */
	const char *function; /* before the recording, or NULL */
	const char *html; /* file of the page, or NULL */
	bool no_source;
	bool repair;
	bool by_recording;
	struct report_range part; /* options for a part */
};

static const char *const summary_keys[] = {
	[SUMMARY_BY_SELF] = "self",	    [SUMMARY_BY_TOTAL] = "total",
	[SUMMARY_BY_CALLS] = "calls",	    [SUMMARY_BY_NAME] = "name",
	[SUMMARY_BY_MEDIAN] = "median",	    [SUMMARY_BY_P99] = "p99",
	[SUMMARY_BY_MAX] = "max",	    [SUMMARY_BY_ON_CPU] = "on-cpu",
	[SUMMARY_BY_RUNNABLE] = "runnable", [SUMMARY_BY_BLOCKED] = "blocked",
	[SUMMARY_BY_SWITCHES] = "switches",
};

static int find_order(const char *key, enum summary_order *out)
{
	for (size_t i = SUMMARY_BY_SELF; i < ARRAY_SIZE(summary_keys); i++) {
		if (strcmp(key, summary_keys[i]) == 0) {
			*out = (enum summary_order)i;
			return OPTS_GO_ON;
		}
	}
	log_err("--sort '%.200s': choose self, total, calls, median, p99, max, "
		"on-cpu, runnable, blocked, switches or name",
		key);
	return OPTS_WRONG;
}

/* --raw needs wall time; --recorded needs functions. */
static int check_raw(const struct report_options *options)
{
	if (options->recorded &&
	    (options->view || options->trace_view || options->raw)) {
		log_err("--recorded: only for --view functions, without "
			"--raw");
		return OPTS_WRONG;
	}
	if (!options->raw || (!options->view && !options->trace_view) ||
	    (options->view && report_view_has_raw(options->view)))
		return OPTS_GO_ON;
	log_err("--raw: choose --view functions or span");
	return OPTS_WRONG;
}

/* Detects a missing file: perfrec report --html DIR. */
static int check_page_file(const struct report_options *options)
{
	const char *html = options->html;
	struct stat status;

	if (!html || options->named || stat(html, &status) < 0 ||
	    !S_ISDIR(status.st_mode))
		return OPTS_GO_ON;
	log_err("--html '%.200s': that is a folder; give the file to write, "
		"and then the recording: perfrec report --html FILE %.200s",
		html, html);
	return OPTS_WRONG;
}

/* The page has all views. */
static int check_html(const struct report_options *options)
{
	if (options->no_source && !options->html) {
		log_err("--no-source: only with --html");
		return OPTS_WRONG;
	}
	if (!options->html ||
	    (!options->view && !options->trace_view && !options->sort &&
	     !options->stacks && !options->raw && !options->recorded &&
	     !options->json && !options->limited))
		return check_page_file(options);
	log_err("--html: takes no option but --no-source, --from, --until and "
		"--thread");
	return OPTS_WRONG;
}

/* Some views have a range themselves. */
static bool is_reported_part(const struct report_options *options)
{
	return report_range_given(&options->part) &&
	       !(options->trace_view && options->trace_view->has_range);
}

/* A part is made from the trace, which only has calls. */
static int check_reported_part(struct report_options *options)
{
	const char *given = range_command_option(&options->part.range,
						 options->part.thread);

	if (options->repair || options->stacks) {
		log_err("%s cannot be combined with %s",
			options->repair ? "--repair" : "--stacks", given);
		return OPTS_WRONG;
	}
	if (options->view || options->trace_view) {
		log_err("--view %.20s cannot be combined with %s: choose "
			"--view functions, lock or path",
			options->view_name, given);
		return OPTS_WRONG;
	}
	if (check_html(options) != OPTS_GO_ON)
		return OPTS_WRONG;
	if (options->markdown && options->json) {
		log_err("--markdown has tables of functions: leave out --json");
		return OPTS_WRONG;
	}
	options->part.dir = options->print.dir;
	options->part.sort = options->sort;
	options->part.json = options->json;
	options->part.markdown = options->markdown;
	options->part.full_names = options->print.full_names;
	options->part.limit = options->limited	  ? options->print.limit
			      : options->json	  ? 0
			      : options->markdown ? MARKDOWN_LIMIT
						  : options->print.limit;
	return report_range_check(&options->part);
}

/* Several recordings share one table of functions. */
static int check_several(const struct report_options *options)
{
	const char *other = options->html	 ? "--html"
			    : options->no_source ? "--no-source"
			    : options->repair	 ? "--repair"
			    : options->markdown	 ? "--markdown"
			    : options->stacks	 ? "--stacks"
			    : options->view || options->trace_view ? "--view"
			    : options->raw			   ? "--raw"
			    : options->recorded ? "--recorded"
			    : report_range_given(&options->part)
				    ? range_command_option(&options->part.range,
							   options->part.thread)
				    : NULL;

	if (other) {
		log_err("%s: is only for one recording: leave it out, or give "
			"one recording",
			other);
		return OPTS_WRONG;
	}
	return !options->sort || together_check_sort(options->sort)
		       ? OPTS_GO_ON
		       : OPTS_WRONG;
}

/* The possible keys depend on the view. */
static int check_report_options(struct report_options *options)
{
	const char *keys;

	if (is_reported_part(options))
		return check_reported_part(options);
	if (check_raw(options) != OPTS_GO_ON ||
	    check_html(options) != OPTS_GO_ON ||
	    range_command_check(&options->part.range) != OPTS_GO_ON)
		return OPTS_WRONG;
	if (options->markdown && options->trace_view &&
	    !options->trace_view->has_markdown) {
		log_err("--view %s has no --markdown: leave it out",
			options->trace_view->name);
		return OPTS_WRONG;
	}
	if (options->markdown && (options->json || options->stacks)) {
		log_err("--markdown has tables of functions: leave out %s",
			options->json ? "--json" : "--stacks");
		return OPTS_WRONG;
	}
	if (options->stacks && !options->view &&
	    !(options->trace_view && options->trace_view->has_stacks)) {
		log_err("--stacks: choose --view cpu, heap, span, wait or "
			"lock");
		return OPTS_WRONG;
	}
	if (!options->sort)
		return OPTS_GO_ON;
	if (options->trace_view) {
		if (report_trace_has_key(options->trace_view, options->sort))
			return OPTS_GO_ON;
		log_err("--sort '%.200s': choose %s", options->sort,
			options->trace_view->key_text);
		return OPTS_WRONG;
	}
	if (!options->view)
		return find_order(options->sort, &options->print.order);
	if (report_view_has_key(options->view, options->sort, &keys))
		return OPTS_GO_ON;
	log_err("--sort '%.200s': choose %s", options->sort, keys);
	return OPTS_WRONG;
}

static int take_report_option(void *to, const struct opts_value *value)
{
	struct report_options *options = to;

	if (range_command_take(&options->part.range, value))
		return OPTS_GO_ON;
	switch (value->id) {
	case OPT_CALL_THREAD:
		options->part.thread = value->text;
		break;
	case OPT_VIEW:
		options->view = report_view_find(value->text);
		options->trace_view = report_trace_find(value->text);
		options->view_name = value->text;
		break;
	case OPT_SORT:
		options->sort = value->text;
		break;
	case OPT_STACKS:
		options->stacks = true;
		break;
	case OPT_RAW:
		options->raw = true;
		break;
	case OPT_RECORDED:
		options->recorded = true;
		break;
	case OPT_LIMIT:
		options->print.limit = value->number;
		options->limited = true;
		break;
	case OPT_MARKDOWN:
		options->markdown = true;
		break;
	case OPT_REPORT_VERBOSE:
		options->print.verbose = true;
		break;
	case OPT_FULL_NAMES:
		options->print.full_names = true;
		break;
	case OPT_JSON:
		options->json = true;
		break;
	case OPT_HTML:
		options->html = value->text;
		break;
	case OPT_NO_SOURCE:
		options->no_source = true;
		break;
	case OPT_REPAIR:
		options->repair = true;
		break;
	case OPT_REPORT_BY:
		options->by_recording = true;
		break;
	default:
		assert(!"an option of perfrec report that nobody takes");
	}
	return OPTS_GO_ON;
}

/* The operands are [FUNC] [DIR]. DIR FUNC is accepted as well. */
static void take_report_function(struct report_options *options, int argc,
				 char **argv)
{
	bool first_is_folder = argc && trace_command_is_folder(argv[0]);
	bool swapped = argc == 2 && first_is_folder &&
		       !trace_command_is_folder(argv[1]);

	if (argc == 2 || !first_is_folder)
		options->function = argc ? argv[swapped] : NULL;
	options->named = argc == 2 || first_is_folder;
	if (options->named)
		options->print.dir = argv[argc == 2 ? !swapped : 0];
}

static int parse_report_line(int argc, char **argv,
			     struct report_options *options)
{
	int result =
		opts_parse(CMD_REPORT, argc, argv, take_report_option, options);

	if (result != OPTS_GO_ON)
		return result;
	for (int i = optind; i < argc; i++)
		if (!argv[i][0]) {
			log_err("'': give the name of a folder");
			return OPTS_WRONG;
		}
	if (options->trace_view && options->trace_view->has_function &&
	    argc - optind <= 2) {
		take_report_function(options, argc - optind, argv + optind);
		return check_report_options(options);
	}
	if (argc - optind > 1)
		return check_several(options);
	if (options->by_recording) {
		log_err("--by recording: give several recordings");
		return OPTS_WRONG;
	}
	options->named = optind < argc;
	if (options->named)
		options->print.dir = argv[optind];
	return check_report_options(options);
}

static int write_report_page(const struct report_options *options)
{
	const struct page_options page = { .dir = options->print.dir,
					   .file = options->html,
					   .no_source = options->no_source };
	int err = report_range_given(&options->part)
			  ? page_range_write(&options->part.range,
					     options->part.thread, page.dir,
					     page.file)
			  : page_write(&page);

	return err ? OPTS_FAILED : OPTS_OK;
}

static int print_view(const struct report_options *options,
		      const struct summary *summary)
{
	const struct report_view_options view = {
		.view = options->view,
		.dir = options->print.dir,
		.sort = options->sort,
		.limit = options->json && !options->limited
				 ? 0
				 : options->print.limit,
		.stacks = options->stacks,
		.raw = options->raw,
		.full_names = options->print.full_names,
		.json = options->json,
		.markdown = options->markdown,
	};

	return report_view_print(summary, &view, stdout);
}

static int print_trace_view(const struct report_options *options)
{
	const struct report_trace_options view = {
		.dir = options->print.dir,
		.sort = options->sort,
		.limit = options->json && !options->limited
				 ? 0
				 : options->print.limit,
		.full_names = options->print.full_names,
		.json = options->json,
		.markdown = options->markdown,
		.stacks = options->stacks,
		.range = &options->part.range,
		.thread = options->part.thread,
		.function = options->function,
	};
	int err = options->trace_view->print(&view, stdout);

	if (err == -EIO)
		(void)text_out_finish();
	return err ? OPTS_FAILED : OPTS_OK;
}

/* Returns 0, or -EINVAL after one line if @summary lacks the sort key. */
static int check_order(const struct report_options *options,
		       const struct summary *summary)
{
	enum summary_order order = options->print.order;

	if (order >= SUMMARY_BY_MEDIAN && order <= SUMMARY_BY_MAX &&
	    summary->totals.spans && !summary_knows_durations(summary)) {
		log_err("--sort: '%s' does not know how long single calls "
			"took: it is of an older perfrec, or there was no "
			"memory for it; perfrec replay shows single calls",
			options->print.dir);
		return -EINVAL;
	}
	if (options->print.order >= SUMMARY_BY_ON_CPU &&
	    !summary_sched_known(summary)) {
		summary_sched_log_unknown(summary, options->print.dir,
					  "--sort");
		return -EINVAL;
	}
	return 0;
}

static void choose_times(struct report_options *options,
			 struct summary *summary)
{
	options->print.raw = options->raw;
	if (options->raw)
		summary_use_measured(summary);
	else if (options->recorded)
		summary_use_recorded(summary);
}

static int print_summary(struct report_options *options,
			 struct summary *summary)
{
	int err = check_order(options, summary);

	if (err)
		return err;
	choose_times(options, summary);
	if (!options->json)
		return summary_print(summary, &options->print, stdout);
	summary_sort(summary, options->print.order);
	return summary_write_json(
		summary, options->limited ? options->print.limit : 0, stdout);
}

/* Without --view: calls, and CPU time if there are samples. */
static int print_markdown(struct report_options *options,
			  struct summary *summary)
{
	const struct report_view *view = options->view;
	int err;

	if (!options->limited)
		options->print.limit = MARKDOWN_LIMIT;
	choose_times(options, summary);
	err = summary_print_markdown(summary, &options->print, !view, stdout);
	if (!view && summary->totals.cpu_samples) {
		options->view = report_view_find("cpu");
		options->sort = NULL;
	}
	return !err && options->view ? print_view(options, summary) : err;
}

/* Reads a recording with a killed collector, and a snapshot, from its trace. */
static int read_summary(const char *dir, struct summary **out)
{
	int err;

	if (!repair_is_needed(dir))
		return summary_read(dir, out);
	err = repair_show(dir, out);
	if (!err && !summary_is_snapshot(dir))
		log_info("'%s' has no " SUMMARY_NAME ", as its collector was "
			 "killed: this is from its trace; perfrec report "
			 "--repair %s writes the files that other commands "
			 "need",
			 dir, dir);
	return err;
}

static int print_several(char *const *dirs, size_t count,
			 const struct report_options *options)
{
	const struct together_options together = {
		.sort = options->sort,
		.limit = options->json && !options->limited
				 ? 0
				 : options->print.limit,
		.full_names = options->print.full_names,
		.by_recording = options->by_recording,
	};

	return report_several(dirs, count, &together, options->json);
}

int cmd_report(int argc, char **argv)
{
	struct report_options options = {
		.print = { .dir = RECORDING_DIR, .limit = SUMMARY_LIMIT },
	};
	struct summary *summary;
	int result = parse_report_line(argc, argv, &options), repaired;

	if (result != OPTS_GO_ON)
		return result;
	if (argc - optind > 1 && !options.function)
		return print_several(argv + optind, (size_t)(argc - optind),
				     &options);
	if (is_reported_part(&options) && !options.html)
		return report_range_print(&options.part);
	repaired = options.repair ? repair_write(options.print.dir) : 0;
	if (repaired)
		return repaired < 0 ? OPTS_FAILED : OPTS_OK;
	if (options.html)
		return write_report_page(&options);
	if (options.trace_view)
		return print_trace_view(&options);
	if (read_summary(options.print.dir, &summary))
		return OPTS_FAILED;
	if (options.markdown)
		result = print_markdown(&options, summary);
	else
		result = options.view ? print_view(&options, summary)
				      : print_summary(&options, summary);
	summary_free(&summary);
	/* report_view_print() logs all other errors. */
	if (result == -EIO)
		(void)text_out_finish();
	return result ? OPTS_FAILED : OPTS_OK;
}
