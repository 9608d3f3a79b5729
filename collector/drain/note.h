/* SPDX-License-Identifier: Apache-2.0
 *
 * note - the additional data of an event of a program: arguments, a name made
 * at run time, flows, a correlation id, a time (the prefixes of record_ext.h).
 * Reads cells of records, and makes fields of a TrackEvent. Pure: no I/O. All
 * input is hostile. One thread at a time.
 */
#ifndef PERFREC_COLLECTOR_DRAIN_NOTE_H
#define PERFREC_COLLECTOR_DRAIN_NOTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/base/bytes.h"
#include "shared/record_ext.h"

struct argument_condition;
struct call_layout;
struct encode_event;
struct seq_names;
struct site;

/* Flows of an event. The shim drops more than 8 and counts them. */
#define NOTE_FLOWS_MAX 8

struct note {
	uint32_t arg_count; /* from the record, not checked */
	struct bytes args; /* the cells of EXT_ARGS */
	struct bytes name;
	bool has_args, has_name, has_flows, has_correlation, has_at,
		has_request;
	uint32_t flow_count;
	struct note_flow {
		uint64_t id;
		bool ends;
	} flow[NOTE_FLOWS_MAX];
	uint64_t correlation;
	uint64_t at_ns; /* the time from the program */
	struct trace_ids request; /* from the thread's record of OTEP 4947 */
	/* EXT_WORDS: the number of the layout, and the cells. */
	bool has_words;
	uint32_t layout;
	struct bytes words;
};

struct note_counts {
	uint64_t cut_args; /* beyond NOTE_ARGS_MAX, or damaged */
	uint64_t cut_flows; /* beyond NOTE_FLOWS_MAX */
	uint64_t odd_prefixes; /* repeated, not usable for their event, or
			        * without an event */
	uint64_t odd_traceparents; /* malformed texts of this key */
};

/* Clears @note, and keeps its memory. All zero is an empty note. */
void note_clear(struct note *note);
void note_release(struct note *note);
bool note_is_empty(const struct note *note);
/* Adds a prefix, whose @count cells are a copy. Damaged prefixes are dropped
 * and counted in *@counts. */
void note_take(struct note *note, const struct record *cells, size_t count,
	       struct note_counts *counts);
/* Returns a copy, which the caller frees with note_free(); NULL without
 * memory. */
struct note *note_copy(const struct note *note);
/* @note may be NULL. */
void note_free(struct note *note);
/* Returns the memory of a copy; 0 for NULL. */
size_t note_bytes(const struct note *note);

/* Conditions of triggers on arguments. */
struct note_match {
	const struct argument_condition *const *list;
	size_t count; /* at most 8 */
	uint8_t held; /* bit N: an argument fulfilled condition N */
	uint8_t named; /* bit N: any note had the argument of condition N */
};

/*
 * Appends all of @note except a name and a time to @fields, the fields of a
 * TrackEvent. Texts that are new on the sequence of @names are appended to
 * @interned, fields of InternedData. @site has the keys of arguments without
 * one; NULL: the event has no site. Compares the arguments with @match, which
 * may be NULL.
 */
void note_encode(const struct note *note, const struct site *site,
		 struct seq_names *names, struct bytes *fields,
		 struct bytes *interned, struct note_match *match,
		 struct note_counts *counts);
/* Appends the arguments of a call by its @layout, which is of EXT_WORDS, or its
 * result if @is_end. Values that are missing are counted as cut_args. */
void note_encode_words(const struct note *note,
		       const struct call_layout *layout, bool is_end,
		       struct seq_names *names, struct bytes *fields,
		       struct bytes *interned, struct note_match *match,
		       struct note_counts *counts);
/* Append an argument of perfrec's own, in the same way. */
void note_number(const char *key, uint64_t value, struct seq_names *names,
		 struct bytes *fields, struct bytes *interned);
void note_text(const char *key, const char *text, struct seq_names *names,
	       struct bytes *fields, struct bytes *interned);
/* note_text() for the arguments trace_id and span_id. */
void note_trace_ids(const struct trace_ids *ids, struct seq_names *names,
		    struct bytes *fields, struct bytes *interned);
/* Appends the name to @fields, in the same way. Returns false if @note has
 * none. */
bool note_name(const struct note *note, struct seq_names *names,
	       struct bytes *fields, struct bytes *interned);

#endif
