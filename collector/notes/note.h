/* SPDX-License-Identifier: Apache-2.0
 *
 * note - what a program tells of a begin, an end or another event beside the
 * event itself: arguments, a name made at run time, flows, a correlation id, a
 * time (the prefixes of record_ext.h). Takes cells of records, and makes fields
 * of a TrackEvent. Pure: no I/O. All input is hostile. One thread at a time.
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

#define NOTE_FLOWS_MAX 16 /* of an event; more are left out and counted */

struct note {
	uint32_t arg_count; /* as the record says: not to be believed */
	struct bytes args; /* the cells of EXT_ARGS */
	struct bytes name;
	bool has_args, has_name, has_flows, has_correlation, has_at;
	uint32_t flow_count;
	struct note_flow {
		uint64_t id;
		bool ends;
	} flow[NOTE_FLOWS_MAX];
	uint64_t correlation;
	uint64_t at_ns; /* the time, as the program says */
};

struct note_counts {
	uint64_t cut_args; /* beyond NOTE_ARGS_MAX, or nonsense */
	uint64_t cut_flows; /* beyond NOTE_FLOWS_MAX */
	uint64_t odd_prefixes; /* told twice, or for an event that has no use
				* for it, or for no event */
};

/* Forget all that @note says, and keep its memory. All zero is valid, and says
 * nothing. */
void note_clear(struct note *note);
void note_release(struct note *note);
bool note_is_empty(const struct note *note);
/* Take in a prefix, whose @count cells are a copy. What makes no sense is left
 * out and counted in *@counts. */
void note_take(struct note *note, const struct record *cells, size_t count,
	       struct note_counts *counts);
/* A copy in memory of its own, which the caller ends with note_free(). NULL:
 * out of memory. */
struct note *note_copy(const struct note *note);
/* Also for NULL. */
void note_free(struct note *note);
/* How much memory a copy takes. 0 for NULL. */
size_t note_bytes(const struct note *note);

/*
 * Append all that @note says, but for a name and a time, to @fields, the fields
 * of a TrackEvent. Texts that are new on the sequence of @names are appended to
 * @interned, fields of InternedData. @site has the keys of arguments that bring
 * none; NULL: the event has no site.
 */
void note_encode(const struct note *note, const struct site *site,
		 struct seq_names *names, struct bytes *fields,
		 struct bytes *interned, struct note_counts *counts);
/* Append an argument of perfrec's own, in the same way. */
void note_number(const char *key, uint64_t value, struct seq_names *names,
		 struct bytes *fields, struct bytes *interned);
void note_text(const char *key, const char *text, struct seq_names *names,
	       struct bytes *fields, struct bytes *interned);
/* Append the name to @fields, in the same way. False: @note has none. */
bool note_name(const struct note *note, struct seq_names *names,
	       struct bytes *fields, struct bytes *interned);

#endif
