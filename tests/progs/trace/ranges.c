/* SPDX-License-Identifier: Apache-2.0
 *
 * ranges - each kind of event in a trace, for tests that read a range of it:
 * threads that work, sleep and wait for each other, a stack of its own,
 * annotations with arguments, flows, counters, states and asynchronous slices,
 * blocks of memory, a child. "ranges N" makes N rounds. "ranges N burst" makes
 * more calls than a ring holds between the files "go" and "done", and ends when
 * the file "end" exists.
 */
#define PERFREC_CATEGORY "ranges"
#include <perfrec.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define WORKERS 2
#define BURST 60000
#define STACK_BYTES (256u << 10)

PERFREC_COUNTER(g_left, "rounds left", PERFREC_COUNTS, 0);
PERFREC_COUNTER_TIMES(g_load, "load", "percent",
		      PERFREC_DOUBLE | PERFREC_PER_THREAD, 100);
PERFREC_TRACK(g_jobs, "jobs", NULL, 0);
PERFREC_STATE_TRACK(g_light, "light", NULL, 0);

static volatile long g_sum;
static pthread_mutex_t g_lock = PTHREAD_MUTEX_INITIALIZER;
static ucontext_t g_outside, g_inside;

__attribute__((noinline)) static void leaf(long i)
{
	g_sum += i;
}

__attribute__((noinline)) static void twig(long n)
{
	for (long i = 0; i < n; i++)
		leaf(i);
}

/* Needs 2 ms of CPU time, so that there are samples. */
__attribute__((noinline)) static void burn(void)
{
	struct timespec now, start;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &start);
	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	while ((now.tv_sec - start.tv_sec) * 1000000000L + now.tv_nsec -
		       start.tv_nsec <
	       2000000);
}

/* Long enough to be recorded as a wait. */
__attribute__((noinline)) static void hold(void)
{
	const struct timespec time = { .tv_nsec = 3000000 };

	pthread_mutex_lock(&g_lock);
	nanosleep(&time, NULL);
	pthread_mutex_unlock(&g_lock);
}

static void coroutine(void)
{
	for (;;) {
		twig(2);
		swapcontext(&g_inside, &g_outside);
	}
}

__attribute__((noinline)) static void switch_stacks(void)
{
	swapcontext(&g_outside, &g_inside);
}

__attribute__((noinline)) static void annotate(long round, const char *name)
{
	PERFREC_SCOPE("step", PERFREC_NAME, name, "round", round, "of", name,
		      PERFREC_FLOW_END, perfrec_local_id(round));
	PERFREC_COUNT(&g_left, -1);
	PERFREC_COUNT(&g_load, (double)round / 8);
	if (round % 2)
		PERFREC_STATE(&g_light, "odd", "round", round);
	else
		PERFREC_STATE(&g_light, "even");
	PERFREC_INSTANT("mark", "sum", g_sum);
}

__attribute__((noinline)) static void one_round(long round, const char *name)
{
	void *block = malloc(1000 + (size_t)round);
	uint64_t id = (uint64_t)round * 16 + (uint64_t)name[0];

	PERFREC_ASYNC_BEGIN(&g_jobs, id, "job", "round", round);
	twig(5);
	annotate(round, name);
	burn();
	if (round % 3 == 0)
		hold();
	PERFREC_ASYNC_END(&g_jobs, id, "job", "done", true);
	free(block);
}

static void *work(void *argument)
{
	long rounds = *(long *)argument;
	char name[16];

	snprintf(name, sizeof(name), "%ld worker", rounds);
	perfrec_name_thread(name);
	for (long i = 0; i < rounds; i++)
		one_round(i, name);
	return NULL;
}

static void make_stack(void)
{
	getcontext(&g_inside);
	g_inside.uc_stack.ss_sp = malloc(STACK_BYTES);
	g_inside.uc_stack.ss_size = STACK_BYTES;
	makecontext(&g_inside, coroutine, 0);
}

static void run_child(void)
{
	pid_t child = fork();

	if (child == 0) {
		twig(10);
		_exit(0);
	}
	waitpid(child, NULL, 0);
}

__attribute__((no_instrument_function)) static void wait_for_file(
	const char *name)
{
	const struct timespec time = { .tv_nsec = 1000000 };

	while (access(name, F_OK))
		nanosleep(&time, NULL);
}

__attribute__((noinline)) static void burst(void)
{
	twig(5);
	wait_for_file("go");
	twig(BURST);
	fclose(fopen("done", "w"));
	wait_for_file("end");
	twig(5);
}

int main(int argc, char **argv)
{
	long rounds = argc > 1 ? atol(argv[1]) : 6, more = rounds + 1;
	long *each[WORKERS] = { &rounds, &more };
	pthread_t threads[WORKERS];

	PERFREC_COUNT(&g_left, rounds + more);
	make_stack();
	for (int i = 0; i < WORKERS; i++)
		pthread_create(&threads[i], NULL, work, each[i]);
	for (long i = 0; i < rounds; i++) {
		PERFREC_SCOPE("plan", "round", i, PERFREC_FLOW,
			      perfrec_local_id(i));
		switch_stacks();
		twig(3);
	}
	for (int i = 0; i < WORKERS; i++)
		pthread_join(threads[i], NULL);
	run_child();
	if (argc > 2)
		burst();
	return 0;
}
