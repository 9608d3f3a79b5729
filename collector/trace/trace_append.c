/* SPDX-License-Identifier: Apache-2.0
 *
 * trace_append - the file of a trace. Pending is appended completely or not at
 * all. See the top of trace_file.c.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "collector/base/log.h"
#include "collector/trace/encode.h"
#include "collector/trace/index_file.h"
#include "collector/trace/out_perfetto.h"
#include "collector/trace/trace_file_inner.h"
#include "collector/trace/trace_index.h"
#include "shared/atomic.h"
#include "shared/compiler.h"

/* Most bytes of a packet that ends a slice at the time of the last event (see
 * encode.h), and of the mark with the reason of a stop. */
#define END_BYTES 16
#define STOP_MARK_BYTES 64
#define PARTS_MAX 3

/* Limits of the room on disk that is reserved at a time; see the top of
 * trace_file.c. A smaller file has no reserved room. */
#define ROOM_BYTES_MIN (1u << 20)
#define ROOM_BYTES_MAX (8u << 20)

static size_t parts_bytes(const struct iovec *parts, int count)
{
	size_t bytes = 0;

	for (int i = 0; i < count; i++)
		bytes += parts[i].iov_len;
	return bytes;
}

/* Writes all @count @parts, and changes @parts. Returns 0 or -errno; after an
 * error part of the bytes may be in the file. */
static int write_parts(int fd, struct iovec *parts, int count)
{
	while (count) {
		ssize_t done = writev(fd, parts, count);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return -errno;
		while (count && (size_t)done >= parts->iov_len) {
			done -= (ssize_t)parts->iov_len;
			parts++;
			count--;
		}
		if (count) {
			parts->iov_base = (uint8_t *)parts->iov_base + done;
			parts->iov_len -= (size_t)done;
		}
	}
	return 0;
}

void trace_append_give_room_back(struct trace_file *file)
{
	if (file->room_end > file->bytes && !file->torn)
		(void)!ftruncate(file->fd, (off_t)file->bytes);
}

/* Cuts off the bytes of a failed write. O_APPEND makes the next write start
 * there. This also works on a full disk. If it fails, nothing more is appended:
 * readers ignore half a packet at the end. */
static void cut_back(struct trace_file *file)
{
	file->torn = ftruncate(file->fd, (off_t)file->bytes) < 0;
	if (file->torn)
		log_warn("cannot cut half a packet off the trace: %s",
			 strerror(errno));
}

/* Reserves room on disk if there is not enough for @bytes more. Without it,
 * blocks are appended all the same. write_lock held. */
static void make_file_room(struct trace_file *file, uint64_t bytes)
{
	uint64_t from = MAX(file->room_end, file->bytes);
	uint64_t room = MIN(file->bytes, ROOM_BYTES_MAX);

	if (file->keep)
		room = MIN(room, trace_keep_room(file->keep));
	if (file->max_bytes)
		room = MIN(room, file->max_bytes - MIN(from, file->max_bytes));
	if (file->no_room || room < ROOM_BYTES_MIN ||
	    file->bytes + bytes <= file->room_end)
		return;
	file->no_room = fallocate(file->fd, FALLOC_FL_KEEP_SIZE, (off_t)from,
				  (off_t)room) < 0;
	if (!file->no_room)
		file->room_end = from + room;
}

/* Appends @parts, which are whole packets, or nothing. Changes @parts. Returns
 * 0 or -errno. write_lock held. */
static int put_parts(struct trace_file *file, struct iovec *parts, int count)
{
	uint64_t bytes = parts_bytes(parts, count);
	struct iovec written[PARTS_MAX];
	int err;

	if (file->torn)
		return -EIO;
	assert(count <= PARTS_MAX);
	memcpy(written, parts, (size_t)count * sizeof(*parts));
	make_file_room(file, bytes);
	err = write_parts(file->fd, parts, count);
	if (err) {
		cut_back(file);
		return err;
	}
	/* relaxed: stored only under write_lock; a reader of an older value
	 * stops a little later */
	atom_store_rlx(&file->bytes, file->bytes + bytes);
	atom_store_rlx(&file->unpacked, file->unpacked + bytes);
	for (int i = 0; file->index.file && i < count; i++)
		index_file_appended(file->index.file, written[i].iov_base,
				    written[i].iov_len);
	return 0;
}

/* --- a stop of the trace --- */

/* Returns how many sequences of pending are new in the file. write_lock
 * held. */
