/* SPDX-License-Identifier: Apache-2.0
 *
 * wait_places - keeps the maps of some processes: the file at each address,
 * including its .bss, which is an anonymous mapping right behind the file's
 * last one. If a map lacks an address, it is read again. That also replaces the
 * map of an earlier process with the same id, because its addresses differ.
 * modules.h has only executable mappings, and may have to wait.
 */
#include "collector/samples/wait_places.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/clock.h"
#include "collector/base/grow.h"
#include "collector/base/path.h"
#include "collector/base/proc.h"
#include "collector/base/search.h"
#include "collector/names/maps.h"
#include "collector/samples/wait_memory.h"
#include "shared/compiler.h"

/* How many maps of processes are kept, and how many bytes they may have
 * together. The latest one is kept in any case. */
#define PROCESSES 256u
#define KEPT_BYTES_MAX (16u << 20)
#define MAPS_BYTES_MAX (2u << 20) /* maximum size of a map's text */
#define AGAIN_NS 100000000u
#define NAME_BYTES 48
/* Offset of the type in an ELF header, 16 bits. */
#define ELF_TYPE 16u
#define ELF_EXECUTABLE 2 /* not position independent */
/* Upper limit of files that are not position independent. */
#define LOW_END (UINT64_C(1) << 32)

struct range {
	uint64_t start, end;
	uint64_t base; /* of the file; 0: none */
	uint32_t name; /* offset in names */
};

struct place_map {
	pid_t pid;
	uint64_t read_ns; /* MONOTONIC */
	uint64_t used; /* number of its last use; 0: never */
	struct range *range; /* by address */
	size_t count, room;
	char *names; /* each NUL-terminated */
	size_t names_used, names_room;
};

struct wait_places {
	struct place_map map[PROCESSES];
	uint64_t uses;
	char *text; /* MAPS_BYTES_MAX */
};

int wait_places_new(struct wait_places **out)
{
	struct wait_places *places = calloc(1, sizeof(*places));

	if (!places)
		return -ENOMEM;
	places->text = malloc(MAPS_BYTES_MAX);
	if (!places->text) {
		free(places);
		return -ENOMEM;
	}
	*out = places;
	return 0;
}

static void release_map(struct place_map *map)
{
	free(map->range);
	free(map->names);
	memset(map, 0, sizeof(*map));
}

void wait_places_free(struct wait_places **places)
{
	struct wait_places *old = *places;

	*places = NULL;
	if (!old)
		return;
	for (size_t i = 0; i < PROCESSES; i++)
		release_map(&old->map[i]);
	free(old->text);
	free(old);
}

/* --- reading a map ------------------------------------------------------- */

static void copy_place_name(char out[NAME_BYTES], const char *path)
{
	static const char gone[] = " (deleted)";
	size_t length;

	path = path_name(path);
	length = strlen(path);
	if (length >= sizeof(gone) - 1 &&
	    !strcmp(path + length - (sizeof(gone) - 1), gone))
		length -= sizeof(gone) - 1;
	length = MIN(length, (size_t)NAME_BYTES - 1);
	memcpy(out, path, length);
	out[length] = '\0';
}

/* Finds the offset of @name in the names of @map; compares only with the last
 * name. Returns 0 or -ENOMEM. */
static int intern_place_name(struct place_map *map, const char *name,
			     uint32_t *out)
{
	size_t bytes = strlen(name) + 1;

	if (map->count && map->range[map->count - 1].base &&
	    !strcmp(map->names + map->range[map->count - 1].name, name)) {
		*out = map->range[map->count - 1].name;
		return 0;
	}
	if (grow_array(map->names, map->names_room, map->names_used + bytes))
		return -ENOMEM;
	memcpy(map->names + map->names_used, name, bytes);
	*out = (uint32_t)map->names_used;
	map->names_used += bytes;
	return 0;
}

/* Sets the file of @range: that of @line, or that of @last if the range is its
 * .bss. Returns 0 or -ENOMEM. */
static int set_range_file(struct place_map *map, struct range *range,
			  const struct maps_line *line,
			  const struct range *last, bool last_writable)
{
	char name[NAME_BYTES];

	if (line->path[0] == '/') {
		copy_place_name(name, line->path);
		if (intern_place_name(map, name, &range->name))
			return -ENOMEM;
		/* The first mapping of a file has its headers. */
		range->base = last && last->base && line->offset &&
					      last->name == range->name
				      ? last->base
				      : line->start - line->offset;
	} else if (!line->path[0] && last && last->base && last_writable &&
		   last->end == line->start && line->is_writable) {
		range->base = last->base;
		range->name = last->name;
	}
	return 0;
}

