/* SPDX-License-Identifier: Apache-2.0
 *
 * index_interned - the kinds of the interned numbers of threads' sequences,
 * from the index: names, and the categories and locations of sites. One thread
 * at a time.
 */
#ifndef PERFREC_COLLECTOR_READ_INDEX_INTERNED_H
#define PERFREC_COLLECTOR_READ_INDEX_INTERNED_H

#include <stdint.h>

#include "collector/base/pool.h"

struct trace_index;

#define INTERNED_NAME 1u
#define INTERNED_CATEGORY 2u
#define INTERNED_LOCATION 4u

/* All zero is empty. */
struct index_interned {
	struct pool kinds; /* struct interned_kinds */
};

/* Reads all of @index. Returns 0 or -ENOMEM; index_interned_release() frees it
 * in both cases. */
int index_interned_take(struct index_interned *interned,
			const struct trace_index *index);
void index_interned_release(struct index_interned *interned);
/* Returns INTERNED_ flags of number @iid of @sequence. */
uint32_t index_interned_has(const struct index_interned *interned,
			    uint32_t sequence, uint32_t iid);

#endif
