/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/output/time_sums.h"

#include "shared/compiler.h"

static uint64_t tolerance(uint64_t bound_ns)
{
	return MAX(bound_ns / TIME_SUMS_PART, (uint64_t)TIME_SUMS_NS);
}

static uint64_t surplus(uint64_t ns, uint64_t bound_ns)
{
	uint64_t more = ns - MIN(ns, bound_ns);

	return more > tolerance(bound_ns) ? more : 0;
}

struct time_surplus time_sums_check(const struct time_sums *sums)
{
	struct time_surplus out = { 0 };
	uint64_t threads_ns, rest_ns;

	if (sums->cpu_ns)
		out.threads_ns = surplus(sums->threads_ns, sums->cpu_ns);
	threads_ns = sums->threads_ns - out.threads_ns;
	rest_ns = sums->cpu_ns - MIN(sums->cpu_ns, threads_ns);
	/* silent_ns may exceed its rest by the tolerance of the whole bound. */
	if (sums->cpu_ns && sums->silent_ns > rest_ns &&
	    sums->silent_ns - rest_ns > tolerance(sums->cpu_ns))
		out.silent_ns = sums->silent_ns - rest_ns;
	out.functions_ns =
		surplus(sums->functions_ns, threads_ns + sums->stolen_ns);
	return out;
}

uint64_t time_sums_cpu_ns(uint64_t waited_ns, uint64_t sampled_ns, bool sampled)
{
	return sampled ? MAX(waited_ns, sampled_ns) : 0;
}

bool time_sums_make_up(uint64_t parts_ns, uint64_t wall_ns)
{
	uint64_t off =
		parts_ns > wall_ns ? parts_ns - wall_ns : wall_ns - parts_ns;

	return off <= tolerance(wall_ns);
}
