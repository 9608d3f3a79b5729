/* SPDX-License-Identifier: Apache-2.0
 *
 * trace_begin - finds the packet that begins a slice, by the index. The index
 * has only the names of open slices, but the packet may have arguments. One
 * thread at a time.
 */
#ifndef PERFREC_COLLECTOR_READ_TRACE_BEGIN_H
#define PERFREC_COLLECTOR_READ_TRACE_BEGIN_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/read/trace_index.h"

struct bytes;

/* Searches the trace at @path for the slice of @sequence that begins at
 * @begin_ns with @depth slices around it. @sequence has checkpoints. Returns
 * true with the fields of its packet in @found, which is cleared first. */
bool trace_begin_find(const char *path, const struct index_sequence *sequence,
		      uint64_t begin_ns, uint32_t depth, struct bytes *found);

#endif
