/* SPDX-License-Identifier: Apache-2.0
 *
 * map_log: events of a program are read completely, in order and once. Entries
 * of a broken program do no harm.
 */
#include "collector/names/map_log.h"

#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include "tests/suite.h"
#include "tests/unit/told.h"

static struct page_shm *g_page;
static struct map_log *g_log;

static void setup(void)
{
	g_page = told_new();
	ck_assert_int_eq(map_log_new(g_page, &g_log), 0);
}

static void teardown(void)
{
	map_log_put(&g_log);
	told_free(g_page);
}

static void load(int32_t pid, uint32_t generation, uint64_t start)
{
	ck_assert(told(g_page,
		       (struct map_entry_shm){ .kind = MAP_LOAD,
					       .pid = pid,
					       .generation = generation,
					       .start = start,
					       .end = start + 0x1000,
					       .bias = start,
					       .build_id_bytes = 3,
					       .build_id = { 0xab, 0, 0x1c } },
		       "/lib/a.so"));
}

static void unload(int32_t pid, uint32_t generation, uint64_t start)
{
	ck_assert(told(g_page,
		       (struct map_entry_shm){ .kind = MAP_UNLOAD,
					       .pid = pid,
					       .generation = generation,
					       .start = start,
					       .end = start + 0x1000 },
		       ""));
}

FIXTURE(setup, teardown);

TEST(map_log_entries_are_read_in_order)
{
	struct map_event event;

	ck_assert_uint_eq(map_log_read(g_log), 0);
	load(7, 0, 0x1000);
	unload(7, 1, 0x1000);
	ck_assert_uint_eq(map_log_read(g_log), 2);
	ck_assert_uint_eq(g_page->map_tail, 2);
	ck_assert(map_log_event(g_log, 0, &event));
	ck_assert_int_eq(event.kind, MAP_LOAD);
	ck_assert_int_eq(event.pid, 7);
	ck_assert_uint_eq(event.start, 0x1000);
	ck_assert_uint_eq(event.end, 0x2000);
	ck_assert_uint_eq(event.bias, 0x1000);
	ck_assert_str_eq(event.build_id, "ab001c");
	ck_assert_str_eq(event.path, "/lib/a.so");
	ck_assert(map_log_event(g_log, 1, &event));
	ck_assert_int_eq(event.kind, MAP_UNLOAD);
	ck_assert_uint_eq(event.generation, 1);
	ck_assert_str_eq(event.build_id, "");
	ck_assert(!map_log_event(g_log, 2, &event));
}

TEST(map_log_next_gives_those_of_one_process)
{
	struct map_event event;
	size_t next = 0;

	load(7, 0, 0x1000);
	load(8, 0, 0x2000);
	load(7, 0, 0x3000);
	map_log_read(g_log);
	ck_assert(map_log_next(g_log, 7, &next, &event));
	ck_assert_uint_eq(event.start, 0x1000);
	ck_assert(map_log_next(g_log, 7, &next, &event));
	ck_assert_uint_eq(event.start, 0x3000);
	ck_assert(!map_log_next(g_log, 7, &next, &event));
	ck_assert_uint_eq(next, 3);
}

TEST(map_log_wraps_around)
{
	struct map_event event;
	size_t count = 3 * MAP_ENTRIES + 5;

	for (size_t i = 0; i < count; i++) {
		load(7, 0, 0x1000 * (i + 1));
		if (i % 1000 == 0)
			map_log_read(g_log);
	}
	ck_assert_uint_eq(map_log_read(g_log), count);
	for (size_t i = 0; i < count; i++) {
		ck_assert(map_log_event(g_log, i, &event));
		ck_assert_uint_eq(event.start, 0x1000 * (i + 1));
	}
	ck_assert_uint_eq(map_log_lost(g_log), 0);
}

TEST(map_log_full_counts_what_the_program_could_not_tell)
{
	struct map_entry_shm entry = { .kind = MAP_LOAD, .start = 1, .end = 2 };

	for (size_t i = 0; i < MAP_ENTRIES; i++)
		load(7, 0, 0x1000);
	ck_assert(!told(g_page, entry, ""));
	ck_assert_uint_eq(map_log_read(g_log), MAP_ENTRIES);
	ck_assert_uint_eq(map_log_lost(g_log), 1);
	ck_assert(told(g_page, entry, ""));
	ck_assert_uint_eq(map_log_read(g_log), MAP_ENTRIES + 1);
}

