/* SPDX-License-Identifier: Apache-2.0
 *
 * pause - when the recording of a program was paused, on the clock of the
 * trace. A program that is told to pause notices it at its next chunk boundary.
 * Until then it goes on recording; replay leaves these records out by their
 * time.
 *
 * One thread begins and ends pauses; any thread may ask. Only the last
 * PAUSES_KEPT are known: enough, as a record waits for a fraction of a second
 * until it is drained.
 */
#ifndef PERFREC_COLLECTOR_REPLAY_PAUSE_H
#define PERFREC_COLLECTOR_REPLAY_PAUSE_H

#include <stdbool.h>
#include <stdint.h>

#define PAUSES_KEPT 64

/* All zero: never paused. */
struct pause_list {
	uint32_t changes; /* begins and ends, ever; odd: paused */
	struct pause {
		uint64_t from_ns, to_ns; /* CLOCK_BOOTTIME */
	} at[PAUSES_KEPT]; /* the n-th ever at n % PAUSES_KEPT */
};

/* Recording is paused (goes on) from @ns of CLOCK_BOOTTIME on, which must not
 * lie before the last change. Does nothing if it is paused (goes on) already.
 */
void pause_begin(struct pause_list *list, uint64_t ns);
void pause_end(struct pause_list *list, uint64_t ns);

/* A number that becomes another one with each begin or end. Any thread. */
uint32_t pause_changes(const struct pause_list *list);

/* Whether recording was paused at @ns. The answer is the same for all times
 * from *@from to *@to - 1; @ns is one of them. Any thread. */
bool pause_at(const struct pause_list *list, uint64_t ns, uint64_t *from,
	      uint64_t *to);

#endif
