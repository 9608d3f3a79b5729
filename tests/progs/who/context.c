/* SPDX-License-Identifier: Apache-2.0
 *
 * context - works on requests that its threads say in a record of OTEP 4947, in
 * two threads and a forked child. Its arguments are ns of CPU time for each,
 * and the library that has the record; without it the program itself has it, or
 * a library that it is linked with, or nothing has.
 */
#include <dlfcn.h>
#include <perfrec.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

/* Weak: a program without a record has neither. */
extern void context_set(const uint8_t *trace, const uint8_t *span, int valid)
	__attribute__((weak));
extern void context_detach(void) __attribute__((weak));

typedef void set_function(const uint8_t *trace, const uint8_t *span, int valid);

static set_function *g_set;
static void (*g_detach)(void);
static long g_ns;
static __thread void *volatile g_block;
static pthread_barrier_t g_loaded;

static const uint8_t g_zero[16];
static const uint8_t g_a[16] = { 0xaa, 1 }, g_b[16] = { 0xbb, 2 },
		     g_c[16] = { 0xcc, 3 };
static const uint8_t g_span[8] = { 0xa1, 0xa2 };

static void set(const uint8_t *trace, int valid)
{
	if (g_set)
		g_set(trace, g_span, valid);
}

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
static void work(const char *name)
{
	long end = cpu_ns() + g_ns;

	PERFREC_INSTANT("at", PERFREC_NAME, name);
	while (cpu_ns() < end) {
		g_block = malloc(4096);
		free(g_block);
	}
}

static NOINLINE void in_record(void)
{
	work("record");
}

static NOINLINE void in_invalid(void)
{
	work("invalid");
}

static NOINLINE void in_zero(void)
{
	work("zero");
}

static NOINLINE void in_both(void)
{
	work("both");
}

static NOINLINE void in_record_again(void)
{
	work("record again");
}

static NOINLINE void in_slice(void)
{
	PERFREC_SCOPE(
		"slice", "traceparent",
		"00-dd000000000000000000000000000000-d100000000000000-01");
	work("in slice");
}

static NOINLINE void in_detached(void)
{
	work("detached");
}

static NOINLINE void in_thread(void)
{
	work("thread");
}

static NOINLINE void in_child(void)
{
	work("child");
}

static NOINLINE void in_closed(void)
{
	work("closed");
}

/* The thread is older than a library that is opened. */
static void *run_thread(void *unused)
{
	pthread_barrier_wait(&g_loaded);
	pthread_barrier_wait(&g_loaded);
	set(g_c, 1);
	in_thread();
	return unused;
}

static void *open_library(const char *path)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);

	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	*(void **)&g_set = dlsym(library, "context_set");
	*(void **)&g_detach = dlsym(library, "context_detach");
	return library;
}

int main(int argc, char **argv)
{
	void *library = NULL;
	pthread_t thread;
	pid_t child;

	g_ns = argc > 1 ? atol(argv[1]) : 0;
	pthread_barrier_init(&g_loaded, NULL, 2);
	pthread_create(&thread, NULL, run_thread, NULL);
	pthread_barrier_wait(&g_loaded);
	g_set = context_set;
	g_detach = context_detach;
	if (argc > 2)
		library = open_library(argv[2]);
	pthread_barrier_wait(&g_loaded);
	set(g_a, 1);
	in_record();
	child = fork();
	if (child == 0) {
		in_child();
		_exit(0);
	}
	waitpid(child, NULL, 0);
	set(g_a, 0);
	in_invalid();
	set(g_zero, 1);
	in_zero();
	set(g_a, 1);
	perfrec_set_trace_id(g_b, NULL);
	flush();
	in_both();
	perfrec_set_trace_id(NULL, NULL);
	flush();
	in_record_again();
	in_slice();
	if (g_detach)
		g_detach();
	in_detached();
	pthread_join(thread, NULL);
	if (library) {
		set(g_a, 1);
		dlclose(library);
		g_set = NULL;
		in_closed();
	}
	return 0;
}