static uint32_t count_new_sequences(const struct writer *writer)
{
	const struct pending_block *blocks = writer->blocks;
	uint32_t count = 0;

	for (unsigned int i = 0; i < writer->block_count; i++) {
		uint32_t sequence = blocks[i].sequence;
		unsigned int first = 0;

		if (!blocks[i].bytes ||
		    sequences_know(&writer->file->sequences, sequence))
			continue;
		while (!blocks[first].bytes ||
		       blocks[first].sequence != sequence)
			first++;
		count += first == i;
	}
	return count;
}

/* Returns 0 if pending, with @bytes when written, may be appended;
 * TRACE_AT_LIMIT without room; or -ENOMEM. write_lock held. */
static int admit_pending(struct writer *writer, uint64_t bytes)
{
	struct trace_file *file = writer->file;
	uint32_t known = file->sequences.count + count_new_sequences(writer);
	uint64_t open = file->sequences.slices;

	for (unsigned int i = 0; i < writer->block_count; i++) {
		if (sequences_make_room(&file->sequences,
					writer->blocks[i].sequence,
					writer->block_count) < 0)
			return -ENOMEM;
		open += (uint64_t)(int64_t)writer->blocks[i].opened;
	}
	/* Keeps room for the end of the trace: losses, marks, open slices. */
	bytes += OUT_LOSSES_BYTES(known) + (uint64_t)known * STOP_MARK_BYTES +
		 open * END_BYTES + file->late_bytes;
	return file->max_bytes && bytes > file->max_bytes - file->bytes
		       ? TRACE_AT_LIMIT
		       : 0;
}

/* Updates the state after a block of pending was appended. write_lock held. */
static void count_block(struct trace_file *file,
			const struct pending_block *block)
{
	uint32_t open = 0;

	if (block->bytes)
		open = sequences_change(&file->sequences, block->sequence,
					block->opened, block->last_ns);
	/* relaxed: as in put_parts() */
	atom_store_rlx(&file->last_ns, MAX(file->last_ns, block->last_ns));
	assert(open <= TRACE_OPEN_MAX);
}

/* Appends the @bytes at @packets outside of blocks. Returns 0 or -errno.
 * write_lock held. */
static int put_packets(struct trace_file *file, const void *packets,
		       size_t bytes)
{
	struct iovec part = { (void *)packets, bytes };
	uint64_t offset = file->bytes;
	int err = put_parts(file, &part, 1);

	if (!err && file->index.file) {
		trace_index_packets(&file->index, offset, 0, packets, bytes);
		index_file_advance(file->index.file);
	}
	return err;
}

/* Appends a mark with the reason of the stop to sequence @open, and the ends of
 * its open slices. Returns 0 or -errno. write_lock held. */
static int end_slices(struct trace_file *file, const struct open_sequence *open)
{
	struct out_event mark = {
		.type = OUT_INSTANT,
		.sequence = open->id,
		.delta_ns = open->last_ns ? file->last_ns - open->last_ns : 0,
		.name = file->stopped == TRACE_AT_LIMIT
				? "trace stopped: size limit"
				: "trace stopped: no room"
	};
	uint8_t packets[STOP_MARK_BYTES + TRACE_OPEN_MAX * END_BYTES +
			ENCODE_EVENT_BYTES];
	struct encoder encoder;

	/* All get the time of the last event in the file. The clock of the
	 * sequence counts from the sequence's own last event, which is old if
	 * its thread has waited for long. */
	encoder_init(&encoder, open->id, 0);
	encoder.out =
		packets + out_perfetto_event(packets, STOP_MARK_BYTES, &mark);
	for (uint32_t i = 0; i < open->slices; i++)
		encode_end(&encoder, 0);

	return put_packets(file, packets, (size_t)(encoder.out - packets));
}

void trace_append_stop(struct trace_file *file, int err)
{
	if (!file->stopped) {
		const struct open_sequence *open;
		uint32_t at = 0;

		/* relaxed: as in put_parts() */
		atom_store_rlx(&file->stopped, err);
		while ((open = sequences_next_open(&file->sequences, &at)))
			if (end_slices(file, open) < 0)
				return;
	}
}

/* write_lock held. */
static void put_late(struct trace_file *file, const void *packets, size_t bytes)
{
	if (file->stopped != TRACE_AT_LIMIT || bytes > file->late_bytes)
		return;
	file->late_bytes -= bytes;
	(void)put_packets(file, packets, bytes);
}

