/* SPDX-License-Identifier: Apache-2.0
 *
 * index_file - collects items in memory and writes them as a batch, at
 * BATCH_BYTES of them or when the trace is TRACE_BYTES longer. It writes a
 * batch as a whole or removes it again.
 *
 * An extent lists the threads with events in a stretch of the trace. So a
 * reader of a few threads, or of a short time, can skip the rest. The blocks of
 * an extent are contiguous in the trace, and so are their items in the index,
 * in front of the item of the extent.
 */
#include "collector/trace/index_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/base/bytes.h"
#include "collector/base/grow.h"
#include "collector/base/log.h"
#include "collector/base/pool.h"
#include "collector/base/search.h"
#include "collector/output/own_files.h"
#include "shared/compiler.h"
#include "shared/hash.h"

#define BATCH_BYTES (64u << 10)
#define TRACE_BYTES (4u << 20)
/* The bytes of an extent are EXTENT_BYTES and this many for each sequence in
 * it, because a reader reads the list of every extent. */
#define EXTENT_BYTES (256u << 10)
#define EXTENT_SEQUENCE_BYTES 1024u
/* An index larger than this plus half of its trace ends early, so a program
 * that makes new stacks all the time cannot fill the disk. */
#define INDEX_BYTES (16u << 20)
/* Bytes of texts that are written only once; later ones are written each
 * time. */
#define TEXTS_BYTES_MAX (64u << 20)

struct text {
	const uint8_t *at;
	size_t bytes;
	uint32_t number;
};

/* 0, 0: no time. */
struct times {
	uint64_t first_ns, last_ns;
};

struct index_file {
	int fd;
	int err;
	uint64_t bytes;
	uint64_t batches;
	struct bytes items;
	struct bytes payload;
	uint64_t trace_bytes; /* that items describe, written or not */
	uint64_t written_trace_bytes;
	uint8_t tail[INDEX_TAIL_BYTES];
	size_t tail_bytes;

	struct pool texts;
	size_t kept_bytes;
	uint32_t text_count;

	index_file_more *more; /* adds items to an extent; or NULL */
	void *more_context;

	struct extent {
		uint64_t offset, end;
		struct times events, sched;
		bool untimed;
		uint32_t *sequences;
		uint32_t sequence_count, sequence_room;
		uint32_t last;
	} extent;
};

static void put_items(struct index_file *file, enum index_kind kind)
{
	index_put_item(&file->items, kind, file->payload.at,
		       file->payload.count);
	if (file->payload.failed)
		file->items.failed = true;
	bytes_clear(&file->payload);
}

/* --- texts --------------------------------------------------------------- */

static uint64_t text_hash(const void *item)
{
	const struct text *text = item;

	return hash_bytes(HASH_START, text->at, text->bytes);
}

static bool is_same_text(const void *a, const void *b)
{
	const struct text *first = a, *second = b;

	return first->bytes == second->bytes &&
	       memcmp(first->at, second->at, first->bytes) == 0;
}

static const struct pool_key text_key = { text_hash, is_same_text };

/* Returns the number of @text. Writes it first if it is new. */
static uint32_t text_number(struct index_file *file, const void *text,
			    size_t bytes)
{
	struct text item = { .at = text, .bytes = bytes }, *items;
	uint8_t *copy;
	uint32_t at;

	if (pool_find(&file->texts, &item, &at)) {
		items = file->texts.items;
		return items[at].number;
	}
	index_put_item(&file->items, INDEX_TEXT, text, bytes);
	item.number = ++file->text_count;
	copy = file->kept_bytes < TEXTS_BYTES_MAX ? malloc(bytes + 1) : NULL;
	if (!copy)
		return item.number;
	memcpy(copy, text, bytes);
	item.at = copy;
	if (pool_intern(&file->texts, &item, &at) < 0)
		free(copy);
	else
		file->kept_bytes += sizeof(item) + bytes;
	return item.number;
}

void index_file_name(struct index_file *file, uint32_t sequence, uint32_t iid,
		     const void *text, size_t bytes)
{
	uint32_t number;

	if (file->err)
		return;
	number = text_number(file, text, bytes);
	bytes_varint(&file->payload, sequence);
	bytes_varint(&file->payload, iid);
	bytes_varint(&file->payload, number);
	put_items(file, INDEX_IID);
}

