/* SPDX-License-Identifier: Apache-2.0
 *
 * source_text - the lines of a source. Its path may come from anywhere: only
 * plain files are read, and only up to 16 MiB.
 */
#ifndef PERFREC_COLLECTOR_SHOW_SOURCE_TEXT_H
#define PERFREC_COLLECTOR_SHOW_SOURCE_TEXT_H

#include <stddef.h>
#include <time.h>

struct source_text {
	char *bytes;
	char **lines; /* without their ends, "\n" or "\r\n"; lines[0] is line
		       * 1 */
	size_t count;
	struct timespec modified;
};

/*
 * Opens the source at @path to read it. Symbolic links are followed first: what
 * they lead to must be a plain file with the suffix of a source, and outside
 * /proc, so that a path in a recording gets nobody's keys into a page. Returns
 * a descriptor, which is the caller's, or -errno; -EACCES: it is no such file.
 * Any thread.
 */
int source_text_open(const char *path);

/* Read the source at @path, as of source_text_open(). The caller ends *@out
 * with source_text_free(). 0 or -errno: -EFBIG if it is too large; then *@out
 * is all zero. Any thread. */
int source_text_read(const char *path, struct source_text *out);
void source_text_free(struct source_text *source);

#endif
