/* SPDX-License-Identifier: Apache-2.0
 *
 * trace_file_inner - shared by the files of module trace_file, whose design is
 * at the top of trace_file.c.
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

/* Limit of pending. Perfetto accepts a bundle of at most 512 KB with all its
 * headers. */
#define PENDING_BYTES (500u * 1024)

/* Limit of blocks in pending. */
#define PLACES_MAX 256

struct pending_block {
	uint32_t sequence;
	int32_t opened; /* as in struct trace_block */
	size_t at; /* place of its packets, in pending or behind it */
	const uint8_t *data; /* the same; valid until pending is written */
	uint32_t bytes, own_bytes; /* as in struct trace_block */
	bool ended, packets, late; /* as in struct trace_block */
	uint64_t first_ns, last_ns;
	void *index;
	size_t index_bytes;
};

struct writer {
	struct trace_file *file;
	pthread_t thread;

	/* Guarded by file->lock. */
	uint64_t first; /* number of the first block of its run */
	uint32_t run; /* blocks taken and neither written nor dropped; 0:
		       * idle */
	pthread_cond_t turn; /* all blocks before its run are written */

	/* Used only by the writer thread. */
	bool has_turn; /* it has seen its turn */
	bool compress; /* its run becomes bundles */
	uint8_t *pending;
	size_t pending_bytes;
	struct pending_block blocks[PLACES_MAX];
	unsigned int block_count;
	struct libdeflate_compressor *compressor;
	uint8_t *packed;
	size_t packed_size;
};

/* Measures whether the disk is too slow: see trace_compress.c. */
struct disk_watch {
	/* The current write. */
	uint64_t begin_ns, begin_cpu_ns;
	long sleeps;
	/* Sums since since_ns. */
	uint64_t since_ns, slept_ns;
	bool is_slow;
};

struct trace_file {
	struct lock lock;
	pthread_cond_t progress; /* written has changed */
	pthread_cond_t work; /* a writer may take blocks, or the file is
			      * closing */
	struct trace_block *head, *tail; /* the queue; tail is valid if head is
					  * not NULL */
	size_t queue_bytes; /* of its packets */
	/* Numbers of blocks since the start. Dropped blocks also count as
	 * written. */
	uint64_t queued, taken, written;
	struct trace_block *free; /* the last block is used first, because it
				   * may still be in the cache */
	uint32_t busy; /* writers with a run */
	uint32_t free_count; /* changes under lock; any thread reads it */
	uint32_t extra_count; /* blocks outside of the pool; as free_count */
	int nice; /* requested for the writers; any thread */
	bool compressing; /* new runs become bundles; never reset */
	bool closing; /* the writers end once the queue is empty */
	uint64_t left_out; /* any thread */
	uint64_t submitted; /* bytes; changes under lock, any thread reads it */

	struct lock write_lock;
	int fd;
	uint64_t max_bytes;
	uint64_t bytes; /* of the file; changes under write_lock, any thread
			 * reads it */
	uint64_t unpacked; /* as bytes, with bundles unpacked */
	uint64_t room_end; /* end of the reserved room on disk; 0: none */
	int stopped; /* trace_file_stopped(); changes under write_lock, any
		      * thread reads it */
	uint64_t last_ns; /* of the events in the file; as stopped */
	uint64_t late_bytes; /* reserved for late packets */
	bool no_room; /* fallocate(2) has failed and is not tried again */
	bool torn; /* the file ends in half a packet */
	bool closed;
	bool started;
	struct sequences sequences;
	struct trace_index_to index; /* under write_lock */
	struct trace_keep *keep; /* NULL: the whole trace is kept */
	struct flight_memory *flight; /* has its own lock; NULL: packets go to
				       * the file */

	struct trace_block *blocks;
	size_t block_count;
	struct writer *writers;
	unsigned int writer_count;

	/* Until compression starts, the first writer is the only one. After the
	 * file was opened only that writer uses these fields. */
	enum compress_when when;
	uint64_t compress_from;
	struct disk_watch disk;
	unsigned int writers_running; /* constant once the first writer has
				       * ended */
};

/* --- trace_append.c --- */

/* Appends @parts: pending of @writer, and possibly a block behind it. Stops the
 * trace on an error. Passes the places of the blocks to the index. Pending is
 * empty afterwards. Changes @parts. The writer must have its turn. */
