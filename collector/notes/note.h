/* SPDX-License-Identifier: Apache-2.0
 *
 * note - what a program tells beside a begin, end or other event: arguments, a
 * name made at run time, flows, a correlation id, a time (the prefixes of
 * record_ext.h). From cells to fields of a TrackEvent; pure. All input is
 * hostile.
 */
#ifndef PERFREC_COLLECTOR_NOTES_NOTE_H
#define PERFREC_COLLECTOR_NOTES_NOTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/base/bytes.h"
#include "shared/record_ext.h"

struct encode_event;
struct seq_names;
struct site;

#define NOTE_FLOWS_MAX 16 /* of an event; more are left out, counted */

struct note {
	uint32_t arg_count; /* as the record says */
	struct bytes args; /* the cells of EXT_ARGS */
	struct bytes name;
	bool has_args, has_name, has_flows, has_correlation, has_at;
	uint32_t flow_count;
	struct note_flow {
		uint64_t id;
		bool ends;
	} flow[NOTE_FLOWS_MAX];
	uint64_t correlation;
	uint64_t at_ns; /* as the program says */
};

struct note_counts {
	uint64_t cut_args; /* beyond NOTE_ARGS_MAX, or nonsense */
	uint64_t cut_flows; /* beyond NOTE_FLOWS_MAX */
	uint64_t odd_prefixes; /* twice, or of an event that has no use for it,
				* or of none */
};

/* Forget all it says. */
void note_clear(struct note *note);
void note_release(struct note *note);
bool note_is_empty(const struct note *note);
/* Take in a prefix, all @count cells of it; what makes no sense is counted. */
void note_take(struct note *note, const struct record *cells, size_t count,
	       struct note_counts *counts);
/* A copy in memory of its own, for note_release() and free(); NULL: none. */
struct note *note_copy(const struct note *note);

/*
 * Puts all but a name and a time into @fields, of a TrackEvent, and what is
 * interned for it, on the sequence of @names, into @interned. @site names the
 * arguments that have no key; NULL: it is no site's.
 */
void note_encode(const struct note *note, const struct site *site,
		 struct seq_names *names, struct bytes *fields,
		 struct bytes *interned, struct note_counts *counts);
/* Puts the name, if it has one, into @fields; false: it has none. */
bool note_name(const struct note *note, struct seq_names *names,
	       struct bytes *fields, struct bytes *interned);

#endif
