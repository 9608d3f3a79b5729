/* SPDX-License-Identifier: Apache-2.0
 *
 * pace - how fast programs of one user may begin: 100 a second, after 1,000 at
 * once. When who begins programs all the time has used that up, 50 a second
 * more are there for others, who are told apart by their session (setsid(2)):
 * those that have begun fewer than 16 programs at once, and one a second. That
 * is no defence against somebody who makes sessions, but one against a loop in
 * another terminal.
 */
#ifndef PERFREC_COLLECTOR_SERVE_PACE_H
#define PERFREC_COLLECTOR_SERVE_PACE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define PACE_GROUPS 64

/* Buckets that leak: each is the time up to which what came has used a rate up.
 * All zero at first. */
struct pace {
	uint64_t begun_ns; /* of all */
	uint64_t spare_ns; /* of those that came when begun_ns was used up */
	struct pace_group {
		pid_t id;
		uint64_t begun_ns;
	} groups[PACE_GROUPS]; /* of all processes of a session */
};

/* Whether a program of session @id begins too soon at @now (BOOTTIME), in ns.
 * Pure. */
bool pace_is_too_fast(const struct pace *pace, pid_t id, uint64_t now);
/* A program of session @id has begun at @now. */
void pace_count(struct pace *pace, pid_t id, uint64_t now);

#endif