TEST(map_log_is_bounded)
{
	for (size_t i = 0; i < MAP_LOG_EVENTS_MAX + 10; i++) {
		load(7, 0, 0x1000);
		if (i % 1000 == 0)
			map_log_read(g_log);
	}
	ck_assert_uint_eq(map_log_read(g_log), MAP_LOG_EVENTS_MAX);
	ck_assert_uint_eq(map_log_lost(g_log), 10);
}

/* Later entries are read at once, and its entry is reused after a while. */
TEST(map_log_unfinished_entry_holds_nothing_up)
{
	struct map_event event;
	struct map_entry_shm *entry;
	uint64_t n = 0;

	load(7, 0, 0x1000);
	entry = told_reserve(g_page, &n);
	load(8, 0, 0x2000);
	ck_assert_uint_eq(map_log_read(g_log), 2);
	ck_assert_uint_eq(map_log_read(g_log), 2);
	ck_assert(map_log_event(g_log, 1, &event));
	ck_assert_int_eq(event.pid, 8);
	ck_assert_uint_eq(g_page->map_tail, 1);
	*entry = (struct map_entry_shm){
		.kind = MAP_LOAD, .pid = 9, .start = 1, .end = 2
	};
	told_commit(entry, n);
	ck_assert_uint_eq(map_log_read(g_log), 3);
	ck_assert_uint_eq(g_page->map_tail, 3);
	ck_assert_uint_eq(map_log_lost(g_log), 0);
}

TEST(map_log_dead_writers_entries_are_given_up)
{
	uint64_t n = 0;

	told_reserve(g_page, &n);
	told_reserve(g_page, &n);
	load(7, 0, 0x1000);
	do { /* a second after this */
		usleep(10000);
		ck_assert_uint_eq(map_log_read(g_log), 1);
	} while (!g_page->map_tail);
	ck_assert_uint_eq(g_page->map_tail, 3);
	ck_assert_uint_eq(map_log_lost(g_log), 2);
	load(7, 0, 0x1000);
	ck_assert_uint_eq(map_log_read(g_log), 2);
}

TEST(map_log_closed_log_reads_the_rest_and_no_more)
{
	struct map_log *other = map_log_get(g_log);
	uint64_t n = 0;

	told_reserve(g_page, &n);
	load(7, 0, 0x1000);
	map_log_close(g_log);
	load(7, 0, 0x2000);
	ck_assert_uint_eq(map_log_read(g_log), 1);
	ck_assert_uint_eq(map_log_lost(g_log), 1);
	map_log_put(&other);
}

