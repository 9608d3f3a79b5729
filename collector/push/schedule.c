/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/push/schedule.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "collector/base/search.h"
#include "shared/compiler.h"

#define IDLE_MAX_NS UINT64_C(60000000000)

void schedule_release(struct schedule *schedule)
{
	free(schedule->windows);
	schedule->windows = NULL;
	schedule->count = schedule->room = 0;
}

/* --- windows ------------------------------------------------------------- */

/* A decimal number as it is printed: no sign, no zero in front. */
static bool parse_number(const char **text, uint64_t *out)
{
	char *end;

	if (!isdigit((unsigned char)**text) ||
	    (**text == '0' && isdigit((unsigned char)(*text)[1])))
		return false;
	errno = 0;
	*out = strtoull(*text, &end, 10);
	*text = end;
	return !errno;
}

bool schedule_parse(const char *name, uint64_t *start_ns, uint64_t *session)
{
	const char *at = name;

	return strlen(name) < SCHEDULE_NAME_BYTES &&
	       parse_number(&at, start_ns) && *at++ == '-' &&
	       parse_number(&at, session) && !*at;
}

static int compare_windows(const struct schedule_window *window,
			   uint64_t start_ns, uint64_t session)
{
	if (window->start_ns != start_ns)
		return window->start_ns < start_ns ? -1 : 1;
	if (window->session != session)
		return window->session < session ? -1 : 1;
	return 0;
}

static size_t find_place(const struct schedule *schedule, uint64_t start_ns,
			 uint64_t session)
{
	return search_first(
		i, schedule->count,
		compare_windows(&schedule->windows[i], start_ns, session) >= 0);
}

static bool is_at(const struct schedule *schedule, size_t at, uint64_t start_ns,
		  uint64_t session)
{
	return at < schedule->count &&
	       !compare_windows(&schedule->windows[at], start_ns, session);
}

bool schedule_has(const struct schedule *schedule, const char *name)
{
	uint64_t start_ns, session;

	return schedule_parse(name, &start_ns, &session) &&
	       is_at(schedule, find_place(schedule, start_ns, session),
		     start_ns, session);
}

static uint32_t all_lanes(const struct schedule *schedule)
{
	return (1u << schedule->lane_count) - 1;
}

static void remove_window(struct schedule *schedule, size_t at)
{
	const struct schedule_window old = schedule->windows[at];

	schedule->bytes -= old.bytes;
	schedule->count--;
	memmove(&schedule->windows[at], &schedule->windows[at + 1],
		(schedule->count - at) * sizeof(old));
	schedule->ops->remove(schedule->context, &old);
}

int schedule_see(struct schedule *schedule, const char *name, uint64_t bytes,
		 uint32_t done, const struct schedule_time *now)
{
	struct schedule_window new = { .bytes = bytes, .done = done };
	size_t at;

	if (!schedule_parse(name, &new.start_ns, &new.session))
		return -EINVAL;
	at = find_place(schedule, new.start_ns, new.session);
	if (is_at(schedule, at, new.start_ns, new.session))
		return 0;
	if (schedule->count == SCHEDULE_WINDOWS_MAX) {
		const struct schedule_window *newest =
			&schedule->windows[schedule->count - 1];

		schedule->left_windows++;
		if (at == schedule->count || newest->busy) {
			schedule->left_bytes += bytes;
			return 0;
		}
		schedule->left_bytes += newest->bytes;
		schedule->bytes -= newest->bytes;
		schedule->count--;
	}
	if (grow_array(schedule->windows, schedule->room, schedule->count + 1))
		return -ENOMEM;
	snprintf(new.name, sizeof(new.name), "%s", name);
	memmove(&schedule->windows[at + 1], &schedule->windows[at],
		(schedule->count - at) * sizeof(new));
	schedule->windows[at] = new;
	schedule->count++;
	schedule->bytes += bytes;
	schedule->settle_ns = now->mono_ns + SCHEDULE_SETTLE_NS;
	if (done == all_lanes(schedule))
		remove_window(schedule, at);
	return 0;
}

/* Lane @lane needs the window at @at no more. Returns whether no lane does: the
 * window is removed then. */
