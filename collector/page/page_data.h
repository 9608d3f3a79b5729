/* SPDX-License-Identifier: Apache-2.0
 *
 * page_data - what a page shows, before it becomes columns: functions, one tree
 * of stacks, and how much of each value each stack has. It is made from the
 * profiles of one recording, or of two. One thread at a time.
 */
#ifndef PERFREC_COLLECTOR_PAGE_PAGE_DATA_H
#define PERFREC_COLLECTOR_PAGE_PAGE_DATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/base/budget.h"
#include "collector/base/pool.h"
#include "collector/read/calls.h"
#include "collector/read/pprof_read.h"
#include "collector/read/trace_names.h"

struct summary;
struct summary_function;

/* The recording, and the one that it is compared with. */
enum page_side { PAGE_SELF, PAGE_BASE, PAGE_SIDES };

/* A function. Number 0 is what is too small to show. */
struct page_function {
	uint32_t name, module; /* texts; of two recordings, the module's name
				* without its folder */
	uint32_t file, line;
	uint64_t recorded; /* of its calls, so many have times */
	/* What the summary says of single calls of it; NULL: nothing, or of
	 * more than one function. */
	const struct summary_function *single;
};

/* A stack: its innermost function, and the stack that called it. */
struct page_node {
	uint32_t parent; /* number + 1; 0: none */
	uint32_t function;
};

/* So much has one stack of one value. */
struct page_amount {
	uint32_t node;
	uint32_t leaf; /* its node in calls->nodes; 0: not in the trace */
	enum page_side side;
	uint64_t amount;
};

/* Sums of one function. */
struct page_sums {
	uint64_t self[PAGE_SIDES], total[PAGE_SIDES];
};

enum page_key {
	PAGE_WALL,
	PAGE_CALLS,
	PAGE_CPU,
	PAGE_ON_CPU, /* this and the next two: parts of the wall time */
	PAGE_RUNNABLE,
	PAGE_BLOCKED,
	PAGE_WAITED, /* the last, with native stacks and by objects */
	PAGE_ALLOC_SPACE,
	PAGE_ALLOC_OBJECTS,
	PAGE_INUSE_SPACE,
	PAGE_INUSE_OBJECTS,
	PAGE_PEAK_SPACE,
	PAGE_KEYS
};

struct page_key_text {
	const char *key, *title, *unit, *from;
};
extern const struct page_key_text page_keys[PAGE_KEYS];

struct page_value {
	bool known; /* some recording has it */
	bool estimated;
	struct page_amount *amounts;
	size_t count, room;
	struct page_sums *sums; /* by function */
	size_t sum_room;
	uint64_t sum[PAGE_SIDES];
};

/* A line of source. */
struct page_line {
	uint32_t file, line;
	uint64_t amount[PAGE_KEYS];
};

struct page_data {
	bool compares; /* two recordings */
	bool sampled; /* wall time and its parts are from samples */
	struct budget budget;
	struct trace_texts texts;
	struct pool functions; /* of struct page_function, by name, module */
	struct pool nodes; /* of struct page_node */
	struct pool lines; /* of struct page_line, by file and line */
	struct page_value value[PAGE_KEYS];
	/* Of the recording; NULL: there is no trace. */
	struct calls *calls;
	uint64_t origin_ns; /* times count from here */
	/* By number of a text: the same text's number in the trace. */
	uint32_t *trace_texts;
	uint32_t trace_text_room;
	/* By function: the round in which it was met last. */
	uint64_t *rounds, round;
	size_t round_room;
	uint32_t by_name_alone; /* functions, of two recordings */
	bool short_of_memory; /* something is missing */
};

/* Begins without anything but function 0. 0 or -ENOMEM; the caller ends it by
 * page_data_release(), also after an error. */
int page_data_init(struct page_data *data, bool compares);
void page_data_release(struct page_data *data);

/* The trace of the recording; NULL: none. Owned by @data from then on. Times
 * count from @origin_ns. Call it before the profiles are taken. */
void page_data_set_calls(struct page_data *data, struct calls *calls,
			 uint64_t origin_ns);

/* Takes the profiles in @dir that there are. 0, or -errno after one line. */
int page_data_take_profiles(struct page_data *data, const char *dir,
			    enum page_side side, bool estimated);
/* Sums of functions that the summary has (wall time and its parts, calls) are
 * its sums. @summary must outlive @data. */
void page_data_take_summary(struct page_data *data,
			    const struct summary *summary, enum page_side side);
/* Values of calls and of waits that are 0 in all recordings are not known: a
 * program without hooks has none. Call it when all sums are in. */
void page_data_drop_empty(struct page_data *data);
/* Without wall.pb.gz: wall time and calls as the trace has them. Waits for the
 * collector are time of no function. */
void page_data_take_calls(struct page_data *data);
/* The same of a part of a recording; and CPU time, of samples that have
 * @sample_ns each. */
void page_data_take_part(struct page_data *data, uint64_t sample_ns);

/* The function of @name in @module (texts), which is made if there is none. 0:
 * no room, which is noted. */
uint32_t page_data_function(struct page_data *data, uint32_t name,
			    uint32_t module);
/* The number of @text. 0: "", or no room, which is noted. */
uint32_t page_data_text(struct page_data *data, const char *text);

static inline const struct page_function *page_data_function_at(
	const struct page_data *data, uint32_t number)
{
	return &((const struct page_function *)data->functions.items)[number];
}

static inline const struct page_node *page_data_node_at(
	const struct page_data *data, uint32_t number)
{
	return &((const struct page_node *)data->nodes.items)[number];
}

#endif
