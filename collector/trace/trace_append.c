/* SPDX-License-Identifier: Apache-2.0
 *
 * trace_append - the file of a trace: what is pending is appended to it whole
 * or not at all. See the top of trace_file.c.
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
#include "collector/index/index_file.h"
#include "collector/trace/out_perfetto.h"
#include "collector/trace/trace_file_inner.h"
#include "collector/trace/trace_index.h"
#include "shared/atomic.h"
#include "shared/compiler.h"

/* The most bytes of a packet that ends a slice at the time of the last event
 * (see encode.h), and of the mark that says why the trace stopped. */
#define END_BYTES 16
#define STOP_MARK_BYTES 64
/* Of what is appended at a time. */
#define PARTS_MAX 3

/* Bytes of room on disk that are made ready at a time; see the top. A file of
 * less than ROOM_BYTES_MIN gets none. */
#define ROOM_BYTES_MIN (1u << 20)
#define ROOM_BYTES_MAX (8u << 20)

static size_t parts_bytes(const struct iovec *parts, int count)
{
	size_t bytes = 0;

	for (int i = 0; i < count; i++)
		bytes += parts[i].iov_len;
	return bytes;
}

/* Writes all of the @count @parts, and changes @parts. 0 or -errno; after an
 * error a part of the bytes may be written. */
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

/* Cuts off the bytes that a failed write has left at the end of the file. With
 * O_APPEND the next write begins there. A full disk does not prevent this. If
 * it fails all the same, nothing more is appended: readers ignore half a packet
 * at the end. */
static void cut_back(struct trace_file *file)
{
	file->torn = ftruncate(file->fd, (off_t)file->bytes) < 0;
	if (file->torn)
		log_warn("cannot cut half a packet off the trace: %s",
			 strerror(errno));
}

/* Makes room on disk ready if there is not enough for @bytes more. If that
 * fails, blocks are appended without it. write_lock held. */
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

void trace_append_give_room_back(struct trace_file *file)
{
	if (file->room_end > file->bytes && !file->torn)
		(void)!ftruncate(file->fd, (off_t)file->bytes);
}

/* Appends @parts, which are whole packets, or nothing. Changes @parts. 0 or
 * -errno. write_lock held. */
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
	/* relaxed: stored under write_lock alone, and who reads an older value
	 * stops a little later */
	atom_store_rlx(&file->bytes, file->bytes + bytes);
	atom_store_rlx(&file->unpacked, file->unpacked + bytes);
	for (int i = 0; file->index.file && i < count; i++)
		index_file_appended(file->index.file, written[i].iov_base,
				    written[i].iov_len);
	return 0;
}

/* --- a trace that stops --- */

/* How many bytes the end of the trace can take, if the file has blocks of
 * @sequences sequences, with @open open slices in all. */
static uint64_t bytes_set_aside(uint32_t sequences, uint64_t open)
{
	return OUT_LOSSES_BYTES(sequences) +
	       (uint64_t)sequences * STOP_MARK_BYTES + open * END_BYTES;
}

/* How many sequences pending has that the file does not have. write_lock held.
 */
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

/* Returns 0 if pending, which has @bytes when it is written, may be appended;
 * TRACE_AT_LIMIT: there is no room; or -ENOMEM. write_lock held. */
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
	bytes += bytes_set_aside(known, open) + file->late_bytes;
	return file->max_bytes && bytes > file->max_bytes - file->bytes
		       ? TRACE_AT_LIMIT
		       : 0;
}

/* A block of pending is now in the file. write_lock held. */
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

/* Appends the @bytes at @packets, of no block. 0 or -errno. write_lock held. */
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

/* Appends to sequence @open a mark that says why the trace stopped, and the
 * ends of its open slices. 0 or -errno. write_lock held. */
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

	/* All of them have the time of the last event in the file: the clock of
	 * the sequence counts from its own last one. A thread that waits for
	 * others has recorded nothing for long. */
	encoder_init(&encoder, open->id, 0);
	encoder.out =
		packets + out_perfetto_event(packets, STOP_MARK_BYTES, &mark);
	for (uint32_t i = 0; i < open->slices; i++)
		encode_end(&encoder, 0);

	return put_packets(file, packets, (size_t)(encoder.out - packets));
}

/* Stops the trace because of @err, and ends the slices that are open in it, as
 * far as there is room. write_lock held. */
static void stop_trace(struct trace_file *file, int err)
{
	const struct open_sequence *open;
	uint32_t at = 0;

	/* relaxed: as in put_parts() */
	atom_store_rlx(&file->stopped, err);
	while ((open = sequences_next_open(&file->sequences, &at)))
		if (end_slices(file, open) < 0)
			return;
}

void trace_append_stop(struct trace_file *file, int err)
{
	if (!file->stopped)
		stop_trace(file, err);
}

/* write_lock held. */
static void put_late(struct trace_file *file, const void *packets, size_t bytes)
{
	if (file->stopped != TRACE_AT_LIMIT || bytes > file->late_bytes)
		return;
	file->late_bytes -= bytes;
	(void)put_packets(file, packets, bytes);
}

/* The late blocks of pending, which was not appended. write_lock held. */
static void put_late_blocks(const struct writer *writer)
{
	for (unsigned int i = 0; i < writer->block_count; i++)
		if (writer->blocks[i].late)
			put_late(writer->file, writer->blocks[i].data,
				 writer->blocks[i].bytes);
}

void trace_append_late(struct trace_file *file, const void *packets,
		       size_t bytes)
{
	lock_acquire(&file->write_lock);
	put_late(file, packets, bytes);
	lock_release(&file->write_lock);
}

/* put_parts() of what is pending; looks how long the disk takes if that may be
 * a reason to compress. write_lock held. */
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

/* The same; if the disk is full, gives up what is old, if it is kept only as
 * long as there is room. Sets *@offset to where it is. */
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
		put_late_blocks(writer);
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
	bool has;

	lock_acquire(&file->write_lock);
	has = sequences_know(&file->sequences, sequence);
	lock_release(&file->write_lock);
	return has;
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
	bool compressing;

	lock_acquire(&file->lock);
	compressing = file->compressing;
	lock_release(&file->lock);
	return compressing;
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