void trace_append_pending(struct writer *writer, struct iovec *parts,
			  int count);
/* Frees unused room on disk. An error does no harm, because the file only keeps
 * some room. The writers have ended. */
void trace_append_give_room_back(struct trace_file *file);

/* Appends the @bytes at @packets, which are late, after a stop, if there is
 * room. */
void trace_append_late(struct trace_file *file, const void *packets,
		       size_t bytes);
/* Stops the trace because of @err. write_lock held. */
void trace_append_stop(struct trace_file *file, int err);

/* --- trace_keep.c --- */

/* Starts to keep the newest part of @file, which is open and empty. Returns 0
 * or -errno; -EOPNOTSUPP: the file system cannot free the start of a file. The
 * caller frees file->keep, if set, with trace_keep_free() in either case. */
int trace_keep_new(struct trace_file *file,
		   const struct trace_file_options *options);
/* Stops giving up parts. Returns a descriptor of the folder, which the caller
 * closes, or -1. No lock held. */
int trace_keep_end(struct trace_keep *keep);
void trace_keep_free(struct trace_keep **keep);

/* Return the excess bytes of the file, and the parts given up. Any thread. */
uint64_t trace_keep_gone(const struct trace_keep *keep);
struct trace_kept trace_keep_told(const struct trace_keep *keep);
/* Returns the limit in bytes. Before anything is written. */
uint64_t trace_keep_bytes(const struct trace_keep *keep);

/* For the functions below: write_lock held.
 *
 * Waits until there is room for @bytes more. Returns 0, or the new value of
 * trace_file_stopped(). */
int trace_keep_await_room(struct trace_keep *keep, uint64_t bytes);
/* Gives up a part because the disk is full, and waits for that. Returns false
 * if there is no part, or after a stop. */
bool trace_keep_make_room(struct trace_keep *keep);
/* Pending of @writer was appended at @offset. */
void trace_keep_appended(const struct writer *writer, uint64_t offset);
/* Returns how much room on disk may be reserved at a time. */
uint64_t trace_keep_room(const struct trace_keep *keep);

/* --- trace_index.c --- */

/* Passes pending of @writer, now in the file at @offset, to the index.
 * write_lock held. */
void trace_index_pending(const struct writer *writer, uint64_t offset);

/* --- trace_bundle.c --- */

/* Makes the missing parts of @writer's pending. Returns 0 or -ENOMEM; in either
 * case the caller calls trace_bundle_release(). */
int trace_bundle_init(struct writer *writer, bool compress);
void trace_bundle_release(struct writer *writer);
/* Appends @block with its names or, with compression, adds both to pending.
 * Drops it after a stop. May read symbol tables. */
void trace_bundle_write(struct writer *writer, struct trace_block *block);
/* Appends pending, which is empty afterwards. Waits for the turn. */
void trace_bundle_flush(struct writer *writer);

/* --- trace_compress.c --- */

/* Decides whether @file, which is open and empty, is compressed from the start.
 * @from is the option compress_from. */
void trace_compress_init(struct trace_file *file, uint64_t from);
/* Call around a write of a writer that does not compress. @lags: blocks have
 * run out. */
void trace_compress_begin_write(struct disk_watch *disk);
void trace_compress_end_write(struct disk_watch *disk, bool lags);
/* Returns true if @file, which is not compressed, should be from now on. */
bool trace_compress_is_due(struct trace_file *file);

/* --- trace_writers.c --- */

/* Waits until all blocks before the run of @writer are in the file or
 * dropped. */
void trace_writer_await_turn(struct writer *writer);
/* The queue has grown by @bytes: wakes a writer if needed. lock held. */
void trace_writers_queue_grew(struct trace_file *file, size_t bytes);
/* Starts the writer threads: one, or all for a compressed trace. Returns 0 or
 * -errno; some may then run. */
int trace_writers_start(struct trace_file *file);
/* Ends the writer threads after they have emptied the queue. */
void trace_writers_stop(struct trace_file *file);

/* --- trace_blocks.c --- */

/* Makes the pool, with more blocks than producers: each may hold one and need
 * another for a small packet. Returns 0 or -ENOMEM. */
int trace_blocks_make(struct trace_file *file, unsigned int producers);
/* Puts @block back into the pool, or frees an extra one, and puts the reference
 * to its modules. */
void trace_block_give_back(struct trace_file *file, struct trace_block *block);

#endif
