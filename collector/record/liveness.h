/* SPDX-License-Identifier: Apache-2.0
 *
 * liveness - a page that shows every program, without a system call, that the
 * collector runs. It has a robust mutex, a heartbeat and a futex. The main
 * thread holds the mutex for life, so the kernel marks it and wakes a waiter
 * when the collector is killed. A thread of the collector is parked on the
 * futex, unless the collector is stopped (SIGSTOP).
 */
#ifndef PERFREC_COLLECTOR_RECORD_LIVENESS_H
#define PERFREC_COLLECTOR_RECORD_LIVENESS_H

struct liveness;

/* Makes the page. The calling thread owns the mutex, so it must live longest.
 * Returns 0 or -errno. */
int liveness_new(struct liveness **out);
/* Marks the page as closed in good order for all programs that map it, and
 * frees *@liveness. The thread that called liveness_new(). Accepts NULL. */
void liveness_free(struct liveness **liveness);
/* Returns a descriptor of the page to send to programs, which cannot write
 * through it. @liveness keeps it. */
int liveness_fd(const struct liveness *liveness);
/* Counts one heartbeat. Any thread. */
void liveness_beat(struct liveness *liveness);

#endif
