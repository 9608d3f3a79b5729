/* SPDX-License-Identifier: Apache-2.0
 *
 * call_watches - the functions of a process that have triggers, and how long a
 * call must take to fire (record/triggers.h). Each drain worker has its own set,
 * like histograms (process_durations.h).
 *
 * Bounds relative to the p99 of a function are recomputed from its histogram at
 * intervals, once it has P99_CALLS calls.
 */
#ifndef PERFREC_COLLECTOR_DRAIN_CALL_WATCHES_H
#define PERFREC_COLLECTOR_DRAIN_CALL_WATCHES_H

#include <stdbool.h>
#include <stdint.h>

struct call_watches;
struct cct;
struct cct_function;
struct process;
struct trigger_call;

/* Returns the watches of @process for threads in the slots of drain worker
 * @worker. NULL: out of memory, or no trigger watches calls. All functions here
 * are for that worker, except call_watches_finish(). */
struct call_watches *call_watches_of(struct process *process, uint32_t worker);
/* Frees the watches of @process, after all its threads are summed up. Jobs
 * thread. */
void call_watches_finish(struct process *process);

/* Returns how many ns a call of a function must take to fire, at least. The
 * function was at @address in @generation of the load map; its name has been
 * read, or it has none. UINT64_MAX: its calls never fire. */
uint64_t call_watches_slow_ns(struct call_watches *watches, uint64_t address,
			      uint32_t generation);
/* Fires for a call of @function that reached its bound. @call has its times and
 * its thread. Returns as triggers_call(). */
bool call_watches_fire(struct call_watches *watches,
		       const struct cct_function *function,
		       struct trigger_call *call);

/* Recomputes relative bounds if the pause is over at @ns. Returns a version
 * that changes with any bound. */
uint32_t call_watches_look(struct call_watches *watches, uint64_t ns);
void call_watches_set(const struct call_watches *watches, struct cct *tree);
/* Reports that applying new bounds took @ns; the next look comes later
 * accordingly. */
void call_watches_took(struct call_watches *watches, uint64_t ns);

#endif
