/* SPDX-License-Identifier: Apache-2.0
 *
 * load_map - a plugin loaded a thousand times is one place with a thousand
 * lives, so the list of places stays short. It is sorted by start; reach limits
 * how far back a place that covers an address may start.
 *
 * Unknown files are not added: no name is better than a wrong one. The map log
 * reports each load before its unload, and each unload. So:
 * - A file found somewhere has been there since the file before it ended.
 * - If a generation has no unload in the log, entries were lost. All places
 *   that can be unloaded end there; a file found later starts there at the
 *   earliest.
 */
#include "collector/names/load_map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "collector/base/search.h"
#include "collector/names/symbols.h"
#include "shared/compiler.h"

void load_map_release(struct load_map *map)
{
	for (size_t i = 0; i < map->count; i++) {
		symbol_file_put(&map->list[i].place->file);
		free(map->list[i].place->lives);
		free(map->list[i].place);
	}
	free(map->list);
	free(map->transient);
	*map = (struct load_map){ 0 };
}

/* --- finding -------------------------------------------------------------- */

static size_t count_places_below(const struct load_map *map, uint64_t end)
{
	return search_first(i, map->count, map->list[i].start >= end);
}

/* Last first. *@i starts as count_places_below() the end of the range. */
static struct place *next_overlap(const struct load_map *map, uint64_t start,
				  size_t *i)
{
	while (*i && map->list[*i - 1].reach > start)
		if (map->list[--*i].end > start)
			return map->list[*i].place;
	return NULL;
}

/* Only the last life can be open. */
static struct life *open_life(const struct place *place)
{
	struct life *last;

	if (!place->life_count)
		return NULL;
	last = &place->lives[place->life_count - 1];
	return last->to == LIFE_OPEN ? last : NULL;
}

static const struct life *life_in_generation(const struct place *place,
					     uint32_t generation)
{
	size_t low = search_first(i, place->life_count,
				  place->lives[i].from > generation);

	return low && generation < place->lives[low - 1].to
		       ? &place->lives[low - 1]
		       : NULL;
}

struct place *load_map_find(const struct load_map *map, uint64_t address,
			    uint32_t generation)
{
	size_t i = count_places_below(map, address + 1);
	struct place *found = NULL;
	uint32_t newest = 0;

	while (i && map->list[i - 1].reach > address) {
		const struct load_map_entry *entry = &map->list[--i];
		const struct life *life;

		if (entry->end <= address || generation < entry->born ||
		    generation >= entry->died)
			continue;
		life = life_in_generation(entry->place, generation);
		if (life && (!found || life->from > newest)) {
			found = entry->place;
			newest = life->from;
		}
	}
	return found;
}

struct place *load_map_below(const struct load_map *map, uint64_t address,
			     uint32_t generation)
{
	size_t i = count_places_below(map, address + 1);

	while (i--)
		if (life_in_generation(map->list[i].place, generation))
			return map->list[i].place;
	return NULL;
}

struct place *load_map_open(const struct load_map *map, uint64_t start,
			    uint64_t end)
{
	size_t i = count_places_below(map, end);
	struct place *place;

	while ((place = next_overlap(map, start, &i)))
		if (open_life(place))
			return place;
	return NULL;
}

struct place *load_map_known(const struct load_map *map,
			     const struct place *what)
{
	size_t i = count_places_below(map, what->end);
	struct place *place;

	while ((place = next_overlap(map, what->start, &i)))
		if (place->start == what->start && place->end == what->end &&
		    place->has_bias == what->has_bias &&
		    place->bias == what->bias &&
		    place->map_offset == what->map_offset &&
		    place->inode == what->inode && place->path == what->path &&
		    place->build_id == what->build_id)
			return place;
	return NULL;
}

/* --- changing ------------------------------------------------------------- */

static struct load_map_entry *entry_of(struct load_map *map,
				       const struct place *place)
{
	struct load_map_entry *entry =
		&map->list[count_places_below(map, place->start)];

	while (entry->place != place)
		entry++;
	return entry;
}

static void end_place(struct load_map *map, struct place *place,
		      uint32_t generation)
{
	open_life(place)->to = generation;
	entry_of(map, place)->died = generation;
	place->ended = MAX(place->ended, generation);
}

