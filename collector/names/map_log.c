/* SPDX-License-Identifier: Apache-2.0
 *
 * map_log - reads each entry once into a list that only grows. Drain workers,
 * writers of traces and the jobs thread read under one lock, briefly.
 *
 * Several processes write to the log, so complete entries may follow an
 * incomplete one. They are read at once. This keeps the order of each process,
 * as it writes one entry at a time. Room is freed up to the first incomplete
 * entry. If that stays incomplete for a second, its writer was killed or
 * stopped, and the entry is skipped.
 */
#include "collector/names/map_log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/clock.h"
#include "collector/base/grow.h"
#include "collector/base/hex.h"
#include "collector/base/lock.h"
#include "shared/atomic.h"
#include "shared/compiler.h"

#define PATH_BYTES_MAX (16u << 20) /* per log */
#define NAMES_BYTES_MAX (64u << 20) /* per log */
#define UNFINISHED_NS 1000000000
/* Events that map_log_unloaded() searches. */
#define UNLOADED_LOOK 4096

struct map_log {
	struct lock lock; /* guards everything below */
	unsigned int refs;
	struct page_shm *page;
	uint64_t next; /* first entry that is not done */
	uint64_t done[MAP_ENTRIES / 64]; /* bits of entries from next on */
	uint64_t unfinished_ns; /* of an incomplete next; or 0 */
	uint64_t unfinished_head; /* reserved entries at that time */
	uint64_t lost; /* skipped entries */
	uint64_t page_lost; /* entries that the program could not write */
	struct map_event *events;
	size_t count, room;
	size_t path_bytes;
	struct kept_names *names;
	size_t name_count, name_bytes;
};

struct kept_names {
	char build_id[2 * MAP_BUILD_ID_MAX + 1];
	uint8_t *bytes; /* symbols, then strings */
	size_t symbol_bytes, string_bytes;
};

/* --- life ----------------------------------------------------------------- */

int map_log_new(struct page_shm *page, struct map_log **out)
{
	struct map_log *log = calloc(1, sizeof(*log));

	if (!log)
		return -ENOMEM;
	lock_init(&log->lock, LOCK_MAP_LOG);
	log->refs = 1;
	log->page = page;
	*out = log;
	return 0;
}

struct map_log *map_log_get(struct map_log *log)
{
	lock_acquire(&log->lock);
	log->refs++;
	lock_release(&log->lock);
	return log;
}

void map_log_put(struct map_log **log_ptr)
{
	struct map_log *log = *log_ptr;
	unsigned int refs;

	*log_ptr = NULL;
	if (!log)
		return;
	lock_acquire(&log->lock);
	refs = --log->refs;
	lock_release(&log->lock);
	if (refs)
		return;
	for (size_t i = 0; i < log->count; i++)
		if (log->events[i].path[0])
			free((char *)log->events[i].path);
	for (size_t i = 0; i < log->name_count; i++)
		free(log->names[i].bytes);
	free(log->names);
	free(log->events);
	lock_destroy(&log->lock);
	free(log);
}

/* --- one entry ------------------------------------------------------------ */

static struct map_entry_shm *log_entry_at(const struct map_log *log, uint64_t n)
{
	char *page = (char *)log->page;

	return (struct map_entry_shm *)(page + ARENA_MAP) + n % MAP_ENTRIES;
}

/* Returns NULL if there is no room. */
static const char *keep_path(struct map_log *log, const char *path)
{
	size_t bytes = strnlen(path, MAP_PATH_BYTES) + 1;
	char *copy;

	if (path[0] != '/' || bytes > MAP_PATH_BYTES)
		return "";
	if (bytes > PATH_BYTES_MAX - log->path_bytes)
		return NULL;
	copy = malloc(bytes);
	if (!copy)
		return NULL;
	log->path_bytes += bytes;
	return memcpy(copy, path, bytes);
}

