/* SPDX-License-Identifier: Apache-2.0
 *
 * page_data - the contents of a page before they become columns: functions, one
 * tree of stacks, and the values of each stack, from the profiles of one or two
 * recordings. One thread at a time.
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
#include "collector/read/trace_sched.h"
#include "collector/show/lock_list_json.h"
#include "collector/show/path_list_json.h"

struct summary;
struct summary_function;

/* The recording, and the one to compare with. */
enum page_side { PAGE_SELF, PAGE_BASE, PAGE_SIDES };

/* A function. Number 0 stands for everything too small to show. */
struct page_function {
	/* Texts. In a comparison, a module has no folder. */
	uint32_t name, module;
	uint32_t file, line;
	uint64_t recorded; /* calls with times */
	uint64_t temporary; /* blocks of the function itself */
	/* Durations of single calls from the summary. NULL: unknown, or several
	 * functions became one. */
	const struct summary_function *single;
};

/* A stack: its innermost function and its calling stack. */
struct page_node {
	uint32_t parent; /* number + 1; 0: none */
	uint32_t function;
};

/* Amount of one value in one stack. */
struct page_amount {
	uint32_t node;
	uint32_t leaf; /* node in calls->nodes; 0: not in the trace */
	enum page_side side;
	uint64_t amount;
};

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
	PAGE_WAITED, /* blocked time with native stacks and objects */
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

struct page_type { /* a value in a profile */
	const char *type;
	enum page_key key;
};

struct page_file { /* a profile */
	const char *name;
	struct page_type types[5]; /* ends with a NULL type */
	bool lines; /* its samples are instructions with lines */
};
#define PAGE_FILES 6
extern const struct page_file page_files[PAGE_FILES];

struct page_value {
	bool known; /* in at least one recording */
	bool estimated;
	struct page_amount *amounts;
	size_t count, room;
	struct page_sums *sums; /* by function */
	size_t sum_room;
	uint64_t sum[PAGE_SIDES];
};

struct page_line {
	uint32_t file, line;
	uint64_t amount[PAGE_KEYS];
};

struct page_data {
	bool compares; /* two recordings */
	bool sampled; /* wall time and its parts are from samples */
	struct budget budget;
	struct trace_texts texts;
	struct pool functions; /* of struct page_function, by name and module */
	struct pool nodes; /* of struct page_node */
	struct pool lines; /* of struct page_line, by file and line */
	struct page_value value[PAGE_KEYS];
	/* Of the recording; NULL without a trace. */
	struct calls *calls;
	struct lock_list locks; /* sorted; of the part */
	struct path_list path; /* sorted; of the part */
	uint64_t origin_ns; /* origin of times */
	/* When threads ran; NULL: unknown. Owned. */
	struct trace_sched *sched;
	/* By number of a text: number of this text in the trace. */
	uint32_t *trace_texts;
	uint32_t trace_text_room;
	uint32_t *shown_texts; /* text of the page by text of the trace */
	/* By function: the last round that included it. */
	uint64_t *rounds, round;
	size_t round_room;
	uint32_t by_name_alone; /* functions matched by name in a comparison */
	bool short_of_memory; /* something is missing */
};

/* Begins with function 0 only. Returns 0 or -ENOMEM. The caller calls
 * page_data_release(), even after an error. */
int page_data_init(struct page_data *data, bool compares);
void page_data_release(struct page_data *data);

/* Sets the trace of the recording (may be NULL), which @data then owns.
 * @origin_ns: origin of times. Call it before the profiles are added. */
void page_data_set_calls(struct page_data *data, struct calls *calls,
			 uint64_t origin_ns);
/* Returns the time at which the page begins, CLOCK_BOOTTIME: of the first event,
 * which may be before the first call, or of the range of a part. The data have
 * calls. */
uint64_t page_data_first_ns(const struct page_data *data);

/* Adds the existing profiles in @dir. Returns 0, or -errno after one line. */
int page_data_take_profiles(struct page_data *data, const char *dir,
			    enum page_side side, bool estimated);
/* Replaces sums of functions by those of the summary: wall time and its parts,
 * calls. @summary must outlive @data. */
void page_data_take_summary(struct page_data *data,
			    const struct summary *summary, enum page_side side);
/* Removes values of calls and waits that are 0 in all recordings, because a
 * program without hooks has none. Call it after all sums were added. */
void page_data_drop_empty(struct page_data *data);
/* Without wall.pb.gz: adds wall time and calls from the trace. Waits for the
 * collector belong to no function. */
void page_data_take_calls(struct page_data *data);
/* As page_data_take_calls(), for a part of a recording. Also adds CPU time:
 * @sample_ns for each sample. */
void page_data_take_part(struct page_data *data, uint64_t sample_ns);

/* Returns the function @name in @module (texts), created if necessary. 0: out
 * of memory, noted in @data. */
uint32_t page_data_function(struct page_data *data, uint32_t name,
			    uint32_t module);
/* Returns the number of @text. 0: "" or out of memory, noted in @data. */
uint32_t page_data_text(struct page_data *data, const char *text);

/* Returns the sums of @function in a value, valid until the next call; NULL: out
 * of memory, noted in @data. */
struct page_sums *page_data_sums(struct page_data *data, enum page_key key,
				 uint32_t function);

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
