/* SPDX-License-Identifier: Apache-2.0
 *
 * judge - decides which differences between two sides are changes, and which
 * may be chance. docs/JSON.md explains the rules.
 */
#ifndef PERFREC_COLLECTOR_COMPARE_JUDGE_H
#define PERFREC_COLLECTOR_COMPARE_JUDGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/compare/runs.h"

#define JUDGE_RUNS 3 /* per side; fewer have no spread */

/* How the differences of a metric are judged. */
enum judge_how {
	JUDGE_NOT, /* not judged: no difference is a change */
	JUDGE_EXACT, /* values do not vary: each difference is a change */
	JUDGE_SPREAD, /* differences beyond the spread are changes */
};

struct judge_metric {
	enum judge_how how;
	const char *why; /* of JUDGE_NOT: a constant, "one run each" */
	size_t judged; /* JUDGE_SPREAD: number of rows that are large enough */
	/* JUDGE_SPREAD: the least change of a typical row that could be shown,
	 * as a share of the row. 0: unknown. */
	double least;
};

/* A metric of a row, on both sides. */
struct judge_cell {
	double a, b; /* medians over the runs of each side */
	double a_min, a_max, b_min, b_max;
	bool changed;
	/* JUDGE_SPREAD: not changed, but large enough, and the sides do not
	 * overlap. */
	bool may_have_changed;
};

struct judged {
	struct judge_metric metric[RUNS_METRICS_MAX];
	struct judge_cell *cells; /* see judged_cell() */
	size_t metric_count;
};

/* Judges all differences between the sides of @runs. The caller frees *@out
 * with judged_release(). Returns 0 or -ENOMEM. */
int judge(const struct runs *runs, struct judged *out);
void judged_release(struct judged *judged);

/* Returns half of the range of a side's runs, as a share of their median: the
 * larger one of both sides. */
double judge_half_range(const struct judge_cell *cell);

const struct judge_cell *judged_cell(const struct judged *judged, size_t row,
				     size_t metric);

#endif
