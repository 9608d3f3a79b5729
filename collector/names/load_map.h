/* SPDX-License-Identifier: Apache-2.0
 *
 * load_map - which file lay at which addresses of a process, and in which
 * generations of its load map (shared/ring_shm.h). This only keeps books: no
 * file is opened or read here. One thread at a time.
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
		uint64_t start, end; /* of place */
		uint64_t reach; /* the highest end up to here */
		uint32_t born, died; /* of its lives the first from, the last
				      * to: it has none in other generations */
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
 * A file lies at the place that @what describes. It has lain there since the
 * last file that overlapped it ended. Files that are still open in its range
 * end. Takes a reference of its own to what->file; what->lives and what->ended
 * are not looked at. 0, or -ENOMEM: no memory, or too many places.
 */
int load_map_add(struct load_map *map, const struct place *what);
/* What lies at @start to @end - 1 was unloaded in @generation. 0 or -ENOMEM:
 * what was before @generation is not known in full then. */
int load_map_end(struct load_map *map, uint64_t start, uint64_t end,
		 uint32_t generation);
/*
 * The process has reached @generation. Each generation unloads something. If no
 * load_map_end() said what, everything that can be unloaded ends.
 */
void load_map_advance(struct load_map *map, uint32_t generation);

/* The file that lay at @address in @generation; NULL: none is known. Valid
 * until the map changes; so are the next two. */
struct place *load_map_find(const struct load_map *map, uint64_t address,
			    uint32_t generation);
/* A file that lies now at any of the addresses @start to @end - 1; or NULL. */
struct place *load_map_open(const struct load_map *map, uint64_t start,
			    uint64_t end);
/* The place with the same file at the same addresses as @what, whether the file
 * lies there now or not; NULL: there never was such a place. */
struct place *load_map_known(const struct load_map *map,
			     const struct place *what);

/* Makes *@out, which is empty, the map of a child that was forked from the
 * process of @parent in @generation. 0 or -ENOMEM. */
int load_map_fork(const struct load_map *parent, uint32_t generation,
		  struct load_map *out);

#endif
