/* SPDX-License-Identifier: Apache-2.0
 *
 * pause - when the recording of a program was paused, on the clock of the
 * trace. A program that is told to pause notices at its next chunk boundary;
 * what it records until then, replay leaves out by time.
 *
 * One thread begins and ends pauses; any thread asks. The last PAUSES_KEPT
 * are known: a record waits for a fraction of a second to be drained.
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

/* It is paused, or goes on, from @ns on, which is not before the last change.
 * Nothing happens if it is already so. */
void pause_begin(struct pause_list *list, uint64_t ns);
void pause_end(struct pause_list *list, uint64_t ns);

/* Changes whenever there was a begin or an end. Any thread. */
uint32_t pause_changes(const struct pause_list *list);

/* Whether it was paused at @ns; *@from to *@to - 1, around @ns, is a stretch
 * for which the answer is the same. Any thread. */
bool pause_at(const struct pause_list *list, uint64_t ns, uint64_t *from,
	      uint64_t *to);

#endif
