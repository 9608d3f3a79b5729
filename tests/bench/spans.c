/* SPDX-License-Identifier: Apache-2.0
 *
 * spans - the programs that the benchmark runs under every tool. Built twice:
 * with -finstrument-functions, and without, as the base of all costs. Only the
 * functions that make the spans are instrumented.
 *
 * usage: spans first|tight|burst|fib SPANS [THREADS]
 *
 * tight calls an empty function in a loop; burst does the same, with untimed
 * pauses for a collector to empty the ring; fib computes fib(30) repeatedly to
 * make SPANS. Each thread first makes the spans that fill a ring, untimed, so
 * that all memory has been touched, and then SPANS spans. first is tight
 * without that.
 *
 * Appends one line to $BENCH_OUT:
 *
 *	spans  CPU ns of the threads  wall ns  CPU ns of the process  all spans
 *
 * where all spans include the untimed ones.
 *
 * With $BENCH_STOP=PID, process PID gets SIGSTOP once recording has started and
 * before the time is measured. The time begins when all its threads stand still.
 */
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/bench/clock.h"
#include "shared/compiler.h"

#define THREADS_MAX 64
#define WARM_UP_SPANS 150000 /* a ring of 4 MiB holds 131,072 */
#define BURST_SPANS 20000 /* less than a quarter of a ring */
#define BURST_PAUSE_NS 2000000
#define FIB_OF 30

struct worker {
	pthread_t thread;
	uint64_t spans; /* to make, then: made */
	uint64_t cpu_ns;
	uint64_t wall_ns; /* of the calls alone */
};

typedef void make_spans(struct worker *worker);

static make_spans *g_make;
static uint64_t g_warm_up;
static pthread_barrier_t g_start;

__attribute__((noipa)) static void span_leaf(void)
{
	__asm__ volatile("");
}

__attribute__((noipa)) static uint64_t span_fib(uint64_t n)
{
	return n < 2 ? n : span_fib(n - 1) + span_fib(n - 2);
}

ATTR_NOTRACE static void call_leaf(uint64_t spans)
{
	while (spans--)
		span_leaf();
}

ATTR_NOTRACE static void timed(struct worker *worker, void (*call)(uint64_t),
			       uint64_t argument)
{
	uint64_t wall = clock_ns(CLOCK_MONOTONIC);
	uint64_t cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID);

	call(argument);
	worker->cpu_ns += clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu;
	worker->wall_ns += clock_ns(CLOCK_MONOTONIC) - wall;
}

ATTR_NOTRACE static void make_tight(struct worker *worker)
{
	timed(worker, call_leaf, worker->spans);
}

ATTR_NOTRACE static void make_burst(struct worker *worker)
{
	const struct timespec pause = { .tv_nsec = BURST_PAUSE_NS };
	uint64_t left = worker->spans, now;

	for (; left; left -= now) {
		now = MIN(left, (uint64_t)BURST_SPANS);
		timed(worker, call_leaf, now);
		nanosleep(&pause, NULL);
	}
}

ATTR_NOTRACE static void call_fib(uint64_t times)
{
	volatile uint64_t n = FIB_OF;

	while (times--)
		(void)span_fib(n);
}

ATTR_NOTRACE static void make_fib(struct worker *worker)
{
	/* span_fib(n) makes 2 * fib(n + 1) - 1 calls */
	const uint64_t calls = 2 * 1346269 - 1;
	uint64_t times = (worker->spans + calls - 1) / calls;

	worker->spans = times * calls;
	timed(worker, call_fib, times);
}

/* Instrumented: a thread that has recorded something even when all of the
 * functions above are excluded. */
static void *worker_main(void *argument)
{
	struct worker *worker = argument;

	call_leaf(g_warm_up);
	pthread_barrier_wait(&g_start);
	pthread_barrier_wait(&g_start);
	g_make(worker);
	return NULL;
}

