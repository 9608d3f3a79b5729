/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/read/ramp.h"

#include <errno.h>
#include <stdlib.h>

#include "collector/base/budget.h"
#include "collector/base/grow.h"
#include "collector/base/search.h"
#include "shared/compiler.h"

int ramp_add(struct ramp *ramp, struct budget *budget, uint64_t from_ns,
	     uint64_t to_ns, double amount)
{
	double slope;

	if (from_ns >= to_ns)
		return 0;
	if (grow_array_from(budget, ramp->corners, ramp->room, ramp->count + 2))
		return -ENOMEM;
	slope = amount / (double)(to_ns - from_ns);
	ramp->corners[ramp->count++] =
		(struct ramp_corner){ .ns = from_ns, .slope = slope };
	ramp->corners[ramp->count++] =
		(struct ramp_corner){ .ns = to_ns, .slope = -slope };
	return 0;
}

static int compare_corners(const void *left, const void *right)
{
	const struct ramp_corner *a = left, *b = right;

	return (a->ns > b->ns) - (a->ns < b->ns);
}

void ramp_finish(struct ramp *ramp)
{
	double slope = 0, sum = 0;

	if (ramp->count)
		qsort(ramp->corners, ramp->count, sizeof(*ramp->corners),
		      compare_corners);
	for (size_t i = 0; i < ramp->count; i++) {
		struct ramp_corner *corner = &ramp->corners[i];

		if (i)
			sum += slope * (double)(corner->ns - corner[-1].ns);
		slope += corner->slope;
		corner->slope = slope;
		corner->sum = sum;
	}
}

double ramp_until(const struct ramp *ramp, uint64_t ns)
{
	const size_t after =
		search_first(i, ramp->count, ramp->corners[i].ns > ns);
	const struct ramp_corner *corner;

	if (!after)
		return 0;
	corner = &ramp->corners[after - 1];
	return corner->sum + corner->slope * (double)(ns - corner->ns);
}

/* Sums of slopes are not exact. */
double ramp_between(const struct ramp *ramp, uint64_t from_ns, uint64_t to_ns)
{
	double grown = ramp_until(ramp, to_ns) - ramp_until(ramp, from_ns);

	return MAX(0.0, MIN(grown, (double)(to_ns - from_ns)));
}

void ramp_release(struct ramp *ramp, struct budget *budget)
{
	free(ramp->corners);
	budget_give(budget, ramp->room * sizeof(*ramp->corners));
	*ramp = (struct ramp){ 0 };
}
