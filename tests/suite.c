/* SPDX-License-Identifier: Apache-2.0
 *
 * The main function of programs of unit tests and of tests of the shim (suite.h):
 *
 *	PROGRAM                 all suites, each in a process of its own
 *	PROGRAM SUITE [TEST]    one suite, or one test of it, in this process
 *	PROGRAM --list          the names of suites
 *
 * It obeys CK_VERBOSITY, CK_FORK, CK_EXCLUDE_TAGS and the like. Each suite ends with
 * check's sum for scripts/run-suites.sh.
 */
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/suite.h"

/* The seconds of CPU time that a test has, which end a loop, and seconds by the
 * clock, which only a test that waits in vain reaches: on a busy machine 10 s of CPU
 * time took 250 s. CK_DEFAULT_TIMEOUT replaces both.
 */
enum { SUITE_CPU = 180, SUITE_TIMEOUT = 1500 };

static struct suite_entry *g_first, **g_last = &g_first;

void suite_add(struct suite_entry *entry)
{
	*g_last = entry;
	g_last = &entry->next;
}

/* Runs in the process of each test. Sanitizers multiply the limits of check. */
static void limit_cpu(void)
{
	const char *fork = getenv("CK_FORK");
	const char *multiplier = getenv("CK_TIMEOUT_MULTIPLIER");
	int times = multiplier ? atoi(multiplier) : 1;
	struct rlimit limit;

	if ((fork && !strcmp(fork, "no")) || getrlimit(RLIMIT_CPU, &limit))
		return;
	limit.rlim_cur = SUITE_CPU * (rlim_t)(times > 1 ? times : 1);
	setrlimit(RLIMIT_CPU, &limit);
}

/* A new case of @suite, which owns it, for tests like @test with the same @fixture. */
static TCase *add_case(Suite *suite, const struct suite_entry *test,
		       const struct suite_entry *fixture, bool is_slow)
{
	TCase *tcase = tcase_create(test->ttest.name);

	if (!getenv("CK_DEFAULT_TIMEOUT")) {
		tcase_set_timeout(tcase, test->timeout ? test->timeout
						       : SUITE_TIMEOUT);
		tcase_add_checked_fixture(tcase, limit_cpu, NULL);
	}
	if (fixture)
		tcase_add_checked_fixture(tcase, fixture->set_up,
					  fixture->tear_down);
	if (is_slow)
		tcase_set_tags(tcase, "slow");
	suite_add_tcase(suite, tcase);
	return tcase;
}

static void add_test(Suite *suite, const struct suite_entry *test,
		     const struct suite_entry *fixture)
{
	int end = test->is_loop ? test->end : test->first + 1;
	int slow = test->is_slow ? test->slow_from : end;

	if (test->is_slow && slow < test->first)
		slow = test->first;
	if (test->first < slow)
		_tcase_add_test(add_case(suite, test, fixture, false),
				&test->ttest, test->signal, 0, test->first,
				slow);
	if (slow < end)
		_tcase_add_test(add_case(suite, test, fixture, true),
				&test->ttest, test->signal, 0, slow, end);
}

/* The suite of a file: "heap" for ".../test_heap.c". */
static const char *name_of(const struct suite_entry *entry)
{
	static char name[256];
	const char *base = strrchr(entry->file, '/');

	base = base ? base + 1 : entry->file;
	if (!strncmp(base, "test_", 5))
		base += 5;
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(base, "."), base);
	return name;
}

/* Runs the tests of the file of @first, or only its test @chosen. Returns the exit
 * status, which is 2 if there is no such test. */
static int run_suite(const struct suite_entry *first, const char *chosen)
{
	const struct suite_entry *fixture = NULL, *around = NULL;
	Suite *suite = suite_create(name_of(first));
	SRunner *runner = srunner_create(suite);
	bool found = !chosen;
	int failed;

	for (const struct suite_entry *e = first;
	     e && !strcmp(e->file, first->file); e = e->next) {
		if (chosen && e->kind == SUITE_TEST)
			found |= !strcmp(chosen, e->ttest.name);
		if (e->kind == SUITE_AROUND)
			around = e;
		else if (e->kind == SUITE_FIXTURE)
			fixture = e;
		else if (e->kind == SUITE_TEST && !e->is_left &&
			 (!chosen || !strcmp(chosen, e->ttest.name)))
			add_test(suite, e, fixture);
	}
	if (!found) {
		fprintf(stderr, "%s: no test '%s'\n", name_of(first), chosen);
		srunner_free(runner);
		return 2;
	}
	if (around && around->set_up)
		around->set_up();
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	if (around && around->tear_down)
		around->tear_down();
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* The first entry of the next file. */
static struct suite_entry *next_suite(struct suite_entry *entry)
{
	const char *file = entry->file;

	while (entry && !strcmp(entry->file, file))
		entry = entry->next;
	return entry;
}

static int run_apart(const struct suite_entry *first)
{
	int status;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (!pid)
		exit(run_suite(first, NULL));
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return EXIT_FAILURE;
	return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
	int status = EXIT_SUCCESS;
	bool found = false;

	for (struct suite_entry *e = g_first; e; e = e->next) {
		int played = e->kind == SUITE_ROLE ? e->play(argc, argv) : -1;

		if (played >= 0)
			return played;
	}
	for (struct suite_entry *e = g_first; e; e = next_suite(e)) {
		if (argc > 1 && !strcmp(argv[1], "--list"))
			puts(name_of(e));
		else if (argc == 1)
			status |= run_apart(e);
		else if (!strcmp(argv[1], name_of(e)))
			status = run_suite(e, argv[2]);
		else
			continue;
		found = true;
	}
	if (found)
		return status;
	fprintf(stderr, "%s: no suite '%s'\n", argv[0],
		argc > 1 ? argv[1] : "");
	return 2;
}
