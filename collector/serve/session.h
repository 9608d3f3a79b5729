/* SPDX-License-Identifier: Apache-2.0
 *
 * session - a program from its hello to the end of its last process: the unit
 * of pause, stop and limits. It has an arena and, in a daemon, its own
 * recording, which may end a little later.
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

/* The limits of a collector for all sessions together. All zero at first. Main
 * thread, unless noted. */
struct session_limits {
	uint64_t arena_bytes; /* mapped by all listed sessions */
	uint64_t large_bytes; /* of these, in large arenas */
	uint32_t sessions; /* listed now */
	uint64_t finished_bytes; /* of finished recordings; under the
				  * collector's lock */
	/* Recordings that --keep-recordings may remove; NULL without it. Under
	 * the collector's lock. */
	struct finished_recording {
		dev_t dev; /* of its folder */
		ino_t ino;
		uint64_t bytes;
		struct user *user; /* its owner */
	} * finished;
	size_t finished_count, finished_room;
	/* Each reason to refuse has its own limit of log lines. Reasons without
	 * an entry share the last one. */
	struct refusal {
		const char *why;
		uint64_t programs; /* refused so far */
		struct log_limit limit;
	} refusal[32];
	/* Sums of the sessions that are no longer listed. */
	uint64_t left_spans, left_lost;
	uint64_t begun; /* sessions so far */
	uint64_t max_total; /* disk bytes of all recordings; 0: unlimited */
	struct users users; /* recordings and disk_bytes: under the
			     * collector's lock */
};

/* All functions: main thread only, unless noted. */

/* Returns the reason why process @pid of user @uid may not begin a session with
 * an arena of @arena_bytes: a static sentence for people. NULL: it may. */
const char *session_refuse(struct collector *collector, uid_t uid, pid_t pid,
			   uint64_t arena_bytes);

/*
 * Reports that program @pid (0: unknown) is not recorded because of @why. Logs
 * one line, within the limit of this reason; under `perfrec record` adds an
 * entry to the summary instead. The pointer @why identifies the reason and must
 * outlive @collector.
 */
void session_log_refusal(struct collector *collector, pid_t pid,
			 const char *why);

/*
 * First step of a session: numbers @arena, whose recording is set. With @own
 * the recording belongs to this session only. It counts against the limits
 * until it is finished, and delays session_is_over(). Returns 0 or
 * -ENOMEM.
 */
int session_open(struct collector *collector, struct arena *arena, bool own);
/* Last step: the session counts against the limits. Its program waits until
 * session_release(). */
void session_begin(struct collector *collector, struct arena *arena);
/* @arena has left the collector's list and no longer counts. */
void session_unlist(struct collector *collector, struct arena *arena);
/* Lets the program of @arena record, after its filters were resolved. Any
 * thread. */
void session_release(struct arena *arena);
/* Records annotations of the categories in @text (categories_valid()) as soon
 * as the program has seen the change. */
void session_categories(struct arena *arena, const char *text);
/* With @paused, stops recording new spans; otherwise resumes. */
void session_pause(struct arena *arena, bool paused);
/* Ends the session of @arena in good order. Its programs run on unrecorded. */
void session_stop(struct arena *arena);
/*
 * Lists unfinished recordings of single sessions whose programs still run. Sets
 * *@out to the list, with references, and returns its length; 0 without memory.
 * The caller ends it by session_put_recordings(). Any thread; takes the
 * collector's lock.
 */
size_t session_open_recordings(struct collector *collector,
			       struct recording ***out);
/* Puts the references and frees *@list. */
void session_put_recordings(struct recording ***list, size_t count);
/* Subtracts the removed recording in folder @dev, @ino from the limits.
 * @context is the collector. Any thread; takes its lock. */
void session_removed(void *context, dev_t dev, ino_t ino);
/* Returns true if all processes of session @number have ended and the files of
 * its own recording are complete. */
bool session_is_over(struct collector *collector, uint64_t number);

#endif
