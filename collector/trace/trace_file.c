/* SPDX-License-Identifier: Apache-2.0
 *
 * trace_file - how blocks of packets become bytes on disk. trace_blocks.c has
 * the pool, trace_writers.c the threads, trace_bundle.c pending, trace_append.c
 * the file, and trace_compress.c the decision to compress.
 *
 * The pool. A fixed number of blocks circulates. A producer takes a block from
 * the pool, fills it, and submits it to the queue. A writer thread appends the
 * block to the file and puts it back into the pool. There is one writer, or
 * with compression the number in the option (see trace_compress.c).
 *
 * Turns. Any writer writes any block. The blocks that a writer takes from the
 * queue are its run: one block, or with compression the blocks of a bundle. The
 * writer prepares the run, which takes long: it finds names, and compresses.
 * Then it waits for its turn: until all blocks taken before are in the file. So
 * the file has all blocks in the order of the queue, and one busy thread of the
 * program keeps all writers busy. No writer waits for ever: the writer with the
 * turn waits for no other. A writer that reads symbol tables delays the writers
 * behind it, each with one prepared run at most.
 *
 * While one writer is busy, the others take blocks only if the queue has enough
 * for a bundle. They could not append earlier anyway, and bundles would be
 * small.
 *
 * A slow disk. No producer ever waits, because a drain worker must also read
 * the rings of other recordings. If the pool is empty, a producer gets an extra
 * block, which is freed after it was written. trace_file_lags() bounds the
 * memory: a drain worker calls it before each piece of a ring, and skips the
 * rings of a lagging recording. So workers never need more extra blocks than
 * for a few pieces. Samples of the kernel and sizes of processes arrive even if
 * the disk hangs: with EXTRA_BLOCKS_MAX extra blocks their packets are dropped
 * (trace_file_admits()).
 *
 * Pending. "Pending" is the data that a writer has prepared: the names for the
 * next block and, with compression, the blocks of a bundle. Pending has only
 * whole packets. It is written completely or not at all. If a write fails, the
 * file is cut back to the start of the write, the reason is kept, and the trace
 * has stopped. From then on the writers put all blocks straight back into the
 * pool, so that no thread waits for the disk.
 *
 * The end. A trace that stops must still end the open slices in the file. So
 * sequences.h counts the slices that the blocks in the file leave open, by
 * sequence. With a size limit, room is reserved for the ends of these slices
 * and for the marks of losses. Pending is appended only if it leaves enough
 * room for its own ends.
 *
 * Room on disk. fallocate(2) reserves room for bytes to be appended. That room
 * lies beyond the end of the file, so the size of the file stays the same. An
 * append in ext4 then takes two thirds of the time. The file gets as much room
 * as it has bytes, but at most 8 MiB at a time. Closing the file frees unused
 * room. If the collector is killed, that room stays with the file.
 *
 * Locks. "lock" guards the pool, the queue and their counts. It is held for a
 * few instructions (for a memcpy in trace_file_append()). "write_lock" guards
 * the file and is held during a write. No thread holds both.
 */
#include "collector/trace/trace_file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "collector/base/log.h"
#include "collector/options/limits.h"
#include "collector/output/kept_trace.h"
#include "collector/output/own_files.h"
#include "collector/trace/flight_memory.h"
#include "collector/trace/trace_file_inner.h"
#include "shared/atomic.h"
#include "shared/compiler.h"

/* The events of a busy thread are written TRACE_BLOCK_BYTES at a time. A trace
 * is empty if it has no room for the first block and for the packets at its
 * end. */
_Static_assert(TRACE_BYTES_MIN >= TRACE_BLOCK_BYTES * 5 / 4,
	       "the smallest trace has room for a block");

/* --- producers --- */

void trace_file_set_nice(struct trace_file *file, int nice)
{
	/* relaxed: independent of other data */
	atom_store_rlx(&file->nice, nice);
}

uint64_t trace_file_submitted(struct trace_file *file)
{
	/* relaxed: an estimate of the work for readers */
	return atom_load_rlx(&file->submitted);
}

void trace_file_submit(struct trace_file *file, struct trace_block *block)
{
	block->next = NULL;
	lock_acquire(&file->lock);
	if (file->head)
		file->tail->next = block;
	else
		file->head = block;
	file->tail = block;
	file->queued++;
	/* relaxed: as in trace_file_submitted() */
	atom_store_rlx(&file->submitted, file->submitted + block->bytes);
	trace_writers_queue_grew(file, block->bytes);
	lock_release(&file->lock);
}

/* Adds @packet to the last block in the queue. The block may be of another
 * sequence, because the order is kept. Returns false if the queue is empty, or
 * if that block has no room or another value of late. */
static bool append_to_queue(struct trace_file *file, const void *packet,
			    size_t bytes, bool late)
{
	struct trace_block *last;
	bool done = false;

	lock_acquire(&file->lock);
	last = file->head ? file->tail : NULL;
	if (last && last->late == late &&
	    TRACE_BLOCK_BYTES - last->bytes >= bytes) {
		memcpy(last->data + last->bytes, packet, bytes);
		last->bytes += (uint32_t)bytes;
		trace_writers_queue_grew(file, bytes);
		done = true;
	}
	lock_release(&file->lock);
	return done;
}

