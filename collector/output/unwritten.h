/* SPDX-License-Identifier: Apache-2.0
 *
 * unwritten - the files of a recording that could not be written, and why. A
 * disk that is full is one trouble, not one for each file: there is one line
 * for each cause.
 */
#ifndef PERFREC_COLLECTOR_OUTPUT_UNWRITTEN_H
#define PERFREC_COLLECTOR_OUTPUT_UNWRITTEN_H

#include <stdbool.h>
#include <stddef.h>

#define UNWRITTEN_CAUSES 4
#define UNWRITTEN_NAMES 256 /* bytes; what does not fit is "..." */

/* All zero at first. One thread at a time. */
struct unwritten {
	struct unwritten_cause {
		int err; /* 0: none */
		char names[UNWRITTEN_NAMES];
	} cause[UNWRITTEN_CAUSES];
};

/* File @name failed with -errno @err; 0: it did not. Beyond UNWRITTEN_CAUSES it
 * counts as one more of the last cause. */
void unwritten_add(struct unwritten *unwritten, const char *name, int err);

/*
 * Log a line for each cause, which names the files in folder @dir and the way
 * out, and forget them. Returns the first -errno; 0: there was none, nothing is
 * logged.
 */
int unwritten_log(struct unwritten *unwritten, const char *dir);

/* The same at once for a file of a recording that goes on: @err 0 is none, and
 * *@said, 0 at first, is the error that the log has: it is not said again. */
void unwritten_say(int *said, const char *dir, const char *name, int err);

/* What to do about a folder or file that cannot be made or opened because of
 * -errno @err; static. Any thread. */
const char *unwritten_way_out(int err);

#define UNWRITTEN_LIMIT_TEXT 80 /* bytes */

/* What to do about -EFBIG, to be put into brackets behind what strerror() says.
 * False: this process has no limit of file sizes. Any thread. */
bool unwritten_file_limit(char text[UNWRITTEN_LIMIT_TEXT]);

#endif
