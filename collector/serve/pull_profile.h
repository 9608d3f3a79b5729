/* SPDX-License-Identifier: Apache-2.0
 *
 * pull_profile - profiles of all recordings, so far or over a range of time.
 */
#ifndef PERFREC_COLLECTOR_SERVE_PULL_PROFILE_H
#define PERFREC_COLLECTOR_SERVE_PULL_PROFILE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "collector/base/lock.h"
#include "collector/files/windows.h"

struct collector;
struct pull_item;
struct window_view;

struct pull_request {
	const struct window_view *view;
	enum window_source source;
	const char *program; /* NULL: all */
	/* Private: */
	struct pull_item *items;
	uint64_t begin_ns, end_ns; /* CLOCK_REALTIME */
};

/* Main thread. @collector must outlive all requests. */
void pull_profile_start(struct collector *collector);
/* Requests that wait return -ESHUTDOWN. Main thread. */
void pull_profile_stop(void);

/* Below: threads of requests. */

/* Makes the profile of the next @seconds, or of all time for 0. Returns a
 * descriptor, which the caller closes, or: -EBUSY: too many requests with
 * seconds; -ENOENT: no recorded program has this name; -ESHUTDOWN; or another
 * -errno. */
int pull_profile_make(struct pull_request *request, uint64_t seconds);
/* Returns 0, or -ENOENT if no recorded program matches @request. */
int pull_profile_find(struct pull_request *request);

/* Initializes a lock of rank LOCK_PULL and a condition for pull_wait(). */
void pull_change_init(struct lock *lock, pthread_cond_t *change);
/* Waits for @change until @deadline_ns (CLOCK_BOOTTIME). Returns false after it.
 * @lock is held. */
bool pull_wait(struct lock *lock, pthread_cond_t *change, uint64_t deadline_ns);

#endif
