/* SPDX-License-Identifier: Apache-2.0
 *
 * The conditions of --fail-if. Growth that is judged by the spread of runs must
 * also be a change, so that a build does not fail by chance.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/log.h"
#include "collector/base/text_out.h"
#include "collector/compare/diff.h"
#include "collector/compare/row_text.h"
#include "collector/names/name_pattern.h"
#include "collector/options/spelling.h"

static bool matches(const struct diff *diff, const struct expression *condition,
		    size_t row)
{
	const struct runs *runs = diff->runs;
	const struct runs_function *a = runs_frame(runs, row, 0), *b = a;

	if (a->other != RUNS_NONE)
		b = runs_function(runs, a->other);
	return name_pattern_matches(condition->glob, a->name, a->module) ||
	       name_pattern_matches(condition->glob, b->name, b->module);
}

static bool exceeds(const struct judge_cell *cell,
		    const struct expression *condition)
{
	double growth = cell->b - cell->a;

	if (!condition->growth)
		return cell->b > condition->number;
	if (condition->unit == EXPRESSION_PERCENT)
		return growth > 0 && growth * 100 > condition->number * cell->a;
	return growth > condition->number;
}

/* Returns true for growth that is judged by the spread and is no change. */
static bool may_be_chance(const struct diff *diff,
			  const struct expression *condition, uint32_t metric,
			  const struct judge_cell *cell)
{
	return condition->growth && !cell->changed &&
	       diff->judged.metric[metric].how == JUDGE_SPREAD;
}

bool diff_holds(const struct diff *diff, size_t number, size_t row)
{
	const struct expression *condition = &diff->conditions[number];
	uint32_t metric = runs_find_metric(diff->runs, condition->value);
	const struct judge_cell *cell;

	if (metric == RUNS_NONE || !matches(diff, condition, row))
		return false;
	cell = judged_cell(&diff->judged, row, metric);
	return exceeds(cell, condition) &&
	       !may_be_chance(diff, condition, metric, cell);
}

/* Logs the growth beyond condition @number that may be chance: the function
 * that grew most, and the number of functions. */
static void warn_of_chance(const struct diff *diff, size_t number)
{
	const struct expression *condition = &diff->conditions[number];
	uint32_t metric = runs_find_metric(diff->runs, condition->value);
	const struct judge_cell *most = NULL;
	size_t count = 0, at = 0;
	char a[ROW_VALUE_TEXT], b[ROW_VALUE_TEXT];

	for (size_t row = 0; row < runs_row_count(diff->runs); row++) {
		const struct judge_cell *cell =
			judged_cell(&diff->judged, row, metric);

		if (!matches(diff, condition, row) ||
		    !exceeds(cell, condition) ||
		    !may_be_chance(diff, condition, metric, cell))
			continue;
		count++;
		if (most && cell->b - cell->a <= most->b - most->a)
			continue;
		most = cell;
		at = row;
	}
	if (!most)
		return;
	log_warn("--fail-if '%.200s': %zu grew by more, but by no more than "
		 "chance can explain, and did not count (the most: %.200s, "
		 "%s -> %s): record more runs, the two sides alternately",
		 condition->text, count, runs_frame(diff->runs, at, 0)->name,
		 row_value(&diff->runs->metric[metric], most->a, false, a),
		 row_value(&diff->runs->metric[metric], most->b, false, b));
}

static const char *condition_unit(const struct expression *condition)
{
	switch (condition->unit) {
	case EXPRESSION_NS:
		return "nanoseconds";
	case EXPRESSION_BYTES:
		return "bytes";
	default:
		return "count";
	}
}

static const char *unit_wanted(const struct runs_metric *metric)
{
	if (strcmp(metric->unit, "nanoseconds") == 0)
		return "a time: choose ns, us, ms or s";
	if (strcmp(metric->unit, "bytes") == 0)
		return "a size: choose B, K, M or G";
	return "a count: give a number without a unit";
}

int diff_check_condition(const struct diff *diff, size_t number)
{
	const struct runs *runs = diff->runs;
	const struct expression *condition = &diff->conditions[number];
	uint32_t metric = runs_find_metric(runs, condition->value);
	const char *near;
	const char *glob;
	size_t count;
	const char **names;

	if (metric == RUNS_NONE) {
		char keys[512] = "";

		for (size_t i = 0; i < runs->metric_count; i++) {
			size_t length = strlen(keys);

			snprintf(keys + length, sizeof(keys) - length, "%s%s",
				 i ? ", " : "", runs->metric[i].key);
		}
		log_err("--fail-if '%.200s': the recordings have no %s; they "
			"have %s",
			condition->text, condition->value, keys);
		return -EINVAL;
	}
	if (condition->unit != EXPRESSION_PERCENT &&
	    strcmp(condition_unit(condition), runs->metric[metric].unit) != 0) {
		log_err("--fail-if '%.200s': %s is %s", condition->text,
			condition->value, unit_wanted(&runs->metric[metric]));
		return -EINVAL;
	}
	for (size_t row = 0; row < runs_row_count(runs); row++)
		if (matches(diff, condition, row))
			return 0;
	/* A renamed or misspelt function: the condition would never hold
	 * again. */
	glob = condition->glob;
	count = runs->functions.count;
	names = calloc(count + 1, sizeof(*names));
	near = NULL;
	for (size_t i = 0; names && i < count; i++)
		names[i] = runs_function(runs, (uint32_t)i)->name;
	if (names)
		near = spelling_nearest(glob, strcspn(glob, "*?[@"), names,
					count);
	free(names);
	log_at(diff->allow_absent ? LOG_WARN : LOG_ERR,
	       "--fail-if '%.200s': no function matches '%.200s'%s%.200s%s%s",
	       condition->text, condition->glob, near ? ": did you mean '" : "",
	       near ? near : "", near ? "'?" : "",
	       diff->allow_absent ? "" : " (--allow-absent: let it pass)");
	return diff->allow_absent ? 0 : -EINVAL;
}

static void print_failed_row(const struct diff *diff, size_t number, size_t row,
			     const struct row_names *names, FILE *out)
{
	const struct expression *condition = &diff->conditions[number];
	uint32_t metric = runs_find_metric(diff->runs, condition->value);
	const struct judge_cell *cell = judged_cell(&diff->judged, row, metric);
	char a[ROW_VALUE_TEXT], b[ROW_VALUE_TEXT];

	fputs("fail: ", out);
	text_out(condition->text, out);
	fputs(": ", out);
	row_print(names, row, out);
	fprintf(out, ": %s -> %s\n",
		row_value(&diff->runs->metric[metric], cell->a, false, a),
		row_value(&diff->runs->metric[metric], cell->b, false, b));
}

size_t diff_print_failed(const struct diff *diff,
			 const struct diff_options *options, FILE *out)
{
	size_t failed = 0;

	for (size_t i = 0; i < diff->condition_count; i++) {
		warn_of_chance(diff, i);
		for (size_t row = 0; row < runs_row_count(diff->runs); row++) {
			struct row_names names;

			if (!diff_holds(diff, i, row))
				continue;
			failed++;
			if (!row_names_make(diff->runs, &row, 1,
					    options->full_names, &names))
				print_failed_row(diff, i, row, &names, out);
			row_names_release(&names);
		}
	}
	return failed;
}
