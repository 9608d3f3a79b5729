/* SPDX-License-Identifier: Apache-2.0
 *
 * states_told - adds the states of functions to the summary of a recording.
 */
#ifndef PERFREC_COLLECTOR_DRAIN_STATES_TOLD_H
#define PERFREC_COLLECTOR_DRAIN_STATES_TOLD_H

struct arena;

/* Adds the states of @arena, which has ended, to its recording; before
 * states_end(). Main thread. */
void states_told(struct arena *arena);

#endif