static void parse_map(struct place_map *map, char *text)
{
	bool writable = false;
	struct maps_line line;

	/* A line that was cut off has no end. */
	for (char *end; (end = strchr(text, '\n')) != NULL; text = end + 1) {
		struct range range, *last;

		if (!maps_parse(text, &line))
			return;
		range = (struct range){ .start = line.start, .end = line.end };
		last = map->count ? &map->range[map->count - 1] : NULL;
		if (set_range_file(map, &range, &line, last, writable) ||
		    grow_array(map->range, map->room, map->count + 1))
			return;
		map->range[map->count++] = range;
		writable = line.is_writable;
	}
}

/* --- names --------------------------------------------------------------- */

static const struct range *find_place_range(const struct place_map *map,
					    uint64_t address)
{
	size_t at = search_first(i, map->count, map->range[i].end > address);

	return at < map->count && map->range[at].start <= address
		       ? &map->range[at]
		       : NULL;
}

static void name_place(const struct place_map *map, const struct range *range,
		       uint64_t address, char out[WAIT_PLACE_BYTES])
{
	uint64_t base = range ? range->base : 0;
	uint16_t type = 0;

	if (!base) {
		snprintf(out, WAIT_PLACE_BYTES, "0x%" PRIx64, address);
		return;
	}
	/* The addresses are those in nm's output. */
	if (map->pid && base < LOW_END)
		wait_memory_read(map->pid, base + ELF_TYPE, &type,
				 sizeof(type));
	snprintf(out, WAIT_PLACE_BYTES, "%s+0x%" PRIx64,
		 map->names + range->name,
		 address - (type == ELF_EXECUTABLE ? 0 : base));
}

void wait_places_format(char out[WAIT_PLACE_BYTES], const char *path,
			uint64_t offset)
{
	char name[NAME_BYTES];

	copy_place_name(name, path);
	snprintf(out, WAIT_PLACE_BYTES, "%s+0x%" PRIx64, name, offset);
}

/* Returns the map of @pid, or else the map that was not used for longest. */
static struct place_map *map_of_process(struct wait_places *places, pid_t pid)
{
	struct place_map *oldest = &places->map[0];

	for (struct place_map *map = oldest; map < &places->map[PROCESSES];
	     map++) {
		if (map->pid == pid)
			return map;
		if (map->used < oldest->used)
			oldest = map;
	}
	return oldest;
}

static void limit_kept_bytes(struct wait_places *places,
			     const struct place_map *latest)
{
	struct place_map *oldest;
	size_t bytes;

	do {
		bytes = 0;
		oldest = NULL;
		for (size_t i = 0; i < PROCESSES; i++) {
			struct place_map *map = &places->map[i];

			bytes += map->room * sizeof(*map->range) +
				 map->names_room;
			if (map != latest && map->used &&
			    (!oldest || map->used < oldest->used))
				oldest = map;
		}
		if (bytes > KEPT_BYTES_MAX && oldest)
			release_map(oldest);
	} while (bytes > KEPT_BYTES_MAX && oldest);
}

void wait_places_name(struct wait_places *places, pid_t pid, uint64_t address,
		      char out[WAIT_PLACE_BYTES])
{
	struct place_map *map = map_of_process(places, pid);
	const struct range *range = NULL;

	map->used = ++places->uses;
	if (map->pid == pid)
		range = find_place_range(map, address);
	if (map->pid != pid ||
	    (!range && clock_monotonic_ns() - map->read_ns >= AGAIN_NS)) {
		/* Locks of a process that is gone are still named by its map. */
		if (proc_read(pid, "maps", places->text, MAPS_BYTES_MAX) ||
		    map->pid != pid) {
			release_map(map);
			parse_map(map, places->text);
		}
		map->pid = pid;
		map->used = places->uses;
		map->read_ns = clock_monotonic_ns();
		limit_kept_bytes(places, map);
		range = find_place_range(map, address);
	}
	name_place(map, range, address, out);
}

void wait_places_name_by(const char *maps, uint64_t address,
			 char out[WAIT_PLACE_BYTES])
{
	struct place_map map = { .pid = 0 };
	char *text = strdup(maps);

	if (text)
		parse_map(&map, text);
	name_place(&map, find_place_range(&map, address), address, out);
	free(text);
	release_map(&map);
}
