/* SPDX-License-Identifier: Apache-2.0
 *
 * judge - which differences between two sides are changes, and which may be
 * chance. docs/DIFF.md explains the rules and why they are these.
 */
#ifndef PERFREC_COLLECTOR_COMPARE_JUDGE_H
#define PERFREC_COLLECTOR_COMPARE_JUDGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/compare/runs.h"

/* How the differences of a metric are judged. */
enum judge_how {
	JUDGE_NOT, /* not at all: differences are shown, none is a change */
	JUDGE_EXACT, /* each difference is a change: the values do not vary */
	JUDGE_SPREAD, /* what stands out of the spread of the runs */
};

struct judge_metric {
	enum judge_how how;
	const char *why; /* of JUDGE_NOT: a constant, "one run a side" */
	size_t judged; /* of JUDGE_SPREAD: rows that are large enough */
	/* Of JUDGE_SPREAD: the least change that a typical row would have to
	 * have, as a share of it. 0: not known. */
	double least;
};

/* A metric of a row, on both sides. */
struct judge_cell {
	double a, b; /* medians over the runs of each side */
	double a_min, a_max, b_min, b_max;
	bool changed;
	/* Of JUDGE_SPREAD: not changed, but large enough, and the sides do not
	 * overlap. */
	bool may_have_changed;
};

struct judged {
	struct judge_metric metric[RUNS_METRICS_MAX];
	struct judge_cell *cells; /* see judged_cell() */
	size_t metric_count;
};

/* Judge all differences between the sides of @runs. The caller ends *@out with
 * judged_release(). 0 or -ENOMEM. */
int judge(const struct runs *runs, struct judged *out);
void judged_release(struct judged *judged);

const struct judge_cell *judged_cell(const struct judged *judged, size_t row,
				     size_t metric);

#endif
