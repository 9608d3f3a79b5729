/* SPDX-License-Identifier: Apache-2.0
 *
 * trace_begin - finds the packet that begins a slice, by the index: that has
 * names of open slices only, and a begin may have more, such as arguments. One
 * thread at a time.
 */
#ifndef PERFREC_COLLECTOR_READ_TRACE_BEGIN_H
#define PERFREC_COLLECTOR_READ_TRACE_BEGIN_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/read/trace_index.h"

struct bytes;

/* Looks in the trace at @path for the begin at @begin_ns of the slice of
 * @sequence, which has checkpoints, that has @depth slices around it. True:
 * @found, which is cleared before, has the fields of its packet. */
bool trace_begin_find(const char *path, const struct index_sequence *sequence,
		      uint64_t begin_ns, uint32_t depth, struct bytes *found);

#endif
