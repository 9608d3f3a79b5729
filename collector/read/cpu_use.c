/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/read/cpu_use.h"

#include <stdbool.h>
#include <stdlib.h>

#include "collector/base/budget.h"
#include "collector/read/trace_switches.h"

static int compare_ran_tids(const void *left, const void *right)
{
	const int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;

	return (a > b) - (a < b);
}

int cpu_use_add(const struct trace_sched *sched, int64_t *tids, uint32_t count,
		struct budget *budget, struct ramp *running, uint32_t *cpus)
{
	bool seen[TRACE_CPUS_MAX] = { false };
	int err = 0;

	*cpus = 0;
	if (count)
		qsort(tids, count, sizeof(*tids), compare_ran_tids);
	for (uint32_t i = 0; !err && i < count; i++) {
		const struct trace_stretch *ran;
		uint32_t left;

		if (!tids[i] || (i && tids[i] == tids[i - 1]))
			continue;
		left = trace_sched_stretches(sched, tids[i], &ran);
		for (; !err && left; left--, ran++) {
			const uint32_t cpu = ran->cpu % TRACE_CPUS_MAX;

			*cpus += !seen[cpu];
			seen[cpu] = true;
			err = ramp_add(running, budget, ran->from, ran->to,
				       (double)(ran->to - ran->from));
		}
	}
	return err;
}
