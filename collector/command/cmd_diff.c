/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/command/cmd_diff.h"

#include <assert.h>
#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/log.h"
#include "collector/base/text_out.h"
#include "collector/compare/diff.h"
#include "collector/options/expression.h"
#include "collector/options/opts.h"
#include "collector/page/page.h"

#define ROWS_SHOWN 10
#define CONDITIONS_MAX 32
#define OPTS_CONDITION 3 /* exit status: a condition of --fail-if holds */

/* Replaces "--", which getopt_long() drops when it sorts the words. */
static char g_between[] = "between";

struct diff_line {
	struct diff_options print;
	bool stacks, json, no_source, allow_absent;
	const char *html; /* file of the page, or NULL */
	struct expression *conditions;
	size_t condition_count;
	char **dirs; /* of side A, then of side B */
	size_t count, first_b;
};

static int take_diff_option(void *to, const struct opts_value *value)
{
	struct diff_line *line = to;
	struct expression_error error;

	switch (value->id) {
	case OPT_DIFF_STACKS:
		line->stacks = true;
		break;
	case OPT_DIFF_LIMIT:
		line->print.limit = value->number;
		break;
	case OPT_FULL_NAMES:
		line->print.full_names = true;
		break;
	case OPT_FAIL_IF:
		if (line->condition_count == CONDITIONS_MAX) {
			log_err("--fail-if: at most %d conditions",
				CONDITIONS_MAX);
			return OPTS_WRONG;
		}
		if (!expression_parse(value->text, false,
				      &line->conditions[line->condition_count],
				      &error)) {
			line->condition_count++;
			return OPTS_GO_ON;
		}
		expression_complain("--fail-if", value->text, &error);
		return OPTS_WRONG;
	case OPT_ALLOW_ABSENT:
		line->allow_absent = true;
		break;
	case OPT_JSON:
		line->json = true;
		break;
	case OPT_HTML:
		line->html = value->text;
		break;
	case OPT_NO_SOURCE:
		line->no_source = true;
		break;
	default:
		assert(!"an option of perfrec diff that nobody takes");
	}
	return OPTS_GO_ON;
}

static int parse_diff_line(int argc, char **argv, struct diff_line *line)
{
	int result;
	char **words;
	size_t count;
	bool between;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--") != 0)
			continue;
		argv[i] = g_between;
		break;
	}
	result = opts_parse(CMD_DIFF, argc, argv, take_diff_option, line);
	if (result != OPTS_GO_ON)
		return result;
	if (line->json && line->html) {
		log_err("--json, --html: choose one of them");
		return OPTS_WRONG;
	}
	if (line->no_source && !line->html) {
		log_err("--no-source: only with --html");
		return OPTS_WRONG;
	}
	if (line->allow_absent && !line->condition_count) {
		log_err("--allow-absent: only with --fail-if");
		return OPTS_WRONG;
	}
	words = argv + optind;
	count = (size_t)(argc - optind);
	/* The sides are split at g_between if it is there. */
	between = false;
	line->dirs = words;
	for (size_t i = 0; i < count; i++) {
		if (words[i] == g_between) {
			between = true;
			line->first_b = line->count;
		} else {
			words[line->count++] = words[i];
		}
	}
	if (!between && line->count == 2)
		line->first_b = 1;
	else if (!between || !line->first_b || line->first_b == line->count) {
		log_err("give two recordings, or several on both sides of --: "
			"perfrec diff A1 A2 A3 -- B1 B2 B3");
		return OPTS_WRONG;
	}
	if (line->count > RUNS_MAX) {
		log_err("%zu recordings: at most %d at a time", line->count,
			RUNS_MAX);
		return OPTS_WRONG;
	}
	return OPTS_GO_ON;
}

/* Returns the run in [@from, @to) with the median wall time. */
static const char *middle_run(const struct runs *runs, size_t from, size_t to)
{
	for (size_t i = from; i < to; i++) {
		size_t below = 0, equal = 0;
		uint64_t wall = runs->list[i].summary->wall_ns;

		for (size_t k = from; k < to; k++) {
			below += runs->list[k].summary->wall_ns < wall;
			equal += runs->list[k].summary->wall_ns == wall;
		}
		if (below <= (to - from) / 2 && below + equal > (to - from) / 2)
			return runs->list[i].dir;
	}
	return runs->list[from].dir;
}

static int write_diff(const struct diff_line *line, const struct diff *diff)
{
	int err;

	if (line->html) {
		const struct page_options page = {
			.dir = middle_run(diff->runs, diff->runs->first_b,
					  diff->runs->count),
			.base = middle_run(diff->runs, 0, diff->runs->first_b),
			.diff = line->stacks ? NULL : diff,
			.file = line->html,
			.no_source = line->no_source,
		};

		return page_write(&page);
	}
	err = line->json ? diff_write_json(diff, stdout)
			 : diff_print(diff, &line->print, stdout);
	if (err == -EIO)
		(void)text_out_finish();
	else if (err)
		log_err("cannot write the differences: %s", strerror(-err));
	return err;
}

static int show_diff(const struct diff_line *line, const struct diff *diff)
{
	size_t failed = 0;

	for (size_t i = 0; i < diff->condition_count; i++)
		if (diff_check_condition(diff, i))
			return OPTS_WRONG;
	if (write_diff(line, diff))
		return OPTS_FAILED;
	if (diff->condition_count)
		failed = diff_print_failed(diff, &line->print, stderr);
	return failed ? OPTS_CONDITION : OPTS_OK;
}

int cmd_diff(int argc, char **argv)
{
	struct diff_line line = { .print = { .limit = ROWS_SHOWN } };
	int result;

	line.conditions = calloc(CONDITIONS_MAX, sizeof(*line.conditions));
	if (!line.conditions) {
		log_err("out of memory");
		return OPTS_FAILED;
	}
	result = parse_diff_line(argc, argv, &line);
	if (result == OPTS_GO_ON) {
		struct runs runs;
		struct diff diff = { .runs = &runs,
				     .conditions = line.conditions,
				     .condition_count = line.condition_count,
				     .allow_absent = line.allow_absent };

		if (runs_read(line.dirs, line.count, line.first_b, line.stacks,
			      &runs)) {
			result = OPTS_FAILED;
		} else {
			if (judge(&runs, &diff.judged)) {
				log_err("out of memory");
				result = OPTS_FAILED;
			} else {
				result = show_diff(&line, &diff);
			}
			judged_release(&diff.judged);
			runs_release(&runs);
		}
	}
	free(line.conditions);
	return result;
}
