/* SPDX-License-Identifier: Apache-2.0
 *
 * record_wire - what `perfrec record` and the perfrec-collect it started
 * tell each other, over one SOCK_SEQPACKET socket pair. perfrec-collect has
 * its end from --recording FD. Each message is one struct control_message,
 * sent whole; a packet of another size or type means that the peer is of
 * another version. End of file from either side ends the other in good
 * order: a collector without its perfrec closes the recording, a perfrec
 * without its collector lets the program go on.
 *
 *     perfrec-collect                perfrec
 *     READY | FAILED  ------------>          program is started after READY
 *                     <------------  CHILD   its pid, before its first exec
 *     WATCHED         ------------>          now it may exec
 *     PROGRESS ...    ------------>          about 5 a second
 *     STOPPED         ------------>          by a signal of another process
 *                     <------------  FINISH  it has ended
 *     DONE | FAILED   ------------>          files are whole (FAILED: not)
 *
 * A perfrec that could not start its program sends no FINISH: it closes its
 * end, waits for the collector to exit, and removes the folder.
 */
#ifndef PERFREC_COLLECTOR_SERVE_RECORD_WIRE_H
#define PERFREC_COLLECTOR_SERVE_RECORD_WIRE_H

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
};

/* For PERFREC_SOCKET of the program. */
struct control_ready {
	char socket_path[CONTROL_TEXT_MAX]; /* NUL-terminated */
};

/* One line for a person, without "perfrec: " and without a newline; empty
 * when the collector has said it itself, on the stderr that both share. */
struct control_failed {
	char text[CONTROL_TEXT_MAX]; /* NUL-terminated */
};

struct control_child {
	int64_t pid;
};

struct control_progress {
	uint64_t spans; /* recorded so far */
	uint64_t bytes; /* of trace on disk */
	uint64_t dropped_spans; /* dropped and truncated */
};

struct control_finish {
	int64_t wait_status; /* as of waitpid(2) */
	uint64_t start_ns, end_ns; /* CLOCK_BOOTTIME: fork, and reaped */
	uint64_t user_ns, sys_ns; /* of the whole tree that was waited for */
};

struct control_stopped {
	int64_t signal, pid; /* which, and whose */
};

struct control_done {
	int64_t exit_code; /* 0: all files whole, 1: see the log */
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
