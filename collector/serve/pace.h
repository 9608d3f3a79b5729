/* SPDX-License-Identifier: Apache-2.0
 *
 * pace - limits the rate of new programs of one user: 100 a second, after a
 * burst of 1,000. Another 50 a second are reserved for sessions (setsid(2))
 * that start few programs: a burst below 16, then one a second. This protects
 * against a loop in another terminal, not against users who create sessions.
 */
#ifndef PERFREC_COLLECTOR_SERVE_PACE_H
#define PERFREC_COLLECTOR_SERVE_PACE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define PACE_GROUPS 64

/* Leaky buckets: each member is the time until which past starts have used up a
 * rate. All zero at first. */
struct pace {
	uint64_t begun_ns; /* all starts */
	uint64_t spare_ns; /* starts while begun_ns was exhausted */
	struct pace_group {
		pid_t id;
		uint64_t begun_ns;
	} groups[PACE_GROUPS]; /* of all processes of a session */
};

/* Returns true if a start of session @id at @now (CLOCK_BOOTTIME, ns) exceeds
 * the rate. Pure. */
bool pace_is_too_fast(const struct pace *pace, pid_t id, uint64_t now);
/* Counts a start of session @id at @now. */
void pace_count(struct pace *pace, pid_t id, uint64_t now);

#endif
