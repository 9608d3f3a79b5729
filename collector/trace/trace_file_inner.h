/* SPDX-License-Identifier: Apache-2.0
 *
 * trace_file_inner - what the files of the module trace_file share. Its design
 * is at the top of trace_file.c.
 */
#ifndef PERFREC_COLLECTOR_TRACE_TRACE_FILE_INNER_H
#define PERFREC_COLLECTOR_TRACE_TRACE_FILE_INNER_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/base/lock.h"
#include "collector/trace/sequences.h"
#include "collector/trace/trace_file.h"
#include "collector/trace/trace_index.h"

struct iovec;
struct libdeflate_compressor;

/* The most bytes of pending. Perfetto takes a bundle of at most 512 KB with all
 * its headers. */
#define PENDING_BYTES (500u * 1024)

/* Pending has so many blocks at most. */
#define PLACES_MAX 256

/* A block that is pending. */
struct pending_block {
	uint32_t sequence;
	int32_t opened; /* as in struct trace_block */
	size_t at; /* its packets, in pending or behind it */
	const uint8_t *data; /* the same; until pending is written */
	uint32_t bytes, own_bytes; /* as in struct trace_block */
	bool ended, packets, late; /* the same */
	uint64_t first_ns, last_ns;
	void *index; /* the same; freed when the block is in its place */
	size_t index_bytes;
};

struct writer {
	struct trace_file *file;
	pthread_t thread;

	/* Guarded by file->lock. */
	uint64_t first; /* the number of the first block of its run */
	uint32_t run; /* how many blocks it took and has not written or dropped;
		       * 0: it is idle */
	pthread_cond_t turn; /* all blocks before its run are written */

	/* Only the writer thread uses these. */
	bool has_turn; /* it has seen that */
	bool compress; /* its run becomes bundles */
	uint8_t *pending;
	size_t pending_bytes;
	struct pending_block blocks[PLACES_MAX];
	unsigned int block_count;
	struct libdeflate_compressor *compressor; /* NULL: none */
	uint8_t *packed;
	size_t packed_size;
};

/* Whether the disk is too slow: see trace_compress.c. */
struct disk_watch {
	/* Of the write that goes on. */
	uint64_t begin_ns, begin_cpu_ns;
	long sleeps;
	/* Since since_ns. */
	uint64_t since_ns, slept_ns;
	bool is_slow;
};

struct trace_file {
	struct lock lock;
	pthread_cond_t progress; /* written changed */
	pthread_cond_t work; /* a writer may take blocks, or the file is closing
			      */
	struct trace_block *head, *tail; /* the queue; tail counts only if head
					  * is not NULL */
	size_t queue_bytes; /* of the packets in it */
	uint64_t queued, taken, written; /* how many blocks since the start;
					  * written counts those that were
					  * dropped, too */
	struct trace_block *free; /* the block that came last is used first: it
				   * may still be in the cache */
	uint32_t busy; /* writers that have a run */
	uint32_t free_count; /* changes under lock, any thread reads it */
	uint32_t extra_count; /* as free_count: blocks that are not of the pool
			       */
	int nice; /* what the writers are to be; any thread */
	bool compressing; /* runs that are taken now become bundles; it never
			   * ends */
	bool closing; /* the writers end when the queue is empty */
	uint64_t left_out; /* any thread */
	uint64_t submitted; /* bytes; changes under lock, any thread reads it */

	struct lock write_lock;
	int fd;
	uint64_t max_bytes;
	uint64_t bytes; /* of the file; changes under write_lock, any thread
			 * reads it */
	uint64_t unpacked; /* the same, with bundles unpacked */
	uint64_t room_end; /* where the room on disk ends; 0: none is ready */
	int stopped; /* as trace_file_stopped(); changes under write_lock, any
		      * thread reads it */
	uint64_t last_ns; /* of the events in the file; as stopped */
	uint64_t late_bytes; /* room that is set aside for late packets */
	bool no_room; /* fallocate(2) has failed: it is not tried again */
	bool torn; /* the file ends in half a packet */
	bool closed; /* by trace_file_close() */
	bool started; /* the first writer runs */
	struct sequences sequences; /* of which the file has blocks */
	struct trace_index_to index; /* under write_lock */
	struct trace_keep *keep; /* NULL: nothing is given up */
	struct flight_memory *flight; /* has a lock of its own; NULL: packets go
				       * to the file */

	struct trace_block *blocks;
	size_t block_count;
	struct writer *writers;
	unsigned int writer_count;

	/* As long as nothing is compressed the first writer is the only one,
	 * and only it uses these, after the file was opened. */
	enum compress_when when;
	uint64_t compress_from; /* with COMPRESS_AUTO: from this size on */
	struct disk_watch disk;
	unsigned int writers_running; /* changes no more when that has ended */
};

