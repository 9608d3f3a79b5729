/* SPDX-License-Identifier: Apache-2.0
 *
 * unwind_space - where the files of a process lay in one generation of its load
 * map. A file is looked for when somebody asks for an address in it. One
 * thread: the sampler.
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
	/* From virtual addresses of the file, or offsets in a thunk area, to
	 * ours. */
	uint64_t bias;
	struct unwind_file *file; /* NULL: nothing can be read of it */
	bool is_thunks; /* a thunk area (function_shm.h) */
};

struct unwind_space {
	struct modules *modules;
	struct unwind_files *files;
	uint32_t generation;
	struct unwind_module *list;
	size_t count, room, last; /* last: what was found last */
};

/* Frees what @space has. */
void unwind_space_release(struct unwind_space *space);
/* Forgets all modules. From now on addresses are meant in @generation. */
void unwind_space_reset(struct unwind_space *space, uint32_t generation);

/* The module that the instruction at @address is in. NULL: none is known, but
 * one may be known later. Valid until the next call. */
const struct unwind_module *unwind_space_find(struct unwind_space *space,
					      uint64_t address);
/* Copies @bytes at @address of the process to @out, from the file that lies
 * there. Only modules that unwind_space_find() has found are looked at. False:
 * the file does not have all these bytes. */
bool unwind_space_read(struct unwind_space *space, uint64_t address, void *out,
		       size_t bytes);

#endif
