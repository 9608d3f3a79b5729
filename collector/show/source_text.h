/* SPDX-License-Identifier: Apache-2.0
 *
 * source_text - the lines of a source file. Paths are untrusted, so it only
 * reads plain files of at most 16 MiB.
 */
#ifndef PERFREC_COLLECTOR_SHOW_SOURCE_TEXT_H
#define PERFREC_COLLECTOR_SHOW_SOURCE_TEXT_H

#include <stddef.h>
#include <time.h>

struct source_text {
	char *bytes;
	char **lines; /* without "\n" or "\r\n"; lines[0] is line 1 */
	size_t count;
	struct timespec modified;
};

/*
 * Opens the source at @path for reading. Follows symbolic links; the target
 * must be a plain file with the suffix of a source, outside /proc. So a path in
 * a recording cannot expose private keys in a page. Returns a descriptor for
 * the caller to close, or -errno; -EACCES: no such file. Any thread.
 */
int source_text_open(const char *path);

/* Reads the source at @path with the rules of source_text_open(). Returns 0, or
 * -errno with *@out all zero; -EFBIG: too large. The caller calls
 * source_text_free(). Any thread. */
int source_text_read(const char *path, struct source_text *out);
void source_text_free(struct source_text *source);

#endif
