/* SPDX-License-Identifier: Apache-2.0 */

#include <errno.h>
#include <pthread.h>

#include "collector/replay/function_log.h"
#include "tests/suite.h"

static struct function_log *g_log;

static void setup(void)
{
	ck_assert_int_eq(function_log_new(&g_log), 0);
}

static void teardown(void)
{
	function_log_free(&g_log);
	ck_assert_ptr_null(g_log);
}

#define STATE(function, ns, is_off, since)                       \
	do {                                                     \
		struct function_then state =                     \
			function_log_state(g_log, function, ns); \
                                                                 \
		ck_assert_int_eq(state.off, is_off);             \
		ck_assert_uint_eq(state.off_ns, since);          \
	} while (0)
#define CHANGE(index, of, at, what)                                     \
	do {                                                            \
		struct function_change change_;                         \
                                                                        \
		ck_assert(function_log_change(g_log, index, &change_)); \
		ck_assert_uint_eq(change_.function, of);                \
		ck_assert_uint_eq(change_.ns, at);                      \
		ck_assert_int_eq(change_.kind, what);                   \
	} while (0)

FIXTURE(setup, teardown);

TEST(function_log_empty_knows_nothing)
{
	STATE(1, 5, false, 0);
	ck_assert(!function_log_state(g_log, 1, 5).connected);
	ck_assert_uint_eq(function_log_changes(g_log), 0);
	function_log_on(g_log, 1, 5);
	ck_assert_uint_eq(function_log_changes(g_log), 0);
}

TEST(function_log_off_and_on_have_times)
{
	ck_assert_int_eq(function_log_off(g_log, 1, 10), 0);
	ck_assert_int_eq(function_log_off(g_log, 1, 15), 0);
	function_log_on(g_log, 1, 20);
	function_log_on(g_log, 1, 25);
	ck_assert_int_eq(function_log_off(g_log, 1, 30), 0);
	STATE(1, 9, false, 0);
	STATE(1, 10, true, 10);
	STATE(1, 19, true, 10);
	STATE(1, 20, false, 10);
	STATE(1, 30, true, 30);
	STATE(2, 30, false, 0);
	ck_assert_uint_eq(function_log_changes(g_log), 3);
	CHANGE(0, 1, 10, FUNCTION_LOG_OFF);
	CHANGE(1, 1, 20, FUNCTION_LOG_ON);
	CHANGE(2, 1, 30, FUNCTION_LOG_OFF);
}

TEST(function_log_off_is_connected)
{
	ck_assert_int_eq(function_log_connect(g_log, 1, true, 5), 0);
	ck_assert_int_eq(function_log_off(g_log, 1, 10), 0);
	ck_assert_int_eq(function_log_off(g_log, 2, 10), 0);
	ck_assert(function_log_state(g_log, 1, 10).connected);
	ck_assert(function_log_state(g_log, 1, 10).entry_build);
	ck_assert(function_log_state(g_log, 2, 10).connected);
	ck_assert(!function_log_state(g_log, 2, 10).entry_build);
	CHANGE(0, 1, 5, FUNCTION_LOG_CONNECTED);
}

TEST(function_log_time_goes_forward)
{
	ck_assert_int_eq(function_log_off(g_log, 1, 10), 0);
	ck_assert_int_eq(function_log_off(g_log, 2, 5), 0);
	CHANGE(1, 2, 10, FUNCTION_LOG_OFF);
}

TEST(function_log_keeps_the_last_changes)
{
	struct function_change change;
	uint32_t count = 3 * FUNCTION_LOG_CHANGES;

	for (uint64_t i = 0; i < count / 2; i++) {
		function_log_off(g_log, 1, 2 * i);
		function_log_on(g_log, 1, 2 * i + 1);
	}
	ck_assert_uint_eq(function_log_changes(g_log), count);
	ck_assert(!function_log_change(g_log, count - FUNCTION_LOG_CHANGES,
				       &change));
	ck_assert(function_log_change(g_log, count - FUNCTION_LOG_CHANGES + 1,
				      &change));
	CHANGE(count - 1, 1, count - 1, FUNCTION_LOG_ON);
	for (uint32_t i = 1; i < FUNCTION_LOG_TIMES - 1; i++)
		STATE(1, count - i, i % 2 == 0,
		      i % 2 ? count - i - 1 : count - i);
}

