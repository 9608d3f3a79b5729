/* SPDX-License-Identifier: Apache-2.0
 *
 * unwind_space - the addresses of a process' files in one generation of its
 * load map. A file is opened when unwinding first needs an address in it. Only
 * for the sampler's thread.
 */
#ifndef PERFREC_COLLECTOR_PROFILE_UNWIND_SPACE_H
#define PERFREC_COLLECTOR_PROFILE_UNWIND_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/profile/unwind_file.h"

struct modules;

struct unwind_module {
	uint64_t start, end; /* of the mapping that unwinding needed */
	uint64_t low, high; /* of all segments of the file */
	/* Added to virtual addresses of the file, or to offsets in a thunk
	 * area. */
	uint64_t bias;
	struct unwind_file *file; /* NULL: not readable */
	bool is_thunks; /* a thunk area (function_shm.h) */
	ino_t inode; /* of a thunk area */
};

struct unwind_space {
	struct modules *modules;
	struct unwind_files *files;
	uint32_t generation;
	struct unwind_module *list;
	size_t count, room, last; /* last: index of the last hit */
};

/* Frees the content of @space. */
void unwind_space_release(struct unwind_space *space);
/* Drops all modules. Later addresses belong to @generation. */
void unwind_space_reset(struct unwind_space *space, uint32_t generation);

/* Returns the module with the instruction at @address, valid until the next
 * call. NULL if it is unknown; it may become known later. */
const struct unwind_module *unwind_space_find(struct unwind_space *space,
					      uint64_t address);
/* Copies @bytes at @address of the process to @out, from the file or the thunk
 * area mapped there. Searches only modules that unwind_space_find() has returned.
 * Returns false if the file has fewer bytes there. */
bool unwind_space_read(struct unwind_space *space, uint64_t address, void *out,
		       size_t bytes);

#endif
