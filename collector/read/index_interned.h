/* SPDX-License-Identifier: Apache-2.0
 *
 * index_interned - what the numbers of threads' sequences stand for, by the
 * index: names, or more, which sites have. One thread at a time.
 */
#ifndef PERFREC_COLLECTOR_READ_INDEX_INTERNED_H
#define PERFREC_COLLECTOR_READ_INDEX_INTERNED_H

#include <stdint.h>

#include "collector/base/pool.h"

struct trace_index;

#define INTERNED_NAME 1u
#define INTERNED_CATEGORY 2u
#define INTERNED_LOCATION 4u

/* All zero: nothing. */
struct index_interned {
	struct pool kinds; /* of struct interned_kinds */
};

/* Takes in all of @index. 0 or -ENOMEM; index_interned_release() frees it in
 * any case. */
int index_interned_take(struct index_interned *interned,
			const struct trace_index *index);
void index_interned_release(struct index_interned *interned);
/* Which of the above number @iid of @sequence stands for. */
uint32_t index_interned_has(const struct index_interned *interned,
			    uint32_t sequence, uint32_t iid);

#endif