TEST(function_log_unload_forgets_a_module)
{
	function_log_connect(g_log, 0x1000, true, 1);
	function_log_off(g_log, 0x1010, 1);
	function_log_off(g_log, 0x2000, 1);
	function_log_unload(g_log, 0x1000, 0x2000, 5);
	ck_assert(!function_log_state(g_log, 0x1000, 5).connected);
	ck_assert(!function_log_state(g_log, 0x1000, 5).entry_build);
	STATE(0x1010, 5, false, 1);
	STATE(0x2000, 5, true, 1);
	ck_assert_uint_eq(function_log_changes(g_log), 5);
	function_log_unload(g_log, 0x1000, 0x2000, 6);
	ck_assert_uint_eq(function_log_changes(g_log), 5);
	ck_assert_int_eq(function_log_off(g_log, 0x1010, 7), 0);
	STATE(0x1010, 7, true, 7);
}

#define PLUGINS 16u
#define PLUGIN_BYTES 0x1000u

/* Plugins come and go in their own order; the program stays. */
TEST(function_log_unload_leaves_other_modules_alone)
{
	const uint64_t plugins = 0x100000;
	bool there[PLUGINS] = { false };
	uint64_t ns = 1;

	for (uint64_t i = 1; i <= 100; i++)
		ck_assert_int_eq(function_log_connect(g_log, i, false, ns), 0);
	for (uint32_t round = 0; round < 1000; round++) {
		uint32_t which = round * 7 % PLUGINS;
		uint64_t start = plugins + which * PLUGIN_BYTES;

		ns++;
		if (there[which])
			function_log_unload(g_log, start, start + PLUGIN_BYTES,
					    ns);
		for (uint64_t i = 0; i < 5 && !there[which]; i++)
			ck_assert_int_eq(function_log_connect(g_log, start + i,
							      false, ns),
					 0);
		there[which] = !there[which];
		for (uint32_t j = 0; j < PLUGINS; j++)
			for (uint64_t i = 0; i < 5; i++)
				ck_assert_int_eq(
					function_log_state(
						g_log,
						plugins + j * PLUGIN_BYTES + i,
						ns)
						.connected,
					there[j]);
	}
	for (uint64_t i = 1; i <= 100; i++)
		ck_assert(function_log_state(g_log, i, ns).connected);
	function_log_unload(g_log, 0, plugins, ns + 1);
	ck_assert(!function_log_state(g_log, 100, ns + 1).connected);
	ns = function_log_changes(g_log);
	function_log_unload(g_log, 0, plugins, ns + 2);
	ck_assert_uint_eq(function_log_changes(g_log), ns);
}

TEST(function_log_has_a_limit)
{
	for (uint64_t i = 1; i <= FUNCTION_LOG_MAX; i++)
		ck_assert_int_eq(function_log_connect(g_log, i * 16, false, 1),
				 0);
	ck_assert_int_eq(function_log_off(g_log, 1, 2), -ENOSPC);
	ck_assert_int_eq(function_log_connect(g_log, 1, false, 2), -ENOSPC);
	ck_assert_int_eq(function_log_connect(g_log, 0, false, 2), -ENOSPC);
	ck_assert_int_eq(function_log_off(g_log, 16, 3), 0);
	STATE(16, 3, true, 3);
	STATE(1, 3, false, 0);
}

TEST(function_log_has_addresses_as_records_have_them)
{
	function_log_off(g_log, 0xffff800000001234, 2);
	STATE(0x800000001234, 3, true, 2);
}

#define WRITES 100000

static void *write_changes(void *argument)
{
	for (uint64_t i = 1; i <= WRITES; i++) {
		uint64_t function = 1 + i % 50;

		if (function_log_state(g_log, function, UINT64_MAX).off)
			function_log_on(g_log, function, i);
		else
			function_log_off(g_log, function, i);
	}
	return argument;
}

TEST(function_log_is_read_while_it_is_written)
{
	struct function_change change;
	uint32_t at = 0;
	pthread_t thread;

	ck_assert_int_eq(pthread_create(&thread, NULL, write_changes, NULL), 0);
	while (at < WRITES) {
		if (at == function_log_changes(g_log))
			continue;
		if (!function_log_change(g_log, at, &change)) {
			at = function_log_changes(g_log) -
			     FUNCTION_LOG_CHANGES / 2;
			continue;
		}
		ck_assert_uint_eq(change.function, 1 + change.ns % 50);
		ck_assert_uint_eq(change.ns, at + 1);
		at++;
	}
	pthread_join(thread, NULL);
}
