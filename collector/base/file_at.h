/* SPDX-License-Identifier: Apache-2.0
 *
 * file_at - a part of a file, read as a whole. Any thread.
 */
#ifndef PERFREC_COLLECTOR_BASE_FILE_AT_H
#define PERFREC_COLLECTOR_BASE_FILE_AT_H

#include <stddef.h>
#include <stdint.h>

/* Reads the @count bytes at @offset of @fd into @to. 0 or -errno; -EBADMSG:
 * there are fewer. */
int file_read_at(int fd, void *to, size_t count, uint64_t offset);

#endif
