/* SPDX-License-Identifier: Apache-2.0
 *
 * unwind_space - the files of a process where they lay in one generation of
 * its load map, as far as they were asked for. One thread: the sampler.
 */
#ifndef PERFREC_COLLECTOR_STACKS_UNWIND_SPACE_H
#define PERFREC_COLLECTOR_STACKS_UNWIND_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/stacks/unwind_file.h"

struct modules;

struct unwind_module {
	uint64_t start, end; /* of the mapping that was asked for */
	uint64_t low, high; /* of all segments of the file */
	uint64_t bias; /* from virtual addresses of the file to ours */
	struct unwind_file *file; /* NULL: nothing can be read of it */
};

struct unwind_space {
	struct modules *modules;
	struct unwind_files *files;
	uint32_t generation;
	struct unwind_module *list;
	size_t count, room, last; /* last: what was found last */
};

void unwind_space_release(struct unwind_space *space);
/* Forget all; what is asked for next is meant in @generation. */
void unwind_space_reset(struct unwind_space *space, uint32_t generation);

/* The module that the instruction at @address is in, or NULL: none is known,
 * though that may change. Valid until the next call. */
const struct unwind_module *unwind_space_find(struct unwind_space *space,
					      uint64_t address);
/* Copies what the files of modules that were found have at @address. False:
 * not all of it is there. */
bool unwind_space_read(struct unwind_space *space, uint64_t address, void *out,
		       size_t bytes);

#endif
