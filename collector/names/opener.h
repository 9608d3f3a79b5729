/* SPDX-License-Identifier: Apache-2.0
 *
 * opener - opens files named by clients in separate processes, because their
 * file system may never answer: a thread that waits for one cannot even be
 * killed. The collector has such files only as O_PATH, since closing others may
 * block.
 *
 * Any thread; calls may run in parallel. After OPENER_SECONDS a call kills its
 * process and returns -ETIMEDOUT.
 */
#ifndef PERFREC_COLLECTOR_NAMES_OPENER_H
#define PERFREC_COLLECTOR_NAMES_OPENER_H

#include <stdint.h>

#define OPENER_SECONDS 5

struct openers;
struct reader_request;

/* Starts no process yet. Returns 0 or -ENOMEM. */
int openers_new(struct openers **out);
/* No call may be running. */
void openers_free(struct openers **openers);
void openers_rest(struct openers *openers);
/* Idle since before @before_ns (CLOCK_MONOTONIC). Never waits. */
void openers_tire(struct openers *openers, uint64_t before_ns);

/* Returns an O_PATH descriptor, or -errno. @dir_fd may be AT_FDCWD: our
 * root. */
int opener_find(struct openers *openers, int dir_fd, const char *path,
		uint64_t flags, uint64_t resolve);
/* Sends @message and @fds over socket @to, and opens O_PATH descriptors for
 * reading first. All stay the caller's. Returns 0 or -errno; -ETIMEDOUT: it may
 * have been sent. */
int opener_pass(struct openers *openers, int to,
		const struct reader_request *message, const int *fds,
		unsigned int count);

#endif
