/* SPDX-License-Identifier: Apache-2.0
 *
 * cut_names - the interned data of a sequence (names, places, keys, stacks and
 * their parts), and which of it the cut has. An entry is written to the cut
 * when it is first used, so a cut has no more names than it shows. Entries are
 * kept as they are in the trace, and each text once for all sequences. A budget
 * bounds the memory. One thread at a time.
 */
#ifndef PERFREC_COLLECTOR_CUT_CUT_NAMES_H
#define PERFREC_COLLECTOR_CUT_CUT_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/base/bytes.h"
#include "collector/base/pool.h"
#include "collector/base/protobuf.h"
#include "collector/read/trace_names.h"

struct budget;

/* Kinds are the numbers of the fields of InternedData. */
#define CUT_NAME_KINDS 20

struct cut_entries {
	struct budget *budget;
	struct pool pool; /* number N is item N - 1 */
	struct bytes scratch;
	struct entry_room *rooms;
	uint64_t refused;
};

struct cut_names {
	struct trace_iids kinds[CUT_NAME_KINDS];
};

/* A bit of a number in cut_names: the cut has the entry. */
#define CUT_NAME_WRITTEN (1u << 31)

void cut_entries_init(struct cut_entries *entries, struct budget *budget);
void cut_entries_release(struct cut_entries *entries);

void cut_names_take(struct cut_names *names, struct cut_entries *entries,
		    struct wire interned);
/* The sequence begins again, so the cut has none of its entries. They stay for
 * open slices until they are interned again. */
void cut_names_restart(struct cut_names *names);
void cut_names_clear(struct cut_names *names, struct cut_entries *entries);

/* Returns true if entry @iid of @kind can be used without writing anything. */
static inline bool cut_names_ready(const struct cut_names *names,
				   unsigned int kind, uint64_t iid)
{
	uint32_t number = trace_iids_get(&names->kinds[kind], iid);

	return !number || number & CUT_NAME_WRITTEN;
}

/* Appends entry @iid of @kind to @interned, as fields of InternedData and
 * behind all entries that it refers to. Appends nothing if the cut has it or
 * the sequence does not. */
void cut_names_use(struct cut_names *names, struct cut_entries *entries,
		   unsigned int kind, uint64_t iid, struct bytes *interned);
/* The same for the entries of @kind from @iid on, until @interned has @most
 * bytes. Returns the iid to continue with, or 0 after the last one. */
uint64_t cut_names_use_from(struct cut_names *names,
			    struct cut_entries *entries, unsigned int kind,
			    uint64_t iid, size_t most, struct bytes *interned);
/* The same for all entries that the fields of a TrackEvent, of a PerfSample or
 * of a ProfilePacket use. */
void cut_names_use_event(struct cut_names *names, struct cut_entries *entries,
			 struct wire event, struct bytes *interned);
void cut_names_use_sample(struct cut_names *names, struct cut_entries *entries,
			  struct wire sample, struct bytes *interned);
void cut_names_use_heap(struct cut_names *names, struct cut_entries *entries,
			struct wire heap, struct bytes *interned);

#endif
