/* SPDX-License-Identifier: Apache-2.0
 *
 * states_trace - changes of states in the trace: each process has a track with
 * an instant for each change, and a counter of functions that are not recorded,
 * so that nobody takes a muted stretch for an idle one.
 */
#ifndef PERFREC_COLLECTOR_STATES_STATES_TRACE_H
#define PERFREC_COLLECTOR_STATES_STATES_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct states;
struct states_change;
struct states_process;

/* Write @change for all processes of @states. It has happened: the states of
 * functions are as it says. The thread perfrec-states. */
void states_trace_change(struct states *states,
			 const struct states_change *change);
/* @process has begun, maybe with functions that its parent had muted. The same
 * thread. */
void states_trace_process(struct states *states,
			  struct states_process *process);

/* @count functions of the module at @path were not recorded in @process from
 * @from_ns to @to_ns, as it was loaded late. False: the trace does not know
 * @process yet. The same thread. */
bool states_trace_late(struct states *states, struct states_process *process,
		       const char *path, size_t count, uint64_t from_ns,
		       uint64_t to_ns);

#define STATES_TRACE_TEXT 512
/* Set @text to what a person reads of @change. Pure. */
void states_trace_name(const struct states_change *change,
		       char text[STATES_TRACE_TEXT]);

#endif