void trace_append_late(struct trace_file *file, const void *packets,
		       size_t bytes)
{
	lock_acquire(&file->write_lock);
	put_late(file, packets, bytes);
	lock_release(&file->write_lock);
}

/* As put_parts(), for pending. Measures the disk if its speed may be a reason
 * to compress. write_lock held. */
static int put_pending(struct writer *writer, struct iovec *parts, int count)
{
	struct trace_file *file = writer->file;
	uint64_t bytes = parts_bytes(parts, count);
	bool watched = !writer->compress && file->when == COMPRESS_AUTO;
	int err;

	if (watched)
		trace_compress_begin_write(&file->disk);
	err = put_parts(file, parts, count);
	if (watched)
		trace_compress_end_write(&file->disk, trace_file_lags(file));
	if (!err && writer->compress)
		/* relaxed: as in put_parts() */
		atom_store_rlx(&file->unpacked,
			       file->unpacked + writer->pending_bytes - bytes);
	return err;
}

/* As put_pending(). On a full disk, gives up the oldest part (--keep last) and
 * tries again. Sets *@offset to the place of pending in the file. */
static int put_or_make_room(struct writer *writer, struct iovec *parts,
			    int count, uint64_t *offset)
{
	struct trace_file *file = writer->file;
	struct iovec written[PARTS_MAX];
	int err;

	do {
		memcpy(written, parts, (size_t)count * sizeof(*parts));
		*offset = file->bytes;
		err = put_pending(writer, written, count);
	} while (err == -ENOSPC && file->keep &&
		 trace_keep_make_room(file->keep));
	return err;
}

void trace_append_pending(struct writer *writer, struct iovec *parts, int count)
{
	struct trace_file *file = writer->file;
	uint64_t offset;
	int err;

	lock_acquire(&file->write_lock);
	err = file->stopped;
	if (!err && file->keep)
		err = trace_keep_await_room(file->keep,
					    parts_bytes(parts, count));
	if (!err)
		err = admit_pending(writer, parts_bytes(parts, count));
	if (!err)
		err = put_or_make_room(writer, parts, count, &offset);
	if (err) {
		trace_append_stop(file, err);
		for (unsigned int i = 0; i < writer->block_count; i++)
			if (writer->blocks[i].late)
				put_late(writer->file, writer->blocks[i].data,
					 writer->blocks[i].bytes);
	}
	for (unsigned int i = 0; !err && i < writer->block_count; i++)
		count_block(file, &writer->blocks[i]);
	if (!err && file->keep)
		trace_keep_appended(writer, offset);
	if (!err && file->index.file)
		trace_index_pending(writer, offset);
	lock_release(&file->write_lock);
	for (unsigned int i = 0; i < writer->block_count; i++)
		free(writer->blocks[i].index);
	writer->pending_bytes = 0;
	writer->block_count = 0;
}

void trace_file_append_last(struct trace_file *file, const void *packets,
			    size_t bytes)
{
	int err = TRACE_AT_LIMIT;

	if (file->flight)
		return;
	lock_acquire(&file->write_lock);
	if (!file->max_bytes || bytes <= file->max_bytes - file->bytes)
		err = put_packets(file, packets, bytes);
	if (err)
		trace_append_stop(file, err);
	lock_release(&file->write_lock);
}

bool trace_file_has(struct trace_file *file, uint32_t sequence)
{
	return LOCKED(&file->write_lock,
		      sequences_know(&file->sequences, sequence));
}

int trace_file_stopped(struct trace_file *file)
{
	/* relaxed: as in put_parts() */
	return atom_load_rlx(&file->stopped);
}

uint64_t trace_file_last_ns(struct trace_file *file)
{
	/* relaxed: as in put_parts() */
	return atom_load_rlx(&file->last_ns);
}

bool trace_file_is_compressed(struct trace_file *file)
{
	return LOCKED(&file->lock, file->compressing);
}

uint64_t trace_file_unpacked_bytes(struct trace_file *file)
{
	/* relaxed: as in put_parts() */
	return atom_load_rlx(&file->unpacked) - trace_file_kept(file).given_up;
}

uint64_t trace_file_bytes(struct trace_file *file)
{
	uint64_t gone = file->keep ? trace_keep_gone(file->keep) : 0;

	/* relaxed: as in put_parts() */
	return atom_load_rlx(&file->bytes) - gone;
}

struct trace_kept trace_file_kept(struct trace_file *file)
{
	const struct trace_kept nothing = { 0 };

	return file->keep ? trace_keep_told(file->keep) : nothing;
}
