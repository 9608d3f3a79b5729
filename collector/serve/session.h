/* SPDX-License-Identifier: Apache-2.0
 *
 * session - a program from its hello to the end of the last of its processes:
 * what can be paused and stopped, and how many there may be. It has an arena,
 * and in the daemon a recording of its own, which may take a little longer.
 */
#ifndef PERFREC_COLLECTOR_SERVE_SESSION_H
#define PERFREC_COLLECTOR_SERVE_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/base/log.h"
#include "collector/serve/users.h"

struct arena;
struct collector;
struct recording;

/* The limits of a collector on all sessions together; all zero at first. The
 * main thread's, but for one field. */
struct session_limits {
	uint64_t arena_bytes; /* that all listed sessions have mapped */
	uint64_t large_bytes; /* of these, in arenas larger than usual */
	uint32_t sessions; /* that are listed now */
	uint64_t finished_bytes; /* of recordings that have ended, on disk;
				  * under the collector's lock */
	/* Each reason to refuse has a limit of lines in the log. The last
	 * entry is shared by all reasons that find no other room. */
	struct refusal {
		const char *why;
		uint64_t programs; /* for this reason, so far */
		struct log_limit limit;
	} refusal[32];
	/* Of all sessions that are not listed any more. */
	uint64_t left_spans, left_lost;
	uint64_t begun; /* sessions, so far */
	uint64_t max_total; /* of all recordings, on disk; 0: no limit */
	struct users users; /* recordings and disk_bytes are under the
			     * collector's lock */
};

/* Unless said otherwise, every call is for the main thread. */

/* Why a session with an arena of @arena_bytes may not begin now, of process
 * @pid of user @uid: a sentence for a person, which is static. NULL: it may. */
const char *session_refuse(struct collector *collector, uid_t uid, pid_t pid,
			   uint64_t arena_bytes);

/* Tell that the program @pid (0: unknown) is not recorded, for the reason @why:
 * one line in the log, if there were not too many for this reason already; in
 * `perfrec record` an entry in the summary instead. Reasons are told apart by
 * the pointer @why, which is kept: it must stay valid as long as @collector. */
void session_log_refusal(struct collector *collector, pid_t pid,
			 const char *why);

/* The first step of a session: @arena, whose recording is set, gets a number.
 * @own: the recording is of this session only: from now until it is finished it
 * counts against the limits, and session_is_over() waits for it. 0 or -ENOMEM.
 */
int session_open(struct collector *collector, struct arena *arena, bool own);
/* The last: it counts against the limits. Its program waits until
 * session_release(). */
void session_begin(struct collector *collector, struct arena *arena);
/* @arena has left the collector's list: it counts against no limit any more. */
void session_unlist(struct collector *collector, struct arena *arena);
/* Let the program of @arena record: its filters are resolved. Any thread. */
void session_release(struct arena *arena);
/* Record annotations of the categories that @text names (categories_valid()),
 * from the moment on at which the program has seen it. */
void session_categories(struct arena *arena, const char *text);
/* With @paused record no span that begins from now on; without, go on. */
void session_pause(struct arena *arena, bool paused);
/* End the session of @arena in good order; its programs run on unrecorded. */
void session_stop(struct arena *arena);
/* The recording at @index in the list of those that are of one session each and
 * not finished, with a reference for the caller. NULL: there are no more, or it
 * is ending. Any thread; takes the collector's lock. */
struct recording *session_open_recording(struct collector *collector,
					 size_t index);
/* Whether session @number is over: all its processes have ended, and the files
 * of a recording of its own are whole. */
bool session_is_over(struct collector *collector, uint64_t number);

#endif
