/* SPDX-License-Identifier: Apache-2.0
 *
 * supervise - runs a program and its collector: from the start of the collector
 * to its end, which comes after the program's. Whoever started perfrec sees the
 * program as if perfrec were not there: its signals, its job control, its end.
 * For a process of one thread.
 */
#ifndef PERFREC_COLLECTOR_COMMAND_SUPERVISE_H
#define PERFREC_COLLECTOR_COMMAND_SUPERVISE_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/* How the recording ended. */
enum supervise_end {
	SUPERVISE_WHOLE,
	SUPERVISE_UNWRITTEN, /* not all files could be written; logged */
	SUPERVISE_LOST, /* its collector is gone; logged */
	SUPERVISE_LEFT, /* a signal ended the waiting for its collector, which
			 * is still writing; logged */
};

struct spawn_program;
struct spawn_parts;
struct supervise;

struct supervise_plan {
	const struct spawn_parts *parts;
	const struct spawn_program *program;
	char *const *collector_argv; /* with --recording SPAWN_CONTROL_FD */
	const sigset_t *mask; /* of signals that the program starts with */
	uint64_t ring_kb; /* for the program; 0: as its environment has it */
	bool progress; /* show a line on stderr if it is a terminal */
	bool follow; /* not only the program, but all its descendants */
};

/*
 * Starts the collector, then the program. @plan and what it points to outlive
 * *@out. Returns 0: then the caller owns *@out, and ends it with
 * supervise_wait(). Otherwise no process is left, and it returns -errno after
 * one line in the log, or the number of the signal that told perfrec to end.
 * Once in the life of a process, because it takes over the signals.
 */
int supervise_start(const struct supervise_plan *plan, struct supervise **out);

/*
 * Waits for the program; if plan->follow also for its descendants, but a signal
 * ends that; then for the collector. Frees *@supervise, and sets it to NULL.
 * *@end says how the recording ended. Returns the wait status of the program.
 */
int supervise_wait(struct supervise **supervise, enum supervise_end *end);

/* Ends this process as the child ended that has @wait_status: with its exit
 * status, or by its signal. */
_Noreturn void supervise_exit(int wait_status);

#endif
