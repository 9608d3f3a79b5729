/* SPDX-License-Identifier: Apache-2.0
 *
 * unwritten - collects the files of a recording that could not be written. A
 * full disk makes several files fail, so the log has one line for each cause.
 */
#ifndef PERFREC_COLLECTOR_OUTPUT_UNWRITTEN_H
#define PERFREC_COLLECTOR_OUTPUT_UNWRITTEN_H

#include <stdbool.h>
#include <stddef.h>

#define UNWRITTEN_CAUSES 4
#define UNWRITTEN_NAMES 256 /* bytes; "..." stands for more */

/* Starts as all zero. One thread at a time. */
struct unwritten {
	struct unwritten_cause {
		int err; /* 0: none */
		char names[UNWRITTEN_NAMES];
	} cause[UNWRITTEN_CAUSES];
};

/* Adds file @name with its -errno @err; 0 adds nothing. If there are already
 * UNWRITTEN_CAUSES other causes, the file is added to the last cause. */
void unwritten_add(struct unwritten *unwritten, const char *name, int err);

/* Logs a line for each cause, with the files in folder @dir and a remedy, and
 * clears @unwritten. Returns the first -errno, or 0 without a cause. */
int unwritten_log(struct unwritten *unwritten, const char *dir);

/* Logs such a line at once, for file @name of a recording that goes on. *@said,
 * 0 at first, has the last logged error, which is not logged again. */
void unwritten_say(int *said, const char *dir, const char *name, int err);

/* Returns the remedy for a folder or file that cannot be made or opened because
 * of -errno @err: a static text. Any thread. */
const char *unwritten_way_out(int err);

#define UNWRITTEN_LIMIT_TEXT 80 /* bytes */

/* Sets @text to the remedy for -EFBIG, to stand in brackets after strerror().
 * Returns false if this process has no limit of file sizes. Any thread. */
bool unwritten_file_limit(char text[UNWRITTEN_LIMIT_TEXT]);

#endif
