/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/command/cmd_report.h"

#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "collector/command/cmd_record.h"
#include "collector/base/log.h"
#include "collector/show/report_view.h"
#include "collector/base/size.h"
#include "collector/show/summary_print.h"
#include "collector/read/summary_read.h"
#include "collector/options/usage.h"
#include "shared/compiler.h"

static const char usage[] =
	"usage: perfrec report [options] [DIR]\n"
	"Print the summary of the recording in DIR (default: " RECORD_DIR ").\n"
	"\n"
	"  --view VIEW  functions (default): the summary, calls and wall time\n"
	"               cpu: CPU time sampled, of all code\n"
	"               heap: memory in use at the end, at the peak, "
	"allocated\n"
	"               span: calls, wall time, CPU time and memory together\n"
	"  --sort KEY   order; functions: self (default), total, calls, name\n"
	"               cpu: self, total, samples, name\n"
	"               heap: inuse, allocated, total, blocks, peak,\n"
	"               temporary, name\n"
	"               span: self, total, calls, cpu, allocated, inuse, "
	"peak,\n"
	"               name\n"
	"  --stacks     a row for each stack, not each function (not with\n"
	"               --view functions)\n"
	"  --limit N    show N rows, 0 for all (default: 20; all with "
	"--json)\n"
	"  --json       print it as JSON\n"
	"  --help       print this\n";

struct report_options {
	struct summary_print_options print;
	const struct report_view *view; /* NULL: functions */
	const char *sort; /* as given; NULL: not */
	bool stacks;
	bool json;
	bool limited; /* --limit was given */
};

/* The parsers return USAGE_GO_ON, or the exit status. */
static int parse_order(const char *text, enum summary_order *out)
{
	static const char *const names[] = {
		[SUMMARY_BY_SELF] = "self",
		[SUMMARY_BY_TOTAL] = "total",
		[SUMMARY_BY_CALLS] = "calls",
		[SUMMARY_BY_NAME] = "name",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (strcmp(text, names[i]) == 0) {
			*out = (enum summary_order)i;
			return USAGE_GO_ON;
		}
	}
	log_err("--sort '%s': choose self, total, calls or name", text);
	return USAGE_WRONG;
}

static int parse_view(const char *text, struct report_options *options)
{
	options->view = report_view_find(text);
	if (options->view || strcmp(text, "functions") == 0)
		return USAGE_GO_ON;
	log_err("--view '%s': choose functions, cpu, heap or span", text);
	return USAGE_WRONG;
}

/* Which keys there are depends on the view. */
static int check_sort(struct report_options *options)
{
	const char *keys;

	if (!options->view && options->stacks) {
		log_err("--stacks: choose --view cpu, heap or span");
		return USAGE_WRONG;
	}
	if (!options->sort)
		return USAGE_GO_ON;
	if (!options->view)
		return parse_order(options->sort, &options->print.order);
	if (report_view_has_key(options->view, options->sort, &keys))
		return USAGE_GO_ON;
	log_err("--sort '%s': choose %s", options->sort, keys);
	return USAGE_WRONG;
}

static int parse_limit(const char *text, struct report_options *options)
{
	uint64_t limit;

	if (size_parse_count(text, 0, UINT32_MAX, &limit)) {
		log_err("--limit '%s': give a number of functions, 0 for all",
			text);
		return USAGE_WRONG;
	}
	options->print.limit = limit;
	options->limited = true;
	return USAGE_GO_ON;
}

static int parse_options(int argc, char **argv, struct report_options *options)
{
	enum {
		OPT_VIEW = 256,
		OPT_SORT,
		OPT_STACKS,
		OPT_LIMIT,
		OPT_JSON,
		OPT_HELP
	};
	static const struct option table[] = {
		{ "view", required_argument, NULL, OPT_VIEW },
		{ "stacks", no_argument, NULL, OPT_STACKS },
		{ "sort", required_argument, NULL, OPT_SORT },
		{ "limit", required_argument, NULL, OPT_LIMIT },
		{ "json", no_argument, NULL, OPT_JSON },
		{ "help", no_argument, NULL, OPT_HELP },
		{ NULL, 0, NULL, 0 },
	};
	int result = USAGE_GO_ON;
	int c;

	while (result == USAGE_GO_ON &&
	       (c = getopt_long(argc, argv, ":", table, NULL)) != -1) {
		switch (c) {
		case OPT_VIEW:
			result = parse_view(optarg, options);
			break;
		case OPT_STACKS:
			options->stacks = true;
			break;
		case OPT_SORT:
			options->sort = optarg;
			break;
		case OPT_LIMIT:
			result = parse_limit(optarg, options);
			break;
		case OPT_JSON:
			options->json = true;
			break;
		case OPT_HELP:
			fputs(usage, stdout);
			return USAGE_OK;
		default:
			return usage_bad_option(c, argv, "perfrec report");
		}
	}
	if (result == USAGE_GO_ON && argc - optind > 1) {
		log_err("'%s': one recording at a time; see perfrec report "
			"--help",
			argv[optind + 1]);
		return USAGE_WRONG;
	}
	if (result == USAGE_GO_ON && optind < argc && !argv[optind][0]) {
		log_err("'': give the name of a folder");
		return USAGE_WRONG;
	}
	if (optind < argc)
		options->print.dir = argv[optind];
	return result == USAGE_GO_ON ? check_sort(options) : result;
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
		.json = options->json,
	};

	return report_view_print(summary, &view, stdout);
}

static int print_summary(struct report_options *options,
			 struct summary *summary)
{
	if (!options->json)
		return summary_print(summary, &options->print, stdout);
	summary_sort(summary, options->print.order);
	return summary_write_json(
		summary, options->limited ? options->print.limit : 0, stdout);
}

int cmd_report(int argc, char **argv)
{
	struct report_options options = {
		.print = { .dir = RECORD_DIR, .limit = SUMMARY_LIMIT },
	};
	struct summary *summary;
	int result = parse_options(argc, argv, &options);

	if (result != USAGE_GO_ON)
		return result;
	if (summary_read(options.print.dir, &summary))
		return USAGE_FAILED;
	result = options.view ? print_view(&options, summary)
			      : print_summary(&options, summary);
	summary_free(&summary);
	/* Views have said what else there was. */
	if (result == -EIO)
		log_err("cannot write the report: %s", strerror(-result));
	return result ? USAGE_FAILED : USAGE_OK;
}
