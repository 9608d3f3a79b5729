/* SPDX-License-Identifier: Apache-2.0
 *
 * states_trace - state changes in the trace: each process has a track with an
 * instant for each change, and a counter of functions that are not recorded, so
 * that a muted stretch does not look idle. For the thread perfrec-states.
 */
#ifndef PERFREC_COLLECTOR_STATES_STATES_TRACE_H
#define PERFREC_COLLECTOR_STATES_STATES_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct states;
struct states_change;
struct states_process;

/* Writes @change, which has happened, for all processes of @states. */
void states_trace_change(struct states *states,
			 const struct states_change *change);
/* Writes the tracks of a new @process, which may have inherited muted
 * functions. */
void states_trace_process(struct states *states,
			  struct states_process *process);

/* Writes that @count functions of the module at @path, loaded late, were not
 * recorded in @process from @from_ns to @to_ns. Returns false if the trace does
 * not know @process yet. */
bool states_trace_late(struct states *states, struct states_process *process,
		       const char *path, size_t count, uint64_t from_ns,
		       uint64_t to_ns);

#define STATES_TRACE_TEXT 512
/* Writes the text of @change for a person to @text. Pure. */
void states_trace_name(const struct states_change *change,
		       char text[STATES_TRACE_TEXT]);

#endif
