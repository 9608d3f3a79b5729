/* SPDX-License-Identifier: Apache-2.0
 *
 * wait_call - parses the system call of a blocked thread from
 * /proc/PID/task/TID/syscall, and describes the system calls that block. Pure:
 * any thread.
 */
#ifndef PERFREC_COLLECTOR_SAMPLES_WAIT_CALL_H
#define PERFREC_COLLECTOR_SAMPLES_WAIT_CALL_H

#include <stdbool.h>
#include <stdint.h>

/* The longest line has a number, six arguments, sp and pc. */
#define WAIT_CALL_BYTES 256
#define WAIT_CALL_ARGS 6

struct wait_call {
	/* False: blocked, but in no system call (a page fault, or stopped);
	 * number and arg are not set. */
	bool in_call;
	long number;
	uint64_t arg[WAIT_CALL_ARGS];
	uint64_t sp, pc; /* in user mode */
};

/* Parses @text, the NUL-terminated content of a syscall file, into *@out.
 * Returns 0; -EAGAIN: the thread is not blocked ("running"); -EBADMSG:
 * malformed. */
int wait_call_parse(const char *text, struct wait_call *out);

enum wait_kind {
	WAIT_OTHER, /* only the name of the call is known */
	WAIT_FUTEX,
	WAIT_FUTEXES, /* several: struct futex_waitv at argument 0 */
	WAIT_DESCRIPTOR, /* on one descriptor, which is an argument */
	WAIT_POLL, /* a set: struct pollfd at argument 0, count in 1 */
	WAIT_SELECT, /* a set: bits at arguments 1 to 3, count in 0 */
	WAIT_SLEEP,
	WAIT_CHILD,
	WAIT_SIGNAL,
};

struct wait_call_kind {
	long number;
	const char *name; /* as in man pages */
	enum wait_kind kind;
	uint8_t descriptor; /* DESCRIPTOR: index of the argument */
};

/* Returns the description of system call @number, which is static, or NULL. */
const struct wait_call_kind *wait_call_kind(long number);

/* Returns true if system call @number may wait until another thread writes. */
bool wait_call_reads(long number);

#endif
