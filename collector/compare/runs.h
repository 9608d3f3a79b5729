/* SPDX-License-Identifier: Apache-2.0
 *
 * runs - recordings side by side: for each function, or each stack, and each
 * value, what every run has of it.
 *
 * Calls and wall time of functions are those of summary.json. Those of stacks
 * are in wall.pb.gz. All other values are those that the profiles have, by the
 * names that they have there: cpu, alloc_space and any other. If two profiles
 * have values of the same name, the first of wall, cpu, heap and span counts.
 * A value is compared if every run has it.
 */
#ifndef PERFREC_COLLECTOR_COMPARE_RUNS_H
#define PERFREC_COLLECTOR_COMPARE_RUNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/base/pool.h"
#include "collector/compare/runs_match.h"
#include "collector/read/pprof_read.h"
#include "collector/read/summary_read.h"
#include "collector/show/pprof_rows.h"

#define RUNS_MAX 200
#define RUNS_METRICS_MAX 64
#define RUNS_PROFILES 4

/* What is compared: one column of a table. */
struct runs_metric {
	char key[64]; /* "wall.total" */
	char title[64]; /* "wall time, total" */
	char unit[16]; /* "nanoseconds", "bytes", "count" */
	int profile; /* that it is from; -1: summary.json */
	bool total; /* of a function and what it called, not of itself */
	bool sampled; /* an estimate from samples */
	bool random; /* it has to do with what else the machine did */
	bool main; /* a person wants to see it, even if it did not change */
	double grain; /* of a sampled value: what one sample stands for */
};

struct runs_row {
	size_t first; /* of its frames, innermost first, in runs.frames */
	uint32_t depth; /* 1 for a function */
};

struct run {
	const char *dir; /* as the user wrote it */
	struct summary *summary;
	struct pprof *profile[RUNS_PROFILES]; /* NULL: it has none */
	struct pprof_rows rows[RUNS_PROFILES];
	uint32_t *ids[RUNS_PROFILES]; /* of the functions of all frames */
	uint32_t *row_ids[RUNS_PROFILES]; /* of all rows of the profile */
	uint32_t *summary_ids; /* of the functions of the summary; of their
				* rows, once there are rows */
	bool single_threaded; /* each of its processes has one thread */
	bool complete; /* nothing was lost, off, or left out by a budget,
			  and its collector was not killed */
};

struct runs {
	struct run *list;
	size_t count;
	size_t first_b; /* from here on they are side B; count: all are A */
	bool stacks; /* rows are stacks, not functions */
	bool mixed_times; /* some had times from samples, some from calls: those
			   * of the summaries are from calls now */
	struct runs_metric metric[RUNS_METRICS_MAX];
	size_t metric_count;
	/* Keys of values that only some of the runs have, with ", " between. */
	char left_out[256];
	struct pool functions; /* struct runs_function */
	uint32_t no_stack; /* the function in place of a stack without frames */
	struct pool row_pool; /* struct runs_row */
	uint32_t *frames; /* numbers of functions */
	size_t frame_count, frame_room;
	int64_t *values; /* see runs_value() */
	uint8_t *present; /* for each row and run: whether the run has it */
	int64_t sum[RUNS_METRICS_MAX][RUNS_MAX]; /* over all rows; of a total:
						  * that of the metric's self */
};

/*
 * Read the @count recordings in the folders @dirs; those from number @first_b
 * on are side B. On success the caller ends *@out with runs_release(); @dirs
 * has to outlive it. The terminal shows how far it is (show/progress.h). 0, or
 * -errno, and the log has one line about it. One thread.
 */
int runs_read(char *const *dirs, size_t count, size_t first_b, bool stacks,
	      struct runs *out);
/* Free what @runs has. It may be all zero. */
void runs_release(struct runs *runs);

size_t runs_row_count(const struct runs *runs);
const struct runs_row *runs_row(const struct runs *runs, size_t row);
const struct runs_function *runs_function(const struct runs *runs,
					  uint32_t function);
/* The function of frame @i of @row, as it is called on side A, if it is there.
 */
const struct runs_function *runs_frame(const struct runs *runs, size_t row,
				       size_t i);
/* What run @run has of @metric in @row; 0: nothing. */
int64_t runs_value(const struct runs *runs, size_t row, size_t metric,
		   size_t run);
/* How many of the runs of a side have the row. */
size_t runs_present(const struct runs *runs, size_t row, bool side_b);
/* The number of the metric that is called @key, or RUNS_NONE. Besides its own
 * key, "self", "total", "bytes" and "blocks" stand for wall, wall.total,
 * alloc_space and alloc_objects. */
uint32_t runs_find_metric(const struct runs *runs, const char *key);

#endif
