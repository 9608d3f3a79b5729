/* SPDX-License-Identifier: Apache-2.0
 *
 * triggers - what a recording in flight mode writes snapshots for: those that
 * were asked for (--trigger), and, as nobody has to ask for them, annotations
 * that say so (PERFREC_TRIGGER()) and crashes. Others find out what happened;
 * here it is held against the triggers, and put into the queue of snapshots.
 *
 * A trigger that fires all the time costs little: of what it fires for in
 * PERIOD_NS, the first few are told one by one, and the others as one stretch
 * of time.
 *
 * Any thread may call all functions but triggers_new() and triggers_free();
 * none waits. Where nothing else is said, @triggers may be NULL: a recording
 * without triggers.
 */
#ifndef PERFREC_COLLECTOR_FLIGHT_TRIGGERS_H
#define PERFREC_COLLECTOR_FLIGHT_TRIGGERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct flight_queue;
struct trigger;
struct triggers;

/* Where something was. */
struct trigger_place {
	uint64_t ns; /* CLOCK_BOOTTIME */
	pid_t pid, tid; /* 0: of none */
};

/* For the @count triggers of @list; it and @queue must outlive *@out, which the
 * caller ends by triggers_free(). 0 or -ENOMEM. */
int triggers_new(const struct trigger *list, size_t count,
		 struct flight_queue *queue, struct triggers **out);
/* Frees *@triggers, which may be NULL, and sets it to NULL. */
void triggers_free(struct triggers **triggers);

/* --- calls. A set of triggers is a mask: bit I is trigger I.
 */

/* Whether there is one of calls: functions need their names then. */
bool triggers_of_calls(const struct triggers *triggers);
/* Those that are of the function @name in the module @module; 0: none. */
uint32_t triggers_of_function(struct triggers *triggers, const char *name,
			      const char *module);
/* Those of @set that are relative to the p99 of the function. Not NULL. */
uint32_t triggers_relative(const struct triggers *triggers, uint32_t set);
/* From which duration on a call fires one of @set, if the function has a p99 of
 * @p99_ns (0: not known); UINT64_MAX: none does. Not NULL. */
uint64_t triggers_slow_ns(const struct triggers *triggers, uint32_t set,
			  uint64_t p99_ns);

struct trigger_call {
	uint32_t set; /* of the function */
	const char *function;
	uint64_t p99_ns; /* 0: not known */
	uint64_t begin_ns, end_ns;
	uint64_t took_ns; /* without waits for the collector */
	pid_t pid, tid;
};
/* A call has ended, or is open since begin_ns: fires the first one of the set
 * that it is too long for, if there is one. Not NULL. */
void triggers_call(struct triggers *triggers, const struct trigger_call *call);

/* --- others ------------------------------------------------------------------
 */

/* An instant @name was met; @asks: it is a PERFREC_TRIGGER(). */
void triggers_annotation(struct triggers *triggers,
			 const struct trigger_place *place, const char *name,
			 bool asks);

/* Those that are of the counter @name; 0: none. */
uint32_t triggers_of_counter(struct triggers *triggers, const char *name);
/* The counter @name of @set, which has the track @track (its uuid), has @value
 * from now on. Fires those whose bound it has crossed. Of the first COUNTERS
 * tracks; those beyond that fire nothing. Not NULL. */
void triggers_counter(struct triggers *triggers, uint32_t set, uint64_t track,
		      const struct trigger_place *place, const char *name,
		      double value);

/* Signal @number came to perfrec-collect. */
void triggers_signal(struct triggers *triggers, uint64_t ns, int number);
/* A process, called @name, was ended by signal @number. Told twice in a row of
 * one process, it fires once. */
void triggers_crash(struct triggers *triggers,
		    const struct trigger_place *place, const char *name,
		    int number);

/* --- all ---------------------------------------------------------------------
 */

/* Puts what was held back, if the time for that is over at @ns; UINT64_MAX: all
 * of it. Often; cheap. */
void triggers_flush(struct triggers *triggers, uint64_t ns);
/* How often all of them have fired. */
uint64_t triggers_fired(const struct triggers *triggers);
/* The next trigger from *@at (0 at first) on whose FUNC or NAME nothing had;
 * sets
 * *@at behind it. NULL: there is no more. */
const struct trigger *triggers_missing(const struct triggers *triggers,
				       size_t *at);

#endif
