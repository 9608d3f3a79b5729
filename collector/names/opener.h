/* SPDX-License-Identifier: Apache-2.0
 *
 * opener - opens files that clients name in a process of its own, as their file
 * system may never answer: a thread that waits for one cannot even be killed,
 * so no thread of the collector does. The collector itself has such a file as
 * O_PATH only: to close any other descriptor may wait, too.
 *
 * Any thread may call these functions, and any number of threads at once. Each
 * call waits for OPENER_SECONDS at most; then its process is killed, and the
 * call returns -ETIMEDOUT.
 */
#ifndef PERFREC_COLLECTOR_NAMES_OPENER_H
#define PERFREC_COLLECTOR_NAMES_OPENER_H

#include <stdint.h>

#define OPENER_SECONDS 5

struct openers; /* the processes of a collector */
struct reader_request;

/* 0 or -ENOMEM. No process is started before the first call. */
int openers_new(struct openers **out);
/* Only when no call is under way. Also for NULL. */
void openers_free(struct openers **openers);
/* Ends the processes that are idle. */
void openers_rest(struct openers *openers);
/* Ends those that have been idle since before @before_ns (CLOCK_MONOTONIC).
 * Never waits. */
void openers_tire(struct openers *openers, uint64_t before_ns);

/* An O_PATH descriptor, the caller's, of what lies at @path below folder
 * @dir_fd (AT_FDCWD: our root); or -errno. @flags and @resolve are of
 * openat2(). */
int opener_find(struct openers *openers, int dir_fd, const char *path,
		uint64_t flags, uint64_t resolve);
/* Sends @message over socket @to, with the @count files @fds, of which those
 * that are O_PATH are opened to read first. All descriptors stay the caller's.
 * 0 or -errno: nothing was sent. -ETIMEDOUT: it may have been. */
int opener_pass(struct openers *openers, int to,
		const struct reader_request *message, const int *fds,
		unsigned int count);

#endif
