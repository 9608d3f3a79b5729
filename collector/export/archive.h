/* SPDX-License-Identifier: Apache-2.0
 *
 * archive - writes a tar archive (ustar, POSIX.1-1988) of plain files. One
 * thread at a time.
 */
#ifndef PERFREC_COLLECTOR_EXPORT_ARCHIVE_H
#define PERFREC_COLLECTOR_EXPORT_ARCHIVE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#define ARCHIVE_NAME_MAX 99 /* bytes of a member's name */

/* Begins a member: the caller writes its @bytes and then ends it. @name must be
 * a plain name, safe to extract. Errors of @out show in ferror(). */
void archive_begin(const char *name, uint64_t bytes, time_t changed, FILE *out);
void archive_end(uint64_t bytes, FILE *out);
void archive_finish(FILE *out);

#endif
