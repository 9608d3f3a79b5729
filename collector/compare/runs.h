/* SPDX-License-Identifier: Apache-2.0
 *
 * runs - recordings side by side: the values of every run for each function or
 * stack.
 *
 * Calls and wall time of functions come from summary.json, of stacks from
 * wall.pb.gz. All other values come from the profiles, under their names there:
 * cpu, alloc_space and so on. If two profiles have values of the same name, the
 * first of wall, cpu, heap and span counts. Only values that every run has are
 * compared.
 */
#ifndef PERFREC_COLLECTOR_COMPARE_RUNS_H
#define PERFREC_COLLECTOR_COMPARE_RUNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "collector/base/pool.h"
#include "collector/compare/runs_match.h"
#include "collector/read/pprof_read.h"
#include "collector/read/summary_read.h"
#include "collector/show/pprof_rows.h"

#define RUNS_MAX 200
#define RUNS_METRICS_MAX 64
#define RUNS_PROFILES 4

/* A value to compare: one column of a table. */
struct runs_metric {
	char key[64]; /* "wall.total" */
	char title[64]; /* "wall time, total" */
	char unit[16]; /* "nanoseconds", "bytes", "count" */
	int profile; /* its source; -1: summary.json */
	bool total; /* of a function and its callees, not of itself */
	bool sampled; /* an estimate from samples */
	bool random; /* depends on the load of the machine */
	bool main; /* shown even if it did not change */
	double grain; /* the weight of one sample, if sampled */
};

struct runs_row {
	size_t first; /* its first frame in runs.frames, innermost first */
	uint32_t depth; /* 1 for a function */
};

struct run {
	const char *dir; /* as the user wrote it */
	struct stat folder; /* identifies the folder */
	struct summary *summary;
	struct pprof *profile[RUNS_PROFILES]; /* NULL: none */
	struct pprof_rows rows[RUNS_PROFILES];
	uint32_t *ids[RUNS_PROFILES]; /* the function of each frame */
	uint32_t *row_ids[RUNS_PROFILES]; /* the row of each profile row */
	uint32_t *summary_ids; /* the function of each summary function; later
				* its row */
	bool single_threaded; /* each of its processes has one thread */
	bool complete; /* no call was lost, off, or left out by a budget, and
			* the collector was not killed */
};

struct runs {
	struct run *list;
	size_t count;
	size_t first_b; /* the first run of side B; count: all are side A */
	bool stacks; /* rows are stacks, not functions */
	bool mixed_times; /* some runs had times from samples, some from calls:
			   * all use times from calls */
	struct runs_metric metric[RUNS_METRICS_MAX];
	size_t metric_count;
	/* Keys of values that some runs lack, with ", " between. */
	char left_out[256];
	struct pool functions; /* struct runs_function */
	uint32_t no_stack; /* the function of a stack without frames */
	struct pool row_pool; /* struct runs_row */
	uint32_t *frames; /* numbers of functions */
	size_t frame_count, frame_room;
	int64_t *values; /* see runs_value() */
	uint8_t *present; /* for each row and run: 1 if the run has the row */
	int64_t sum[RUNS_METRICS_MAX][RUNS_MAX]; /* over all rows; for a total:
						  * the sum of self values */
};

/*
 * Reads the @count recordings in the folders @dirs; the folders from number
 * @first_b on are side B. A recording twice on one side is an error. Shows
 * progress on the terminal (show/progress.h). Returns 0, and the caller frees
 * *@out with runs_release(); @dirs must outlive it. Otherwise logs one line and
 * returns -errno. One thread.
 */
int runs_read(char *const *dirs, size_t count, size_t first_b, bool stacks,
	      struct runs *out);
/* Frees the content of @runs, which may be all zero. */
void runs_release(struct runs *runs);

size_t runs_row_count(const struct runs *runs);
const struct runs_row *runs_row(const struct runs *runs, size_t row);
const struct runs_function *runs_function(const struct runs *runs,
					  uint32_t function);
/* Returns the function of frame @i of @row, under its name on side A if it has
 * one.
 */
const struct runs_function *runs_frame(const struct runs *runs, size_t row,
				       size_t i);
/* Returns the value of @metric in @row for run @run; 0 if the run lacks the
 * row. */
int64_t runs_value(const struct runs *runs, size_t row, size_t metric,
		   size_t run);
/* Returns the number of a side's runs that have the row. */
size_t runs_present(const struct runs *runs, size_t row, bool side_b);
/* Returns the number of the metric @key, or RUNS_NONE. "self", "total", "bytes"
 * and "blocks" stand for wall, wall.total, alloc_space and alloc_objects. */
uint32_t runs_find_metric(const struct runs *runs, const char *key);

#endif