static bool finish_lane(struct schedule *schedule, size_t at, uint32_t lane)
{
	struct schedule_window *window = &schedule->windows[at];

	window->busy &= ~(1u << lane);
	window->done |= 1u << lane;
	window->begun &= ~(1u << lane);
	if (window->done == all_lanes(schedule)) {
		remove_window(schedule, at);
		return true;
	}
	schedule->ops->mark(schedule->context, window, lane);
	return false;
}

static void lose_window(struct schedule *schedule, size_t at,
			enum schedule_end why)
{
	const struct schedule_window *window = &schedule->windows[at];

	for (uint32_t lane = 0; lane < schedule->lane_count; lane++)
		if (!(window->done & 1u << lane))
			schedule->ops->lost(schedule->context, window, lane,
					    why);
	remove_window(schedule, at);
}

static bool is_too_old(const struct schedule_window *window,
		       const struct schedule_lane *lane, uint64_t now_ns)
{
	return lane->age_max_ns && now_ns > window->start_ns &&
	       now_ns - window->start_ns > lane->age_max_ns;
}

/* Takes the window at @at from lanes that accept no window of its age. Returns
 * whether the window is gone. */
static bool expire_lanes(struct schedule *schedule, size_t at, uint64_t now_ns)
{
	for (uint32_t lane = 0; lane < schedule->lane_count; lane++) {
		const struct schedule_window *window = &schedule->windows[at];

		if ((window->done | window->busy) & 1u << lane ||
		    !is_too_old(window, &schedule->lanes[lane], now_ns))
			continue;
		schedule->ops->lost(schedule->context, window, lane,
				    SCHEDULE_TOO_OLD);
		if (finish_lane(schedule, at, lane))
			return true;
	}
	return false;
}

void schedule_expire(struct schedule *schedule, const struct schedule_time *now)
{
	for (size_t i = 0; i < schedule->count;)
		if (!expire_lanes(schedule, i, now->unix_ns))
			i++;
	for (size_t i = 0;
	     i < schedule->count &&
	     schedule->bytes + schedule->left_bytes > schedule->bytes_max;)
		if (schedule->windows[i].busy)
			i++;
		else
			lose_window(schedule, i, SCHEDULE_SPOOL_FULL);
}

void schedule_end(struct schedule *schedule, const struct schedule_time *now)
{
	schedule->is_ending = true;
	for (uint32_t i = 0; i < schedule->lane_count; i++)
		if (!schedule->lanes[i].server_wait)
			schedule->lanes[i].next_ns =
				MIN(schedule->lanes[i].next_ns, now->mono_ns);
}

/* --- requests ------------------------------------------------------------ */

static uint64_t ready_ns(const struct schedule *schedule, uint32_t lane)
{
	uint64_t next_ns = schedule->lanes[lane].next_ns;

	return schedule->is_ending ? next_ns
				   : MAX(next_ns, schedule->settle_ns);
}

uint32_t schedule_pick(struct schedule *schedule, uint32_t lane,
		       const struct schedule_time *now)
{
	struct schedule_lane *one = &schedule->lanes[lane];
	const uint32_t bit = 1u << lane;
	uint64_t bytes = 0;
	uint32_t count = 0;
	size_t first = 0;

	if (!one->batch_now)
		one->batch_now = one->batch_max;
	if (one->is_busy || now->mono_ns < ready_ns(schedule, lane))
		return 0;
	/* A begun window goes first: after an older one in between, all its
	 * parts would be sent again. */
	for (size_t i = 0; one->batch_max == 1 && i < schedule->count; i++)
		if (schedule->windows[i].begun & bit) {
			first = i;
			break;
		}
	for (size_t i = first; i < schedule->count && count < one->batch_now;
	     i++) {
		struct schedule_window *window = &schedule->windows[i];

		if (window->done & bit)
			continue;
		bytes += window->bytes;
		if (count && bytes > one->batch_bytes)
			break;
		window->busy |= bit;
		count++;
	}
	one->is_busy = count;
	return count;
}

const struct schedule_window *schedule_picked(
	const struct schedule *schedule, uint32_t lane,
	const struct schedule_window *after)
{
	const struct schedule_window *end = schedule->windows + schedule->count;
	const struct schedule_window *at =
		after ? after + 1 : schedule->windows;

	for (; at < end; at++)
		if (at->busy & 1u << lane)
			return at;
	return NULL;
}

