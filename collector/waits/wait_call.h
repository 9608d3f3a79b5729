/* SPDX-License-Identifier: Apache-2.0
 *
 * wait_call - the system call that a blocked thread is in, as
 * /proc/PID/task/TID/syscall tells it, and what is known of the system calls
 * that block. Pure: any thread.
 */
#ifndef PERFREC_COLLECTOR_WAITS_WAIT_CALL_H
#define PERFREC_COLLECTOR_WAITS_WAIT_CALL_H

#include <stdbool.h>
#include <stdint.h>

/* The longest line has a number, six arguments, sp and pc. */
#define WAIT_CALL_BYTES 256
#define WAIT_CALL_ARGS 6

struct wait_call {
	bool in_call; /* false: blocked, but in no system call (a page fault,
		       * or it was stopped); number and arg are not set */
	long number;
	uint64_t arg[WAIT_CALL_ARGS];
	uint64_t sp, pc; /* of the thread in user mode */
};

/* Take apart @text, the NUL-terminated content of a syscall file, into *@out.
 * 0; -EAGAIN: the thread is not blocked ("running"); -EBADMSG: it is no such
 * line. */
int wait_call_parse(const char *text, struct wait_call *out);

enum wait_kind {
	WAIT_OTHER, /* nothing is known but the name of the call */
	WAIT_FUTEX,
	WAIT_FUTEXES, /* several: struct futex_waitv at argument 0 */
	WAIT_DESCRIPTOR, /* on one descriptor, which is an argument */
	WAIT_POLL, /* a set: struct pollfd at argument 0, their number in 1 */
	WAIT_SELECT, /* a set: bits at arguments 1 to 3, their number in 0 */
	WAIT_SLEEP,
	WAIT_CHILD,
	WAIT_SIGNAL,
};

struct wait_call_kind {
	long number;
	const char *name; /* as man pages call it */
	enum wait_kind kind;
	uint8_t descriptor; /* DESCRIPTOR: which argument it is */
};

/* What is known of system call @number; NULL: nothing. Lives for ever. */
const struct wait_call_kind *wait_call_kind(long number);

#endif
