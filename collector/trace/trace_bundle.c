/* SPDX-License-Identifier: Apache-2.0
 *
 * trace_bundle - a writer's pending data: the names of a block and, with
 * compression, the blocks of a bundle. See the top of trace_file.c.
 */
#include <assert.h>
#include <errno.h>
#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "collector/names/modules.h"
#include "collector/names/sites.h"
#include "collector/trace/flight_memory.h"
#include "collector/trace/out_perfetto.h"
#include "collector/trace/packet.h"
#include "collector/trace/trace_file_inner.h"
#include "shared/compiler.h"

#define COMPRESSION_LEVEL 1 /* of libdeflate: its fastest */
#define NAMES_AT_ONCE 8 /* of a block, encoded at a time */

_Static_assert(NAMES_AT_ONCE *OUT_NAME_BYTES <= PENDING_BYTES,
	       "names fit into an empty bundle");
_Static_assert(TRACE_BLOCK_BYTES <= PENDING_BYTES, "so does a block");

static void keep_pending(struct writer *writer)
{
	flight_memory_describe(writer->file->flight, writer->pending,
			       writer->pending_bytes);
	writer->pending_bytes = 0;
}

/* Appends pending as one packet with a zlib stream of all its packets. */
static void append_bundle(struct writer *writer)
{
	uint8_t head[PACKET_BUNDLE_HEAD_MAX], *end;
	size_t bytes;

	bytes = libdeflate_zlib_compress(writer->compressor, writer->pending,
					 writer->pending_bytes, writer->packed,
					 writer->packed_size);
	assert(bytes); /* packed_size is libdeflate's bound */
	end = packet_put_bundle_head(head, bytes);

	struct iovec parts[] = { { head, (size_t)(end - head) },
				 { writer->packed, bytes } };
	trace_writer_await_turn(writer);
	trace_append_pending(writer, parts, ARRAY_SIZE(parts));
}

void trace_bundle_flush(struct writer *writer)
{
	struct iovec parts[] = { { writer->pending, writer->pending_bytes } };

	if (writer->file->flight) {
		keep_pending(writer);
		return;
	}
	if (!writer->pending_bytes && !writer->block_count)
		return;
	if (writer->compress && writer->pending_bytes) {
		append_bundle(writer);
		return;
	}
	trace_writer_await_turn(writer);
	trace_append_pending(writer, parts, ARRAY_SIZE(parts));
}

/* Returns the place for @bytes more in pending. Flushes pending first if the
 * room is too small. */
static uint8_t *pending_room(struct writer *writer, size_t bytes)
{
	if (PENDING_BYTES - writer->pending_bytes < bytes)
		trace_bundle_flush(writer);
	return writer->pending + writer->pending_bytes;
}

/* Notes @block as the next one of pending, or right behind it; its packets are
 * at @data. */
static void note_pending_block(struct writer *writer, struct trace_block *block,
			       const uint8_t *data)
{
	writer->blocks[writer->block_count++] = (struct pending_block){
		.sequence = block->sequence,
		.opened = block->opened,
		.at = writer->pending_bytes,
		.data = data,
		.bytes = block->bytes,
		.own_bytes = block->own_bytes,
		.ended = block->ended,
		.packets = block->packets,
		.late = block->late,
		.first_ns = block->first_ns,
		.last_ns = block->last_ns,
		.index = block->index,
		.index_bytes = block->index_bytes,
	};
	block->index = NULL;
}

/* Adds the category and the source of @site to pending. @iid is its number on
 * the sequence of @block. */
static void put_site_name(struct writer *writer,
			  const struct trace_block *block, uint32_t iid,
			  const struct site *site)
{
	const struct out_site out = { .iid = iid,
				      .category = site->category,
				      .file = site->file,
				      .function = site->function,
				      .line = site->line };

	if (site->category[0] || site->file[0])
		writer->pending_bytes += out_perfetto_site(
			pending_room(writer, OUT_SITE_BYTES), OUT_SITE_BYTES,
			block->sequence, &out);
}

static void resolve_block_names(struct writer *writer,
				const struct trace_block *block)
{
	struct out_name names[NAMES_AT_ONCE];
	struct symbol symbol;
	uint8_t *out;

	for (uint32_t i = 0; i < block->name_count;) {
		uint32_t count = 0;

		for (; count < NAMES_AT_ONCE && i < block->name_count; i++) {
			modules_resolve(block->modules,
					block->names[i].function,
					block->names[i].generation, &symbol);
			if (symbol.site)
				put_site_name(writer, block,
					      block->names[i].iid, symbol.site);
			names[count].iid = block->names[i].iid;
			names[count++].name = symbol.name;
		}
		out = pending_room(writer, NAMES_AT_ONCE * OUT_NAME_BYTES);
		writer->pending_bytes +=
			out_perfetto_names(out, NAMES_AT_ONCE * OUT_NAME_BYTES,
					   block->sequence, names, count);
	}
}

static void keep_block(struct writer *writer, const struct trace_block *block)
{
	const struct flight_block kept = {
		.sequence = block->sequence,
		.compact = block->compact,
		.packets = block->packets,
		.ended = block->ended,
		.data = block->data,
		.bytes = block->bytes,
		.own_bytes = block->own_bytes,
		.last_ns = block->last_ns,
	};

	resolve_block_names(writer, block);
	keep_pending(writer);
	flight_memory_take(writer->file->flight, &kept);
}

void trace_bundle_write(struct writer *writer, struct trace_block *block)
{
	uint8_t *out;

	if (writer->file->flight) {
		keep_block(writer, block);
		return;
	}
	if (trace_file_stopped(writer->file)) {
		if (block->late)
			trace_append_late(writer->file, block->data,
					  block->bytes);
		block->late = false;
		/* Pending will be dropped with this block. */
		note_pending_block(writer, block, block->data);
		return;
	}
	resolve_block_names(writer, block);
	if (!writer->compress) {
		struct iovec parts[] = { { writer->pending,
					   writer->pending_bytes },
					 { block->data, block->bytes } };

		note_pending_block(writer, block, block->data);
		trace_writer_await_turn(writer);
		trace_append_pending(writer, parts, ARRAY_SIZE(parts));
		return;
	}
	out = pending_room(writer, block->bytes);
	memcpy(out, block->data, block->bytes);
	note_pending_block(writer, block, out);
	writer->pending_bytes += block->bytes;
}

static int make_compressor(struct writer *writer)
{
	writer->compressor = libdeflate_alloc_compressor(COMPRESSION_LEVEL);
	if (!writer->compressor)
		return -ENOMEM;
	writer->packed_size = libdeflate_zlib_compress_bound(writer->compressor,
							     PENDING_BYTES);
	writer->packed = malloc(writer->packed_size);
	return writer->packed ? 0 : -ENOMEM;
}

int trace_bundle_init(struct writer *writer, bool compress)
{
	if (!writer->pending)
		writer->pending = malloc(PENDING_BYTES);
	if (!writer->pending)
		return -ENOMEM;
	return compress ? make_compressor(writer) : 0;
}

void trace_bundle_release(struct writer *writer)
{
	free(writer->pending);
	free(writer->packed);
	if (writer->compressor)
		libdeflate_free_compressor(writer->compressor);
}
