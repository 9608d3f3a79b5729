/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz_map_log - the input is a hostile program's map log, in pieces of
 * MAP_ENTRY_BYTES. The first 8 bytes of a piece are a struct order; the others
 * become the entry.
 */
#include <string.h>

#include "collector/names/map_log.h"
#include "shared/atomic.h"
#include "shared/compiler.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/told.h"

#define RANGES 8

struct order {
	uint8_t kind; /* enum */
	uint8_t skip; /* reserved entries that are not written */
	int16_t head; /* added to map_head */
	int32_t sequence; /* added to the valid sequence */
};

/* By kind % KINDS. */
enum { WRITE, WRITE_AND_READ, MOVE, LOSE, CLOSE, KINDS };

static void write_entry(struct page_shm *page, const struct order *order,
			const uint8_t *bytes)
{
	uint64_t n = atom_add_rlx(&page->map_head, 1u + order->skip);
	struct map_entry_shm *entry =
		(struct map_entry_shm *)((char *)page + ARENA_MAP) +
		n % MAP_ENTRIES;

	memcpy(entry, bytes, sizeof(*entry));
	atom_store_rel(&entry->sequence,
		       n + 1 + (uint64_t)(int64_t)order->sequence);
}

static void check_events(struct map_log *log)
{
	struct address_range ranges[RANGES];
	size_t count = map_log_read(log), index = 0;
	struct map_event event;
	struct map_names names;

	fuzz_must(count <= MAP_LOG_EVENTS_MAX, "too many events");
	for (size_t i = 0; i < count; i++) {
		fuzz_must(map_log_event(log, i, &event), "no event");
		fuzz_must(event.start < event.end &&
				  strlen(event.path) < MAP_PATH_BYTES &&
				  strlen(event.build_id) <=
					  2 * MAP_BUILD_ID_MAX,
			  "an event that makes no sense");
		if (map_log_names(log, event.build_id, &names))
			fuzz_must(names.symbol_bytes + names.string_bytes <=
					  MAP_PIECES_MAX * MAP_PIECE_BYTES,
				  "too many names");
		(void)map_log_unloaded(log, event.pid, event.generation - 2,
				       event.generation, ranges, RANGES);
	}
	fuzz_must(!map_log_event(log, count, &event),
		  "the log has one event too many");
	while (map_log_next(log, 7, &index, &event))
		fuzz_must(event.pid == 7, "an event of another process");
	(void)map_log_lost(log);
}

static void obey(struct page_shm *page, struct map_log *log,
		 const uint8_t *bytes)
{
	struct order order;

	memcpy(&order, bytes, sizeof(order));
	switch (order.kind % KINDS) {
	case MOVE:
		page->map_head += (uint64_t)(int64_t)order.head;
		break;
	case LOSE:
		page->map_lost += order.skip;
		break;
	case CLOSE:
		map_log_close(log);
		break;
	default:
		write_entry(page, &order, bytes);
	}
	if (order.kind % KINDS == WRITE_AND_READ)
		map_log_read(log);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct page_shm *page = told_new();
	struct map_log *log = NULL;

	fuzz_must(!map_log_new(page, &log), "no memory");
	for (; size >= MAP_ENTRY_BYTES; size -= MAP_ENTRY_BYTES) {
		obey(page, log, data);
		data += MAP_ENTRY_BYTES;
	}
	check_events(log);
	map_log_close(log);
	check_events(log);
	map_log_put(&log);
	told_free(page);
	return 0;
}
