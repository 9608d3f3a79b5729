/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/profile/time_from.h"

enum time_from time_from_choose(const struct time_facts *facts)
{
	/* Without waits, samples would take them from times that have them. */
	bool rough = facts->waits && facts->own_ns > facts->left_ns;

	if (facts->muted && facts->samples >= TIME_SAMPLES_MIN)
		return TIME_FROM_SAMPLES;
	if (rough && facts->samples >= TIME_SAMPLES_ROUGH)
		return TIME_FROM_SAMPLES;
	return TIME_FROM_CALLS;
}

const char *time_from_text(enum time_from from)
{
	return from == TIME_FROM_SAMPLES ? "samples" : "calls";
}
