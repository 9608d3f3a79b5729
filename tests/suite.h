/* SPDX-License-Identifier: Apache-2.0
 *
 * suite - what the main function of a test program made with check does:
 *
 *	int main(void)
 *	{
 *		Suite *suite = suite_create("bytes");
 *		TCase *tcase = suite_case(suite, "bytes");
 *
 *		tcase_add_test(tcase, bytes_compare_as_libc_does);
 *		return suite_run(suite);
 *	}
 */
#ifndef PERFREC_TESTS_SUITE_H
#define PERFREC_TESTS_SUITE_H

#include <check.h>
#include <stdbool.h>
#include <stdlib.h>

#include "shared/atomic.h"

/* The seconds that a test has, unless CK_DEFAULT_TIMEOUT or the test case says
 * otherwise. check's own limit, 4 seconds, is too short for a busy machine.
 */
enum { SUITE_TIMEOUT = 60 };

/* check tells its runner, through a pipe, of every assertion that held, for the
 * line to print when a test crashes: a million assertions in a loop are
 * seconds. Here each line is told of when a test comes to it for the first
 * time. Any thread may call it; @line of another file counts as the same line.
 */
static inline void suite_mark(const char *file, int line)
{
	static bool told[8192];
	bool *one = &told[(unsigned int)line % 8192];

	/* order: rlx, at worst a line is told of twice */
	if (atom_load_rlx(one))
		return;
	/* order: rlx, as above */
	atom_store_rlx(one, true);
	_mark_point(file, line);
}
/* What the macros of check.h call. */
#define _mark_point(file, line) suite_mark(file, line)

/* A new test case of @suite, which owns it. Tests may be added to it later. */
static inline TCase *suite_case(Suite *suite, const char *name)
{
	TCase *tcase = tcase_create(name);

	if (!getenv("CK_DEFAULT_TIMEOUT"))
		tcase_set_timeout(tcase, SUITE_TIMEOUT);
	suite_add_tcase(suite, tcase);
	return tcase;
}

/* A new test case of @suite for tests of a second and more, which
 * `make check-fast` leaves out (CK_EXCLUDE_TAGS=slow).
 */
static inline TCase *suite_slow_case(Suite *suite)
{
	TCase *tcase = suite_case(suite, "slow");

	tcase_set_tags(tcase, "slow");
	return tcase;
}

/* Runs all tests of @suite, prints what failed and the sum that
 * scripts/run-suites.sh reads, and frees @suite. CK_VERBOSITY, CK_FORK,
 * CK_EXCLUDE_TAGS and the like are obeyed. Returns the program's exit status.
 */
static inline int suite_run(Suite *suite)
{
	SRunner *runner = srunner_create(suite);
	int failed;

	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

#endif
