/* SPDX-License-Identifier: Apache-2.0
 *
 * trace_jump - a reader (trace_read.h) that begins within a trace, by its index
 * (trace_index.h). It reads only what it needs of the file, and gives first the
 * begins of the slices that are open where it begins, with the time when they
 * began; then events in the order of the file, as any reader. Those of a track
 * begin at some time before the range, and end some time after it.
 *
 * So whoever takes what lies in the range (window.h) finds the same as by
 * reading all of the trace. Only tracks of threads and contexts are complete.
 *
 * Whoever wants sums only can leave out the chunks that lie in the range as a
 * whole, as the index has their sums. Then the reader has two parts. The first
 * one gives of each track what lies before these chunks, and ends the slices
 * that are open there. trace_reader_resume() begins the second one, which gives
 * these slices once more, and what lies behind. Tracks without such chunks have
 * all in the first part.
 */
#ifndef PERFREC_COLLECTOR_READ_TRACE_JUMP_H
#define PERFREC_COLLECTOR_READ_TRACE_JUMP_H

#include "collector/read/trace_index.h"
#include "collector/read/trace_read.h"

/* Which chunks are left out. */
enum jump_skips {
	JUMP_SKIPS_NONE,
	JUMP_SKIPS_CHUNKS,
	JUMP_SKIPS_DETAILED, /* those of which the index has cells, too */
};

/* As trace_reader_open(), for what lies from @from_ns on and before @to_ns.
 * @index is of the trace at @path and must outlive *@out. */
int trace_reader_jump(const char *path, const struct trace_index *index,
		      uint64_t from_ns, uint64_t to_ns, enum jump_skips skips,
		      struct trace_reader **out);
/* After the end of the first part: begins the second one. Returns 1; 0: there
 * is none; or -errno. */
int trace_reader_resume(struct trace_reader *reader);

/* Chunks that are left out. */
struct skipped_chunks {
	const struct index_sequence *sequence;
	uint32_t first, last; /* numbers in sequence->chunks */
	const struct trace_track *track; /* of the sequence */
};

/* The chunks that are left out of sequence @number of the index. False: none
 * are. */
bool trace_reader_skipped(struct trace_reader *reader, uint32_t number,
			  struct skipped_chunks *out);
/* The text that @iid stands for on the sequence @id; 0: not known. As in nodes
 * of the index, iid 0 stands for INDEX_WAIT_NAME. */
uint32_t trace_reader_name(struct trace_reader *reader, uint32_t id,
			   uint32_t iid);
/* Whether @iid is of a site of the program, that has a category or a place, and
 * not of a function. */
bool trace_reader_is_site(struct trace_reader *reader, uint32_t id,
			  uint32_t iid);

#endif
