/* SPDX-License-Identifier: Apache-2.0
 *
 * trace_file - writes trace.pftrace to disk. Drain workers pass blocks of
 * finished packets. Writer threads of this module put the names of functions in
 * front of the packets, compress both if requested, and append them to the
 * file. So a drain worker never waits for a symbol table, for zlib or for the
 * disk. It calls trace_file_lags() before it produces more.
 *
 * Blocks are appended completely, so the file is a valid trace at any moment.
 * The file keeps the order of submitted blocks and appended packets, whichever
 * thread writes them. So each sequence keeps its order. Packets of sequence 1
 * precede all later packets of other sequences, which need them: clocks, and
 * the process of each thread.
 *
 * A trace that reaches its size limit stops. It is still well formed: room is
 * reserved for the ends of its open slices and for the last packets of a file.
 * On a full disk the same is tried with the remaining room.
 */
#ifndef PERFREC_COLLECTOR_TRACE_TRACE_FILE_H
#define PERFREC_COLLECTOR_TRACE_TRACE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/options/limits.h"
#include "collector/trace/trace_keep.h"

struct flight_memory;
struct flight_share;
struct modules;
struct trace_file;

/* Limit of packets in a block. Perfetto accepts bundles of at most 512 KB; a
 * block fits into one, with some names in front. */
#define TRACE_BLOCK_BYTES (192u * 1024)
#define TRACE_BLOCK_NAMES 1024
/* Limit of open slices on one sequence. */
#define TRACE_OPEN_MAX 1024

/* The name of an iid in a block: the function at an address, on the sequence of
 * the block. */
struct trace_name {
	uint32_t iid;
	uint32_t generation; /* of the load map for the address */
	uint64_t function; /* its address, as for modules_resolve() */
};

struct trace_block {
	struct trace_block *next; /* private to trace_file */
	uint32_t sequence; /* trusted_packet_sequence_id; 1: outside of
			    * threads */
	/* To resolve the names: a reference, which trace_file puts; NULL
	 * without names. */
	struct modules *modules;
	uint32_t name_count;
	uint32_t bytes;
	/* Length of the first part, described by compact, first_ns, last_ns and
	 * index; 0 if these are unset. */
	uint32_t own_bytes;
	bool compact; /* they have the form of compact.h; only for a trace in
		       * memory */
	bool packets; /* has more than begins and ends of slices */
	bool ended; /* the last block of its sequence */
	bool late; /* see trace_file_append_late() */
	int32_t opened; /* begins of slices minus ends */
	uint64_t first_ns, last_ns; /* of its events; 0, 0: no times */
	/* Items for the index, from malloc(); trace_file frees them. NULL:
	 * none. */
	void *index;
	size_t index_bytes;
	struct trace_name names[TRACE_BLOCK_NAMES];
	uint8_t data[TRACE_BLOCK_BYTES];
};

struct trace_file_options {
	int dir_fd; /* the output folder; owned by the caller and used only by
		     * trace_file_open() */
	const char *name;
	const char *index_name; /* INDEX_NAME; NULL: no index */
	enum compress_when compress;
	/* For COMPRESS_AUTO: compress from this size of the file on, or when
	 * the disk is too slow; 0: see trace_compress.c. */
	uint64_t compress_from;
	unsigned int compress_threads; /* writer threads then; 0: one per CPU */
	uint64_t max_bytes; /* limit of the file; 0: none */
	uint64_t late_bytes; /* part of max_bytes: see
			      * trace_file_append_late() */
	/* Not 0: keep the newest packets in this many bytes of disk, index
	 * included; max_bytes is 0. */
	uint64_t keep_bytes;
	trace_head_make *make_head;
	/* Not NULL: no file; keep the newest packets in this memory. */
	struct flight_share *flight;
	uint64_t flight_ns; /* and at most for this long */
	unsigned int producers; /* threads that may hold a block at the same
				 * time; 0: one per CPU */
};

/* Creates the file and starts the writer threads, which block all signals.
 * Returns 0, and the caller ends *@out with trace_file_close(); or -errno
 * without a file and with *@out unchanged. */
int trace_file_open(const struct trace_file_options *options,
		    struct trace_file **out);

/* Returns the memory with the packets, owned by @file, or NULL for a trace in a
 * file. Any thread. */
struct flight_memory *trace_file_flight(const struct trace_file *file);

/* Raises the nice value of the writer threads to @nice before their next block;
 * never lowers it. Any thread. */
