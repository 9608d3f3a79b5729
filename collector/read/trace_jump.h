/* SPDX-License-Identifier: Apache-2.0
 *
 * trace_jump - a reader (trace_read.h) that begins in the middle of a trace, by
 * the index (trace_index.h). It reads only the necessary parts of the file. It
 * first returns the begins of open slices, with their original times, and then
 * events in the order of the file, like any reader. The events of a track start
 * some time before the range, and end some time after it.
 *
 * A consumer of the range (window.h) gets the same result as from the whole
 * trace. Only tracks of threads and contexts are complete.
 *
 * A consumer of sums can skip the chunks inside the range, because the index
 * has their sums. Then the reader has two parts. The first part has the events
 * of each track before these chunks, and ends the slices that are open there.
 * trace_reader_resume() begins the second part, which has these slices again,
 * and the events behind the chunks. Tracks without such chunks are in the first
 * part only.
 */
#ifndef PERFREC_COLLECTOR_READ_TRACE_JUMP_H
#define PERFREC_COLLECTOR_READ_TRACE_JUMP_H

#include "collector/read/trace_index.h"
#include "collector/read/trace_read.h"

enum jump_skips {
	JUMP_SKIPS_NONE,
	JUMP_SKIPS_CHUNKS,
	JUMP_SKIPS_DETAILED, /* only chunks with cells in the index */
};

/* Opens a reader of the trace at @path, as trace_reader_open() does, for events
 * from @from_ns to before @to_ns. @index describes this trace, and must outlive
 * *@out. */
int trace_reader_jump(const char *path, const struct trace_index *index,
		      uint64_t from_ns, uint64_t to_ns, enum jump_skips skips,
		      struct trace_reader **out);
/* Begins the second part, after the end of the first. Returns 1; 0: there is
 * none; or -errno. */
int trace_reader_resume(struct trace_reader *reader);

struct skipped_chunks {
	const struct index_sequence *sequence;
	uint32_t first, last; /* places in sequence->chunks */
	const struct trace_track *track; /* of the sequence */
};

/* Sets *@out to the skipped chunks of sequence @number of the index. Returns
 * false if there are none. */
bool trace_reader_skipped(struct trace_reader *reader, uint32_t number,
			  struct skipped_chunks *out);
/* Returns the text of @iid on the sequence @id; 0: unknown. iid 0 stands for
 * INDEX_WAIT_NAME, as in nodes of the index. */
uint32_t trace_reader_name(struct trace_reader *reader, uint32_t id,
			   uint32_t iid);
/* Returns true if @iid belongs to a site, which has a category or a location,
 * and not to a function. */
bool trace_reader_is_site(struct trace_reader *reader, uint32_t id,
			  uint32_t iid);

#endif
