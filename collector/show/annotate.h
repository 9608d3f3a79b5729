/* SPDX-License-Identifier: Apache-2.0
 *
 * annotate - the source of a function with the values of its lines in cpu.pb.gz
 * and heap.pb.gz.
 *
 * The values of a line include its callees. CPU samples and allocations in code
 * without hooks have lines. A recorded call only knows its function, so its
 * allocations count for the function's first line.
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

struct assembly_part;
struct source_text;

#define ANNOTATE_VALUES 5

/* In order of the columns. */
enum annotate_value {
	ANNOTATE_CPU_SELF, /* ns, line itself */
	ANNOTATE_CPU, /* ns, with callees */
	ANNOTATE_BYTES, /* allocated, with callees */
	ANNOTATE_BLOCKS,
	ANNOTATE_INUSE, /* of these, in use at the end */
};

struct annotate_value_text {
	const char *type; /* in a profile */
	const char *title, *key; /* as text, in JSON */
	bool self;
};
extern const struct annotate_value_text annotate_values[ANNOTATE_VALUES];

struct annotate_line {
	const char *file; /* "": unknown */
	uint64_t line; /* 0: unknown */
	int64_t value[ANNOTATE_VALUES];
};

struct annotate {
	const char *name, *module;
	bool known[ANNOTATE_VALUES];
	/* Set by the caller: */
	bool recorded; /* the recording has calls */
	time_t written; /* time of the profile */
	struct annotate_line *lines; /* sorted by file and line */
	size_t count;
	int64_t sum[ANNOTATE_VALUES];
	struct pool pool; /* until annotate_end() */
};

/* Begins with the function @name, which must outlive @out. The caller calls
 * annotate_release(). */
void annotate_begin(const char *name, struct annotate *out);
/* Adds the stacks @rows of @pprof: cpu.pb.gz or heap.pb.gz. Both must outlive
 * @annotate. Returns 0 or -ENOMEM. */
int annotate_add(struct annotate *annotate, const struct pprof *pprof,
		 const struct pprof_rows *rows);
/* Sorts the lines after the last annotate_add(). */
void annotate_end(struct annotate *annotate);
void annotate_release(struct annotate *annotate);

/*
 * Prints the lines to @out, with the surrounding source if it can be read.
 * Source paths are those of the profile, relative to the current folder.
 * Returns 0, -ENOMEM, or -EIO if @out cannot be written, as
 * annotate_write_json() does.
 */
int annotate_print(const struct annotate *annotate, FILE *out);
/* As annotate_print() and annotate_write_json(), for the instructions of the
 * @count parts @parts. @annotate has no lines, and the sums of the parts. */
int annotate_print_assembly(const struct annotate *annotate,
			    const struct assembly_part *parts, size_t count,
			    FILE *out);
int annotate_write_assembly_json(const struct annotate *annotate,
				 const struct assembly_part *parts,
				 size_t count, FILE *out);
/* Returns true if @source was changed after the recording, or after the build
 * of the function's module. Then its lines may have moved. */
bool annotate_is_changed(const struct annotate *annotate,
			 const struct source_text *source);
int annotate_write_json(const struct annotate *annotate, FILE *out);

#endif