void index_file_packet(struct index_file *file, enum index_kind kind,
		       uint32_t sequence, const void *packet, size_t bytes)
{
	if (file->err)
		return;
	bytes_varint(&file->payload, sequence);
	bytes_put(&file->payload, packet, bytes);
	put_items(file, kind);
}

void index_file_item(struct index_file *file, enum index_kind kind,
		     const void *payload, size_t bytes)
{
	if (!file->err)
		index_put_item(&file->items, kind, payload, bytes);
}

void index_file_items(struct index_file *file, const void *items, size_t bytes)
{
	if (!file->err && bytes)
		bytes_put(&file->items, items, bytes);
}

/* --- extents ------------------------------------------------------------- */

void index_file_set_more(struct index_file *file, index_file_more *more,
			 void *context)
{
	file->more = more;
	file->more_context = context;
}

static void put_times(struct index_file *file, const struct times *times)
{
	bytes_varint(&file->payload, times->first_ns);
	bytes_varint(&file->payload, times->last_ns - times->first_ns);
}

static void extent_put(struct index_file *file)
{
	struct extent *extent = &file->extent;
	uint32_t before = 0;

	if (extent->end == extent->offset)
		return;
	if (file->more)
		file->more(file->more_context, file);
	bytes_varint(&file->payload, extent->offset);
	bytes_varint(&file->payload, extent->end - extent->offset);
	put_times(file, &extent->events);
	put_times(file, &extent->sched);
	bytes_varint(&file->payload, extent->untimed);
	bytes_varint(&file->payload, extent->sequence_count);
	for (uint32_t i = 0; i < extent->sequence_count; i++) {
		bytes_varint(&file->payload, extent->sequences[i] - before);
		before = extent->sequences[i];
	}
	put_items(file, INDEX_EXTENT);
	extent->offset = extent->end;
	extent->events = extent->sched = (struct times){ 0 };
	extent->untimed = false;
	extent->sequence_count = 0;
	extent->last = 0;
}

static void extent_add(struct index_file *file, const struct index_place *place)
{
	struct extent *extent = &file->extent;
	uint32_t at;
	struct times *times = place->sched ? &extent->sched : &extent->events;

	if (place->last_ns) {
		if (!times->last_ns || place->first_ns < times->first_ns)
			times->first_ns = place->first_ns;
		times->last_ns = MAX(times->last_ns, place->last_ns);
	}
	extent->untimed |= place->untimed;
	if (place->apart || place->sequence == extent->last)
		return;
	extent->last = place->sequence;
	at = search_first(i, extent->sequence_count,
			  extent->sequences[i] >= place->sequence);
	if (at < extent->sequence_count &&
	    extent->sequences[at] == place->sequence)
		return;
	if (grow_array(extent->sequences, extent->sequence_room,
		       extent->sequence_count + 1)) {
		file->items.failed = true;
		return;
	}
	memmove(extent->sequences + at + 1, extent->sequences + at,
		(extent->sequence_count - at) * sizeof(*extent->sequences));
	extent->sequences[at] = place->sequence;
	extent->sequence_count++;
}

/* --- blocks and batches -------------------------------------------------- */

void index_file_block(struct index_file *file, const struct index_place *place,
		      const void *items, size_t bytes)
{
	if (file->err)
		return;
	extent_add(file, place);
	if (!bytes)
		return;
	bytes_varint(&file->payload, place->sequence);
	bytes_varint(&file->payload, place->offset);
	bytes_varint(&file->payload, place->inner);
	put_items(file, INDEX_BLOCK);
	bytes_put(&file->items, items, bytes);
}

/* Returns 0 or -errno; after an error, some bytes may be written. */
static int write_all(int fd, const uint8_t *from, size_t count)
{
	while (count) {
		ssize_t done = write(fd, from, count);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return -errno;
		from += done;
		count -= (size_t)done;
	}
	return 0;
}