/* --- trace_append.c --- */

/* Appends @parts, which are the pending of @writer, and maybe a block behind
 * it. If that is not possible, stops the trace. Tells where the blocks are.
 * Pending is then empty. Changes @parts. The writer has its turn. */
void trace_append_pending(struct writer *writer, struct iovec *parts,
			  int count);
/* Gives back the room on disk that was not used. If that fails, it does not
 * matter: the file keeps some room. The writers have ended. */
void trace_append_give_room_back(struct trace_file *file);

/* The trace has stopped: appends the @bytes at @packets, which are late, if
 * there is room. */
void trace_append_late(struct trace_file *file, const void *packets,
		       size_t bytes);
/* Stops the trace because of @err. write_lock held. */
void trace_append_stop(struct trace_file *file, int err);

/* --- trace_keep.c --- */

/* Begins to keep the newest part of @file, which is open and empty. 0; or
 * -errno, of which -EOPNOTSUPP: the file system cannot give up the begin of a
 * file. In either case file->keep is ended by trace_keep_free(), if there is
 * one. */
int trace_keep_new(struct trace_file *file,
		   const struct trace_file_options *options);
/* Nothing is given up any more. Returns a descriptor of the folder, which is
 * the caller's; -1: there is none. No lock held. */
int trace_keep_end(struct trace_keep *keep);
/* Frees *@keep, which may be NULL, and clears it. */
void trace_keep_free(struct trace_keep **keep);

/* How many bytes the file has too many; what was given up. Any thread. */
uint64_t trace_keep_gone(const struct trace_keep *keep);
struct trace_kept trace_keep_told(const struct trace_keep *keep);
/* How many bytes it may have. While nothing is written yet. */
uint64_t trace_keep_bytes(const struct trace_keep *keep);

/* The functions below: write_lock held.
 *
 * Waits until there is room for @bytes more. 0, or what trace_file_stopped()
 * is to say from now on. */
int trace_keep_await_room(struct trace_keep *keep, uint64_t bytes);
/* The disk is full: gives something up, and waits for that. False: there is
 * nothing, or the trace has stopped. */
bool trace_keep_make_room(struct trace_keep *keep);
/* What is pending of @writer was appended at @offset. */
void trace_keep_appended(const struct writer *writer, uint64_t offset);
/* How much room on the disk may be made ready at a time. */
uint64_t trace_keep_room(const struct trace_keep *keep);

/* --- trace_index.c --- */

/* Tells the index what pending of @writer has, which is in the file at @offset
 * now. write_lock held. */
void trace_index_pending(const struct writer *writer, uint64_t offset);

/* --- trace_bundle.c --- */

/* Makes what @writer needs for its pending, as far as it is not there. 0 or
 * -ENOMEM; the caller ends it by trace_bundle_release(), also after an error.
 */
int trace_bundle_init(struct writer *writer, bool compress);
void trace_bundle_release(struct writer *writer);
/* Appends @block with its names; or, with compression, adds both to pending.
 * Drops it if the trace has stopped. May read symbol tables. */
void trace_bundle_write(struct writer *writer, struct trace_block *block);
/* Appends what is pending; after that nothing is. Waits for the turn. */
void trace_bundle_flush(struct writer *writer);

/* --- trace_compress.c --- */

/* Decides whether @file, which is open and empty, is compressed from its begin
 * on. @from is the option compress_from. */
void trace_compress_init(struct trace_file *file, uint64_t from);
/* Stand around a write of a writer that does not compress. @lags: whether
 * blocks have run out. */
void trace_compress_begin_write(struct disk_watch *disk);
void trace_compress_end_write(struct disk_watch *disk, bool lags);
/* Whether @file, which is not compressed, is to be from now on. */
bool trace_compress_is_due(struct trace_file *file);

/* --- trace_writers.c --- */

/* Waits until all blocks before the run of @writer are in the file, or were
 * dropped. */
void trace_writer_await_turn(struct writer *writer);
/* The queue of @file has @bytes more: a writer may be needed. lock held. */
void trace_writers_queue_grew(struct trace_file *file, size_t bytes);
/* Starts the writer threads: one, or all if the trace is compressed. 0 or
 * -errno; some may then run. */
int trace_writers_start(struct trace_file *file);
/* Ends the writer threads that run, after they have emptied the queue. */
void trace_writers_stop(struct trace_file *file);

/* --- trace_blocks.c --- */

/* Makes the blocks of the pool: more than there are producers, each of which
 * may hold one and need another for a small packet. 0 or -ENOMEM. */
int trace_blocks_make(struct trace_file *file, unsigned int producers);
/* Puts @block back into the pool, or frees it if it is an extra one, and gives
 * the reference to its modules back. */
void trace_block_give_back(struct trace_file *file, struct trace_block *block);

#endif