TEST(map_log_nonsense_is_left_out)
{
	const struct map_entry_shm bad[] = {
		{ .kind = 0, .start = 1, .end = 2 },
		{ .kind = 4, .start = 1, .end = 2 },
		{ .kind = MAP_NAMES },
		{ .kind = MAP_NAMES,
		  .names = { 1, 0 },
		  .build_id_bytes = MAP_BUILD_ID_MAX + 1 },
		/* Above the limit. */
		{ .kind = MAP_NAMES,
		  .names = { MAP_PIECE_BYTES * MAP_ENTRIES, 1 } },
		{ .kind = MAP_NAMES, .names = { UINT32_MAX, UINT32_MAX } },
		{ .kind = MAP_LOAD, .start = 2, .end = 2 },
		{ .kind = MAP_LOAD, .start = 2, .end = 1 },
		{ .kind = MAP_LOAD,
		  .start = 1,
		  .end = 2,
		  .build_id_bytes = MAP_BUILD_ID_MAX + 1 },
		/* The log has no entries behind this one. */
		{ .kind = MAP_NAMES, .names = { 1, 0 } },
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		told(g_page, bad[i], "/a");
	ck_assert_uint_eq(map_log_read(g_log), 0);
	ck_assert_uint_eq(map_log_lost(g_log), ARRAY_SIZE(bad));
}

/* --- names ---------------------------------------------------------------- */

#define SYMBOL_BYTES (2 * MAP_PIECE_BYTES + 7)
#define STRING_BYTES 5

static uint8_t byte_at(uint8_t id, size_t i)
{
	return (uint8_t)(id + i * i);
}

/* Without @whole the caller commits *@n. Sequences of pieces stay. */
static struct map_entry_shm *names(uint8_t id, bool whole, uint64_t *n)
{
	struct map_entry_shm *entry = told_reserve(g_page, n);
	size_t bytes = SYMBOL_BYTES + STRING_BYTES;
	uint64_t number;

	*entry = (struct map_entry_shm){
		.kind = MAP_NAMES,
		.sequence = entry->sequence,
		.names = { SYMBOL_BYTES, STRING_BYTES },
		.build_id_bytes = 1,
		.build_id = { id },
	};
	for (size_t i = 0; i < bytes; i += MAP_PIECE_BYTES) {
		struct map_piece_shm *piece =
			(struct map_piece_shm *)told_reserve(g_page, &number);

		for (size_t k = 0; k < MAP_PIECE_BYTES; k++)
			piece->bytes[k] = byte_at(id, i + k);
	}
	if (whole)
		told_commit(entry, *n);
	return entry;
}

static void check_names(const char *build_id, uint8_t id)
{
	const uint8_t *symbols, *strings;
	struct map_names told;

	ck_assert(map_log_names(g_log, build_id, &told));
	ck_assert_uint_eq(told.symbol_bytes, SYMBOL_BYTES);
	ck_assert_uint_eq(told.string_bytes, STRING_BYTES);
	symbols = told.symbols;
	strings = told.strings;
	for (size_t i = 0; i < SYMBOL_BYTES; i++)
		ck_assert_uint_eq(symbols[i], byte_at(id, i));
	for (size_t i = 0; i < STRING_BYTES; i++)
		ck_assert_uint_eq(strings[i], byte_at(id, SYMBOL_BYTES + i));
}

/* At each position of the log, including a wrap inside the names. */
TEST(map_log_names_are_kept_by_build_id, EACH(MAP_ENTRIES - 9, MAP_ENTRIES + 1))
{
	struct map_names told;
	uint64_t n;

	for (int i = 0; i < _i; i++)
		load(7, 0, 0x1000);
	map_log_read(g_log);
	names(0x1c, true, &n);
	load(7, 0, 0x1000);
	names(0xab, true, &n);
	ck_assert_uint_eq(map_log_read(g_log), _i + 1);
	check_names("1c", 0x1c);
	check_names("ab", 0xab);
	ck_assert(!map_log_names(g_log, "ac", &told));
	ck_assert_uint_eq(g_page->map_tail, g_page->map_head);
	ck_assert_uint_eq(map_log_lost(g_log), 0);
}

TEST(map_log_names_are_read_once_they_are_whole)
{
	struct map_entry_shm *entry;
	struct map_names told;
	uint64_t n;

	load(7, 0, 0x1000);
	entry = names(0x1c, false, &n);
	load(7, 0, 0x2000);
	ck_assert_uint_eq(map_log_read(g_log), 2);
	ck_assert(!map_log_names(g_log, "1c", &told));
	ck_assert_uint_eq(g_page->map_tail, 1);
	told_commit(entry, n);
	check_names("1c", 0x1c);
	ck_assert_uint_eq(map_log_read(g_log), 2);
	ck_assert_uint_eq(g_page->map_tail, g_page->map_head);
	ck_assert_uint_eq(map_log_lost(g_log), 0);
}

TEST(map_log_names_that_were_not_copied_are_of_nobody)
{
	struct map_entry_shm *entry;
	struct map_names told;
	uint64_t n;

	entry = names(0x1c, false, &n);
	entry->build_id_bytes = 0;
	told_commit(entry, n);
	ck_assert(!map_log_names(g_log, "1c", &told));
	ck_assert(!map_log_names(g_log, "", &told));
	ck_assert_uint_eq(g_page->map_tail, g_page->map_head);
	ck_assert_uint_eq(map_log_lost(g_log), 0);
}

TEST(map_log_names_are_bounded)
{
	struct map_names told;
	struct map_entry_shm *entry;
	char build_id[9];
	uint64_t n;

	for (uint32_t i = 0; i <= MAP_LOG_NAMES_MAX; i++) {
		entry = names(0, false, &n);
		entry->build_id_bytes = 4;
		memcpy(entry->build_id, &i, 4);
		told_commit(entry, n);
		map_log_read(g_log);
	}
	snprintf(build_id, sizeof(build_id), "%02x%02x0000",
		 (MAP_LOG_NAMES_MAX - 1) & 255, (MAP_LOG_NAMES_MAX - 1) >> 8);
	check_names(build_id, 0);
	snprintf(build_id, sizeof(build_id), "%02x%02x0000",
		 MAP_LOG_NAMES_MAX & 255, MAP_LOG_NAMES_MAX >> 8);
	ck_assert(!map_log_names(g_log, build_id, &told));
	ck_assert_uint_eq(map_log_lost(g_log), 0);
}

TEST(map_log_path_without_an_end_is_unknown)
{
	struct map_event event;
	struct map_entry_shm *entry;
	uint64_t n = 0;

	entry = told_reserve(g_page, &n);
	*entry = (struct map_entry_shm){ .kind = MAP_LOAD,
					 .start = 1,
					 .end = 2 };
	memset(entry->path, '/', sizeof(entry->path));
	told_commit(entry, n);
	ck_assert(told(g_page,
		       (struct map_entry_shm){
			       .kind = MAP_LOAD, .start = 1, .end = 2 },
		       "not/absolute"));
	ck_assert_uint_eq(map_log_read(g_log), 2);
	for (size_t i = 0; i < 2; i++) {
		ck_assert(map_log_event(g_log, i, &event));
		ck_assert_str_eq(event.path, "");
	}
}

TEST(map_log_impossible_head_ends_it)
{
	load(7, 0, 0x1000);
	map_log_read(g_log);
	g_page->map_head = MAP_ENTRIES + 2;
	ck_assert_uint_eq(map_log_read(g_log), 1);
	ck_assert_uint_eq(map_log_lost(g_log), 1);
	g_page->map_head = 0;
	ck_assert_uint_eq(map_log_read(g_log), 1);
	ck_assert_uint_eq(map_log_lost(g_log), 1);
}

TEST(map_log_unloaded_is_between_two_generations)
{
	struct address_range ranges[4];

	load(7, 0, 0x1000);
	unload(7, 1, 0x1000);
	unload(8, 1, 0x9000);
	unload(7, 2, 0x2000);
	unload(7, 2, 0x3000);
	unload(7, 3, 0x4000);
	ck_assert_uint_eq(map_log_unloaded(g_log, 7, 1, 2, ranges, 4), 2);
	ck_assert_uint_eq(ranges[0].start + ranges[1].start, 0x5000);
	ck_assert_uint_eq(ranges[0].end + ranges[1].end, 0x7000);
	ck_assert_uint_eq(map_log_unloaded(g_log, 7, 0, 3, ranges, 2), 4);
	ck_assert_uint_eq(map_log_unloaded(g_log, 7, 3, 3, ranges, 4), 0);
	ck_assert_uint_eq(map_log_unloaded(g_log, 8, 0, 1, ranges, 4), 1);
	ck_assert_uint_eq(ranges[0].start, 0x9000);
}

TEST(map_log_unloaded_says_when_it_does_not_know)
{
	struct address_range range;

	unload(7, 1, 0x1000);
	unload(7, 3, 0x1000);
	ck_assert_uint_eq(map_log_unloaded(g_log, 7, 0, 1, &range, 1), 1);
	ck_assert_uint_eq(map_log_unloaded(g_log, 7, 0, 3, &range, 1),
			  SIZE_MAX);
	ck_assert_uint_eq(map_log_unloaded(g_log, 7, 2, 3, &range, 1), 1);
	ck_assert_uint_eq(map_log_unloaded(g_log, 7, 3, 4, &range, 1),
			  SIZE_MAX);
	ck_assert_uint_eq(map_log_unloaded(g_log, 7, 0, UINT32_MAX, &range, 1),
			  SIZE_MAX);
}

#define RACE_ENTRIES 30000

static void *write_many(void *unused)
{
	struct map_entry_shm entry = { .kind = MAP_UNLOAD, .start = 1 };

	for (uint32_t i = 1; i <= RACE_ENTRIES;) {
		entry.generation = i;
		entry.end = i + 1;
		i += told(g_page, entry, "/some/path") != 0;
	}
	return unused;
}

/* Meant for ThreadSanitizer as well. */
TEST(map_log_read_while_it_is_written_is_whole)
{
	struct map_event event;
	pthread_t writer;

	ck_assert_int_eq(pthread_create(&writer, NULL, write_many, NULL), 0);
	while (map_log_read(g_log) < RACE_ENTRIES)
		;
	pthread_join(writer, NULL);
	for (uint32_t i = 0; i < RACE_ENTRIES; i++) {
		ck_assert(map_log_event(g_log, i, &event));
		ck_assert_uint_eq(event.generation, i + 1);
		ck_assert_uint_eq(event.end, i + 2);
	}
}
