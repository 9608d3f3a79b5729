/* SPDX-License-Identifier: Apache-2.0
 *
 * counters - the figures and settings of summary.json, as structures and as
 * JSON. The table counters.def has one row for each of them; the structures
 * below have one member for each row.
 *
 * The collector fills a structure in and calls counters_to_json(). perfrec
 * report calls counters_from_json() and prints the structure.
 */
#ifndef PERFREC_COLLECTOR_OUTPUT_COUNTERS_H
#define PERFREC_COLLECTOR_OUTPUT_COUNTERS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* "version" of summary.json, and of perfrec report --json. Members are added,
 * and never changed: docs/JSON.md. */
#define SUMMARY_VERSION 1

/* What a value is. For each kind there is a COUNTER_TYPE_ below. */
enum counter_kind {
	COUNTER_COUNT, /* a number of things */
	COUNTER_COUNT_OR_NULL, /* the same; COUNTER_UNKNOWN is null */
	COUNTER_BYTES,
	COUNTER_NS, /* a duration, or a time of CLOCK_BOOTTIME */
	COUNTER_NS_OR_NULL, /* a duration; COUNTER_UNKNOWN is null */
	COUNTER_ID, /* of a process or thread; -1: not known */
	COUNTER_NS_EACH, /* the cost of one event: fractions of a ns count */
	COUNTER_SHARE, /* a part, from 0 to 1, or how many times as much */
	COUNTER_TEXT, /* NULL is null */
	COUNTER_FLAG,
	COUNTER_LIST, /* a JSON array */
};

#define COUNTER_TYPE_COUNT uint64_t
#define COUNTER_TYPE_COUNT_OR_NULL uint64_t
#define COUNTER_TYPE_BYTES uint64_t
#define COUNTER_TYPE_NS uint64_t
#define COUNTER_TYPE_NS_OR_NULL uint64_t
#define COUNTER_TYPE_ID int64_t
#define COUNTER_TYPE_NS_EACH double
#define COUNTER_TYPE_SHARE double
#define COUNTER_TYPE_TEXT const char *
#define COUNTER_TYPE_FLAG bool
#define COUNTER_TYPE_LIST json_t *

#define COUNTER_UNKNOWN UINT64_MAX

/* How the recording was made. */
struct summary_settings {
#define SETTING(kind, name, ...) COUNTER_TYPE_##kind name;
#include "collector/output/counters.def"
};

/* What was recorded and what was lost, over all programs. */
struct summary_totals {
#define TOTAL(section, kind, name, ...) COUNTER_TYPE_##kind name;
#include "collector/output/counters.def"
};

/* What recording cost the programs. */
struct summary_cost {
#define COST(kind, name, ...) COUNTER_TYPE_##kind name;
#include "collector/output/counters.def"
};

/* A process that has recorded anything. */
struct summary_process {
#define PROCESS(kind, name, ...) COUNTER_TYPE_##kind name;
#include "collector/output/counters.def"
};

/* A thread of such a process. */
struct summary_thread {
#define THREAD(kind, name, ...) COUNTER_TYPE_##kind name;
#include "collector/output/counters.def"
};

/* What is known of one function. */
struct summary_function {
#define FUNCTION(kind, name, ...) COUNTER_TYPE_##kind name;
#include "collector/output/counters.def"
	/* The JSON object that it was read from; the writer has none. */
	json_t *document;
};

/* Asynchronous slices of one name. */
struct summary_async {
#define ASYNC(kind, name, ...) COUNTER_TYPE_##kind name;
#include "collector/output/counters.def"
};

/* The structures above, as the functions below take them. */
enum counter_group {
	COUNTERS_SETTINGS, /* struct summary_settings */
	COUNTERS_TOTALS, /* struct summary_totals */
	COUNTERS_COST, /* struct summary_cost */
	COUNTERS_PROCESS, /* struct summary_process */
	COUNTERS_THREAD, /* struct summary_thread */
	COUNTERS_FUNCTION, /* struct summary_function */
	COUNTERS_ASYNC, /* struct summary_async */
};

/*
 * A new JSON object with one member for each row of @group, in the order of the
 * table. @values is the structure of the group. The caller owns the object, and
 * gives it its references to the lists in @values. A count beyond INT64_MAX,
 * which JSON cannot have, is written as INT64_MAX; a member for which there is
 * no memory is left out. NULL: no memory. Any thread.
 */
json_t *counters_to_json(enum counter_group group, const void *values);

/*
 * Set the members of @values, the structure of @group, from @object, which may
 * be NULL. A member that @object does not have, or that is null there, stays as
 * it is. Texts and lists belong to @object. 0, or -EBADMSG: a value is of
 * another type than the table says, or a number is negative that is no id. Any
 * thread.
 */
int counters_from_json(enum counter_group group, const json_t *object,
		       void *values);

/* How much there is of @value, a member of kind @kind: the number of a count or
 * a time; the elements of a list; for others 1, or 0 if there is none. Any
 * thread. */
uint64_t counters_amount(enum counter_kind kind, const void *value);

#endif
