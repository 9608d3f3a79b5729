/* SPDX-License-Identifier: Apache-2.0
 *
 * triggers - compares events with the triggers of a recording in flight mode
 * and puts matches into the queue of snapshots. Triggers come from --trigger;
 * PERFREC_TRIGGER() annotations and crashes always count.
 *
 * A trigger that fires all the time stays cheap: in each period only its first
 * events are queued one by one, and the others are merged into one span.
 *
 * All functions except triggers_new() and triggers_free() may be called by any
 * thread and never wait. @triggers may be NULL (a recording without triggers)
 * unless a comment says otherwise.
 */
#ifndef PERFREC_COLLECTOR_RECORD_TRIGGERS_H
#define PERFREC_COLLECTOR_RECORD_TRIGGERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct argument_condition;
struct flight_queue;
struct trigger;
struct triggers;

struct trigger_place {
	uint64_t ns; /* CLOCK_BOOTTIME */
	pid_t pid, tid; /* 0: unknown */
};

/* Creates *@out for the @count triggers of @list. @list and @queue must outlive
 * *@out, which the caller frees with triggers_free(). Returns 0 or -ENOMEM. */
int triggers_new(const struct trigger *list, size_t count,
		 struct flight_queue *queue, struct triggers **out);
void triggers_free(struct triggers **triggers);

/* --- calls. A set of triggers is a bit mask: bit I is trigger I. */

/* Returns true if a trigger is about calls, so functions need their names. */
bool triggers_of_calls(const struct triggers *triggers);
uint32_t triggers_of_function(struct triggers *triggers, const char *name,
			      const char *module);
/* Returns the part of @set that is relative to the function's p99. @triggers is
 * not NULL. */
uint32_t triggers_relative(const struct triggers *triggers, uint32_t set);
/* Returns the least duration of a call that fires a trigger of @set, or
 * UINT64_MAX. @p99_ns is the p99 of the function, 0: unknown. @triggers is not
 * NULL. */
uint64_t triggers_slow_ns(const struct triggers *triggers, uint32_t set,
			  uint64_t p99_ns);

/* Returns the number of conditions on arguments, at most 8, and sets *@list to
 * them. Condition I is bit I of trigger_call.held. */
size_t triggers_conditions(const struct triggers *triggers,
			   const struct argument_condition *const **list);
/* Reports that calls had the arguments of these conditions, as bits. */
void triggers_name_conditions(struct triggers *triggers, uint8_t named);

struct trigger_call {
	uint32_t set;
	uint8_t held; /* conditions that its arguments fulfil */
	const char *function;
	uint64_t p99_ns; /* 0: unknown */
	uint64_t begin_ns, end_ns;
	uint64_t took_ns; /* without waits for the collector */
	pid_t pid, tid;
};
/* Reports a call that has ended, or that is still open. Fires the first trigger
 * of the set whose conditions it fulfils and whose bound it reaches. Returns false
 * if there is none. @triggers is not NULL. */
bool triggers_call(struct triggers *triggers, const struct trigger_call *call);

/* --- others -------------------------------------------------------------- */

/* Reports the instant @name. @asks: it is a PERFREC_TRIGGER(). */
void triggers_annotation(struct triggers *triggers,
			 const struct trigger_place *place, const char *name,
			 bool asks);

uint32_t triggers_of_counter(struct triggers *triggers, const char *name);
/* Reports a new @value of counter @name on track @track (its uuid). Fires the
 * triggers of @set whose bound the value has just crossed. The table holds
 * COUNTERS tracks; counters beyond that fire nothing. @triggers is not NULL. */
void triggers_counter(struct triggers *triggers, uint32_t set, uint64_t track,
		      const struct trigger_place *place, const char *name,
		      double value);

void triggers_signal(struct triggers *triggers, uint64_t ns, int number);
/* Reports that signal @number ended process @name. A second report of the same
 * process in a row is ignored. */
void triggers_crash(struct triggers *triggers,
		    const struct trigger_place *place, const char *name,
		    int number);

/* --- all ----------------------------------------------------------------- */

/* Queues held events whose period is over at @ns; UINT64_MAX: all. Cheap enough
 * to call often. */
void triggers_flush(struct triggers *triggers, uint64_t ns);
uint64_t triggers_fired(const struct triggers *triggers);
/* Returns the next trigger at or after *@at (0 at first) whose FUNC or NAME
 * never matched, and moves *@at behind it. Returns NULL at the end. */
const struct trigger *triggers_missing(const struct triggers *triggers,
				       size_t *at);
/* The same for triggers whose FUNC matched, with a condition on an argument that
 * no call had. Sets *@argument to its name. */
const struct trigger *triggers_missing_argument(const struct triggers *triggers,
						size_t *at,
						const char **argument);

#endif
