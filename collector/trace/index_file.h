/* SPDX-License-Identifier: Apache-2.0
 *
 * index_file - writes trace.index while trace.pftrace is written. Callers
 * describe only bytes that the trace already has, so the index never describes
 * more than the trace, even if the collector is killed. If the index cannot be
 * written, it ends early and the recording continues; readers read the rest of
 * the trace itself.
 *
 * One thread at a time: the holder of the trace's write lock. All functions may
 * write to the disk.
 */
#ifndef PERFREC_COLLECTOR_TRACE_INDEX_FILE_H
#define PERFREC_COLLECTOR_TRACE_INDEX_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/trace/index_items.h"

struct index_file;

/* Creates the file @name (INDEX_NAME) in the folder @dir_fd, which stays the
 * caller's. Returns 0, and the caller closes *@out with index_file_close(). On
 * failure, returns -errno and leaves no file. */
int index_file_open(int dir_fd, const char *name, struct index_file **out);

/* Adds items about a stretch of the trace by index_file_item(), before the item
 * of its extent. */
typedef void index_file_more(void *context, struct index_file *file);

/* Calls @more for each extent from now on. @context must outlive @file. */
void index_file_set_more(struct index_file *file, index_file_more *more,
			 void *context);
void index_file_item(struct index_file *file, enum index_kind kind,
		     const void *payload, size_t bytes);

void index_file_items(struct index_file *file, const void *items, size_t bytes);

/* Writes that @iid stands for @text on @sequence. */
void index_file_name(struct index_file *file, uint32_t sequence, uint32_t iid,
		     const void *text, size_t bytes);
/* Writes a packet of @sequence without a time; @packet has no tag and length.
 * For INDEX_INTERNED, it is an InternedData. */
void index_file_packet(struct index_file *file, enum index_kind kind,
		       uint32_t sequence, const void *packet, size_t bytes);

struct index_place {
	uint32_t sequence;
	uint64_t offset; /* of the packets, or of their bundle */
	uint64_t inner; /* offset in the unpacked bundle + 1; 0: no bundle */
	uint64_t first_ns, last_ns; /* of the events; 0, 0: none has a time */
	bool untimed; /* some events have an unknown time */
	bool apart; /* not of a thread: extents do not list the sequence */
	bool sched; /* switches of threads, as the kernel reports them */
};

/* Writes that a block of packets is at @place. @items describe it;
 * replay/index_build.h makes them. */
void index_file_block(struct index_file *file, const struct index_place *place,
		      const void *items, size_t bytes);

/* The trace has the @count bytes at @bytes as its new end. */
void index_file_appended(struct index_file *file, const void *bytes,
			 size_t count);
/* The same for a trace that already exists: @trace_bytes is its new length, at
 * least the old one. @tail has its last @count bytes: all, or at least
 * INDEX_TAIL_BYTES. */
void index_file_passed(struct index_file *file, uint64_t trace_bytes,
		       const void *tail, size_t count);
/* All bytes of the trace are described now. Writes a batch when enough items
 * are waiting. */
void index_file_advance(struct index_file *file);

/* Writes the remaining items, and INDEX_END if @whole. Closes the file, frees
 * *@file, which may be NULL, and clears it. Returns 0, or the -errno that ended
 * the index early; -EOVERFLOW: it became too large. */
int index_file_close(struct index_file **file, bool whole);

#endif
