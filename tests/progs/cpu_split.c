/* SPDX-License-Identifier: Apache-2.0
 *
 * cpu_split SECONDS - spends that much CPU time: 15 % in three_tenths(), 35 %
 * in seven_tenths(), and half of it in the kernel, for in_kernel(); in turns
 * that are long beside the time between two samples. A thread called "idle"
 * sleeps all the time. Prints what the kernel says it all took, in ns.
 *
 * Time is CPU time of the thread, so that other load changes nothing.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define TURNS 11
#define WORK_STEPS 200000
#define READ_BYTES (1 << 20)

static volatile unsigned long sum;
static char buffer[READ_BYTES];

static double cpu_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

__attribute__((noinline)) static void three_tenths(double until)
{
	while (cpu_seconds() < until)
		for (int i = 0; i < WORK_STEPS; i++)
			sum += (unsigned long)i;
}

__attribute__((noinline)) static void seven_tenths(double until)
{
	while (cpu_seconds() < until)
		for (int i = 0; i < WORK_STEPS; i++)
			sum += (unsigned long)i;
}

__attribute__((noinline)) static void in_kernel(int zero, double until)
{
	while (cpu_seconds() < until)
		if (read(zero, buffer, sizeof(buffer)) < 0)
			abort();
}

static void *idle(void *unused)
{
	(void)unused;
	for (;;)
		pause();
	return NULL;
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 1;
	double turn = seconds / TURNS, at = cpu_seconds();
	int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC), i;
	struct rusage usage;
	pthread_t thread;

	if (zero < 0 || pthread_create(&thread, NULL, idle, NULL))
		return 1;
	pthread_setname_np(thread, "idle");
	for (i = 0; i < TURNS; i++) {
		three_tenths(at += 0.15 * turn);
		seven_tenths(at += 0.35 * turn);
		in_kernel(zero, at += 0.5 * turn);
	}
	getrusage(RUSAGE_SELF, &usage);
	printf("%ld\n",
	       1000000000L * (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
		       1000L * (usage.ru_utime.tv_usec +
				usage.ru_stime.tv_usec));
	return 0;
}
