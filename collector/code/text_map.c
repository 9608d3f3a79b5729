/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/code/text_map.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "collector/base/search.h"
#include "collector/names/maps.h"

static int add_map_line(struct text_map *map, char *text)
{
	struct maps_line line;

	if (!maps_parse(text, &line) || !line.inode)
		return 0;
	if (grow_array(map->list, map->room, map->count + 1) < 0)
		return -ENOMEM;
	map->list[map->count++] = (struct text_mapping){
		.start = line.start,
		.end = line.end,
		.offset = line.offset,
		.device = line.device,
		.inode = line.inode,
		.is_executable = line.is_executable,
		.is_shared = line.is_shared,
	};
	return 0;
}

int text_map_read(struct text_map *map, pid_t pid)
{
	struct maps_turn turn = { 0 };
	char path[32], *text = NULL;
	size_t room = 0;
	int err = 0;
	FILE *file;

	map->count = 0;
	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	file = fopen(path, "re");
	if (!file)
		return -errno;
	while (!err && getline(&text, &room, file) > 0) {
		(void)maps_turn_line(&turn);
		err = add_map_line(map, text);
	}
	maps_turn_end(&turn);
	free(text);
	fclose(file);
	if (err)
		map->count = 0;
	return err;
}

void text_map_release(struct text_map *map)
{
	free(map->list);
	*map = (struct text_map){ 0 };
}

const struct text_mapping *text_map_find(const struct text_map *map,
					 uint64_t address, size_t bytes)
{
	size_t low = search_first(i, map->count, map->list[i].end > address);

	if (low == map->count || map->list[low].start > address ||
	    map->list[low].end - address < bytes)
		return NULL;
	return &map->list[low];
}
