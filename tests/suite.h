/* SPDX-License-Identifier: Apache-2.0
 *
 * suite - tests made with check that register themselves. The tests of a file are a
 * suite, named after the file: test_bytes.c has the suite "bytes". tests/suite.c has
 * the main function, which is linked with one file or with the files of a room.
 * Tests need not include what this file includes.
 *
 *	FIXTURE(make_table, free_table);
 *
 *	TEST(bytes_compare_as_libc_does)
 *	{
 *		ck_assert_int_eq(bytes_compare("a", "a", 1), 0);
 *	}
 *
 *	TEST(bytes_of_each_size_are_copied, EACH(0, 64))
 *	{
 *		copy_bytes((size_t)_i);
 *	}
 */
#ifndef PERFREC_TESTS_SUITE_H
#define PERFREC_TESTS_SUITE_H

#include <check.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/atomic.h"
#include "shared/compiler.h"

/* check reports the line of every assertion to its runner through a pipe, for
 * the message after a crash. A million assertions in a loop would take seconds,
 * so this reports a line only once. Any thread may call it. Equal lines of
 * other files count as reported. */
static inline void suite_mark(const char *file, int line)
{
	static bool told[8192];
	bool *one = &told[(unsigned int)line % 8192];

	/* order: rlx, at worst a line is reported twice */
	if (atom_load_rlx(one))
		return;
	/* order: rlx, as above */
	atom_store_rlx(one, true);
	_mark_point(file, line);
}
/* The macros of check.h call this one. */
#define _mark_point(file, line) suite_mark(file, line)

/* Defines a test, in front of its body. Any of these options may follow the name. */
#define TEST(test, ...)                                                        \
	static void test(int _i);                                              \
	SUITE_ENTRY(test, .kind = SUITE_TEST,                                  \
		    .ttest = { #test, test, __FILE__, __LINE__ }, __VA_ARGS__) \
	static void test(int _i __attribute__((unused)))
/* The test runs with each _i from @first to @end - 1; with none if they are equal. */
#define EACH(first_i, end_i) .is_loop = true, .first = (first_i), .end = (end_i)
/* It passes if this signal ends it. */
#define SIGNAL(number) .signal = (number)
/* It takes a second and more: `make check` leaves it out (CK_EXCLUDE_TAGS=slow),
 * `make check-full` runs it. */
#define SLOW .is_slow = true
/* The same for each _i from @first on. */
#define SLOW_FROM(first_i) .is_slow = true, .slow_from = (first_i)
/* Seconds by the clock instead of SUITE_TIMEOUT, at most. */
#define TIMEOUT(seconds) .timeout = (seconds)
/* It is compiled but does not run if the constant @condition holds. */
#define UNLESS(condition) .is_left = (condition)

/* In the process of each test that follows in this file, @set_up runs before it and
 * @tear_down after it. Both may be NULL. They may assert. */
#define FIXTURE(set_up, tear_down) \
	SUITE_CALLS(__LINE__, SUITE_FIXTURE, set_up, tear_down)
/* In the process of this file's suite, @set_up runs before all tests and @tear_down
 * after them. Both may be NULL, and neither may assert. */
#define SUITE(set_up, tear_down) \
	SUITE_CALLS(__LINE__, SUITE_AROUND, set_up, tear_down)
/* @play (int argc, char **argv) runs first in each process of the program. It returns
 * the exit status of a process that a test has started to play another program; in
 * others -1. */
#define ROLE(role)                                            \
	SUITE_ENTRY(role, .kind = SUITE_ROLE, .play = (role)) \
	struct suite_entry

/* For UNLESS(). Both sanitizers replace malloc(). */
enum {
#ifdef __SANITIZE_ADDRESS__
	HAS_ASAN = true,
#else
	HAS_ASAN = false,
#endif
#ifdef __SANITIZE_THREAD__
	HAS_TSAN = true,
#else
	HAS_TSAN = false,
#endif
};

/* --- what the macros expand to ------------------------------------------------ */

enum suite_kind { SUITE_TEST, SUITE_FIXTURE, SUITE_AROUND, SUITE_ROLE };

struct suite_entry {
	enum suite_kind kind;
	const char *file; /* that is compiled */
	TTest ttest;
	bool is_loop, is_slow, is_left;
	int first, end, slow_from, signal, timeout;
	void (*set_up)(void), (*tear_down)(void);
	int (*play)(int argc, char **argv);
	struct suite_entry *next;
};

/* Constructors call it; entries of a file come in the order of its lines. */
void suite_add(struct suite_entry *entry);

#define SUITE_ENTRY(name, ...)                                             \
	__attribute__((constructor)) static void add_##name(void)          \
	{                                                                  \
		static struct suite_entry entry = { .file = __BASE_FILE__, \
						    __VA_ARGS__ };         \
                                                                           \
		suite_add(&entry);                                         \
	}
#define SUITE_CALLS(line, kind, set_up, tear_down) \
	SUITE_CALLS_AT(line, kind, set_up, tear_down)
#define SUITE_CALLS_AT(line, which, before, after)                     \
	SUITE_ENTRY(calls_##line, .kind = (which), .set_up = (before), \
		    .tear_down = (after))                              \
	struct suite_entry

#endif
