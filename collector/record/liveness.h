/* SPDX-License-Identifier: Apache-2.0
 *
 * liveness - the page by which every program learns, without a system call,
 * that the collector is there: a robust mutex that the main thread holds for
 * life, so that the kernel marks it and wakes a waiter when we are killed; a
 * heartbeat; and a thread that is parked on a futex unless we are stopped.
 */
#ifndef PERFREC_COLLECTOR_RECORD_LIVENESS_H
#define PERFREC_COLLECTOR_RECORD_LIVENESS_H

struct liveness;

/* Call it on the thread that lives longest: the mutex is that thread's.
 * 0 or -errno. */
int liveness_new(struct liveness **out);
/* Says "closed in good order" to whoever still has the page mapped. The same
 * thread as liveness_new(). */
void liveness_free(struct liveness **liveness);
/* To send to programs; nobody can write through it. Stays liveness'. */
int liveness_fd(const struct liveness *liveness);
/* Any thread. */
void liveness_beat(struct liveness *liveness);

#endif
