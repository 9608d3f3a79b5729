/* SPDX-License-Identifier: Apache-2.0
 *
 * load_map - which file lay where in a process, and in which generations of
 * its load map (shared/ring_shm.h). Bookkeeping only: nothing is opened or
 * read here. One thread at a time.
 */
#ifndef PERFREC_COLLECTOR_NAMES_LOAD_MAP_H
#define PERFREC_COLLECTOR_NAMES_LOAD_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define LOAD_MAP_PLACES_MAX 65536

struct symbol_file;

/* When something lay in its place: from <= generation < to. */
struct life {
	uint32_t from, to;
};

#define LIFE_OPEN UINT32_MAX

/* A file in a range of addresses, once or again and again. */
struct place {
	uint64_t start, end;
	uint64_t bias; /* what is added to its virtual addresses, if ... */
	bool has_bias;
	uint64_t map_offset; /* else: of start in the file */
	ino_t inode; /* 0: of no file, or not known */
	const char *path; /* the symbol cache's */
	const char *build_id; /* as the program told, the cache's; or "" */
	struct symbol_file *file; /* a reference; NULL: none, or no access */
	const char *found_id; /* the build-id of what is there instead */
	bool is_transient; /* may be unloaded without our knowing */
	bool is_partial; /* file was made of what was in memory: it has the
			  * names of exported functions only */
	bool was_told; /* that names are missing */

	struct life *lives; /* by generation; load_map's from here on */
	size_t life_count, life_room;
	uint32_t ended; /* when anything last ended here; 0: never */
};

struct load_map {
	struct load_map_entry {
		struct place *place;
		uint64_t reach; /* the highest end up to here */
	} * list; /* by start */
	size_t count, room;
	uint32_t generation; /* the newest that anything is known of */
	uint32_t gap; /* what was before is not known in full */
	struct place **transient; /* those that may be open */
	size_t transient_count, transient_room;
};

/* All zero is an empty map. */
void load_map_release(struct load_map *map);

/*
 * @what lies there from now on, and has since the last that lay there ended.
 * Whatever is still open in its range is over. Takes a reference of its own
 * to the file; lives and ended of @what are not looked at. 0 or -ENOMEM, also
 * when there are too many places.
 */
int load_map_add(struct load_map *map, const struct place *what);
/* What lies in @start to @end - 1 is gone in @generation. 0 or -ENOMEM. */
int load_map_end(struct load_map *map, uint64_t start, uint64_t end,
		 uint32_t generation);
/*
 * There is a @generation. If there was no load_map_end() for it, then what
 * was unloaded is not known, and whatever may have been is over.
 */
void load_map_advance(struct load_map *map, uint32_t generation);

/* What was at @address in @generation; NULL: nothing is known of it. */
struct place *load_map_find(const struct load_map *map, uint64_t address,
			    uint32_t generation);
/* Something that lies between @start and @end - 1 now, or NULL. */
struct place *load_map_open(const struct load_map *map, uint64_t start,
			    uint64_t end);
/* The same file at the same place, whether it lies there now or not. */
struct place *load_map_known(const struct load_map *map,
			     const struct place *what);

/* What a child has that was forked in @generation. 0 or -ENOMEM. */
int load_map_fork(const struct load_map *parent, uint32_t generation,
		  struct load_map *out);

#endif
