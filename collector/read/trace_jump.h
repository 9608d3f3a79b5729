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
 */
#ifndef PERFREC_COLLECTOR_READ_TRACE_JUMP_H
#define PERFREC_COLLECTOR_READ_TRACE_JUMP_H

#include "collector/read/trace_index.h"
#include "collector/read/trace_read.h"

/* As trace_reader_open(), for what lies from @from_ns on and before @to_ns.
 * @index is of the trace at @path and must outlive *@out. */
int trace_reader_jump(const char *path, const struct trace_index *index,
		      uint64_t from_ns, uint64_t to_ns,
		      struct trace_reader **out);

#endif