void trace_file_set_nice(struct trace_file *file, int nice);

/*
 * Returns an empty block, never NULL. The caller sets its sequence, fills it,
 * and ends it with trace_file_submit(). Does not wait for the disk: if all
 * blocks are in use, it makes one more. So producers of much data call
 * trace_file_lags() first. Any thread.
 */
struct trace_block *trace_file_block(struct trace_file *file);
/* Returns true if nearly all blocks are in use, because the disk or the lookup
 * of names is too slow. Any thread; never waits. */
bool trace_file_lags(struct trace_file *file);
/* Submits @block and the reference to its modules; the caller may not use it
 * any more. The block is appended, or dropped if the trace has stopped. Does
 * not wait for the disk. Any thread. */
void trace_file_submit(struct trace_file *file, struct trace_block *block);
/* Appends a copy of the @bytes at @packet to sequence @sequence: finished
 * packets with their Trace.packet tags, at most TRACE_BLOCK_BYTES. Their slices
 * do not count as open: if the trace stops, they are not ended. Does not wait
 * for the disk. Any thread; it may hold a block. */
void trace_file_append(struct trace_file *file, uint32_t sequence,
		       const void *packet, size_t bytes);

/* As trace_file_append(), for packets about a time that earlier packets of the
 * file may also describe. If the trace stops at its limit before they are
 * written, they are appended in the room of late_bytes. */
void trace_file_append_late(struct trace_file *file, uint32_t sequence,
			    const void *packet, size_t bytes);

/* Returns true if an optional sample or value may be appended. Returns false
 * and counts if the disk hangs and blocks have piled up; then the caller drops
 * the packet. Packets that the trace needs are appended all the same. Any
 * thread; never waits. */
bool trace_file_admits(struct trace_file *file);
/* Counts an event that its writer drops before it asks trace_file_admits(). Any
 * thread. */
void trace_file_leave_out(struct trace_file *file);
/* Returns how often trace_file_admits() was false, and the events that were
 * dropped before. Any thread. */
uint64_t trace_file_left_out(struct trace_file *file);

/* Returns true if the file has a block of @sequence. A submitted block may not
 * be in the file before trace_file_flush(). May wait for a write. Any
 * thread. */
bool trace_file_has(struct trace_file *file, uint32_t sequence);
/* Appends the @bytes at @packets, from out_perfetto_losses() for sequences in
 * the file. Room for them is reserved, so this also works after a stop at the
 * size limit. Call it after trace_file_flush() and the last submit. Writes on
 * the calling thread, which must not die of SIGXFSZ. A failed write stops the
 * trace. */
void trace_file_append_last(struct trace_file *file, const void *packets,
			    size_t bytes);

/* Returns the reason why the trace has stopped: 0 if it has not;
 * TRACE_AT_LIMIT; -ENOMEM; or the -errno of the failed write. -ENOSPC: the disk
 * is full. -EFBIG: a limit of the process or the file system. Any thread; never
 * waits. */
#define TRACE_AT_LIMIT 1
int trace_file_stopped(struct trace_file *file);
/* Returns the time of the last event in the file, by its blocks. The open
 * slices of a stopped trace end then. Any thread; never waits. */
uint64_t trace_file_last_ns(struct trace_file *file);
/* Returns the bytes of packets submitted so far, before compression. Any
 * thread; never waits. */
uint64_t trace_file_submitted(struct trace_file *file);
/* Returns the bytes of the file, without parts given up. Any thread; never
 * waits. */
uint64_t trace_file_bytes(struct trace_file *file);
/* Returns true if the trace is compressed, at the latest from its next bundle
 * on. Any thread. */
bool trace_file_is_compressed(struct trace_file *file);
/* Returns the bytes of the file's packets with bundles unpacked. Any thread;
 * never waits. */
uint64_t trace_file_unpacked_bytes(struct trace_file *file);
/* Returns the parts given up. Any thread; never waits. */
struct trace_kept trace_file_kept(struct trace_file *file);
/* Waits until all blocks submitted before the call are in the file, or dropped
 * after a stop. Any thread. */
void trace_file_flush(struct trace_file *file);
/* Flushes, ends the writer threads, closes the file, frees *@file, which is not
 * NULL, and sets it to NULL. No other thread may use it any more. Returns
 * trace_file_stopped() or, if that is 0, the -errno of close(2). */
int trace_file_close(struct trace_file **file);

#endif