/* @entry is a private copy. */
static bool take_in_entry(struct map_log *log,
			  const struct map_entry_shm *entry)
{
	struct map_event event = {
		.kind = (enum map_entry_kind)entry->kind,
		.pid = entry->pid,
		.generation = entry->generation,
		.start = entry->start,
		.end = entry->end,
		.bias = entry->bias,
		.entry_build = entry->kind == MAP_LOAD && entry->entry_build,
		.opening = entry->kind == MAP_LOAD ? entry->opening : 0,
	};

	if ((entry->kind != MAP_LOAD && entry->kind != MAP_UNLOAD) ||
	    entry->start >= entry->end ||
	    entry->build_id_bytes > MAP_BUILD_ID_MAX ||
	    log->count >= MAP_LOG_EVENTS_MAX ||
	    grow_array(log->events, log->room, log->count + 1))
		return false;
	event.path = keep_path(log, entry->path);
	if (!event.path)
		return false;
	hex_text(entry->build_id, entry->build_id_bytes, event.build_id);
	log->events[log->count++] = event;
	return true;
}

/* --- names ---------------------------------------------------------------- */

static const struct kept_names *find_kept_names(const struct map_log *log,
						const char *build_id)
{
	for (size_t i = 0; i < log->name_count; i++)
		if (!strcmp(log->names[i].build_id, build_id))
			return &log->names[i];
	return NULL;
}

/* The first names of a build-id win: programs can only spoil their own. Names
 * beyond the limits are no loss of the load map. */
static void keep_told_names(struct map_log *log, uint64_t n,
			    const struct map_entry_shm *entry, size_t bytes)
{
	struct kept_names names = {
		.symbol_bytes = entry->names.symbols,
		.string_bytes = entry->names.strings,
	};

	if (!log->names)
		log->names = calloc(MAP_LOG_NAMES_MAX, sizeof(*log->names));
	hex_text(entry->build_id, entry->build_id_bytes, names.build_id);
	if (!log->names || log->name_count == MAP_LOG_NAMES_MAX ||
	    bytes > NAMES_BYTES_MAX - log->name_bytes ||
	    find_kept_names(log, names.build_id))
		return;
	names.bytes = malloc(bytes);
	if (!names.bytes)
		return;
	for (size_t at = 0; at < bytes; at += MAP_PIECE_BYTES) {
		const struct map_piece_shm *piece =
			(const struct map_piece_shm *)log_entry_at(log, ++n);

		memcpy(names.bytes + at, piece->bytes,
		       MIN(bytes - at, (size_t)MAP_PIECE_BYTES));
	}
	log->name_bytes += bytes;
	log->names[log->name_count++] = names;
}

/* @entry is a private copy of entry @n. Returns the count of its entries; 0:
 * malformed. An entry without a build-id is an aborted copy. */
static uint64_t take_told_names(struct map_log *log, uint64_t n, uint64_t head,
				const struct map_entry_shm *entry)
{
	uint64_t bytes = (uint64_t)entry->names.symbols + entry->names.strings;
	uint64_t pieces = map_pieces(bytes);

	if (!bytes || pieces > MAP_PIECES_MAX || pieces > head - n - 1 ||
	    entry->build_id_bytes > MAP_BUILD_ID_MAX)
		return 0;
	if (entry->build_id_bytes)
		keep_told_names(log, n, entry, bytes);
	return 1 + pieces;
}

/* --- reading -------------------------------------------------------------- */

static uint64_t *done_word(struct map_log *log, uint64_t n)
{
	return &log->done[n % MAP_ENTRIES / 64];
}

static uint64_t done_bit(uint64_t n)
{
	return 1ULL << n % 64;
}

static void read_log_entry(struct map_log *log, uint64_t n, uint64_t head)
{
	uint64_t entries = 1;
	struct map_entry_shm *entry = log_entry_at(log, n);
	struct map_entry_shm copy;

	/* order: acq, MAPLOG: the rest of it is whole */
	if (atom_load_acq(&entry->sequence) != n + 1)
		return;
	memcpy(&copy, entry, sizeof(copy));
	if (copy.kind == MAP_NAMES)
		entries = take_told_names(log, n, head, &copy);
	else if (!take_in_entry(log, &copy))
		entries = 0;
	log->lost += !entries;
	for (uint64_t end = n + MAX(entries, 1ull); n != end; n++)
		*done_word(log, n) |= done_bit(n);
}

static bool is_entry_done(struct map_log *log, uint64_t n)
{
	return *done_word(log, n) & done_bit(n);
}