static bool end_lives_between(struct load_map *map, uint64_t start,
			      uint64_t end, uint32_t generation)
{
	size_t i = count_places_below(map, end);
	struct place *place;
	bool any = false;

	while ((place = next_overlap(map, start, &i))) {
		if (!open_life(place))
			continue;
		end_place(map, place, generation);
		any = true;
	}
	return any;
}

/* Inserts a copy of @what without lives. Returns NULL without memory. */
static struct place *insert_place(struct load_map *map,
				  const struct place *what)
{
	size_t at = count_places_below(map, what->start + 1);
	struct place *place;
	uint64_t reach;

	if (map->count == LOAD_MAP_PLACES_MAX ||
	    grow_array(map->list, map->room, map->count + 1))
		return NULL;
	place = malloc(sizeof(*place));
	if (!place)
		return NULL;
	*place = *what;
	symbol_file_get(place->file);
	place->lives = NULL;
	place->life_count = place->life_room = 0;
	place->ended = 0;
	memmove(&map->list[at + 1], &map->list[at],
		(map->count++ - at) * sizeof(*map->list));
	map->list[at] = (struct load_map_entry){ .place = place,
						 .start = place->start,
						 .end = place->end };
	reach = at ? map->list[at - 1].reach : 0;
	map->list[at].reach = MAX(reach, place->end);
	/* Later entries have computed reach without this place. */
	for (size_t i = at + 1;
	     i < map->count && map->list[i].reach < place->end; i++)
		map->list[i].reach = place->end;
	return place;
}

static int begin_life(struct load_map *map, struct place *place, uint32_t from)
{
	struct load_map_entry *entry;

	if (grow_array(place->lives, place->life_room, place->life_count + 1) ||
	    grow_array(map->transient, map->transient_room,
		       map->transient_count + 1))
		return -ENOMEM;
	entry = entry_of(map, place);
	if (!place->life_count)
		entry->born = from;
	entry->died = LIFE_OPEN;
	place->lives[place->life_count++] = (struct life){ from, LIFE_OPEN };
	if (place->is_transient)
		map->transient[map->transient_count++] = place;
	return 0;
}

int load_map_add(struct load_map *map, const struct place *what)
{
	struct place *place = load_map_known(map, what), *before;
	size_t i = count_places_below(map, what->end);
	uint32_t from = map->gap;

	/* Find the generation since which the range is certainly free. */
	while ((before = next_overlap(map, what->start, &i)))
		from = MAX(from, before->ended);
	if (!place)
		place = insert_place(map, what);
	if (!place)
		return -ENOMEM;
	end_lives_between(map, what->start, what->end, from);
	return begin_life(map, place, from);
}

/* A place is listed once per load, so adding paid for this loop. */
static void lose_history(struct load_map *map, uint32_t generation)
{
	while (map->transient_count) {
		struct place *place = map->transient[--map->transient_count];

		if (open_life(place))
			end_place(map, place, map->generation + 1);
	}
	map->gap = generation;
}

void load_map_advance(struct load_map *map, uint32_t generation)
{
	if (generation <= map->generation)
		return;
	lose_history(map, generation);
	map->generation = generation;
}

int load_map_end(struct load_map *map, uint64_t start, uint64_t end,
		 uint32_t generation)
{
	struct place unknown = {
		.start = start, .end = end, .path = "", .build_id = ""
	};
	struct place *place;

	if (generation == map->generation + 1)
		map->generation = generation;
	load_map_advance(map, generation);
	if (end_lives_between(map, start, end, generation))
		return 0;
	/* Later files here start after this unload. */
	place = load_map_known(map, &unknown);
	if (!place)
		place = insert_place(map, &unknown);
	if (!place) {
		/* Later files must not seem older than this. */
		lose_history(map, generation);
		return -ENOMEM;
	}
	place->ended = MAX(place->ended, generation);
	return 0;
}

/* --- fork ----------------------------------------------------------------- */

int load_map_fork(const struct load_map *parent, uint32_t generation,
		  struct load_map *out)
{
	struct load_map child = { .generation = generation };
	int err = 0;

	for (size_t i = 0; i < parent->count && !err; i++) {
		const struct place *known = parent->list[i].place;
		struct place *place;

		if (!life_in_generation(known, generation))
			continue;
		place = insert_place(&child, known);
		err = place ? begin_life(&child, place, 0) : -ENOMEM;
	}
	if (err)
		load_map_release(&child);
	else
		*out = child;
	return err;
}
