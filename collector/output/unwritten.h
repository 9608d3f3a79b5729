/* SPDX-License-Identifier: Apache-2.0
 *
 * unwritten - the files of a recording that could not be written, and why. A
 * full disk makes several files fail for one cause: there is one line for each
 * cause, not for each file.
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

/* Notes that file @name could not be written because of -errno @err; 0: it was
 * written. When there are UNWRITTEN_CAUSES already, the file is listed with the
 * last cause. */
void unwritten_add(struct unwritten *unwritten, const char *name, int err);

/* Logs a line for each cause, which names the files in folder @dir and says
 * what to do, and forgets them. Returns the first -errno; 0: there was none,
 * and nothing is logged. */
int unwritten_log(struct unwritten *unwritten, const char *dir);

/* Logs such a line at once, for file @name of a recording that goes on; nothing
 * if @err is 0. *@said, 0 at first, remembers which error was logged last: the
 * same error is not logged again. */
void unwritten_say(int *said, const char *dir, const char *name, int err);

/* Returns what to do about a folder or file that cannot be made or opened
 * because of -errno @err: a static text. Any thread. */
const char *unwritten_way_out(int err);

#define UNWRITTEN_LIMIT_TEXT 80 /* bytes */

/* Sets @text to what to do about -EFBIG, a text for brackets behind what
 * strerror() says. False: this process has no limit of file sizes. Any thread.
 */
bool unwritten_file_limit(char text[UNWRITTEN_LIMIT_TEXT]);

#endif
