/* SPDX-License-Identifier: Apache-2.0
 *
 * code_entries - the sites of entry builds (shared/entry_build.h): tables say
 * where functions begin, and for clang also where they end; where functions
 * that gcc compiled end is found by decoding them.
 */
#ifndef PERFREC_COLLECTOR_CODE_CODE_ENTRIES_H
#define PERFREC_COLLECTOR_CODE_CODE_ENTRIES_H

#include <stddef.h>

#include "collector/code/code_found.h"
#include "collector/code/code_group.h"

struct code_entries {
	struct code_file *file;
	struct code_pieces *pieces;
	struct code_found *found;
	struct code_group group, scratch;
	const struct code_piece *built; /* XRay: where the group begins */
	size_t next; /* of the tables' entries, first gcc's */
};

/* Goes on until about @bytes of code are read. 1: there is more. 0: no more, or
 * -ENOMEM. */
int code_entries_step(struct code_entries *entries, uint64_t bytes);
void code_entries_release(struct code_entries *entries);

#endif
