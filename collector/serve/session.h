/* SPDX-License-Identifier: Apache-2.0
 *
 * session - a program from its hello to the end of the last of its processes:
 * what can be paused and stopped, and how many there may be. It has an arena,
 * and in the daemon a recording of its own, which may take a little longer.
 */
#ifndef PERFREC_COLLECTOR_SERVE_SESSION_H
#define PERFREC_COLLECTOR_SERVE_SESSION_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/base/log.h"

struct arena;
struct collector;
struct recording;

/* The limits of a collector on all sessions together; zero at first. */
struct session_limits {
	uint64_t arena_bytes; /* of what is mapped now */
	uint32_t sessions; /* that are listed now */
	uint64_t begun_ns; /* rate of hellos, as a bucket that leaks */
	uint64_t finished_bytes; /* on disk; under the collector's lock */
	/* Each reason has its own limit of lines, but the last is for all that
	 * find no room. */
	struct refusal {
		const char *why;
		struct log_limit limit;
	} refusal[32];
	uint64_t max_total; /* of all recordings, on disk; 0: no limit */
};

/* Unless said otherwise, every call is for the main thread. */

/* Why there may be no other session, with @arena_bytes, now; or NULL. */
const char *session_refuse(struct collector *collector, uint64_t arena_bytes);

/* One line in the log, if there were not too many of its kind; in perfrec
 * record it is in the summary instead. @why outlives the collector, if it is
 * more than once the same. @pid 0: unknown. */
void session_log_refusal(struct collector *collector, pid_t pid,
			 const char *why);

/* Gives it its number, and its control word's first value comes with
 * session_release(). @own: its recording is for this session only. */
void session_begin(struct collector *collector, struct arena *arena, bool own);
/* The arena has left the collector's list. */
void session_unlist(struct collector *collector, struct arena *arena);
/* It may record: its filters are resolved. Any thread. */
void session_release(struct arena *arena);
/* Which annotations it records, from soon on; categories_valid(). */
void session_categories(struct arena *arena, const char *text);
/* Record no span that begins from now on, or go on. */
void session_pause(struct arena *arena, bool paused);
/* End it in good order; its programs run on. */
void session_stop(struct arena *arena);
/* Whether all of it is over, and files of its own are whole. */
bool session_is_over(struct collector *collector, uint64_t number);

#endif
