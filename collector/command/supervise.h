/* SPDX-License-Identifier: Apache-2.0
 *
 * supervise - a program and its collector, from the start of the one to the
 * end of the other. Whoever started perfrec must see the program: its
 * signals, its job control, its end.
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
 * Start the collector, then the program. On success the caller owns *@out
 * and ends it with supervise_wait(). Otherwise neither is left. Returns 0,
 * -errno after logging one line, or the number of the signal that ended it.
 * Once in the life of a process: it takes over its signals.
 */
int supervise_start(const struct supervise_plan *plan, struct supervise **out);

/*
 * Wait for the program (with its descendants, if they are to be followed, or
 * until a signal ends that), then for the collector; frees *@supervise. Returns
 * the program's wait status.
 */
int supervise_wait(struct supervise **supervise, enum supervise_end *end);

/* End this process as @wait_status says its child ended. */
_Noreturn void supervise_exit(int wait_status);

#endif
