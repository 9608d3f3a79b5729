/* SPDX-License-Identifier: Apache-2.0
 *
 * trace_file - writes trace.pftrace to disk. Drain workers hand over blocks of
 * finished packets. The writer threads of this module put the names of
 * functions in front of the packets, compress both if the user wants that, and
 * append them to the file. So a drain worker never waits for a symbol table,
 * for zlib or for the disk. It asks trace_file_lags() before it makes more.
 *
 * Blocks are appended whole. So the file is a valid trace at every moment.
 * Whatever is submitted or appended lies in the file behind all that was
 * submitted or appended before it, whichever writer thread writes it. So each
 * sequence keeps its order, and all lies behind what sequence 1 had before it:
 * sequence 1 has what the other sequences need, which are the clocks, and the
 * process of each thread.
 *
 * A trace that reaches its size limit stops. It is well formed all the same:
 * room is set aside to end the slices that are open then, and for the packets
 * that come last in a file. If the disk is full, the same is tried with the
 * room that is left.
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

/* The most bytes of packets in a block. Perfetto takes a bundle of at most 512
 * KB: a block fits into one, with some names in front of it. */
#define TRACE_BLOCK_BYTES (192u * 1024)
#define TRACE_BLOCK_NAMES 1024
/* The most slices that may be open at a time on one sequence. */
#define TRACE_OPEN_MAX 1024

/* Says what a name in the packets of a block means: on the sequence of the
 * block the number iid stands for the function at an address. */
struct trace_name {
	uint32_t iid;
	uint32_t generation; /* of the load map that has the address */
	uint64_t function; /* the address, as modules_resolve() takes it */
};

struct trace_block {
	struct trace_block *next; /* only trace_file uses it */
	uint32_t sequence; /* trusted_packet_sequence_id; 1: belongs to no
			    * thread */
	struct modules *modules; /* resolves the names; a reference, which
				  * trace_file gives back; NULL if there are no
				  * names */
	uint32_t name_count; /* how many of names are used */
	uint32_t bytes; /* how many of data are used */
	uint32_t own_bytes; /* the first of them, that compact, first_ns,
			     * last_ns and index are about; 0 if these are not
			     * set */
	bool compact; /* they have the form of compact.h: only for a trace that
		       * is kept in memory */
	bool packets; /* there is more than begins and ends of slices */
	bool ended; /* nothing more will come on the sequence */
	bool late; /* see trace_file_append_late() */
	int32_t opened; /* how many slices the block begins, minus how many it
			 * ends */
	uint64_t first_ns, last_ns; /* of its events; 0, 0: none has a time */
	void *index; /* items about the packets, for the index; of malloc(),
		      * trace_file frees them; NULL: none */
	size_t index_bytes;
	struct trace_name names[TRACE_BLOCK_NAMES];
	uint8_t data[TRACE_BLOCK_BYTES];
};

struct trace_file_options {
	int dir_fd; /* the output folder; stays the caller's, and is used only
		     * by trace_file_open() */
	const char *name; /* TRACE_NAME: see own_files_create() */
	const char *index_name; /* INDEX_NAME; NULL: no index is written */
	enum compress_when compress; /* packets are written as
				      * compressed_packets */
	uint64_t compress_from; /* with COMPRESS_AUTO: from this size of the
				 * file on, or when the disk is too slow; 0: as
				 * trace_compress.c has it */
	unsigned int compress_threads; /* writer threads that do so; 0: one per
					* CPU */
	uint64_t max_bytes; /* the file is never larger; 0: no limit */
	uint64_t late_bytes; /* of max_bytes: see trace_file_append_late() */
	uint64_t keep_bytes; /* not 0: the newest packets are kept, in so many
			      * bytes of the disk with the index; max_bytes is 0
			      */
	trace_head_make *make_head; /* with keep_bytes */
	struct flight_share *flight; /* not NULL: there is no file. The newest
				      * packets are kept in this memory */
	uint64_t flight_ns; /* and at most so long */
	unsigned int producers; /* how many threads may hold a block at the
				 * same time; 0: one per CPU */
};

/* Creates the file and starts the writer threads, which block all signals.
 * Returns 0; the caller then owns *@out and ends it by trace_file_close(). Or
 * returns -errno; then there is no file, and *@out is as before. */
int trace_file_open(const struct trace_file_options *options,
		    struct trace_file **out);

/* The memory that the packets are in, which is @file's; NULL: they go to a
 * file. Any thread. */
struct flight_memory *trace_file_flight(const struct trace_file *file);

