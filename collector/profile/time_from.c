/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/profile/time_from.h"

#include "shared/compiler.h"

void time_facts_add(struct time_facts *facts, double ran_ns, double runnable_ns,
		    double own_ns)
{
	double wanted_ns = ran_ns + runnable_ns;

	facts->own_ns += own_ns;
	if (wanted_ns > 0)
		facts->left_ns += ran_ns * (1 + own_ns / wanted_ns) - own_ns;
}

static bool calls_are_rough(const struct time_facts *facts)
{
	double part;

	/* Without waits, samples would lose times of waits. */
	if (!facts->waits ||
	    facts->own_ns <= TIME_OWN_PART_MIN * facts->left_ns)
		return false;
	part = MAX(facts->left_ns, 0) / facts->own_ns;
	return (double)facts->samples >= TIME_SAMPLES_ROUGH * part * part;
}

enum time_from time_from_choose(const struct time_facts *facts)
{
	if (facts->samples >= TIME_SAMPLES_MIN &&
	    (facts->muted || calls_are_rough(facts)))
		return TIME_FROM_SAMPLES;
	return TIME_FROM_CALLS;
}

const char *time_from_text(enum time_from from)
{
	return from == TIME_FROM_SAMPLES ? "samples" : "calls";
}
