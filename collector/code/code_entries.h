/* SPDX-License-Identifier: Apache-2.0
 *
 * code_entries - finds the sites of entry builds (shared/entry_build.h). Tables
 * list them, except the exits of gcc's functions, which are found by decoding.
 */
#ifndef PERFREC_COLLECTOR_CODE_CODE_ENTRIES_H
#define PERFREC_COLLECTOR_CODE_CODE_ENTRIES_H

#include <stddef.h>

#include "collector/code/code_found.h"
#include "collector/code/code_group.h"

struct code_moves;

struct code_entries {
	struct code_file *file;
	struct code_pieces *pieces;
	struct code_found *found;
	struct code_group group, scratch;
	/* Functions that are moved: their sites are not listed. */
	const struct code_moves *moves;
	const struct code_piece *built;
	size_t next; /* next table entry; gcc's table comes first */
};

/* Marks the pieces that the tables name (code_piece.has_hooks). Call first. */
void code_entries_mark(struct code_entries *entries);
/* Reads about @bytes of code. Returns 1 if there is more, 0 at the end, or
 * -ENOMEM. */
int code_entries_step(struct code_entries *entries, uint64_t bytes);
void code_entries_release(struct code_entries *entries);

#endif
