/* SPDX-License-Identifier: Apache-2.0
 *
 * truth - measures a program's own time, without perfrec: it reads clocks and
 * /proc/thread-self/schedstat around calls, and at the start and the end of
 * each thread. truth_print() prints the figures as lines of JSON, which
 * tests/tools/waits_check.py compares with summary.json.
 *
 * schedstat's second number, the time that a thread waited for a CPU, is exact
 * whenever the thread reads its own. The run time comes from the CPU clock,
 * because schedstat's first number is only as new as the last tick.
 *
 * Nothing here has hooks. One file includes this.
 */
#ifndef PERFREC_TESTS_PROGS_WAITS_TRUTH_H
#define PERFREC_TESTS_PROGS_WAITS_TRUTH_H

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define TRUTH __attribute__((no_instrument_function, unused)) static
#define TRUTH_THREADS_MAX 1200
#define TRUTH_FUNCTIONS_MAX 6

struct truth_now {
	long wall_ns; /* CLOCK_BOOTTIME, which recordings have, too */
	long cpu_ns;
	long process_ns; /* CPU time of all threads that there were */
	long delay_ns;
	long voluntary, involuntary; /* switches */
	long user_us, system_us;
	long minor, major; /* page faults */
};

struct truth_function {
	const char *name;
	long calls, wall_ns, cpu_ns, delay_ns, switches;
	/* The part of these that may lie after the return of the function. */
	long after_ns, after_switches;
};

struct truth_thread {
	int tid;
	pthread_t thread;
	void *(*run)(void *);
	void *argument;
	long made_ns; /* before it was made; 0: before it knew of itself */
	struct truth_now begin, end; /* its first look, and its last one */
	long joined_ns; /* 0: nobody saw its end */
	struct truth_function functions[TRUTH_FUNCTIONS_MAX];
};

static struct truth_thread g_truths[TRUTH_THREADS_MAX];
static int g_truths_count;
static __thread struct truth_thread *t_truth;
static __thread int t_schedstat = -1;

TRUTH long truth_clock(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * 1000000000L + now.tv_nsec;
}

/* How long the calling thread has waited for a CPU, in ns. */
TRUTH long truth_delay(void)
{
	char text[128], *at;
	ssize_t length;

	if (t_schedstat < 0)
		t_schedstat = open("/proc/thread-self/schedstat",
				   O_RDONLY | O_CLOEXEC);
	length = pread(t_schedstat, text, sizeof(text) - 1, 0);
	if (length <= 0)
		abort();
	text[length] = '\0';
	strtoul(text, &at, 10);
	return (long)strtoul(at, NULL, 10);
}

TRUTH long truth_us(struct timeval time)
{
	return time.tv_sec * 1000000L + time.tv_usec;
}

TRUTH void truth_usage(struct truth_now *now)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	now->voluntary = usage.ru_nvcsw;
	now->involuntary = usage.ru_nivcsw;
	now->user_us = truth_us(usage.ru_utime);
	now->system_us = truth_us(usage.ru_stime);
	now->minor = usage.ru_minflt;
	now->major = usage.ru_majflt;
}

TRUTH long truth_switches(struct truth_now *now)
{
	return now->voluntary + now->involuntary;
}

/* All at one moment: read again if the thread left the CPU in between. */
TRUTH struct truth_now truth_now(void)
{
	struct truth_now now, before;

	do {
		truth_usage(&before);
		now.delay_ns = truth_delay();
		now.process_ns = truth_clock(CLOCK_PROCESS_CPUTIME_ID);
		now.cpu_ns = truth_clock(CLOCK_THREAD_CPUTIME_ID);
		now.wall_ns = truth_clock(CLOCK_BOOTTIME);
		truth_usage(&now);
	} while (truth_switches(&now) != truth_switches(&before));
	return now;
}

TRUTH struct truth_function *truth_function(const char *name)
{
	struct truth_function *function = t_truth->functions;

	while (function->name && strcmp(function->name, name) != 0)
		function++;
	if (function == t_truth->functions + TRUTH_FUNCTIONS_MAX)
		abort();
	function->name = name;
	return function;
}

/* A call of the function @name in the calling thread, which @begin was read
 * before, has returned. */
