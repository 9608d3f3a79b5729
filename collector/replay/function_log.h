/* SPDX-License-Identifier: Apache-2.0
 *
 * function_log - the functions of a program that have changed their state, and
 * when, on the clock of the trace (docs/TRACE.md, "Functions whose state
 * changes"). Every replay of the program reads the log by itself, as it reads
 * pauses. So new threads and stacks know all changes.
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
 * Addresses are as in records (the low 48 bits). A log holds FUNCTION_LOG_MAX
 * different functions, ever. A function that is only counted is also off here:
 * its exits are off, and its thunk records nothing.
 */
#ifndef PERFREC_COLLECTOR_REPLAY_FUNCTION_LOG_H
#define PERFREC_COLLECTOR_REPLAY_FUNCTION_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FUNCTION_LOG_MAX 393216u
/* The number of known changes in order, and of each function. */
#define FUNCTION_LOG_CHANGES 8192u
#define FUNCTION_LOG_TIMES 8u

struct function_log;

/* Returns 0 or -ENOMEM. The caller ends *@out with function_log_free(). Memory
 * grows with the functions: 2 MiB, and 92 bytes for each. */
int function_log_new(struct function_log **out);
void function_log_free(struct function_log **log);

/* --- written by one thread ------------------------------------------------ */

/* Prepares memory for about @count functions that will be connected at once. */
void function_log_expect(struct function_log *log, size_t count);

/*
 * The sites of @function call thunks from @ns on. So it may be counted, and an
 * END may lack its BEGIN without being an orphan. @entry_build: its records
 * have the stack pointer of the function's first instruction. Report it before
 * the first site is written. Unless the program is held, call
 * function_log_off() with the same @ns at once: until the function is on again,
 * only hooks that were under way begin calls, and no thunk counts these.
 * Returns 0, or -ENOSPC if the log is full; then leave the function alone.
 */
int function_log_connect(struct function_log *log, uint64_t function,
			 bool entry_build, uint64_t ns);
/* From @ns on, begins of @function make no slices, and ends may be missing. @ns
 * lies after its path became THUNK_DRAIN (and after draining, so that little is
 * open), and before its first site is written. Returns 0, also if it is off
 * already, or -ENOSPC; then do not switch it off. */
int function_log_off(struct function_log *log, uint64_t function, uint64_t ns);
/* The function may begin again from @ns on, which lies before the first byte is
 * written. Spans that were open when it went off still have no end. Ignores a
 * function that is not off. */
void function_log_on(struct function_log *log, uint64_t function, uint64_t ns);
/* The module at @start to @end - 1 is unloaded: functions that are loaded there
 * later are neither off nor connected. Visits the connected functions. */
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

struct function_then {
	bool connected; /* its ends may come without begins */
	bool entry_build;
	bool off;
	uint64_t off_ns; /* last time off, before that time; 0: never */
	uint64_t connect_ns; /* last time connected; 0: never. Equal to off_ns:
			      * it went off to be connected */
};

uint32_t function_log_changes(const struct function_log *log);
/* Sets *@out to change number @index. Returns false if it is too old. */
bool function_log_change(const struct function_log *log, uint32_t index,
			 struct function_change *out);
/* Returns the state of @function at @ns, or all zero if it is not in the log.
 * Knows at least its last FUNCTION_LOG_TIMES - 1 changes. */
struct function_then function_log_state(const struct function_log *log,
					uint64_t function, uint64_t ns);

#endif
