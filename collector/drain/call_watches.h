/* SPDX-License-Identifier: Apache-2.0
 *
 * call_watches - which functions of a process have triggers, and from which
 * duration on their calls fire (flight/triggers.h): one set for each drain
 * worker, as there is one of histograms (process_durations.h).
 *
 * Bounds relative to the p99 of a function are computed anew from its histogram
 * now and then, once it has been called P99_CALLS times.
 */
#ifndef PERFREC_COLLECTOR_DRAIN_CALL_WATCHES_H
#define PERFREC_COLLECTOR_DRAIN_CALL_WATCHES_H

#include <stdint.h>

struct call_watches;
struct cct;
struct cct_function;
struct process;
struct trigger_call;

/* The watches of @process for threads in the slots of drain worker @worker,
 * which calls all of these functions. NULL: there is no memory, or no trigger
 * is of calls. */
struct call_watches *call_watches_of(struct process *process, uint32_t worker);
/* All threads of @process have been summed up: frees what it has. The jobs
 * thread. */
void call_watches_finish(struct process *process);

/* From which duration on calls of the function that was at @address in
 * @generation of the load map are told. Its name has been read, or it has
 * none. UINT64_MAX: none is. */
uint64_t call_watches_slow_ns(struct call_watches *watches, uint64_t address,
			      uint32_t generation);
/* A call of @function, from @call->begin_ns to @call->end_ns in the thread that
 * @call names, took as long as that: fires. */
void call_watches_fire(struct call_watches *watches,
		       const struct cct_function *function,
		       struct trigger_call *call);

/* Computes relative bounds anew, if it is time for that at @ns. Returns a
 * number that changes when a bound does. */
uint32_t call_watches_look(struct call_watches *watches, uint64_t ns);
/* Sets the relative bounds in @tree. */
void call_watches_set(const struct call_watches *watches, struct cct *tree);
/* That took @ns: the next look comes the later, the longer it took. */
void call_watches_took(struct call_watches *watches, uint64_t ns);

#endif
