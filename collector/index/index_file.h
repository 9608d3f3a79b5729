/* SPDX-License-Identifier: Apache-2.0
 *
 * index_file - writes trace.index while trace.pftrace is written. What is told
 * here about bytes of the trace must be in the trace by then: so an index never
 * says more than the trace has, whenever the collector is killed. If the index
 * cannot be written, it ends early, and the recording goes on: readers read the
 * rest of the trace as a whole.
 *
 * One thread at a time: whoever holds the write lock of the trace. The
 * functions may write to the disk.
 */
#ifndef PERFREC_COLLECTOR_INDEX_INDEX_FILE_H
#define PERFREC_COLLECTOR_INDEX_INDEX_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/index/index_items.h"

struct index_file;

/* Makes the file called @name (INDEX_NAME) in the folder @dir_fd, which stays
 * the caller's. Returns 0; the caller then owns *@out and ends it by
 * index_file_close(). Or returns -errno; then there is no file. */
int index_file_open(int dir_fd, const char *name, struct index_file **out);

/* Tells more of a stretch of the trace, by index_file_item(), before the extent
 * is told that is about it. */
typedef void index_file_more(void *context, struct index_file *file);

/* Has @more called for each extent from now on. @context outlives @file. */
void index_file_set_more(struct index_file *file, index_file_more *more,
			 void *context);
/* An item of @kind, with the @bytes at @payload. */
void index_file_item(struct index_file *file, enum index_kind kind,
		     const void *payload, size_t bytes);

/* The @bytes at @items are whole items. */
void index_file_items(struct index_file *file, const void *items, size_t bytes);

/* What @iid stands for on @sequence: the @bytes at @text. */
void index_file_name(struct index_file *file, uint32_t sequence, uint32_t iid,
		     const void *text, size_t bytes);
/* A packet of @sequence without a time, of @bytes at @packet, without its tag
 * and length; or, if @kind is INDEX_INTERNED, an InternedData. */
void index_file_packet(struct index_file *file, enum index_kind kind,
		       uint32_t sequence, const void *packet, size_t bytes);

/* Packets in the file. */
struct index_place {
	uint32_t sequence;
	uint64_t offset; /* of the packets, or of the bundle that has them */
	uint64_t inner; /* offset in the unpacked bundle + 1; 0: no bundle */
	uint64_t first_ns, last_ns; /* of the events; 0, 0: none has a time */
	bool untimed; /* there are events whose time is not known */
	bool apart; /* they are no thread's own: their sequence is not listed */
	bool sched; /* they are switches of threads, as the kernel tells */
};

/* The packets of a block are in the file at @place, and @items, made for the
 * block (replay/index_build.h), are about them. */
void index_file_block(struct index_file *file, const struct index_place *place,
		      const void *items, size_t bytes);

/* The @count bytes at @bytes are at the end of the trace now. */
void index_file_appended(struct index_file *file, const void *bytes,
			 size_t count);
/* The same, where the trace was there before: it has @trace_bytes, which are no
 * fewer than before, and the last of them are the @count bytes at @tail: all,
 * or INDEX_TAIL_BYTES at least. */
void index_file_passed(struct index_file *file, uint64_t trace_bytes,
		       const void *tail, size_t count);
/* All bytes that are in the trace now have been told about. Now and then a
 * batch is written. */
void index_file_advance(struct index_file *file);

/* Writes what is left, and that the index is whole if @whole. Closes the file,
 * frees *@file, which may be NULL, and clears it. Returns 0, or the -errno for
 * which the index ends early; -EOVERFLOW: it became too large. */
int index_file_close(struct index_file **file, bool whole);

#endif