/* A thread that has ended counts as stopped. */
ATTR_NOTRACE static bool is_stopped(const char *stat_path)
{
	FILE *file = fopen(stat_path, "r");
	char line[512] = "";
	const char *name_end;

	if (!file)
		return true;
	if (!fgets(line, sizeof(line), file))
		line[0] = '\0';
	fclose(file);
	name_end = strrchr(line, ')');
	return !name_end || name_end[1] == '\0' || name_end[2] == 'T';
}

ATTR_NOTRACE static bool all_are_stopped(int pid)
{
	char path[320];
	struct dirent *entry;
	bool stopped = true;
	DIR *tasks;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	tasks = opendir(path);
	while (tasks && stopped && (entry = readdir(tasks))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "/proc/%d/task/%s/stat", pid,
			 entry->d_name);
		stopped = is_stopped(path);
	}
	if (tasks)
		closedir(tasks);
	return stopped;
}

/* One thread of the collector takes the signal, and stops the others. On a busy
 * machine it gets a CPU late, and the others read rings until then. */
ATTR_NOTRACE static void stop_collector(void)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	const char *pid = getenv("BENCH_STOP");

	if (!pid)
		return;
	kill((pid_t)atoi(pid), SIGSTOP);
	for (int i = 0; i < 60000 && !all_are_stopped(atoi(pid)); i++)
		nanosleep(&pause, NULL);
}

/* One thread: its own time, pauses left out. More: until the last is done. */
ATTR_NOTRACE static int report(const struct worker *workers, int threads,
			       uint64_t wall_ns)
{
	const char *path = getenv("BENCH_OUT");
	FILE *out = path ? fopen(path, "a") : stdout;
	uint64_t spans = 0, cpu_ns = 0;
	int i;

	if (!out) {
		perror(path);
		return 1;
	}
	for (i = 0; i < threads; i++) {
		spans += workers[i].spans;
		cpu_ns += workers[i].cpu_ns;
	}
	if (threads == 1)
		wall_ns = workers[0].wall_ns;
	fprintf(out, "%llu %llu %llu %llu %llu\n", (unsigned long long)spans,
		(unsigned long long)cpu_ns, (unsigned long long)wall_ns,
		(unsigned long long)clock_ns(CLOCK_PROCESS_CPUTIME_ID),
		(unsigned long long)(spans + (uint64_t)threads * g_warm_up));
	return fclose(out) ? 1 : 0;
}

ATTR_NOTRACE static int run(uint64_t spans, int threads)
{
	struct worker workers[THREADS_MAX] = { 0 };
	uint64_t start;
	int i;

	pthread_barrier_init(&g_start, NULL, (unsigned int)threads + 1);
	for (i = 0; i < threads; i++) {
		workers[i].spans = spans;
		if (pthread_create(&workers[i].thread, NULL, worker_main,
				   &workers[i]))
			return 1;
	}
	pthread_barrier_wait(&g_start); /* all have recorded something */
	stop_collector();
	start = clock_ns(CLOCK_MONOTONIC);
	pthread_barrier_wait(&g_start);
	for (i = 0; i < threads; i++)
		pthread_join(workers[i].thread, NULL);
	return report(workers, threads, clock_ns(CLOCK_MONOTONIC) - start);
}

ATTR_NOTRACE int main(int argc, char **argv)
{
	const struct {
		const char *name;
		make_spans *make;
		uint64_t warm_up;
	} programs[] = {
		{ "first", make_tight, 0 },
		{ "tight", make_tight, WARM_UP_SPANS },
		{ "burst", make_burst, WARM_UP_SPANS },
		{ "fib", make_fib, WARM_UP_SPANS },
	};
	int threads = argc > 3 ? atoi(argv[3]) : 1;
	size_t i;

	for (i = 0; argc > 2 && i < ARRAY_SIZE(programs); i++) {
		if (strcmp(argv[1], programs[i].name) != 0)
			continue;
		g_make = programs[i].make;
		g_warm_up = programs[i].warm_up;
	}
	if (!g_make || threads < 1 || threads > THREADS_MAX) {
		fputs("usage: spans first|tight|burst|fib SPANS [THREADS]\n",
		      stderr);
		return 2;
	}
	return run(strtoull(argv[2], NULL, 10), threads);
}