static void append_packet(struct trace_file *file, uint32_t sequence,
			  const void *packet, size_t bytes, bool late)
{
	struct trace_block *block;

	assert(bytes <= TRACE_BLOCK_BYTES);
	if (append_to_queue(file, packet, bytes, late))
		return;
	block = trace_file_block(file);
	block->sequence = sequence;
	block->late = late;
	block->bytes = (uint32_t)bytes;
	memcpy(block->data, packet, bytes);
	trace_file_submit(file, block);
}

void trace_file_append(struct trace_file *file, uint32_t sequence,
		       const void *packet, size_t bytes)
{
	append_packet(file, sequence, packet, bytes, false);
}

void trace_file_append_late(struct trace_file *file, uint32_t sequence,
			    const void *packet, size_t bytes)
{
	append_packet(file, sequence, packet, bytes, true);
}

void trace_file_flush(struct trace_file *file)
{
	uint64_t queued;

	lock_acquire(&file->lock);
	queued = file->queued;
	while (file->written < queued)
		lock_wait(&file->lock, &file->progress);
	lock_release(&file->lock);
}

/* --- opening and closing --- */

/* Frees @file in any state of open_trace_file(). Does not close the file. */
static void trace_file_free(struct trace_file *file)
{
	trace_writers_stop(file);
	for (unsigned int i = 0; file->writers && i < file->writer_count; i++)
		trace_bundle_release(&file->writers[i]);
	free(file->writers);
	trace_index_close(&file->index, file->closed);
	trace_keep_free(&file->keep);
	flight_memory_free(&file->flight);
	sequences_release(&file->sequences);
	if (file->blocks)
		munmap(file->blocks, file->block_count * sizeof(*file->blocks));
	free(file);
}

static int make_writers(struct trace_file *file)
{
	unsigned int ready = file->compressing ? file->writer_count : 1;
	int err = 0;

	file->writers = calloc(file->writer_count, sizeof(*file->writers));
	if (!file->writers)
		return -ENOMEM;
	for (unsigned int i = 0; i < file->writer_count; i++) {
		file->writers[i].file = file;
		pthread_cond_init(&file->writers[i].turn, NULL);
	}
	for (unsigned int i = 0; i < ready && !err; i++)
		err = trace_bundle_init(&file->writers[i], file->compressing);
	return err;
}

static int create_files(struct trace_file *file,
			const struct trace_file_options *options)
{
	file->fd = own_files_create(options->dir_fd, options->name, O_APPEND);
	if (file->fd < 0)
		return file->fd;
	/* Without an index readers are slower but correct. */
	if (options->index_name &&
	    trace_index_open(options->dir_fd, options->index_name,
			     &file->index) < 0)
		log_dbg("the trace has no index");
	return 0;
}

static void discard_files(struct trace_file *file,
			  const struct trace_file_options *options)
{
	if (file->flight)
		return;
	close(file->fd);
	own_files_discard(options->dir_fd, options->name);
	if (file->index.file)
		own_files_discard(options->dir_fd, options->index_name);
}

/* Fills @file. Returns 0 or -errno; on an error the caller calls
 * trace_file_free(). */
static int open_trace_file(struct trace_file *file,
			   const struct trace_file_options *options)
{
	unsigned int cpus = (unsigned int)MAX(sysconf(_SC_NPROCESSORS_ONLN), 1);
	int err = trace_blocks_make(file, options->producers ?: cpus);

	if (err)
		return err;
	file->fd = -1;
	file->max_bytes = options->max_bytes;
	file->late_bytes = options->late_bytes;
	file->when = options->flight ? COMPRESS_OFF : options->compress;
	file->writer_count = file->when == COMPRESS_OFF
				     ? 1
				     : options->compress_threads ?: cpus;
	err = options->flight
		      ? flight_memory_new(options->flight, options->flight_ns,
					  &file->flight)
		      : create_files(file, options);
	if (err)
		return err;
	if (options->keep_bytes)
		err = trace_keep_new(file, options);
	if (!err) {
		trace_compress_init(file, options->compress_from);
		err = make_writers(file);
	}
	if (!err)
		err = trace_writers_start(file);
	if (err)
		discard_files(file, options);
	return err;
}

struct flight_memory *trace_file_flight(const struct trace_file *file)
{
	return file->flight;
}

int trace_file_open(const struct trace_file_options *options,
		    struct trace_file **out)
{
	struct trace_file *file = calloc(1, sizeof(*file));
	int err;

	if (!file)
		return -ENOMEM;
	lock_init(&file->lock, LOCK_TRACE);
	lock_init(&file->write_lock, LOCK_TRACE_WRITE);
	pthread_cond_init(&file->progress, NULL);
	pthread_cond_init(&file->work, NULL);
	err = open_trace_file(file, options);
	if (err) {
		trace_file_free(file);
		return err;
	}
	*out = file;
	return 0;
}

int trace_file_close(struct trace_file **file)
{
	int stopped, fd = (*file)->fd, dir_fd = -1;
	int err;

	trace_file_flush(*file);
	if ((*file)->keep)
		dir_fd = trace_keep_end((*file)->keep);
	if (fd >= 0)
		trace_append_give_room_back(*file);
	stopped = (*file)->stopped;
	(*file)->closed = true;
	trace_file_free(*file);
	*file = NULL;
	if (fd >= 0 && close(fd) < 0 && !stopped)
		stopped = -errno;
	if (dir_fd < 0)
		return stopped;
	err = kept_trace_join(dir_fd);
	if (err)
		log_warn("the trace is still in two files: %s "
			 "('perfrec index' joins them)",
			 strerror(-err));
	close(dir_fd);
	return stopped ?: err;
}