/* Skips entries that are done or stay incomplete. */
static void step_over_done_entries(struct map_log *log, uint64_t head,
				   bool at_end)
{
	uint64_t now = clock_monotonic_ns(), give_up = log->next;

	if (at_end)
		give_up = head;
	else if (log->unfinished_ns &&
		 now - log->unfinished_ns >= UNFINISHED_NS)
		give_up = log->unfinished_head;
	while (log->next != head &&
	       (is_entry_done(log, log->next) || log->next < give_up)) {
		log->lost += !is_entry_done(log, log->next);
		*done_word(log, log->next) &= ~done_bit(log->next);
		log->next++;
		log->unfinished_ns = 0;
	}
	if (log->next != head && !log->unfinished_ns) {
		log->unfinished_ns = now;
		log->unfinished_head = head;
	}
}

/* log->lock held. */
static void read_log_locked(struct map_log *log, bool at_end)
{
	uint64_t head, lost;

	if (!log->page)
		return;
	/* relaxed, both: MAPLOG orders entries; a count */
	head = atom_load_rlx(&log->page->map_head);
	lost = atom_load_rlx(&log->page->map_lost);
	log->page_lost = MAX(log->page_lost, lost);
	if (head - log->next > MAP_ENTRIES) { /* nonsense: stop reading */
		log->page = NULL;
		log->lost++;
	} else if (head != log->next) {
		for (uint64_t n = log->next; n != head; n++)
			if (!is_entry_done(log, n))
				read_log_entry(log, n, head);
		step_over_done_entries(log, head, at_end);
		/* order: rel, MAPTAIL: these entries may be written again */
		atom_store_rel(&log->page->map_tail, log->next);
	}
}

size_t map_log_read(struct map_log *log)
{
	size_t count;

	lock_acquire(&log->lock);
	read_log_locked(log, false);
	count = log->count;
	lock_release(&log->lock);
	return count;
}

void map_log_close(struct map_log *log)
{
	lock_acquire(&log->lock);
	read_log_locked(log, true);
	log->page = NULL;
	lock_release(&log->lock);
}

bool map_log_event(struct map_log *log, size_t index, struct map_event *out)
{
	bool is_known;

	lock_acquire(&log->lock);
	is_known = index < log->count;
	if (is_known)
		*out = log->events[index];
	lock_release(&log->lock);
	return is_known;
}

bool map_log_names(struct map_log *log, const char *build_id,
		   struct map_names *out)
{
	const struct kept_names *names;

	lock_acquire(&log->lock);
	read_log_locked(log, false);
	names = find_kept_names(log, build_id);
	if (names)
		*out = (struct map_names){
			.symbols = names->bytes,
			.strings = names->bytes + names->symbol_bytes,
			.symbol_bytes = names->symbol_bytes,
			.string_bytes = names->string_bytes,
		};
	lock_release(&log->lock);
	return names;
}

bool map_log_next(struct map_log *log, int32_t pid, size_t *index,
		  struct map_event *out)
{
	bool is_found = false;

	lock_acquire(&log->lock);
	while (!is_found && *index < log->count) {
		*out = log->events[(*index)++];
		is_found = out->pid == pid;
	}
	lock_release(&log->lock);
	return is_found;
}

uint64_t map_log_lost(struct map_log *log)
{
	return LOCKED(&log->lock, log->lost + log->page_lost);
}

/* log->lock held. Searches backwards: generations of a process only grow, and
 * callers are rarely far behind. */
static size_t find_unloaded(const struct map_log *log, int32_t pid,
			    uint32_t after, uint32_t upto,
			    struct address_range *out, size_t room)
{
	uint32_t oldest = upto + 1, generations = 0;
	size_t found = 0;

	for (size_t i = log->count; i-- > 0;) {
		const struct map_event *event = &log->events[i];

		/* A drain worker waits, and hostile records may ask often. */
		if (log->count - i > UNLOADED_LOOK)
			return SIZE_MAX;
		if (event->pid != pid || event->kind != MAP_UNLOAD ||
		    event->generation > upto)
			continue;
		if (event->generation <= after)
			break;
		generations += event->generation < oldest;
		oldest = MIN(oldest, event->generation);
		if (found < room)
			out[found] = (struct address_range){ event->start,
							     event->end };
		found++;
	}
	return generations == upto - after ? found : SIZE_MAX;
}

size_t map_log_unloaded(struct map_log *log, int32_t pid, uint32_t after,
			uint32_t upto, struct address_range *out, size_t room)
{
	size_t found;

	if (upto <= after)
		return 0;
	lock_acquire(&log->lock);
	read_log_locked(log, false);
	found = find_unloaded(log, pid, after, upto, out, room);
	lock_release(&log->lock);
	return found;
}
