/* SPDX-License-Identifier: Apache-2.0
 *
 * states_told - what the summary of a recording says of states of functions.
 */
#ifndef PERFREC_COLLECTOR_DRAIN_STATES_TOLD_H
#define PERFREC_COLLECTOR_DRAIN_STATES_TOLD_H

struct arena;

/* Add what is known of the states of @arena to its recording: it has ended, and
 * states_end() comes next. Main thread. */
void states_told(struct arena *arena);

#endif
