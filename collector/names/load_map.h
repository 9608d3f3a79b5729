/* SPDX-License-Identifier: Apache-2.0
 *
 * load_map - the file at each address of a process, in each generation of its
 * load map (shared/ring_shm.h). Opens no files. One thread at a time.
 */
#ifndef PERFREC_COLLECTOR_NAMES_LOAD_MAP_H
#define PERFREC_COLLECTOR_NAMES_LOAD_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define LOAD_MAP_PLACES_MAX 65536

struct symbol_file;

/* Range of generations: from <= generation < to. */
struct life {
	uint32_t from, to;
};

#define LIFE_OPEN UINT32_MAX

struct place {
	uint64_t start, end;
	uint64_t bias; /* added to virtual addresses, if has_bias */
	bool has_bias;
	uint64_t map_offset; /* else: file offset of start */
	ino_t inode; /* 0: no file, or unknown */
	const char *path; /* the cache's */
	const char *build_id; /* from the program */
	struct symbol_file *file; /* a reference; may be NULL */
	const char *found_id; /* of a file that replaced it */
	bool is_transient; /* may be unloaded unnoticed */
	bool is_partial; /* made from memory: exported functions only */
	bool was_told;

	struct life *lives; /* by generation; owned by load_map, as below */
	size_t life_count, life_room;
	uint32_t ended; /* the last end here; 0: never */
};

struct load_map {
	struct load_map_entry {
		struct place *place;
		uint64_t start, end;
		uint64_t reach;
		uint32_t born, died; /* first and last generation */
	} * list; /* sorted by start */
	size_t count, room;
	uint32_t generation;
	uint32_t gap; /* history before this is incomplete */
	struct place **transient;
	size_t transient_count, transient_room;
};

/* Initialize to zero. */
void load_map_release(struct load_map *map);

/* Adds a file at the place @what, from the end of the last overlapping file on.
 * Ends open files in its range. Takes its own reference to what->file, and
 * ignores what->lives and what->ended. Returns 0, or -ENOMEM, also for too many
 * places. */
int load_map_add(struct load_map *map, const struct place *what);
/* Ends everything in [@start, @end) in @generation. On -ENOMEM, history before
 * @generation is incomplete. */
int load_map_end(struct load_map *map, uint64_t start, uint64_t end,
		 uint32_t generation);
/* Advances to @generation. If no load_map_end() reported its unload, all places
 * that can be unloaded end. */
void load_map_advance(struct load_map *map, uint32_t generation);

/* Returns NULL if there is none. Valid until the map changes, as below. */
struct place *load_map_find(const struct load_map *map, uint64_t address,
			    uint32_t generation);
/* Returns the place in @generation with the highest start up to @address, which
 * need not cover it; NULL: none. */
struct place *load_map_below(const struct load_map *map, uint64_t address,
			     uint32_t generation);
/* Ignores closed places. */
struct place *load_map_open(const struct load_map *map, uint64_t start,
			    uint64_t end);
/* Finds open and closed places. */
struct place *load_map_known(const struct load_map *map,
			     const struct place *what);

/* Fills the empty @out for a child forked in @generation. */
int load_map_fork(const struct load_map *parent, uint32_t generation,
		  struct load_map *out);

#endif
