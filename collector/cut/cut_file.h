/* SPDX-License-Identifier: Apache-2.0
 *
 * cut_file - packets on their way to the file of a cut, as they are or in
 * compressed bundles. Of a large file threads of their own compress them. One
 * thread at a time.
 */
#ifndef PERFREC_COLLECTOR_CUT_CUT_FILE_H
#define PERFREC_COLLECTOR_CUT_CUT_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "collector/base/bytes.h"
#include "collector/base/varint.h"
#include "collector/trace/fields.h"
#include "shared/compiler.h"

/* More packets wait than this. */
#define CUT_PENDING_BYTES (256u << 10)

struct cut_pack;

struct cut_file {
	FILE *out; /* stays the caller's */
	struct bytes pending; /* whole packets */
	struct libdeflate_compressor *compressor; /* NULL: not compressed */
	uint8_t *packed;
	size_t packed_room;
	struct cut_pack *pack; /* threads that do so; NULL: not yet */
	uint64_t bundles; /* so far */
	uint64_t bytes; /* that were written */
	int err; /* the first; nothing is written after it */
};

/* Begins to write to @out. @compress: in bundles. 0: the caller ends it by
 * cut_file_end(); or -ENOMEM. */
int cut_file_begin(struct cut_file *file, FILE *out, bool compress);
/* Writes what is pending, and frees all memory. Returns 0 or the first -errno
 * of all that was written. */
int cut_file_end(struct cut_file *file);

/* For the functions below only. */
void cut_file_write_pending(struct cut_file *file);

/* Packets were put into file->pending. */
static inline void cut_file_check(struct cut_file *file)
{
	if (unlikely(file->pending.count > CUT_PENDING_BYTES))
		cut_file_write_pending(file);
}

/* Appends @count bytes that are whole packets with their tags. */
static inline void cut_file_put(struct cut_file *file, const void *packets,
				size_t count)
{
	bytes_put(&file->pending, packets, count);
	cut_file_check(file);
}

/* Appends a packet whose fields are the @count bytes at @fields. */
static inline void cut_file_packet(struct cut_file *file, const uint8_t *fields,
				   size_t count)
{
	uint8_t *at = bytes_add(&file->pending, count + 1 + VARINT_BYTES_MAX);
	uint8_t *end;

	if (unlikely(!at))
		return;
	*at = TAG_TRACE_PACKET;
	end = varint_put(at + 1, count);
	memcpy(end, fields, count);
	file->pending.count -= (size_t)(at + 1 + VARINT_BYTES_MAX - end);
	cut_file_check(file);
}

#endif
