/* SPDX-License-Identifier: Apache-2.0
 *
 * saved_cells - the cells of a ring in a file of tests/bench/save_ring.
 */
#ifndef PERFREC_TESTS_TOOLS_SAVED_CELLS_H
#define PERFREC_TESTS_TOOLS_SAVED_CELLS_H

#include <stdio.h>
#include <stdlib.h>

#include "shared/record.h"

/* Returns the cells of file @name, which the caller frees, or NULL. */
static inline struct record *saved_cells_read(const char *name, size_t *count)
{
	FILE *file = fopen(name, "r");
	struct record *cells = NULL;
	long bytes;

	if (!file)
		return NULL;
	fseek(file, 0, SEEK_END);
	bytes = ftell(file);
	rewind(file);
	*count = bytes > 0 ? (size_t)bytes / sizeof(*cells) : 0;
	if (*count)
		cells = calloc(*count, sizeof(*cells));
	if (cells && fread(cells, sizeof(*cells), *count, file) != *count)
		*count = 0;
	fclose(file);
	return cells;
}

#endif
