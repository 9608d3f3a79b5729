/* SPDX-License-Identifier: Apache-2.0
 *
 * counters - the figures and settings of summary.json, as structures and as
 * JSON. Each row of the table counters.def has one member in the structures
 * below.
 *
 * The collector fills in a structure and calls counters_to_json(). perfrec
 * report calls counters_from_json() and prints the structure.
 */
#ifndef PERFREC_COLLECTOR_OUTPUT_COUNTERS_H
#define PERFREC_COLLECTOR_OUTPUT_COUNTERS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* "version" of summary.json, and of perfrec report --json. New members do not
 * change it; existing ones never change (docs/JSON.md). */
#define SUMMARY_VERSION 1

/* Each kind has a COUNTER_TYPE_ below. */
enum counter_kind {
	COUNTER_COUNT,
	COUNTER_COUNT_OR_NULL, /* COUNTER_UNKNOWN is null */
	COUNTER_BYTES,
	COUNTER_NS, /* a duration, or a time of CLOCK_BOOTTIME */
	COUNTER_NS_OR_NULL, /* a duration; COUNTER_UNKNOWN is null */
	COUNTER_ID, /* of a process or thread; -1: unknown */
	COUNTER_NS_EACH, /* the cost of one event, with fractions of a ns */
	COUNTER_SHARE, /* a part from 0 to 1, or a factor */
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

struct summary_settings {
#define SETTING(kind, name, ...) COUNTER_TYPE_##kind name;
#include "collector/output/counters.def"
};

struct summary_totals {
#define TOTAL(section, kind, name, ...) COUNTER_TYPE_##kind name;
#include "collector/output/counters.def"
};

struct summary_cost {
#define COST(kind, name, ...) COUNTER_TYPE_##kind name;
#include "collector/output/counters.def"
};

/* A process with at least one record. */
struct summary_process {
#define PROCESS(kind, name, ...) COUNTER_TYPE_##kind name;
#include "collector/output/counters.def"
};

struct summary_thread {
#define THREAD(kind, name, ...) COUNTER_TYPE_##kind name;
#include "collector/output/counters.def"
};

struct summary_function {
#define FUNCTION(kind, name, ...) COUNTER_TYPE_##kind name;
#include "collector/output/counters.def"
	/* The JSON object behind the values; NULL in the writer. */
	json_t *document;
};

struct summary_async {
#define ASYNC(kind, name, ...) COUNTER_TYPE_##kind name;
#include "collector/output/counters.def"
};

enum counter_group {
	COUNTERS_SETTINGS,
	COUNTERS_TOTALS,
	COUNTERS_COST,
	COUNTERS_PROCESS,
	COUNTERS_THREAD,
	COUNTERS_FUNCTION,
	COUNTERS_ASYNC,
};

/*
 * Returns a new JSON object with one member for each row of @group, in the
 * order of the table. @values points to the structure of the group. The caller
 * owns the object, and passes on its references to the lists in @values. Counts
 * beyond INT64_MAX, the limit of JSON, are clamped. The object lacks members
 * that found no memory. Returns NULL without memory. Any thread.
 */
json_t *counters_to_json(enum counter_group group, const void *values);

/*
 * Sets the members of @values, the structure of @group, from @object, which may
 * be NULL. A member that is missing or null in @object keeps its value. Texts
 * and lists belong to @object. Returns 0, or -EBADMSG: a value has the wrong
 * type, or a number other than an id is negative. Any thread.
 */
int counters_from_json(enum counter_group group, const json_t *object,
		       void *values);

/* Returns the size of @value, a member of kind @kind: the number of a count or
 * a time; the length of a list; for other kinds 1, or 0 for an empty value. Any
 * thread. */
uint64_t counters_amount(enum counter_kind kind, const void *value);

#endif
