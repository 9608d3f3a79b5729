/* SPDX-License-Identifier: Apache-2.0
 *
 * map_log - the collector's copy of the loads and unloads of an arena's
 * processes since hello (shared/ring_shm.h). Shared memory is hostile: entries
 * are copied and checked once, and limited in number. Any thread; opens no
 * files and never waits.
 */
#ifndef PERFREC_COLLECTOR_NAMES_MAP_LOG_H
#define PERFREC_COLLECTOR_NAMES_MAP_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/ring_shm.h"

#define MAP_LOG_EVENTS_MAX 65536 /* per arena; more are lost, counted */
#define MAP_LOG_NAMES_MAX 4096 /* per arena */

struct map_log; /* reference counted */

struct map_event {
	enum map_entry_kind kind;
	int32_t pid; /* inner pid */
	uint32_t generation;
	uint64_t start, end, bias;
	bool entry_build; /* MAP_LOAD: an entry build */
	uint32_t opening; /* number of the dlopen() that waits; 0: none */
	char build_id[2 * MAP_BUILD_ID_MAX + 1]; /* lower case hex, or "" */
	const char *path; /* "": unknown */
};

/* Any bytes, valid while the log is. */
struct map_names {
	const void *symbols, *strings;
	size_t symbol_bytes, string_bytes;
};

struct address_range {
	uint64_t start, end;
};

/* @page must stay mapped until map_log_close(). Returns 0 or -ENOMEM. */
int map_log_new(struct page_shm *page, struct map_log **out);
struct map_log *map_log_get(struct map_log *log);
void map_log_put(struct map_log **log);

/* Returns the count of events. Costs one load if none is new. */
size_t map_log_read(struct map_log *log);
/* Reads the rest before the arena is unmapped. */
void map_log_close(struct map_log *log);

bool map_log_event(struct map_log *log, size_t index, struct map_event *out);
/* Moves *@index behind the first event of @pid; to the end if there is none. */
bool map_log_next(struct map_log *log, int32_t pid, size_t *index,
		  struct map_event *out);
/* Returns false if the program wrote no names of @build_id. */
bool map_log_names(struct map_log *log, const char *build_id,
		   struct map_names *out);
/* Names may be missing if this is not 0. */
uint64_t map_log_lost(struct map_log *log);

/* Reads new entries and copies up to @room ranges that process @pid unloaded in
 * generations @after + 1 to @upto. Returns their count, which may exceed @room.
 * SIZE_MAX: unknown, since entries are lost or too old. */
size_t map_log_unloaded(struct map_log *log, int32_t pid, uint32_t after,
			uint32_t upto, struct address_range *out, size_t room);

#endif