static void write_batch(struct index_file *file)
{
	struct index_batch batch = { .bytes = (uint32_t)file->items.count,
				     .trace_bytes = file->trace_bytes,
				     .tail_crc = index_crc(file->tail,
							   file->tail_bytes),
				     .number = file->batches };
	uint8_t head[INDEX_BATCH_BYTES];
	int err = file->items.failed ? -ENOMEM : 0;

	if (file->bytes + batch.bytes > INDEX_BYTES + file->trace_bytes / 2)
		err = -EOVERFLOW;
	if (!err) {
		index_put_batch(head, &batch, file->items.at);
		err = write_all(file->fd, head, sizeof(head));
	}
	if (!err)
		err = write_all(file->fd, file->items.at, file->items.count);
	if (err) {
		file->err = err;
		if (ftruncate(file->fd, (off_t)file->bytes) < 0)
			log_dbg("the index may end in half a batch");
		bytes_release(&file->items);
		/* The trace most likely has the same problem, and reports
		 * it. */
		log_dbg("the index of the trace ends early: %s",
			strerror(-err));
		return;
	}
	file->bytes += sizeof(head) + file->items.count;
	file->batches++;
	file->written_trace_bytes = file->trace_bytes;
	bytes_clear(&file->items);
}

void index_file_appended(struct index_file *file, const void *bytes,
			 size_t count)
{
	size_t taken = MIN(count, sizeof(file->tail));
	size_t kept = MIN(file->tail_bytes, sizeof(file->tail) - taken);

	memmove(file->tail, file->tail + file->tail_bytes - kept, kept);
	memcpy(file->tail + kept, (const uint8_t *)bytes + count - taken,
	       taken);
	file->tail_bytes = kept + taken;
	file->trace_bytes += count;
}

void index_file_passed(struct index_file *file, uint64_t trace_bytes,
		       const void *tail, size_t count)
{
	file->tail_bytes = 0;
	index_file_appended(file, tail, count);
	file->trace_bytes = trace_bytes;
}

void index_file_advance(struct index_file *file)
{
	uint64_t trace_bytes = file->trace_bytes;

	if (file->err)
		return;
	file->extent.end = trace_bytes;
	if (trace_bytes - file->extent.offset >=
	    EXTENT_BYTES + (uint64_t)EXTENT_SEQUENCE_BYTES *
				   file->extent.sequence_count)
		extent_put(file);
	if (file->items.count < BATCH_BYTES &&
	    trace_bytes - file->written_trace_bytes < TRACE_BYTES)
		return;
	extent_put(file);
	write_batch(file);
}

static void index_file_free(struct index_file *file)
{
	const struct text *items;

	bytes_release(&file->items);
	bytes_release(&file->payload);
	items = file->texts.items;
	for (uint32_t i = 0; i < file->texts.count; i++)
		free((void *)items[i].at);
	pool_release(&file->texts);
	free(file->extent.sequences);
	if (file->fd >= 0)
		close(file->fd);
	free(file);
}

int index_file_open(int dir_fd, const char *name, struct index_file **out)
{
	struct index_file *file = calloc(1, sizeof(*file));
	int err;

	if (!file)
		return -ENOMEM;
	pool_init_key(&file->texts, NULL, sizeof(struct text), &text_key);
	file->fd = own_files_create(dir_fd, name, O_APPEND);
	err = MIN(file->fd, 0);
	if (!err) {
		uint8_t header[INDEX_HEADER_BYTES] = INDEX_MAGIC;

		header[sizeof(INDEX_MAGIC) - 1] = INDEX_VERSION;
		err = write_all(file->fd, header, sizeof(header));
		file->bytes = sizeof(header);
		if (err)
			own_files_discard(dir_fd, name);
	}
	if (err)
		index_file_free(file);
	else
		*out = file;
	return err;
}

int index_file_close(struct index_file **file, bool whole)
{
	struct index_file *closed = *file;
	int err;

	if (!closed)
		return 0;
	if (!closed->err) {
		extent_put(closed);
		if (whole)
			index_put_item(&closed->items, INDEX_END, NULL, 0);
		if (closed->items.count)
			write_batch(closed);
	}
	err = closed->err;
	index_file_free(closed);
	*file = NULL;
	return err;
}
