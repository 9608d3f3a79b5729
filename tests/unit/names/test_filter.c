/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "collector/names/filter.h"
#include "collector/names/filter_matches.h"
#include "collector/names/filter_table.h"
#include "collector/names/modules.h"
#include "collector/names/symbols.h"
#include "shared/ring_shm.h"
#include "tests/suite.h"

static struct filter filter_of(const char *const *only, size_t only_count,
			       const char *const *except, size_t except_count)
{
	return (struct filter){ only, only_count, except, except_count };
}

TEST(filter_none_excludes_nothing)
{
	struct filter filter = filter_of(NULL, 0, NULL, 0);

	ck_assert(!filter_is_active(&filter));
	ck_assert(!filter_excludes(&filter, "f", "/bin/x"));
}

TEST(filter_only_leaves_out_the_rest)
{
	static const char *const only[] = { "lua_*", "@libz.so*" };
	struct filter filter = filter_of(only, 2, NULL, 0);

	ck_assert(filter_is_active(&filter));
	ck_assert(!filter_excludes(&filter, "lua_next", "/bin/lua"));
	ck_assert(!filter_excludes(&filter, "inflate", "/usr/lib/libz.so.1"));
	ck_assert(filter_excludes(&filter, "main", "/bin/lua"));
}

TEST(filter_except_wins_over_only)
{
	static const char *const only[] = { "lua_*" };
	static const char *const except[] = { "lua_next", "@/opt/*" };
	struct filter filter = filter_of(only, 1, except, 2);

	ck_assert(filter_excludes(&filter, "lua_next", "/bin/lua"));
	ck_assert(filter_excludes(&filter, "lua_call", "/opt/x/lua"));
	ck_assert(!filter_excludes(&filter, "lua_call", "/bin/lua"));
}

TEST(filter_name_without_parameters_matches_cpp)
{
	static const char *const except[] = { "ns::f", "g(int)" };
	struct filter filter = filter_of(NULL, 0, except, 2);

	ck_assert(filter_excludes(&filter, "ns::f(int, char const*)", "/x"));
	ck_assert(filter_excludes(&filter, "g(int)", "/x"));
	ck_assert(!filter_excludes(&filter, "g(long)", "/x"));
	ck_assert(!filter_excludes(&filter, "ns::f2(int)", "/x"));
}

struct expected {
	const struct filter *filter;
	const uint64_t *table;
	uint32_t shift;
	uint64_t excluded;
};

static bool in_table(const struct expected *expected, uint64_t address)
{
	uint64_t mask = (1ULL << (64 - expected->shift)) - 1;
	uint64_t i = filter_index(address, expected->shift);

	for (; expected->table[i]; i = (i + 1) & mask)
		if (expected->table[i] == address)
			return true;
	return false;
}

static int check_function(void *context, uint64_t address, const char *name,
			  const char *module)
{
	struct expected *expected = context;

	if (filter_excludes(expected->filter, name, module)) {
		expected->excluded++;
		ck_assert(in_table(expected, address));
	}
	return 0;
}

