/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/serve/pace.h"

#include <stddef.h>

#include "shared/compiler.h"

#define PROGRAM_NS 10000000
#define BURST_NS (1000ULL * PROGRAM_NS)
#define SPARE_NS 20000000
#define SPARE_BURST_NS (100ULL * SPARE_NS)
#define GROUP_NS 1000000000
#define GROUP_BURST_NS (16ULL * GROUP_NS)
#define DEBT_NS_MAX 10000000000 /* limit of a debt */

static bool is_used_up(uint64_t used_ns, uint64_t now)
{
	return used_ns > now;
}

/* Adds one start of @ns. Unused rate is saved for at most @burst_ns. */
static void use_up(uint64_t *used_ns, uint64_t ns, uint64_t burst_ns,
		   uint64_t now)
{
	uint64_t least = now > burst_ns ? now - burst_ns : 0;

	*used_ns = MIN(MAX(*used_ns, least) + ns, now + DEBT_NS_MAX);
}

static size_t find_group(const struct pace *pace, pid_t id)
{
	size_t least = 0;

	for (size_t i = 0; i < ARRAY_SIZE(pace->groups); i++) {
		if (pace->groups[i].id == id)
			return i;
		if (pace->groups[i].begun_ns < pace->groups[least].begun_ns)
			least = i;
	}
	return least;
}

bool pace_is_too_fast(const struct pace *pace, pid_t id, uint64_t now)
{
	const struct pace_group *group = &pace->groups[find_group(pace, id)];

	if (!is_used_up(pace->begun_ns, now))
		return false;
	return is_used_up(pace->spare_ns, now) ||
	       (group->id == id && is_used_up(group->begun_ns, now));
}

void pace_count(struct pace *pace, pid_t id, uint64_t now)
{
	struct pace_group *group = &pace->groups[find_group(pace, id)];

	if (group->id != id)
		*group = (struct pace_group){ .id = id };
	use_up(&group->begun_ns, GROUP_NS, GROUP_BURST_NS, now);
	if (is_used_up(pace->begun_ns, now))
		use_up(&pace->spare_ns, SPARE_NS, SPARE_BURST_NS, now);
	else
		use_up(&pace->begun_ns, PROGRAM_NS, BURST_NS, now);
}
