/* SPDX-License-Identifier: Apache-2.0
 *
 * record_wire - the protocol between `perfrec record` and its perfrec-collect,
 * on a SOCK_SEQPACKET socket pair. perfrec-collect gets its end by --recording
 * FD. Each packet is one struct control_message. A packet of another size or
 * type means that the peer has another version. At the end of file, a collector
 * closes the recording, and perfrec lets the program continue.
 *
 *     perfrec-collect                perfrec
 *     READY | FAILED  ------------>          program is started after READY
 *                     <------------  CHILD   its pid, before its first exec
 *     WATCHED         ------------>          now it may exec
 *     PROGRESS ...    ------------>          about 5 a second
 *     STOPPED         ------------>          by a signal of another process
 *                     <------------  FINISH  it has ended
 *     SENDING         ------------>          files are complete; perfrec-push
 *                                            still sends, until SIGINT
 *     DONE | FAILED   ------------>          files are complete (FAILED: not)
 *
 * If perfrec cannot start its program, it sends no FINISH. It closes its end,
 * waits for the collector to exit, and removes the folder.
 */
#ifndef PERFREC_COLLECTOR_OPTIONS_RECORD_WIRE_H
#define PERFREC_COLLECTOR_OPTIONS_RECORD_WIRE_H

#include <stdint.h>

#define CONTROL_TEXT_MAX 480

enum control_type {
	CONTROL_READY = 1,
	CONTROL_FAILED = 2,
	CONTROL_CHILD = 3,
	CONTROL_PROGRESS = 4,
	CONTROL_FINISH = 5,
	CONTROL_DONE = 6,
	CONTROL_WATCHED = 7,
	CONTROL_STOPPED = 8,
	CONTROL_SENDING = 9,
};

/* PERFREC_SOCKET for the program. */
struct control_ready {
	char socket_path[CONTROL_TEXT_MAX]; /* NUL-terminated */
};

/* One line for the user without "perfrec: " and newline. Empty if the collector
 * has already printed the error on the shared stderr. */
struct control_failed {
	char text[CONTROL_TEXT_MAX]; /* NUL-terminated */
};

struct control_child {
	int64_t pid;
};

struct control_progress {
	uint64_t spans;
	uint64_t bytes; /* of trace on disk */
	uint64_t dropped_spans; /* dropped and truncated */
};

struct control_finish {
	int64_t wait_status; /* as in waitpid(2) */
	uint64_t start_ns, end_ns; /* CLOCK_BOOTTIME: fork and reap */
	uint64_t user_ns, sys_ns; /* of all processes that were waited for */
};

struct control_stopped {
	int64_t signal, pid; /* sender's pid */
};

struct control_done {
	int64_t exit_code; /* 0: all files complete, 1: see the log */
};

struct control_message {
	uint32_t type; /* enum control_type */
	uint32_t version; /* WIRE_VERSION of the sender */
	union {
		struct control_ready ready;
		struct control_failed failed;
		struct control_child child;
		struct control_progress progress;
		struct control_finish finish;
		struct control_stopped stopped;
		struct control_done done;
	};
};

_Static_assert(sizeof(struct control_message) == 8 + CONTROL_TEXT_MAX,
	       "control");

#endif
