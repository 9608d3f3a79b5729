/* SPDX-License-Identifier: Apache-2.0
 *
 * cut_names - what a sequence of a trace has interned (names, places, keys,
 * stacks and their parts), and which of it the cut has already. It is written
 * to the cut when something uses it first, so a cut has no more names than it
 * shows. Entries are kept as they are in the trace, each text once for all
 * sequences. Memory is bounded by a budget. One thread at a time.
 */
#ifndef PERFREC_COLLECTOR_CUT_CUT_NAMES_H
#define PERFREC_COLLECTOR_CUT_CUT_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/base/bytes.h"
#include "collector/base/pool.h"
#include "collector/read/trace_names.h"
#include "collector/read/trace_wire.h"

struct budget;

/* Kinds are the numbers of the fields of InternedData. */
#define CUT_NAME_KINDS 20

/* Entries of all sequences, without their iids. */
struct cut_entries {
	struct budget *budget;
	struct pool pool; /* of struct cut_entry: number N is item N - 1 */
	struct bytes scratch;
	struct entry_room *rooms; /* where the bytes are */
	uint64_t refused; /* for want of memory */
};

/* What a sequence has interned. All zero: nothing. */
struct cut_names {
	struct trace_iids kinds[CUT_NAME_KINDS];
};

/* Of a number in cut_names: the cut has it. */
#define CUT_NAME_WRITTEN (1u << 31)

void cut_entries_init(struct cut_entries *entries, struct budget *budget);
void cut_entries_release(struct cut_entries *entries);

/* Takes in the fields of an InternedData. */
void cut_names_take(struct cut_names *names, struct cut_entries *entries,
		    struct wire interned);
/* The sequence begins anew: the cut has nothing of it. What was interned is
 * kept for slices that go on, until it is interned again. */
void cut_names_restart(struct cut_names *names);
/* Forgets all, and gives the memory back. */
void cut_names_clear(struct cut_names *names, struct cut_entries *entries);

/* Whether nothing has to be written before entry @iid of @kind can be used. */
static inline bool cut_names_ready(const struct cut_names *names,
				   unsigned int kind, uint64_t iid)
{
	uint32_t number = trace_iids_get(&names->kinds[kind], iid);

	return !number || number & CUT_NAME_WRITTEN;
}

/* Appends entry @iid of @kind, and first what it refers to, to @interned, as
 * fields of InternedData, if the cut does not have it and the sequence does. */
void cut_names_use(struct cut_names *names, struct cut_entries *entries,
		   unsigned int kind, uint64_t iid, struct bytes *interned);
/* The same for the entries of @kind from @iid on, until @interned has @most
 * bytes. Returns the iid to go on with; 0: that was the last one. */
uint64_t cut_names_use_from(struct cut_names *names,
			    struct cut_entries *entries, unsigned int kind,
			    uint64_t iid, size_t most, struct bytes *interned);
/* The same for all that the fields of a TrackEvent, of a PerfSample or of a
 * ProfilePacket name. */
void cut_names_use_event(struct cut_names *names, struct cut_entries *entries,
			 struct wire event, struct bytes *interned);
void cut_names_use_sample(struct cut_names *names, struct cut_entries *entries,
			  struct wire sample, struct bytes *interned);
void cut_names_use_heap(struct cut_names *names, struct cut_entries *entries,
			struct wire heap, struct bytes *interned);

#endif
