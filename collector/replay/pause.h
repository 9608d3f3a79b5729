/* SPDX-License-Identifier: Apache-2.0
 *
 * pause - the pauses of a program's recording, on the clock of the trace. A
 * program notices a pause at its next chunk boundary. Until then it goes on
 * recording, and replay drops these records by their time.
 *
 * One thread begins and ends pauses; any thread may ask. Only the last
 * PAUSES_KEPT are known. That is enough, because a record is drained within a
 * fraction of a second.
 */
#ifndef PERFREC_COLLECTOR_REPLAY_PAUSE_H
#define PERFREC_COLLECTOR_REPLAY_PAUSE_H

#include <stdbool.h>
#include <stdint.h>

#define PAUSES_KEPT 64

struct pause_list {
	uint32_t changes; /* number of begins and ends; odd: paused */
	struct pause {
		uint64_t from_ns, to_ns; /* CLOCK_BOOTTIME */
	} at[PAUSES_KEPT]; /* pause n at n % PAUSES_KEPT */
};

/* Begins or ends a pause at @ns of CLOCK_BOOTTIME, which must not be before the
 * last change. Does nothing if recording is already paused, or not. */
void pause_begin(struct pause_list *list, uint64_t ns);
void pause_end(struct pause_list *list, uint64_t ns);

/* Returns a number that changes when a pause begins or ends. Any thread. */
uint32_t pause_changes(const struct pause_list *list);

/* Returns true if recording was paused at @ns. The answer is the same for all
 * times from *@from to *@to - 1, including @ns. Any thread. */
bool pause_at(const struct pause_list *list, uint64_t ns, uint64_t *from,
	      uint64_t *to);

#endif
