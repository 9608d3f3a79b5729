/* SPDX-License-Identifier: Apache-2.0
 *
 * annotate - the source of a function with what its lines have of the values of
 * cpu.pb.gz and heap.pb.gz.
 *
 * A line has what is in it and in what it calls. Samples of CPU time have
 * lines, and so have allocations in code without hooks. A recorded call knows
 * its function only: what is allocated in it is at the function's first line.
 */
#ifndef PERFREC_COLLECTOR_SHOW_ANNOTATE_H
#define PERFREC_COLLECTOR_SHOW_ANNOTATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include "collector/base/pool.h"
#include "collector/show/pprof_rows.h"

struct source_text;

#define ANNOTATE_VALUES 5

/* Values that lines can have, in this order. */
enum annotate_value {
	ANNOTATE_CPU_SELF, /* ns, of the line itself */
	ANNOTATE_CPU, /* ns, with what it called */
	ANNOTATE_BYTES, /* allocated, by what it called */
	ANNOTATE_BLOCKS,
	ANNOTATE_INUSE, /* bytes of these in use at the end */
};

struct annotate_line {
	const char *file; /* "": unknown */
	uint64_t line; /* 0: unknown */
	int64_t value[ANNOTATE_VALUES];
};

struct annotate {
	const char *name, *module; /* of the function */
	bool known[ANNOTATE_VALUES]; /* the recording has the value */
	/* The caller sets these two: */
	bool recorded; /* the recording has calls */
	time_t written; /* when its profile was */
	struct annotate_line *lines; /* sorted by file, then by line */
	size_t count;
	int64_t sum[ANNOTATE_VALUES]; /* of all lines */
	struct pool pool; /* until annotate_end() */
};

/* Begin with the function @name, which outlives @out. The caller ends it with
 * annotate_release(). */
void annotate_begin(const char *name, struct annotate *out);
/* Add the stacks @rows of the profile @pprof, which both outlive it: cpu.pb.gz
 * or heap.pb.gz. 0 or -ENOMEM. */
int annotate_add(struct annotate *annotate, const struct pprof *pprof,
		 const struct pprof_rows *rows);
/* All is added: sort the lines. */
void annotate_end(struct annotate *annotate);
void annotate_release(struct annotate *annotate);

/*
 * Print the lines to @out, each file with its source around them, if that can
 * be read: it is looked for where the profile says, from the current folder on.
 * This and annotate_write_json() return 0, -ENOMEM, or -EIO if @out cannot be
 * written.
 */
int annotate_print(const struct annotate *annotate, FILE *out);
/* True if @source was changed after the recording, or after the module of the
 * function was built: lines may be others now. */
bool annotate_is_changed(const struct annotate *annotate,
			 const struct source_text *source);
int annotate_write_json(const struct annotate *annotate, FILE *out);

#endif