/* The writer threads become as nice as @nice before they write the next block,
 * if they are less so. Any thread. */
void trace_file_set_nice(struct trace_file *file, int nice);

/*
 * Returns an empty block, never NULL. The caller sets its sequence, fills it,
 * and ends it by trace_file_submit(). Does not wait for the disk: if all blocks
 * are in use, it makes one more. So whoever produces much asks
 * trace_file_lags() first. Any thread.
 */
struct trace_block *trace_file_block(struct trace_file *file);
/* Returns whether nearly all blocks are in use: the disk, or whoever looks
 * names up, does not keep up. Any thread; never waits. */
bool trace_file_lags(struct trace_file *file);
/* Hands @block over, with the reference to its modules; the caller may not use
 * it any more. The block is appended, or dropped if the trace has stopped. Does
 * not wait for the disk. Any thread. */
void trace_file_submit(struct trace_file *file, struct trace_block *block);
/* Appends the @bytes at @packet, which are copied, to sequence @sequence. They
 * are finished packets with their Trace.packet tags, at most TRACE_BLOCK_BYTES.
 * Slices that they begin or end are not counted as open: if the trace stops,
 * nothing ends these slices. Does not wait for the disk. Any thread, also one
 * that holds a block. */
void trace_file_append(struct trace_file *file, uint32_t sequence,
		       const void *packet, size_t bytes);

/* The same for packets that describe a time of which the file may have other
 * packets already. If the trace stops at its limit before they are written,
 * they are appended in the room that was set aside for them. */
void trace_file_append_late(struct trace_file *file, uint32_t sequence,
			    const void *packet, size_t bytes);

/* Returns whether a sample or a value that stands for itself may be appended.
 * False, and counted: blocks have piled up, as the disk hangs, and the caller
 * leaves the packet out. What the trace would make no sense without is appended
 * all the same. Any thread; never waits. */
bool trace_file_admits(struct trace_file *file);
/* How often trace_file_admits() was false. Any thread. */
uint64_t trace_file_left_out(struct trace_file *file);

/* Returns whether the file has a block of @sequence. A block that was submitted
 * may not be in the file before trace_file_flush(). May wait for a write. Any
 * thread. */
bool trace_file_has(struct trace_file *file, uint32_t sequence);
/* Appends the @bytes at @packets, which out_perfetto_losses() has made of
 * sequences that the file has. Room for them is set aside, so that this also
 * works if the trace has stopped at its size limit. Call it after
 * trace_file_flush(); nothing may be submitted any more. Writes on the thread
 * of the caller, which must not die of SIGXFSZ. If the write fails, the trace
 * stops. */
void trace_file_append_last(struct trace_file *file, const void *packets,
			    size_t bytes);

/* Says why the trace has stopped. Returns 0: it has not; TRACE_AT_LIMIT;
 * -ENOMEM; or the -errno of the write that failed. -ENOSPC: the disk is full.
 * -EFBIG: the process or the file system has a limit. Any thread; never waits.
 */
#define TRACE_AT_LIMIT 1 /* the file has no room below max_bytes */
int trace_file_stopped(struct trace_file *file);
/* Returns the time of the last event in the file, as blocks have it. If the
 * trace has stopped, its open slices end then. Any thread; never waits. */
uint64_t trace_file_last_ns(struct trace_file *file);
/* Returns how many bytes of packets were submitted so far; compressed or not,
 * that is before compression. Any thread; never waits. */
uint64_t trace_file_submitted(struct trace_file *file);
/* Returns how many bytes the file has, without those that were given up. Any
 * thread; never waits. */
uint64_t trace_file_bytes(struct trace_file *file);
/* Whether the trace is compressed, or will be from its next bundle on. Any
 * thread. */
bool trace_file_is_compressed(struct trace_file *file);
/* Returns how many bytes the packets of the file have when its bundles are
 * unpacked: trace_file_bytes() if it has none. Any thread; never waits. */
uint64_t trace_file_unpacked_bytes(struct trace_file *file);
/* What was given up of it. Any thread; never waits. */
struct trace_kept trace_file_kept(struct trace_file *file);
/* Waits until all that was submitted before the call is in the file, or was
 * dropped because the trace has stopped. Any thread. */
void trace_file_flush(struct trace_file *file);
/* Flushes, ends the writer threads, closes the file, frees *@file, which must
 * not be NULL, and sets it to NULL. No other thread may use it any more.
 * Returns what trace_file_stopped() says; or, if that is 0, the -errno of
 * close(2). */
int trace_file_close(struct trace_file **file);

#endif
