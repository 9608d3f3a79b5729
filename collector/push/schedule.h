/* SPDX-License-Identifier: Apache-2.0
 *
 * schedule - which windows are sent where and when. It knows the windows of the
 * spool and for each server ("lane") which of them it still has to get. It
 * reads no clock, sends nothing and removes nothing by itself: the caller says
 * what the time is, and what became of a request. One thread.
 *
 * A lane sends one request at a time, of its oldest windows. After a failure it
 * waits: one second, twice as long after each further failure, up to five
 * minutes, each time a random part less; and never less than the server asked
 * for.
 */
#ifndef PERFREC_COLLECTOR_PUSH_SCHEDULE_H
#define PERFREC_COLLECTOR_PUSH_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SCHEDULE_LANES_MAX 8
#define SCHEDULE_NAME_BYTES 48
#define SCHEDULE_WINDOWS_MAX 65536
/* Windows of one moment arrive one by one: a request waits for the others. */
#define SCHEDULE_SETTLE_NS UINT64_C(300000000)
#define SCHEDULE_WAIT_MIN_NS UINT64_C(1000000000)
#define SCHEDULE_WAIT_MAX_NS UINT64_C(300000000000)
/* Longest wait that a server can request. */
#define SCHEDULE_SERVER_WAIT_MAX_NS UINT64_C(3600000000000)

/* Why a window left, or never got to a lane. */
enum schedule_end {
	SCHEDULE_SENT, /* each lane has it, or has refused it */
	SCHEDULE_SPOOL_FULL,
	SCHEDULE_TOO_OLD,
	SCHEDULE_REFUSED, /* by the server, for good */
	SCHEDULE_TOO_LARGE, /* for the server, even alone */
	SCHEDULE_MALFORMED,
};

struct schedule_time {
	uint64_t mono_ns; /* for waiting */
	uint64_t unix_ns; /* for the age of windows */
};

struct schedule_window {
	uint64_t start_ns, session; /* of its name */
	uint64_t bytes;
	uint32_t done, busy; /* bit for each lane */
	uint32_t begun; /* likewise: a lane of single windows may have some
			 * of its parts */
	char name[SCHEDULE_NAME_BYTES];
};

struct schedule_lane {
	/* The caller's, before the first window. */
	uint32_t batch_max; /* windows in a request, at least 1 */
	uint64_t batch_bytes; /* of their files; a single one may have more */
	uint64_t age_max_ns; /* 0: any age is accepted */
	/* The schedule's. */
	uint32_t batch_now; /* fewer, after the server found one too large */
	uint32_t failures; /* since the last success */
	uint64_t next_ns; /* no request before */
	bool server_wait; /* the server asked for next_ns */
	bool is_busy;
};

struct schedule_ops {
	/* The window is of no more use: remove it. */
	void (*remove)(void *context, const struct schedule_window *window);
	/* @lane will not get the window (any more); others may still. */
	void (*lost)(void *context, const struct schedule_window *window,
		     uint32_t lane, enum schedule_end why);
	/* @lane is done with the window, other lanes are not. */
	void (*mark)(void *context, const struct schedule_window *window,
		     uint32_t lane);
};

struct schedule {
	const struct schedule_ops *ops;
	void *context;
	uint64_t bytes_max; /* of all windows */
	uint32_t lane_count;
	struct schedule_lane lanes[SCHEDULE_LANES_MAX];
	struct schedule_window *windows; /* oldest first */
	size_t count, room;
	uint64_t bytes;
	uint64_t settle_ns; /* no request before, unless @is_ending */
	bool is_ending;
	/* Windows beyond SCHEDULE_WINDOWS_MAX, at the last scan: scan again for
	 * them when there is room. */
	uint64_t left_windows, left_bytes;
};

void schedule_release(struct schedule *schedule);

/* Parses the name of a window, "<start_unix_ns>-<session>". */
bool schedule_parse(const char *name, uint64_t *start_ns, uint64_t *session);
bool schedule_has(const struct schedule *schedule, const char *name);
/* Adds a new window. @done: bit for each lane that has it already. Returns 0;
 * -EINVAL: windows have other names; or -ENOMEM. Beyond SCHEDULE_WINDOWS_MAX it
 * keeps the oldest, and counts the others as left: they stay in the spool. */
int schedule_see(struct schedule *schedule, const char *name, uint64_t bytes,
		 uint32_t done, const struct schedule_time *now);
/* Gives up windows for each lane that they are too old for. Then discards the
 * oldest windows while the scheduled and the left ones together exceed
 * bytes_max. Windows that are being sent stay. */
void schedule_expire(struct schedule *schedule,
		     const struct schedule_time *now);
/* No more windows will come: lanes that wait of their own accord try at once.
 */
void schedule_end(struct schedule *schedule, const struct schedule_time *now);

/* Chooses the windows of the next request of @lane, which is busy until one of
 * the functions below says how it ended: their busy has its bit. Returns how
 * many; 0: nothing is to be sent now. */
uint32_t schedule_pick(struct schedule *schedule, uint32_t lane,
		       const struct schedule_time *now);
/* The next window of the request of @lane behind @after (NULL: the first), or
 * NULL. */
const struct schedule_window *schedule_picked(
	const struct schedule *schedule, uint32_t lane,
	const struct schedule_window *after);
/* Takes @window out of the request of @lane: all lanes lose it. */
void schedule_drop(struct schedule *schedule, uint32_t lane,
		   const struct schedule_window *window, enum schedule_end why);

/* How a request ended: the server has it. */
void schedule_accepted(struct schedule *schedule, uint32_t lane);
/* It will never take it. */
void schedule_refused(struct schedule *schedule, uint32_t lane);
/* It was too large: half of it is tried next, and a single window is lost. */
void schedule_too_large(struct schedule *schedule, uint32_t lane);
/* It may take it later. @server_ns: how long the server asked to wait, or 0.
 * @random is a random number. */
void schedule_again(struct schedule *schedule, uint32_t lane,
		    const struct schedule_time *now, uint64_t server_ns,
		    uint64_t random);

/* How many windows @lane still has to get. */
size_t schedule_left(const struct schedule *schedule, uint32_t lane);
/* How long nothing is to be done unless a request ends or a window comes. */
uint64_t schedule_idle_ns(const struct schedule *schedule,
			  const struct schedule_time *now);

#endif
