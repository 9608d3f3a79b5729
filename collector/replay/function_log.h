/* SPDX-License-Identifier: Apache-2.0
 *
 * function_log - which functions of a program have changed their state, and
 * when, on the clock of the trace (docs/NESTING.md, "Functions whose state
 * changes"). Every replay of the program reads it by itself, as it reads
 * pauses: nobody tells a replay of a change, and new threads and stacks know
 * all.
 *
 * One thread at a time writes: the patching thread. Any thread reads, without a
 * lock. Times are ns of CLOCK_BOOTTIME; a time before the last change is raised
 * to that. Report a change *before* its time comes: choose a time about a
 * millisecond ahead, report it, wait until it has passed, then write the first
 * byte. Then every replay knows the change before it reads the first later
 * record, and the trace is the same whenever records are drained. A late change
 * takes effect when it is reported: slices still nest, each span is still
 * counted once, but the trace keeps slices that began in the meantime.
 *
 * Addresses are those of records (the low 48 bits). A log holds
 * FUNCTION_LOG_MAX different functions, ever. A function that is only counted
 * is also off here: its exits are off, and its thunk records nothing.
 */
#ifndef PERFREC_COLLECTOR_REPLAY_FUNCTION_LOG_H
#define PERFREC_COLLECTOR_REPLAY_FUNCTION_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FUNCTION_LOG_MAX 49152u
/* So many changes are known in their order; and so many of each function. */
#define FUNCTION_LOG_CHANGES 8192u
#define FUNCTION_LOG_TIMES 8u

struct function_log;

/* 0 or -ENOMEM; after 0 the caller ends *@out by function_log_free(). It takes
 * memory as functions come, 6 MiB at most. */
int function_log_new(struct function_log **out);
/* Also for NULL; makes *@log NULL. */
void function_log_free(struct function_log **log);

/* --- written by one thread ------------------------------------------------ */

/* About @count functions will be connected at once: has memory ready. */
void function_log_expect(struct function_log *log, size_t count);

/*
 * The sites of @function call thunks from @ns on. So it may be counted: an end
 * of it that has no begin is no orphan. @entry_build: its records have the
 * stack pointer of the function's first instruction. Tell it before the first
 * site is written. Unless the program is held, tell function_log_off() the same
 * @ns at once: what begins until it is on does so by hooks that were under way,
 * and no thunk counts it. 0; -ENOSPC: the log is full, so leave the function as
 * it is.
 */
int function_log_connect(struct function_log *log, uint64_t function,
			 bool entry_build, uint64_t ns);
/*
 * From @ns on begins of @function make no slices, and ends may be missing. @ns
 * lies after the time when its path became THUNK_DRAIN (and after draining,
 * so that little is open), and before its first site is written. 0, also if it
 * is off already; -ENOSPC as above, so do not switch it off.
 */
int function_log_off(struct function_log *log, uint64_t function, uint64_t ns);
/* It may begin again from @ns on, which lies before the first byte is written.
 * Spans that were open when it went off are still without an end. Nothing
 * happens if it is not off. */
void function_log_on(struct function_log *log, uint64_t function, uint64_t ns);
/* The module at @start to @end - 1 is unloaded: what will lie there is neither
 * off nor connected. Looks at every function of the log. */
void function_log_unload(struct function_log *log, uint64_t start, uint64_t end,
			 uint64_t ns);

/* --- read by any thread --------------------------------------------------- */

enum function_change_kind {
	FUNCTION_LOG_CONNECTED,
	FUNCTION_LOG_OFF,
	FUNCTION_LOG_ON,
	FUNCTION_LOG_UNLOADED,
};

struct function_change {
	uint64_t function, ns;
	enum function_change_kind kind;
};

/* What is known of a function at some time. */
struct function_then {
	bool connected; /* its ends may come without begins */
	bool entry_build;
	bool off;
	uint64_t off_ns; /* when it went off last, before that time; 0: never */
	uint64_t connect_ns; /* when it was connected last; 0: never. Equal to
			      * off_ns: it went off to be connected */
};

/* How many changes there were, ever. */
uint32_t function_log_changes(const struct function_log *log);
/* Change number @index into *@out. False: it is not among the last ones, and
 * was forgotten. */
bool function_log_change(const struct function_log *log, uint32_t index,
			 struct function_change *out);
/* The state of @function at @ns; all zero if the log does not have it. Of its
 * changes the last FUNCTION_LOG_TIMES - 1 are known, at least. */
struct function_then function_log_state(const struct function_log *log,
					uint64_t function, uint64_t ns);

#endif
