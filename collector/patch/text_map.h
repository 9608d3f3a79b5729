/* SPDX-License-Identifier: Apache-2.0
 *
 * text_map - which files a process maps where, as its map says now. One thread
 * at a time, which may be any.
 */
#ifndef PERFREC_COLLECTOR_PATCH_TEXT_MAP_H
#define PERFREC_COLLECTOR_PATCH_TEXT_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct text_mapping {
	uint64_t start, end, offset;
	dev_t device;
	ino_t inode;
	bool is_executable, is_shared;
};

/* All zero: nothing is mapped. */
struct text_map {
	struct text_mapping *list; /* of files, by address */
	size_t count, room;
};

/* Reads the map of process @pid anew. Returns 0, or a negative errno: the map
 * is empty then. */
int text_map_read(struct text_map *map, pid_t pid);
/* Frees its memory: it is empty again. */
void text_map_release(struct text_map *map);
/* The mapping that has the @bytes at @address; NULL: none has them all. */
const struct text_mapping *text_map_find(const struct text_map *map,
					 uint64_t address, size_t bytes);

#endif
