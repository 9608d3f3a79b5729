/* SPDX-License-Identifier: Apache-2.0
 *
 * pprof_rows - a profile summed up by function or by stack.
 *
 * Functions of the same name and module are one. The self values of a function
 * are the sum of the samples whose innermost function it is. Its totals are the
 * sum of the samples that have it anywhere on their stacks; a sample that has
 * it more than once counts once.
 *
 * Samples whose innermost frame is perfrec itself ("[perfrec]", which a profile
 * has there only) are no part of the program. By function they have a row of
 * their own, and are in no other row and no sum. By stack they are stacks like
 * others until pprof_rows_fold_own(): an export shows where perfrec was called.
 */
#ifndef PERFREC_COLLECTOR_SHOW_PPROF_ROWS_H
#define PERFREC_COLLECTOR_SHOW_PPROF_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/read/pprof_read.h"

struct pprof_frame {
	const char *name, *module, *file; /* "": unknown */
	uint32_t line; /* 0: unknown; for a function, its lowest line */
};

struct pprof_row {
	/* The frames of the stack, innermost first; or one, the function. */
	const struct pprof_frame *frames;
	size_t depth; /* how many */
	bool own; /* its innermost frame is perfrec itself */
	/* For a stack both are the same. */
	int64_t self[PPROF_VALUES_MAX], total[PPROF_VALUES_MAX];
};

struct pprof_rows {
	struct pprof_row *list; /* with room for one row more */
	size_t count;
	int64_t sum[PPROF_VALUES_MAX]; /* of all samples of the program; by
					* stack, of all */
	struct pprof_frame *frames; /* of all rows */
	bool by_function;
};

/* Sum @pprof up, with a row for each function. *@out points into @pprof, which
 * must not be freed before it. The caller frees *@out with pprof_rows_free(). 0
 * or -ENOMEM; then *@out is all zero. */
int pprof_rows_by_function(const struct pprof *pprof, struct pprof_rows *out);
/* The same with a row for each stack. Labels of samples do not count: samples
 * with the same stack are one row. */
int pprof_rows_by_stack(const struct pprof *pprof, struct pprof_rows *out);
/* Makes one row of all rows of perfrec itself, the last of @rows, and takes it
 * off the sum of stacks. Returns whether there is one. */
bool pprof_rows_fold_own(struct pprof_rows *rows);
/* Free what @rows has, but not @rows, and set it to all zero. */
void pprof_rows_free(struct pprof_rows *rows);

/* A value that rows are sorted by. */
struct pprof_key {
	uint32_t value; /* its number, in pprof.type */
	bool total; /* the total of the row, not its self value */
};

/* Sort @rows by the first of @count @keys, the largest value first; equal rows
 * by the next key, and so on; in the end by the names of their frames. With a
 * key, rows of perfrec itself are the last. */
void pprof_rows_sort(struct pprof_rows *rows, const struct pprof_key *keys,
		     size_t count);

#endif