TEST(filter_publish_writes_what_the_shim_finds)
{
	static const char *const except[] = { "str*", "@libc.so*" };
	struct filter filter = filter_of(NULL, 0, except, 2);
	struct symbol_cache *cache;
	struct modules *modules;
	struct page_shm *page = mmap(NULL, ARENA_SLOTS, PROT_READ | PROT_WRITE,
				     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct expected expected = {
		.filter = &filter,
		.table = (uint64_t *)((char *)page + ARENA_FILTER),
	};

	ck_assert_ptr_ne(page, MAP_FAILED);
	ck_assert_int_eq(symbol_cache_new(&cache), 0);
	ck_assert_int_eq(modules_new(getpid(), 1, NULL, cache, &modules), 0);
	ck_assert_uint_gt(
		filter_publish(&filter, modules, page, FILTER_ENTRIES, NULL),
		1000);
	expected.shift = page->filter_shift;
	ck_assert_uint_ge(expected.shift, 64 - 20);
	modules_each_function(modules, check_function, &expected);
	ck_assert_uint_gt(expected.excluded, 1000);
	ck_assert(!in_table(&expected, (uintptr_t)&check_function));
	modules_put(&modules);
	symbol_cache_put(&cache);
	munmap(page, ARENA_SLOTS);
}

TEST(filter_publish_never_fills_more_than_a_quarter)
{
	static const char *const except[] = { "*" };
	struct filter filter = filter_of(NULL, 0, except, 1);
	struct symbol_cache *cache;
	struct modules *modules;
	struct page_shm *page = mmap(NULL, ARENA_SLOTS, PROT_READ | PROT_WRITE,
				     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const uint64_t *table = (uint64_t *)((char *)page + ARENA_FILTER);
	uint64_t used = 0;

	ck_assert_ptr_ne(page, MAP_FAILED);
	ck_assert_int_eq(symbol_cache_new(&cache), 0);
	ck_assert_int_eq(modules_new(getpid(), 1, NULL, cache, &modules), 0);
	filter_publish(&filter, modules, page, 256, NULL);
	ck_assert_uint_eq(page->filter_shift, 64 - 8);
	for (int i = 0; i < 256; i++)
		used += table[i] != 0;
	ck_assert_uint_le(used, 64);
	ck_assert_uint_eq(table[256], 0);
	modules_put(&modules);
	symbol_cache_put(&cache);
	munmap(page, ARENA_SLOTS);
}

TEST(filter_table_changes_while_it_is_read)
{
	struct page_shm *page = mmap(NULL, ARENA_SLOTS, PROT_READ | PROT_WRITE,
				     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const uint16_t *numbers =
		(const uint16_t *)((char *)page + ARENA_FILTER_NUMBERS);
	struct expected expected = {
		.table = (uint64_t *)((char *)page + ARENA_FILTER),
		.shift = 64 - 6,
	};
	struct filter_table *table = filter_table_new(page, 64);
	uint64_t first = 0x1000, second = first + 16, i;

	ck_assert_uint_eq(page->filter_shift, 64 - 6);
	/* Both functions hash to the same entry. */
	while (filter_index(second, 64 - 6) != filter_index(first, 64 - 6))
		second += 16;
	i = filter_index(first, 64 - 6);
	ck_assert_int_eq(filter_table_add(table, first, 7), 0);
	ck_assert_int_eq(filter_table_add(table, second, 0), 0);
	ck_assert(in_table(&expected, first) && in_table(&expected, second));
	ck_assert_uint_eq(numbers[i], 7);
	filter_table_remove(table, first);
	ck_assert(!in_table(&expected, first) && in_table(&expected, second));
	ck_assert_uint_eq(expected.table[i], FILTER_REMOVED);
	/* The function is in the table, behind the free entry. */
	ck_assert_int_eq(filter_table_add(table, second, 9), 0);
	ck_assert_uint_eq(numbers[(i + 1) % 64], 9);
	ck_assert_int_eq(filter_table_add(table, first, 8), 0);
	ck_assert_uint_eq(expected.table[i], first);
	ck_assert_uint_eq(numbers[i], 8);
	for (i = 2; i < 16; i++)
		ck_assert_int_eq(filter_table_add(table, i << 20, 0), 0);
	ck_assert_int_eq(filter_table_add(table, 1 << 30, 0), -ENOSPC);
	filter_table_remove(table, 1 << 30);
	filter_table_remove(table, 2 << 20);
	filter_table_free(table);
	munmap(page, ARENA_SLOTS);
}

static void expect_missing(const struct filter_matches *matches, size_t *at,
			   const char *pattern, enum filter_option option)
{
	enum filter_option got;

	ck_assert_str_eq(filter_matches_missing(matches, at, &got), pattern);
	ck_assert_int_eq(got, option);
}

TEST(filter_matches_name_patterns_that_have_none)
{
	static const char *const only[] = { "a*", "@lib*" };
	static const char *const except[] = { "ab", "event" };
	static const char *const count[] = { "ab", "c" };
	static const char *const args[] = { "f(int)", "g" };
	static const char *const calls[] = { "read", "libssl:wriet" };
	static const char *const patch[] = { "libz*", "app" };
	static const struct filter_patterns none[FILTER_OPTIONS];
	const struct filter_patterns patterns[FILTER_OPTIONS] = {
		{ only, 2 }, { except, 2 }, { count, 2 },
		{ args, 2 }, { calls, 2 },  { patch, 2 },
	};
	struct filter_matches *matches;
	enum filter_option option;
	size_t at = 0;

	ck_assert_int_eq(filter_matches_new(patterns, &matches), 0);
	filter_matches_function(matches, "ab", "/bin/program");
	filter_matches_site(matches, "event");
	filter_matches_mark(matches, FILTER_COUNT, 0);
	filter_matches_mark(matches, FILTER_ARGS, 1);
	filter_matches_mark(matches, FILTER_CALLS, 0);
	filter_matches_mark(matches, FILTER_PATCH, 1);
	expect_missing(matches, &at, "@lib*", FILTER_ONLY);
	expect_missing(matches, &at, "c", FILTER_COUNT);
	expect_missing(matches, &at, "f(int)", FILTER_ARGS);
	expect_missing(matches, &at, "libssl:wriet", FILTER_CALLS);
	expect_missing(matches, &at, "libz*", FILTER_PATCH);
	ck_assert_str_eq(filter_option_names[FILTER_PATCH], "--patch");
	ck_assert_ptr_null(filter_matches_missing(matches, &at, &option));
	at = 0;
	filter_matches_mark(matches, FILTER_CALLS, 1);
	filter_matches_mark(matches, FILTER_PATCH, 0);
	filter_matches_called(matches, "c", "/lib/libother.so");
	filter_matches_mark(matches, FILTER_ARGS, 0);
	ck_assert_ptr_null(filter_matches_missing(matches, &at, &option));
	filter_matches_free(&matches);
	ck_assert_int_eq(filter_matches_new(patterns, &matches), 0);
	at = 0;
	filter_matches_give_up(matches);
	ck_assert_ptr_null(filter_matches_missing(matches, &at, &option));
	filter_matches_free(&matches);
	ck_assert_int_eq(filter_matches_new(none, &matches), 0);
	ck_assert_ptr_null(matches);
	filter_matches_function(matches, "ab", "/bin/program");
	ck_assert_ptr_null(filter_matches_missing(matches, &at, &option));
}
