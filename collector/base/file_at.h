/* SPDX-License-Identifier: Apache-2.0
 *
 * file_at - reads a part of a file completely. Any thread.
 */
#ifndef PERFREC_COLLECTOR_BASE_FILE_AT_H
#define PERFREC_COLLECTOR_BASE_FILE_AT_H

#include <stddef.h>
#include <stdint.h>

/* Reads @count bytes at @offset. Returns 0 or -errno; -EBADMSG: the file is
 * shorter. */
int file_read_at(int fd, void *to, size_t count, uint64_t offset);

#endif
