/* SPDX-License-Identifier: Apache-2.0
 *
 * trace_file - how blocks of packets become bytes on disk. trace_blocks.c has
 * the pool, trace_writers.c the threads, trace_bundle.c what is pending,
 * trace_append.c the file, and trace_compress.c when it is compressed.
 *
 * The pool. There is a fixed number of blocks, and they go round. A producer
 * takes a block from the pool, fills it, and submits it to the queue. A writer
 * thread appends the block to the file, and puts it back into the pool. There
 * is one writer; with compression there are as many as the option says
 * (trace_compress.c has when that begins).
 *
 * Turns. Any writer writes any block. What a writer takes from the queue is its
 * run: one block, or with compression the blocks of a bundle. It makes the run
 * ready, which is what takes long: it finds names, and compresses. Then it
 * waits for its turn: until all blocks that were taken before are in the file.
 * So the file has all blocks in the order of the queue, and one busy thread of
 * the program keeps all writers busy. Nobody waits for ever: who has its turn
 * waits for no other writer. A writer that reads symbol tables holds up those
 * behind it; each of these has one run ready by then, and no more.
 *
 * As long as one writer is busy, the others take nothing unless there is enough
 * for a bundle. They could not append it before that one is done, and bundles
 * would be small.
 *
 * A slow disk. No producer ever waits, since a drain worker has the rings of
 * other recordings to read, too. If the pool is empty, a producer gets an extra
 * block, which is freed when it was written. What bounds memory is
 * trace_file_lags(): a drain worker asks it before each piece of a ring, and
 * leaves the rings of a recording that lags as they are. So workers never make
 * more extra blocks than a few pieces take. Samples of the kernel and sizes of
 * processes come as long as the disk hangs: their packets are left out when
 * there are EXTRA_BLOCKS_MAX (trace_file_admits()).
 *
 * Pending. "Pending" is what a writer has ready to be written: the names for
 * the next block and, with compression, the blocks of a bundle. Pending has
 * whole packets only. It is written whole or not at all. If a write fails, the
 * file is cut back to where the write began, the reason is kept, and the trace
 * has stopped. From then on the writers put all blocks straight back into the
 * pool, so that nobody waits for the disk.
 *
 * The end. When a trace stops, the slices that are open in the file must still
 * be ended. So sequences.h says for each sequence how many slices its blocks in
 * the file leave open. If there is a size limit, room is set aside for the ends
 * of these slices and for the marks of losses. Pending is appended only if it
 * leaves as much room as will then be needed.
 *
 * Room on disk. fallocate(2) makes room ready for the bytes that will be
 * appended. That room lies beyond the end of the file, so the size of the file
 * does not change. An append in ext4 then takes two thirds of the time. The
 * file gets as much room as it has bytes, but at most 8 MiB at a time. Room
 * that was not used is given back when the file is closed. If the collector is
 * killed, that room stays with the file.
 *
 * Places. Whoever wants to find packets again is told where each block lies as
 * soon as it is in the file (struct trace_place): in put_block_in_place(), for
 * blocks as they are and for those in bundles.
 *
 * Locks. "lock" guards the pool, the queue and their counts. It is held for a
 * few instructions (for a memcpy in trace_file_append()). "write_lock" guards
 * the file, and is held during a write. No thread holds both at a time.
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
 * shows nothing if it has no room for the first block and for the packets that
 * end the trace. */
_Static_assert(TRACE_BYTES_MIN >= TRACE_BLOCK_BYTES * 5 / 4,
	       "the smallest trace has room for a block");

/* --- producers --- */

void trace_file_set_nice(struct trace_file *file, int nice)
{
	/* relaxed: it stands for nothing else */
	atom_store_rlx(&file->nice, nice);
}

uint64_t trace_file_submitted(struct trace_file *file)
{
	/* relaxed: it is only about how much there is to read */
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

/* Adds @packet to the last block in the queue, and returns true. The block may
 * be of another sequence: all keeps its order. False: the queue is empty, or
 * that block has no room, or its packets may not come @late. */
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

/* Frees @file, in any state that open_trace_file() leaves behind. Does not
 * close the file. */
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

/* Makes the writers. 0 or -ENOMEM. */
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

/* Makes the writers of @file, and starts them. 0 or -errno. */
static int begin_trace_file(struct trace_file *file,
			    const struct trace_file_options *options)
{
	int err;

	trace_compress_init(file, options->compress_from);
	err = make_writers(file);
	return err ? err : trace_writers_start(file);
}

/* Creates the file and its index. 0 or -errno. */
static int create_files(struct trace_file *file,
			const struct trace_file_options *options)
{
	file->fd = own_files_create(options->dir_fd, options->name, O_APPEND);
	if (file->fd < 0)
		return file->fd;
	/* Without an index everything is slower, and nothing is wrong. */
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

/* Fills @file. 0 or -errno; the caller then calls trace_file_free(). */
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
	if (!err)
		err = begin_trace_file(file, options);
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

/* Joins a trace of which a part was given up, and closes @dir_fd. -1: there is
 * none. Returns @stopped; or, if that is 0, -errno. */
static int join_parts(int dir_fd, int stopped)
{
	int err;

	if (dir_fd < 0)
		return stopped;
	err = kept_trace_join(dir_fd);
	if (err)
		log_warn("the trace is in two files still: %s "
			 "('perfrec index' joins them)",
			 strerror(-err));
	close(dir_fd);
	return stopped ?: err;
}

int trace_file_close(struct trace_file **file)
{
	int stopped, fd = (*file)->fd, dir_fd = -1;

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
	return join_parts(dir_fd, stopped);
}
