/* SPDX-License-Identifier: Apache-2.0
 *
 * requests - works on requests in two threads and in a forked child, in C and
 * in C++. Its arguments are ns of CPU time for each, and how many more requests
 * to begin.
 */
#include <perfrec.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TRACE "4bf92f3577b34da6a3ce929d0e0e4736"
#define SPAN "00f067aa0ba902b7"

static long g_ns;
static __thread void *volatile g_block;

/* Waits for the collector, however busy the machine is. */
static void flush(void)
{
	while (perfrec_is_recording() && !perfrec_flush())
		;
}

static long cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (long)now.tv_sec * 1000000000 + (long)now.tv_nsec;
}

/* Works, and allocates a little each time. */
static void work(void)
{
	long end = cpu_ns() + g_ns;

	while (cpu_ns() < end) {
		g_block = malloc(4096);
		free(g_block);
	}
}

__attribute__((noinline)) static void in_request(void)
{
	work();
}

__attribute__((noinline)) static void in_thread(void)
{
	work();
}

__attribute__((noinline)) static void in_none(void)
{
	work();
}

__attribute__((noinline)) static void in_child(void)
{
	work();
}

__attribute__((noinline)) static void sliced(void)
{
	PERFREC_INSTANT("nested");
}

/* A slice of a request that the thread has not set before. */
static void run_slice(const char *text)
{
	PERFREC_SCOPE("handle", "bytes", 7, "traceparent", text);
	sliced();
}

/* Allocates enough in each of @count requests to be sampled in nearly all. */
static void many_requests(int count)
{
	for (int i = 1; i <= count; i++) {
		const uint8_t trace[16] = { (uint8_t)i, (uint8_t)(i >> 8), 1 };

		perfrec_set_trace_id(trace, NULL);
		g_block = malloc((size_t)8 << 20);
		free(g_block);
	}
}

static void *run_thread(void *unused)
{
	perfrec_set_traceparent("00-" TRACE "-" SPAN "-01");
	flush();
	in_thread();
	return unused;
}

/* None of these is a header. */
static void set_wrong(void)
{
	static const char *const texts[] = {
		"",
		"00",
		"00-" TRACE "-" SPAN,
		"00-" TRACE "-" SPAN "-01-",
		"ff-" TRACE "-" SPAN "-01",
		"00-00000000000000000000000000000000-" SPAN "-01",
		"00-" TRACE "-0000000000000000-01",
		"00-4BF92F3577B34DA6A3CE929D0E0E4736-" SPAN "-01",
		"00-" TRACE "-" SPAN "-01, 00-" TRACE "-" SPAN "-01, and more",
	};

	for (unsigned int i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		perfrec_set_traceparent(texts[i]);
}

int main(int argc, char **argv)
{
	const uint8_t trace[16] = { 1, 2,  3,  4,  5,  6,  7,  8,
				    9, 10, 11, 12, 13, 14, 15, 16 };
	const uint8_t span[8] = {
		0xa1, 0xa2, 0xa3, 0xa4, 0xa5, 0xa6, 0xa7, 0xa8
	};
	const uint8_t zero[16] = { 0 };
	pthread_t thread;
	pid_t child;

	g_ns = argc > 1 ? atol(argv[1]) : 0;
	perfrec_set_trace_id(trace, span);
	perfrec_set_trace_id(trace, span);
	flush();
	pthread_create(&thread, NULL, run_thread, NULL);
	in_request();
	pthread_join(thread, NULL);
	child = fork();
	if (child == 0) {
		in_child();
		_exit(0);
	}
	waitpid(child, NULL, 0);
	perfrec_set_trace_id(NULL, NULL);
	flush();
	in_none();
	run_slice("00-" TRACE "-" SPAN "-01");
	perfrec_set_trace_id(trace, NULL);
	set_wrong();
	many_requests(argc > 2 ? atoi(argv[2]) : 0);
	perfrec_set_trace_id(zero, span);
	perfrec_set_traceparent(NULL);
	puts(perfrec_is_recording() ? "recording" : "not recording");
	return 0;
}
