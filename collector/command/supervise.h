/* SPDX-License-Identifier: Apache-2.0
 *
 * supervise - runs a program and its collector, from the start of the collector
 * to its end after the program's. To the parent, perfrec behaves like the
 * program: signals, job control and end. For a process of one thread.
 */
#ifndef PERFREC_COLLECTOR_COMMAND_SUPERVISE_H
#define PERFREC_COLLECTOR_COMMAND_SUPERVISE_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/* Result of the recording. */
enum supervise_end {
	SUPERVISE_WHOLE,
	SUPERVISE_UNWRITTEN, /* some files could not be written; logged */
	SUPERVISE_LOST, /* the collector is gone; logged */
	/* a signal ended the wait for the collector, which is still writing;
	 * logged */
	SUPERVISE_LEFT,
};

struct spawn_program;
struct spawn_parts;
struct supervise;

struct supervise_plan {
	const struct spawn_parts *parts;
	const struct spawn_program *program;
	char *const *collector_argv; /* with --recording SPAWN_CONTROL_FD */
	const sigset_t *mask; /* of blocked signals at the program's start */
	uint64_t ring_kb; /* for the program; 0: from its environment */
	bool progress; /* show a line on stderr if it is a terminal */
	bool follow; /* also wait for all descendants */
};

/*
 * Starts the collector, then the program. @plan and its pointers must outlive
 * *@out. Returns 0, and the caller calls supervise_wait(). Otherwise leaves no
 * process, and returns -errno after one line in the log, or the number of the
 * signal that ended perfrec. Once per process, because it takes over the
 * signals.
 */
int supervise_start(const struct supervise_plan *plan, struct supervise **out);

/*
 * Waits for the program, with plan->follow also for its descendants until a
 * signal, and then for the collector. Frees *@supervise and sets it to NULL.
 * Sets *@end to the result of the recording. Returns the wait status of the
 * program.
 */
int supervise_wait(struct supervise **supervise, enum supervise_end *end);

/* Ends this process like a child with @wait_status: with its exit status or by
 * its signal. */
_Noreturn void supervise_exit(int wait_status);

#endif
