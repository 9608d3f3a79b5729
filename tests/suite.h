/* SPDX-License-Identifier: Apache-2.0
 *
 * suite - the main function of a test program made with check:
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
#include <string.h>
#include <sys/resource.h>

#include "shared/atomic.h"

/* The seconds of CPU time that a test has, and seconds by the clock, after which it
 * waits in vain: a busy machine takes long. CK_DEFAULT_TIMEOUT replaces both.
 */
enum { SUITE_CPU = 180, SUITE_TIMEOUT = 250 };

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

/* Runs in the process of each test. Sanitizers multiply the limits of check. */
static inline void suite_limit_cpu(void)
{
	const char *fork = getenv("CK_FORK");
	const char *multiplier = getenv("CK_TIMEOUT_MULTIPLIER");
	int times = multiplier ? atoi(multiplier) : 1;
	struct rlimit limit;

	if ((fork && !strcmp(fork, "no")) || getrlimit(RLIMIT_CPU, &limit))
		return;
	limit.rlim_cur = (rlim_t)(SUITE_CPU * (times > 1 ? times : 1));
	setrlimit(RLIMIT_CPU, &limit);
}

/* A new test case of @suite, which owns it. Tests may be added to it later. */
static inline TCase *suite_case(Suite *suite, const char *name)
{
	TCase *tcase = tcase_create(name);

	if (!getenv("CK_DEFAULT_TIMEOUT")) {
		tcase_set_timeout(tcase, SUITE_TIMEOUT);
		tcase_add_checked_fixture(tcase, suite_limit_cpu, NULL);
	}
	suite_add_tcase(suite, tcase);
	return tcase;
}

/* A new test case of @suite for tests of a second and more, which `make check`
 * leaves out (CK_EXCLUDE_TAGS=slow) and `make check-full` runs.
 */
static inline TCase *suite_slow_case(Suite *suite)
{
	TCase *tcase = suite_case(suite, "slow");

	tcase_set_tags(tcase, "slow");
	return tcase;
}

/* Runs all tests of @suite, prints failures and the sum for
 * scripts/run-suites.sh, and frees @suite. Obeys CK_VERBOSITY, CK_FORK,
 * CK_EXCLUDE_TAGS and the like. Returns the program's exit status. */
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
