/* SPDX-License-Identifier: Apache-2.0
 *
 * liveness - a page by which every program learns, without a system call, that
 * the collector is there. On it are a robust mutex, which the main thread holds
 * for life, so that the kernel marks it and wakes a waiter when the collector
 * is killed; a heartbeat; and the futex on which a thread of the collector is
 * parked, unless the collector is stopped (SIGSTOP).
 */
#ifndef PERFREC_COLLECTOR_RECORD_LIVENESS_H
#define PERFREC_COLLECTOR_RECORD_LIVENESS_H

struct liveness;

/* Make the page. The calling thread owns the mutex, so it must be the one that
 * lives longest. 0 or -errno. */
int liveness_new(struct liveness **out);
/* Say "closed in good order" to all programs that have the page mapped, and
 * free *@liveness. The thread that called liveness_new(). Also for NULL. */
void liveness_free(struct liveness **liveness);
/* A descriptor of the page to send to programs, which cannot write through it.
 * It stays that of @liveness. */
int liveness_fd(const struct liveness *liveness);
/* One heartbeat. Any thread. */
void liveness_beat(struct liveness *liveness);

#endif
