/* SPDX-License-Identifier: Apache-2.0
 *
 * pprof_rows - the sums of a profile, by function or by stack.
 *
 * Functions with equal name and module are one. The self values of a function
 * are the sum of the samples with this innermost function. Its totals are the
 * sum of the samples with the function anywhere on their stacks; recursion
 * counts once.
 *
 * Samples with the innermost frame "[perfrec]" belong to perfrec, not to the
 * program. By function they have their own row and are in no other row or sum.
 * By stack they are ordinary stacks until pprof_rows_fold_own(): an export
 * shows where perfrec was called.
 */
#ifndef PERFREC_COLLECTOR_SHOW_PPROF_ROWS_H
#define PERFREC_COLLECTOR_SHOW_PPROF_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/read/pprof_read.h"

struct pprof_frame {
	const char *name, *module, *file;
	uint32_t line; /* 0: unknown; of a function: the lowest */
};

struct pprof_row {
	/* The frames of the stack, innermost first; or the function. */
	const struct pprof_frame *frames;
	size_t depth;
	bool own; /* inside perfrec */
	/* Equal for a stack. */
	int64_t self[PPROF_VALUES_MAX], total[PPROF_VALUES_MAX];
};

struct pprof_rows {
	struct pprof_row *list; /* with room for one more row */
	size_t count;
	int64_t sum[PPROF_VALUES_MAX]; /* of the program's samples; by stack,
				        * of all */
	struct pprof_frame *frames;
	bool by_function;
};

/* Adds up @pprof by function. *@out points into @pprof, which must outlive it.
 * The caller calls pprof_rows_free(). Returns 0, or -ENOMEM with *@out all
 * zero. */
int pprof_rows_by_function(const struct pprof *pprof, struct pprof_rows *out);
/* Adds up @pprof by stack. Ignores the labels of samples. */
int pprof_rows_by_stack(const struct pprof *pprof, struct pprof_rows *out);
/* Merges all rows of perfrec into the last row, and subtracts them from the sum
 * of stacks. Returns true if there is such a row. */
bool pprof_rows_fold_own(struct pprof_rows *rows);
/* Frees the contents of @rows and sets it to all zero. */
void pprof_rows_free(struct pprof_rows *rows);

struct pprof_key {
	uint32_t value; /* index in pprof.type */
	bool total; /* total instead of self value */
};

/* Sorts @rows by @count @keys in order of priority, largest first, and finally
 * by the names of their frames. With keys, rows of perfrec are last. */
void pprof_rows_sort(struct pprof_rows *rows, const struct pprof_key *keys,
		     size_t count);

/* Adds @value to *@to. Sums end at the largest number: files may be hostile. */
static inline void add_saturated_to(int64_t *to, int64_t value)
{
	if (__builtin_add_overflow(*to, value, to))
		*to = value < 0 ? INT64_MIN : INT64_MAX;
}

#endif
