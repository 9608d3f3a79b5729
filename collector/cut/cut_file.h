/* SPDX-License-Identifier: Apache-2.0
 *
 * cut_file - writes the packets of a cut to its file, plain or in compressed
 * bundles. Threads compress the bundles of a large file. One thread at a time.
 */
#ifndef PERFREC_COLLECTOR_CUT_CUT_FILE_H
#define PERFREC_COLLECTOR_CUT_CUT_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "collector/base/bytes.h"
#include "collector/base/protobuf.h"
#include "collector/trace/fields.h"
#include "shared/compiler.h"

/* The bytes of waiting packets before they are written. */
#define CUT_PENDING_BYTES (256u << 10)

struct cut_pack;

struct cut_file {
	FILE *out;
	struct bytes pending;
	struct libdeflate_compressor *compressor; /* NULL: plain */
	uint8_t *packed;
	size_t packed_room;
	struct cut_pack *pack; /* threads that compress; NULL: none yet */
	uint64_t bundles;
	uint64_t bytes;
	int err; /* the first error; nothing is written after it */
};

/* Starts to write to @out. @compress: in bundles. Returns 0 or -ENOMEM. The
 * caller ends it with cut_file_end(). */
int cut_file_begin(struct cut_file *file, FILE *out, bool compress);
/* Writes waiting packets and frees all memory. Returns 0 or the first -errno of
 * all writes. */
int cut_file_end(struct cut_file *file);

void cut_file_write_pending(struct cut_file *file);

static inline void cut_file_check(struct cut_file *file)
{
	if (unlikely(file->pending.count > CUT_PENDING_BYTES))
		cut_file_write_pending(file);
}

/* Appends whole packets with their tags. */
static inline void cut_file_put(struct cut_file *file, const void *packets,
				size_t count)
{
	bytes_put(&file->pending, packets, count);
	cut_file_check(file);
}

static inline void cut_file_packet(struct cut_file *file, const uint8_t *fields,
				   size_t count)
{
	size_t most = WIRE_FIELD_MAX + count;
	uint8_t *at = bytes_add(&file->pending, most), *end;

	if (unlikely(!at))
		return;
	end = wire_put_bytes(at, TAG_TRACE_PACKET, fields, count);
	file->pending.count -= most - (size_t)(end - at);
	cut_file_check(file);
}

#endif
