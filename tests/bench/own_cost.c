/* SPDX-License-Identifier: Apache-2.0
 *
 * own_cost - programs whose own cost, as a summary says it, is held against the
 * CPU time that they took more (tests/bench/own_cost.sh). Built twice, with
 * -finstrument-functions and without; only work() and leaf() are instrumented.
 *
 * usage: own_cost WHAT COUNT [PARTS]
 *
 *	calls, paused	COUNT times work(), which calls leaf() twice
 *	threads, forks	the same, in PARTS threads or children at a time
 *	arguments, texts, instants, counters	COUNT annotations
 *	blocks		COUNT pairs of malloc() and free()
 *	spin		COUNT times 1,000 additions
 *
 * Appends its CPU time in ns, its children's included, to $BENCH_OUT. With
 * $BENCH_STOP=PID process PID gets SIGSTOP once recording has begun.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "preload/perfrec.h"
#include "shared/compiler.h"

#define PARTS_MAX 256

static volatile long g_sum;

__attribute__((noipa)) static void leaf(void)
{
	g_sum++;
}

__attribute__((noipa)) static void work(void)
{
	leaf();
	leaf();
}

ATTR_NOTRACE static void calls(long count)
{
	while (count--)
		work();
}

ATTR_NOTRACE static void paused(long count)
{
	leaf();
	perfrec_pause();
	calls(count);
	perfrec_resume();
}

ATTR_NOTRACE static void arguments(long count)
{
	while (count--) {
		PERFREC_SCOPE("three", "a", count, "b", count + 1, "c", 2);
		__asm__ volatile("" : : : "memory");
	}
}

ATTR_NOTRACE static void texts(long count)
{
	while (count--) {
		PERFREC_SCOPE("text", "a", "twenty characters ..");
		__asm__ volatile("" : : : "memory");
	}
}

ATTR_NOTRACE static void instants(long count)
{
	while (count--)
		PERFREC_INSTANT("instant");
}

PERFREC_COUNTER(g_counter, "counter", PERFREC_COUNTS, 0);

ATTR_NOTRACE static void counters(long count)
{
	while (count--)
		PERFREC_COUNT(&g_counter, count);
}

ATTR_NOTRACE static void blocks(long count)
{
	while (count--) {
		void *block = malloc(64);

		__asm__ volatile("" : : "r"(block) : "memory");
		free(block);
	}
}

ATTR_NOTRACE static void spin(long count)
{
	while (count--)
		for (int i = 0; i < 1000; i++)
			g_sum += i;
}

static const struct {
	const char *name;
	void (*run)(long count);
} g_kinds[] = {
	{ "calls", calls },	    { "threads", calls },
	{ "forks", calls },	    { "paused", paused },
	{ "arguments", arguments }, { "texts", texts },
	{ "instants", instants },   { "counters", counters },
	{ "blocks", blocks },	    { "spin", spin },
};

static long g_count;

ATTR_NOTRACE static void *thread_main(void *argument)
{
	(void)argument;
	calls(g_count);
	return NULL;
}

ATTR_NOTRACE static void run_threads(long parts)
{
	pthread_t thread[PARTS_MAX];

	for (long i = 0; i < parts; i++)
		if (pthread_create(&thread[i], NULL, thread_main, NULL))
			abort();
	for (long i = 0; i < parts; i++)
		pthread_join(thread[i], NULL);
}

ATTR_NOTRACE static void run_forks(long parts)
{
	for (long i = 0; i < parts; i++) {
		pid_t child = fork();

		if (child < 0)
			abort();
		if (!child) {
			calls(g_count);
			_exit(0);
		}
		waitpid(child, NULL, 0);
	}
}

ATTR_NOTRACE static unsigned long long cpu_ns(int who)
{
	struct rusage usage;

	getrusage(who, &usage);
	return ((unsigned long long)usage.ru_utime.tv_sec +
		(unsigned long long)usage.ru_stime.tv_sec) *
		       1000000000 +
	       ((unsigned long long)usage.ru_utime.tv_usec +
		(unsigned long long)usage.ru_stime.tv_usec) *
		       1000;
}

ATTR_NOTRACE static int report(void)
{
	const char *path = getenv("BENCH_OUT");
	FILE *out = path ? fopen(path, "a") : stdout;

	if (!out) {
		perror(path);
		return 1;
	}
	fprintf(out, "%llu\n", cpu_ns(RUSAGE_SELF) + cpu_ns(RUSAGE_CHILDREN));
	return fclose(out) != 0;
}

ATTR_NOTRACE static void stop_collector(void)
{
	const char *pid = getenv("BENCH_STOP");

	leaf();
	if (pid)
		kill((pid_t)atoi(pid), SIGSTOP);
}

ATTR_NOTRACE int main(int argc, char **argv)
{
	long count = argc > 2 ? atol(argv[2]) : 0;
	long parts = argc > 3 ? atol(argv[3]) : 1;
	size_t i = 0;

	while (i < ARRAY_SIZE(g_kinds) && argc > 1 &&
	       strcmp(g_kinds[i].name, argv[1]) != 0)
		i++;
	if (argc < 3 || i == ARRAY_SIZE(g_kinds) || parts < 1 ||
	    parts > PARTS_MAX) {
		fprintf(stderr, "usage: own_cost WHAT COUNT [PARTS]\n");
		return 2;
	}
	stop_collector();
	g_count = count / parts;
	if (strcmp(argv[1], "threads") == 0)
		run_threads(parts);
	else if (strcmp(argv[1], "forks") == 0)
		run_forks(parts);
	else
		g_kinds[i].run(count);
	return report();
}