void schedule_drop(struct schedule *schedule, uint32_t lane,
		   const struct schedule_window *window, enum schedule_end why)
{
	size_t at = (size_t)(window - schedule->windows);

	schedule->windows[at].busy &= ~(1u << lane);
	lose_window(schedule, at, why);
}

/* Ends the request of @lane. With @finish the lane needs its windows no more;
 * @why: it has lost them. */
static uint32_t end_request(struct schedule *schedule, uint32_t lane,
			    bool finish, enum schedule_end why)
{
	const uint32_t bit = 1u << lane;
	uint32_t ended = 0;

	schedule->lanes[lane].is_busy = false;
	for (size_t i = 0; i < schedule->count;) {
		struct schedule_window *window = &schedule->windows[i];

		if (!(window->busy & bit)) {
			i++;
			continue;
		}
		ended++;
		window->busy &= ~bit;
		if (!finish && schedule->lanes[lane].batch_max == 1)
			window->begun |= bit;
		if (finish && why != SCHEDULE_SENT)
			schedule->ops->lost(schedule->context, window, lane,
					    why);
		if (!finish || !finish_lane(schedule, i, lane))
			i++;
	}
	return ended;
}

static void end_waiting(struct schedule_lane *lane)
{
	lane->failures = 0;
	lane->next_ns = 0;
	lane->server_wait = false;
}

void schedule_accepted(struct schedule *schedule, uint32_t lane)
{
	struct schedule_lane *one = &schedule->lanes[lane];

	end_waiting(one);
	one->batch_now = MIN(one->batch_max, 2 * one->batch_now);
	end_request(schedule, lane, true, SCHEDULE_SENT);
}

void schedule_refused(struct schedule *schedule, uint32_t lane)
{
	end_waiting(&schedule->lanes[lane]);
	end_request(schedule, lane, true, SCHEDULE_REFUSED);
}

void schedule_too_large(struct schedule *schedule, uint32_t lane)
{
	uint32_t count = 0;

	for (size_t i = 0; i < schedule->count; i++)
		count += schedule->windows[i].busy >> lane & 1;
	end_waiting(&schedule->lanes[lane]);
	schedule->lanes[lane].batch_now = MAX(1u, count / 2);
	end_request(schedule, lane, count == 1, SCHEDULE_TOO_LARGE);
}

void schedule_again(struct schedule *schedule, uint32_t lane,
		    const struct schedule_time *now, uint64_t server_ns,
		    uint64_t random)
{
	struct schedule_lane *one = &schedule->lanes[lane];
	uint64_t wait_ns = SCHEDULE_WAIT_MAX_NS;

	/* 2^9 seconds are more than the most. */
	if (one->failures < 9)
		wait_ns = MIN(wait_ns, SCHEDULE_WAIT_MIN_NS << one->failures);
	one->failures++;
	/* Between half of it and all. */
	wait_ns -= random % (wait_ns / 2);
	server_ns = MIN(server_ns, SCHEDULE_SERVER_WAIT_MAX_NS);
	one->server_wait = server_ns > 0;
	one->next_ns = now->mono_ns + MAX(wait_ns, server_ns);
	end_request(schedule, lane, false, SCHEDULE_SENT);
}

size_t schedule_left(const struct schedule *schedule, uint32_t lane)
{
	size_t left = 0;

	for (size_t i = 0; i < schedule->count; i++)
		left += !(schedule->windows[i].done >> lane & 1);
	return left;
}

uint64_t schedule_idle_ns(const struct schedule *schedule,
			  const struct schedule_time *now)
{
	uint64_t idle_ns = IDLE_MAX_NS;

	for (uint32_t i = 0; i < schedule->lane_count; i++) {
		uint64_t ready = ready_ns(schedule, i);

		if (schedule->lanes[i].is_busy || !schedule_left(schedule, i))
			continue;
		idle_ns = MIN(idle_ns,
			      ready > now->mono_ns ? ready - now->mono_ns : 0);
	}
	return idle_ns;
}
