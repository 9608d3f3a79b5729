/* SPDX-License-Identifier: Apache-2.0
 *
 * unwind_space - a short list of modules. A search starts at the last hit,
 * because successive frames are often in the same module.
 */
#include "collector/profile/unwind_space.h"

#include <stdlib.h>

#include "collector/base/grow.h"
#include "collector/code/thunks.h"
#include "collector/names/modules.h"
#include "collector/names/symbols.h"

/* A list of this length is emptied. */
#define MODULES_MAX 4096

void unwind_space_release(struct unwind_space *space)
{
	free(space->list);
	space->list = NULL;
	space->count = space->room = 0;
}

void unwind_space_reset(struct unwind_space *space, uint32_t generation)
{
	space->count = space->last = 0;
	space->generation = generation;
}

/* Adds the module at @address of the load map to the list. Returns NULL if
 * there is none or memory is short. */
static const struct unwind_module *ask_for_module(struct unwind_space *space,
						  uint64_t address)
{
	struct module_place place;
	struct unwind_module *module = NULL;

	if (!modules_place(space->modules, address, space->generation, &place))
		return NULL;
	if (space->count == MODULES_MAX)
		space->count = 0;
	if (!grow_array(space->list, space->room, space->count + 1)) {
		space->last = space->count++;
		module = &space->list[space->last];
	}
	if (module) {
		*module = (struct unwind_module){
			.start = place.start,
			.end = place.end,
			.low = place.start,
			.high = place.end,
			.bias = place.is_thunks
					? place.start - place.file_offset
					: place.bias,
			.is_thunks = place.is_thunks,
			.inode = place.inode,
		};
		if (place.file)
			module->file =
				unwind_files_get(space->files, place.file);
		if (module->file) {
			unwind_file_extent(module->file, &module->low,
					   &module->high);
			module->low += place.bias;
			module->high += place.bias;
		}
	}
	symbol_file_put(&place.file);
	return module;
}

const struct unwind_module *unwind_space_find(struct unwind_space *space,
					      uint64_t address)
{
	for (size_t i = 0; i < space->count; i++) {
		size_t at = (space->last + i) % space->count;
		const struct unwind_module *module = &space->list[at];

		if (address >= module->start && address < module->end) {
			space->last = at;
			return module;
		}
	}
	return ask_for_module(space, address);
}

bool unwind_space_read(struct unwind_space *space, uint64_t address, void *out,
		       size_t bytes)
{
	for (size_t i = 0; i < space->count; i++) {
		size_t at = (space->last + i) % space->count;
		const struct unwind_module *module = &space->list[at];

		if ((!module->file && !module->is_thunks) ||
		    address < module->low || address >= module->high)
			continue;
		if (module->is_thunks)
			return thunk_area_read(module->inode,
					       address - module->bias, out,
					       bytes);
		return unwind_file_read(module->file, address - module->bias,
					out, bytes);
	}
	return false;
}
