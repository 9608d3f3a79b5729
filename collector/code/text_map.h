/* SPDX-License-Identifier: Apache-2.0
 *
 * text_map - the file mappings of a process. One thread at a time.
 */
#ifndef PERFREC_COLLECTOR_CODE_TEXT_MAP_H
#define PERFREC_COLLECTOR_CODE_TEXT_MAP_H

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

struct text_map {
	struct text_mapping *list; /* sorted by address */
	size_t count, room;
};

/* On an error the map is empty. */
int text_map_read(struct text_map *map, pid_t pid);
void text_map_release(struct text_map *map);
/* The mapping must have all @bytes. */
const struct text_mapping *text_map_find(const struct text_map *map,
					 uint64_t address, size_t bytes);

#endif
