/* SPDX-License-Identifier: Apache-2.0
 *
 * pprof_rows - a profile summed up by function or by stack.
 *
 * A function is a name in a module. Its self values are of the samples whose
 * innermost function it is, its totals of those in which it is anywhere, each
 * sample once, however often the function is on its stack.
 */
#ifndef PERFREC_COLLECTOR_SHOW_PPROF_ROWS_H
#define PERFREC_COLLECTOR_SHOW_PPROF_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/read/pprof_read.h"

struct pprof_frame {
	const char *name, *module, *file; /* "": unknown */
	uint32_t line; /* 0: unknown; of functions, the lowest that was seen */
};

struct pprof_row {
	const struct pprof_frame
		*frames; /* innermost first; of a function: 1 */
	size_t depth;
	/* Of a stack both are the same. */
	int64_t self[PPROF_VALUES_MAX], total[PPROF_VALUES_MAX];
};

struct pprof_rows {
	struct pprof_row *list;
	size_t count;
	int64_t sum[PPROF_VALUES_MAX]; /* of all samples */
	struct pprof_frame *frames;
};

/* Of @pprof, which must stay. The list has room for one more. The caller ends
 * *@out with pprof_rows_free(). 0 or -ENOMEM. */
int pprof_rows_by_function(const struct pprof *pprof, struct pprof_rows *out);
/* Stacks that differ in labels only are one. */
int pprof_rows_by_stack(const struct pprof *pprof, struct pprof_rows *out);
void pprof_rows_free(struct pprof_rows *rows);

struct pprof_key {
	uint32_t value; /* index */
	bool total; /* or of self */
};

/* Those that have most of the first key first, then of the second, and so on;
 * equal ones by name. */
void pprof_rows_sort(struct pprof_rows *rows, const struct pprof_key *keys,
		     size_t count);

#endif
