/* SPDX-License-Identifier: Apache-2.0
 *
 * trace_file - trace.pftrace on disk. Drain workers hand over blocks of
 * finished packets; threads of this module put names in front of them,
 * compress them if asked, and append them. So no drain worker ever waits for
 * a symbol table or for zlib; it waits for the disk only when the blocks in
 * flight reach their limit.
 *
 * The file is a valid trace at every moment: blocks are appended whole.
 * Blocks and packets of one sequence keep their order. Between sequences
 * there is none, except that what is submitted of any sequence lies behind
 * all of sequence 1 that was appended before: the preamble, with the clocks
 * that all others need, and the process of a thread.
 *
 * A trace that reaches its size limit stops, and is well formed all the same:
 * it has room set aside in which the slices that are open there are ended,
 * and for what comes last in a file. On a disk that is full the same is
 * tried with what room is left.
 */
#ifndef PERFREC_COLLECTOR_TRACE_TRACE_FILE_H
#define PERFREC_COLLECTOR_TRACE_TRACE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct modules;
struct trace_file;

/* A block and some names in front of it stay below Perfetto's 512 KB bound
 * of a bundle. */
#define TRACE_BLOCK_BYTES (192u * 1024)
#define TRACE_BLOCK_NAMES 1024
#define TRACE_OPEN_MAX 1024 /* slices open at a time on one sequence */

/* "On this sequence, name iid means the function at this address, as the
 * load map was in this generation (modules.h)." */
struct trace_name {
	uint32_t iid;
	uint32_t generation;
	uint64_t function;
};

struct trace_block {
	struct trace_block *next; /* trace_file's */
	uint32_t sequence; /* trusted_packet_sequence_id; 1 for global ones */
	struct modules *modules; /* who resolves names; a reference, given
				  * back by trace_file; NULL without names */
	uint32_t name_count;
	uint32_t bytes;
	int32_t opened; /* slices of its sequence begun minus those ended */
	uint64_t after; /* trace_file's */
	struct trace_name names[TRACE_BLOCK_NAMES];
	uint8_t data[TRACE_BLOCK_BYTES];
};

struct trace_file_options {
	int dir_fd; /* of the output folder; stays the caller's */
	const char *name; /* TRACE_NAME: see own_files_create() */
	bool compress; /* bundles of compressed_packets */
	unsigned int compress_threads; /* 0: one per CPU */
	uint64_t max_bytes; /* the file is never larger; 0: no limit */
	unsigned int producers; /* threads that may hold a block at a time;
				 * 0: one per CPU */
};

/* 0 or -errno (the file is then not left behind). Starts the writer
 * thread(s), which have all signals blocked. */
int trace_file_open(const struct trace_file_options *options,
		    struct trace_file **out);

/*
 * An empty block; the caller sets sequence, and the rest as it fills it.
 * Waits while too many are in flight; returns NULL never (room for all
 * blocks is set aside when the file is opened). A thread may hold one block,
 * no more: the next comes from those that were submitted. Any thread.
 */
struct trace_block *trace_file_block(struct trace_file *file);
/* Hands @block over; it is appended, or dropped if the trace has stopped.
 * Any thread; never waits. */
void trace_file_submit(struct trace_file *file, struct trace_block *block);
/* Appends finished packets (with their Trace.packet tags) for sequence
 * @sequence: descriptors, instants; no slices; at most TRACE_BLOCK_BYTES.
 * Any thread, also one that holds a block; waits as trace_file_block(). */
void trace_file_append(struct trace_file *file, uint32_t sequence,
		       const void *packet, size_t bytes);

/* Is there a block of @sequence in the file? Any thread; what was submitted
 * may not be there before trace_file_flush(). */
bool trace_file_has(struct trace_file *file, uint32_t sequence);
/* Appends what out_perfetto_losses() makes of sequences that the file has:
 * for that there is room also when the trace has stopped at its size limit.
 * After trace_file_flush(); nothing may be submitted any more. Writes on the
 * caller's thread, where SIGXFSZ must do no harm. */
void trace_file_append_last(struct trace_file *file, const void *packets,
			    size_t bytes);

/* Why nothing is appended any more: 0, TRACE_AT_LIMIT, or the -errno of the
 * write that failed (-ENOSPC; -EFBIG: a limit of the process or the file
 * system). Any thread. */
#define TRACE_AT_LIMIT 1 /* max_bytes */
int trace_file_stopped(struct trace_file *file);
uint64_t trace_file_bytes(struct trace_file *file);
/* Waits until all that was submitted before the call is in the file. */
void trace_file_flush(struct trace_file *file);
/* Flush, end the threads, close, clear *@file. No other thread may use it
 * any more. Returns trace_file_stopped(). */
int trace_file_close(struct trace_file **file);

#endif
