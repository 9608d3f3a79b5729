/* SPDX-License-Identifier: Apache-2.0
 *
 * map_log - the collector's copy of what the processes of one arena have loaded
 * and unloaded since hello (shared/ring_shm.h). Read from shared memory, which
 * is hostile: entries are copied and checked once, and their number is bounded.
 * Any thread; nothing here opens a file or waits.
 */
#ifndef PERFREC_COLLECTOR_NAMES_MAP_LOG_H
#define PERFREC_COLLECTOR_NAMES_MAP_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/ring_shm.h"

#define MAP_LOG_EVENTS_MAX 65536 /* of an arena; more are lost, counted */
#define MAP_LOG_NAMES_MAX 4096 /* modules of an arena; more have no names */

struct map_log; /* reference counted */

struct map_event {
	enum map_entry_kind kind;
	int32_t pid; /* in the program's pid namespace */
	uint32_t generation;
	uint64_t start, end, bias;
	bool entry_build; /* of MAP_LOAD: it says that it is one */
	char build_id[2 * MAP_BUILD_ID_MAX + 1]; /* lower case hex, or "" */
	const char *path; /* lives as long as the log; "": unknown */
};

/* Dynamic symbols of a module, as the program had them in memory: any bytes.
 * They live as long as the log. */
struct map_names {
	const void *symbols, *strings;
	size_t symbol_bytes, string_bytes;
};

struct address_range {
	uint64_t start, end;
};

/* The log of the arena that @page starts, which must stay mapped until
 * map_log_close(). 0 or -ENOMEM. The caller holds one reference. */
int map_log_new(struct page_shm *page, struct map_log **out);
/* A second reference to @log. */
struct map_log *map_log_get(struct map_log *log);
/* Gives one reference back and clears *@log, which may be NULL. */
void map_log_put(struct map_log **log);

/* Takes in new entries. Returns how many events there are now. Cheap when there
 * is nothing new: one load of shared memory. */
size_t map_log_read(struct map_log *log);
/* Call it before the arena is unmapped: reads what is there, for the last time.
 * What was read can still be asked for. */
void map_log_close(struct map_log *log);

/* Copy event @index (0: the first ever) to *@out; false beyond the last. */
bool map_log_event(struct map_log *log, size_t index, struct map_event *out);
/* Copies the first event of @pid at or after *@index to *@out, and sets *@index
 * behind it. False: there is none, and *@index is behind the last event. */
bool map_log_next(struct map_log *log, int32_t pid, size_t *index,
		  struct map_event *out);
/* Takes in new entries, and sets *@out to the names that the program has told
 * of the module with @build_id. False: it has told none. */
bool map_log_names(struct map_log *log, const char *build_id,
		   struct map_names *out);
/* How many entries found no room, in shared memory or here. If there are any,
 * names may be missing. */
uint64_t map_log_lost(struct map_log *log);

/*
 * Takes in new entries, and copies the ranges that process @pid unloaded in
 * generations @after + 1 to @upto into @out, at most @room of them. Returns how
 * many there are, which may be more than @room. SIZE_MAX: not known, since
 * entries were lost or lie too far back; anything may have been unloaded.
 */
size_t map_log_unloaded(struct map_log *log, int32_t pid, uint32_t after,
			uint32_t upto, struct address_range *out, size_t room);

#endif