TRUTH void truth_call_ended(const char *name, struct truth_now *begin)
{
	struct truth_function *function = truth_function(name);
	struct truth_now first, end;

	truth_usage(&first);
	first.wall_ns = truth_clock(CLOCK_BOOTTIME);
	end = truth_now();
	function->after_switches +=
		truth_switches(&end) - truth_switches(&first);
	function->after_ns += end.wall_ns - first.wall_ns;
	function->calls++;
	function->wall_ns += end.wall_ns - begin->wall_ns;
	function->cpu_ns += end.cpu_ns - begin->cpu_ns;
	function->delay_ns += end.delay_ns - begin->delay_ns;
	function->switches += truth_switches(&end) - truth_switches(begin);
}
#define TRUTH_CALL(function, ...)                      \
	do {                                           \
		struct truth_now begin_ = truth_now(); \
                                                       \
		function(__VA_ARGS__);                 \
		truth_call_ended(#function, &begin_);  \
	} while (0)

/* The calling thread, which is the main thread of its process. @made_ns: of a
 * child, when it was forked, or a little earlier; else 0. */
TRUTH void truth_main(long made_ns)
{
	t_schedstat = -1;
	g_truths_count = 1;
	memset(g_truths, 0, sizeof(g_truths[0]));
	t_truth = &g_truths[0];
	t_truth->tid = getpid();
	t_truth->made_ns = made_ns;
	t_truth->begin = truth_now();
}

TRUTH void *truth_run(void *argument)
{
	struct truth_thread *truth = argument;
	void *result;

	t_truth = truth;
	truth->tid = (int)syscall(SYS_gettid);
	truth->begin = truth_now();
	result = truth->run(truth->argument);
	truth->end = truth_now();
	close(t_schedstat);
	return result;
}

TRUTH struct truth_thread *truth_new(void *(*run)(void *), void *argument)
{
	struct truth_thread *truth = &g_truths[g_truths_count++];

	if (g_truths_count > TRUTH_THREADS_MAX)
		abort();
	memset(truth, 0, sizeof(*truth));
	truth->run = run;
	truth->argument = argument;
	return truth;
}

/* Only the main thread starts and joins others. */
TRUTH struct truth_thread *truth_start(void *(*run)(void *), void *argument)
{
	struct truth_thread *truth = truth_new(run, argument);

	truth->made_ns = truth_clock(CLOCK_BOOTTIME);
	if (pthread_create(&truth->thread, NULL, truth_run, truth))
		abort();
	return truth;
}

TRUTH void truth_join(struct truth_thread *truth)
{
	if (pthread_join(truth->thread, NULL))
		abort();
	truth->joined_ns = truth_clock(CLOCK_BOOTTIME);
}

TRUTH void truth_print_function(struct truth_thread *truth,
				struct truth_function *function)
{
	printf("{\"is\":\"function\",\"pid\":%d,\"tid\":%d,\"name\":\"%s\","
	       "\"calls\":%ld,\"wall_ns\":%ld,\"cpu_ns\":%ld,\"delay_ns\":%ld,"
	       "\"switches\":%ld,\"after_ns\":%ld,\"after_switches\":%ld}\n",
	       getpid(), truth->tid, function->name, function->calls,
	       function->wall_ns, function->cpu_ns, function->delay_ns,
	       function->switches, function->after_ns,
	       function->after_switches);
}

TRUTH void truth_print_now(const char *name, struct truth_now *now)
{
	printf("\"%s\":{\"wall_ns\":%ld,\"cpu_ns\":%ld,\"process_ns\":%ld,"
	       "\"delay_ns\":%ld,"
	       "\"voluntary\":%ld,\"involuntary\":%ld,\"user_us\":%ld,"
	       "\"system_us\":%ld,\"minor\":%ld,\"major\":%ld},",
	       name, now->wall_ns, now->cpu_ns, now->process_ns, now->delay_ns,
	       now->voluntary, now->involuntary, now->user_us, now->system_us,
	       now->minor, now->major);
}

TRUTH void truth_print_thread(struct truth_thread *truth)
{
	printf("{\"is\":\"thread\",\"pid\":%d,\"tid\":%d,", getpid(),
	       truth->tid);
	truth_print_now("begin", &truth->begin);
	truth_print_now("end", &truth->end);
	printf("\"made_ns\":%ld,\"joined_ns\":%ld}\n", truth->made_ns,
	       truth->joined_ns);
	for (int i = 0; i < TRUTH_FUNCTIONS_MAX; i++)
		if (truth->functions[i].name)
			truth_print_function(truth, &truth->functions[i]);
}

/* Call it in the main thread, at its end. Prints no threads that were not
 * joined. */
TRUTH void truth_print(void)
{
	t_truth->end = truth_now();
	for (int i = 0; i < g_truths_count; i++)
		if (i == 0 || g_truths[i].joined_ns)
			truth_print_thread(&g_truths[i]);
	fflush(stdout);
}

/* Binds the calling thread, and threads that it starts, to one of its CPUs: the
 * @index-th, or the last. */
TRUTH void truth_pin(int index)
{
	cpu_set_t all, one;

	if (sched_getaffinity(0, sizeof(all), &all))
		abort();
	CPU_ZERO(&one);
	for (int cpu = 0; cpu < CPU_SETSIZE && index >= 0; cpu++) {
		if (!CPU_ISSET(cpu, &all))
			continue;
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		index--;
	}
	if (sched_setaffinity(0, sizeof(one), &one))
		abort();
}

TRUTH void truth_sleep_us(long us)
{
	struct timespec time = { us / 1000000, us % 1000000 * 1000 };

	nanosleep(&time, NULL);
}

/* Runs for @us of the thread's CPU time. */
TRUTH void truth_spend_us(long us)
{
	static volatile unsigned long work;
	long end = truth_clock(CLOCK_THREAD_CPUTIME_ID) + us * 1000;

	do {
		for (int i = 0; i < 300; i++)
			work += (unsigned long)i;
	} while (truth_clock(CLOCK_THREAD_CPUTIME_ID) < end);
}

#endif
