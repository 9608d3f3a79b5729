/* SPDX-License-Identifier: Apache-2.0
 *
 * annotate_victim - uses perfrec.h in one way per case (argv[1]). test_annotate
 * compares the ring byte by byte.
 */
#include "preload/perfrec.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

PERFREC_COUNTER(g_ints, "ints", PERFREC_BYTES, PERFREC_INCREMENTAL);
PERFREC_COUNTER_TIMES(g_doubles, "doubles", "widgets",
		      PERFREC_DOUBLE | PERFREC_PER_THREAD, 10);
PERFREC_TRACK_WITH(g_parent, "parent", NULL, PERFREC_BY_RANK, 0, "all of it");
PERFREC_TRACK_WITH(g_child, "child", &g_parent, PERFREC_NO_MERGE, -3, "");
PERFREC_STATE_TRACK(g_light, "light", &g_parent, 0);

static struct perfrec_track g_cycle_b;
static struct perfrec_track g_cycle_a =
	PERFREC_TRACK_INIT_("a", &g_cycle_b, 0, 0, 0, "");
static struct perfrec_track g_cycle_b =
	PERFREC_TRACK_INIT_("b", &g_cycle_a, 0, 0, 0, NULL);

/* Equal sites, as in a header that two files include. */
#define TWINS(a, b)                                \
	PERFREC_COUNTER(a, "twin", PERFREC_NS, 0); \
	PERFREC_COUNTER(b, "twin", PERFREC_NS, 0)
TWINS(g_twin_1, g_twin_2);

static void in_both(void)
{
	PERFREC_INSTANT("in both");
}

static void equals(void)
{
	pid_t pid;

	PERFREC_COUNT(&g_twin_1, 1);
	PERFREC_COUNT(&g_twin_2, 2);
	pid = fork();
	in_both();
	if (!pid)
		_exit(0);
	waitpid(pid, NULL, 0);
	PERFREC_INSTANT("last");
}

static void spans(void)
{
	perfrec_span none = { 0 }, open;

	PERFREC_SCOPE("scope");
	open = PERFREC_BEGIN("begun");
	perfrec_end(open);
	perfrec_end(none);
	PERFREC_INSTANT("instant");
}

static void scalars(void)
{
	PERFREC_SCOPE("scalars", "bool", (_Bool)1, "int", INT64_MIN, "uint",
		      UINT64_MAX, "double", -0.0, "pointer", (void *)0x1234);
	PERFREC_INSTANT("one", "small", (short)-1);
}

static char g_text[5001];

static void texts(void)
{
	memset(g_text, 'x', sizeof(g_text) - 1);
	PERFREC_INSTANT("texts", "empty", "", "null", (const char *)NULL, "15",
			"123456789012345", "16", "1234567890123456", "17",
			"12345678901234567", "nul", perfrec_bytes("a\0b", 3),
			"no bytes", perfrec_bytes(NULL, 7), "last", 7);
	PERFREC_INSTANT("long", "cut", g_text);
}

static void extras(void)
{
	const struct perfrec_pair pairs[] = { { "key", PERFREC_VALUE(1) },
					      { NULL, PERFREC_VALUE("v") } };
	perfrec_span span =
		PERFREC_BEGIN("static", PERFREC_NAME, "dynamic", PERFREC_FLOW,
			      5, PERFREC_FLOW_END, 6, PERFREC_CORRELATION, 7,
			      PERFREC_PAIRS, perfrec_pairs(pairs, 2), "own", 2);

	PERFREC_END(span, "result", -1);
	PERFREC_INSTANT("at", PERFREC_AT, -1);
}

static void counters(void)
{
	PERFREC_COUNT(&g_ints, 1);
	PERFREC_COUNT(&g_ints, UINT64_MAX);
	PERFREC_COUNT(&g_ints, 1e300);
	PERFREC_COUNT(&g_ints, -1e300);
	PERFREC_COUNT(&g_ints, __builtin_nan(""));
	PERFREC_COUNT(&g_doubles, 2);
	PERFREC_COUNT_AT(&g_doubles, 0.5, -9);
}

static void tracks(void)
{
	uint64_t handle = PERFREC_ASYNC_BEGIN(&g_child, 0, "job", "n", 1);
	uint64_t made = PERFREC_TRACK_NEW(&g_parent, "made", 0, 9, "run time");

	PERFREC_ASYNC_ENTER(&g_child, handle, "work", "n", 2);
	{
		PERFREC_ASYNC_SCOPE(&g_child, handle, "inside");
	}
	PERFREC_ASYNC_LEAVE(&g_child, handle, "work", PERFREC_NAME, "w");
	PERFREC_ASYNC_ENTER(&g_child, 0, "nothing");
	PERFREC_ASYNC_LEAVE(&g_child, 0, "nothing");
	PERFREC_ASYNC_INSTANT(made, "step");
	PERFREC_ASYNC_END(&g_child, handle, "job");
	PERFREC_ASYNC_END(&g_child, 0, "nothing");
	PERFREC_STATE(&g_light, "red");
	PERFREC_STATE_END(&g_light);
	PERFREC_ASYNC_INSTANT(&g_cycle_a, "in a cycle");
}

static void bad_input(void)
{
	static struct perfrec_pair pairs[1000];
	perfrec_span span = PERFREC_BEGIN(NULL);
	size_t i;

	perfrec_end(span);
	perfrec_end(span); /* without a begin */
	for (i = 0; i < 1000; i++)
		pairs[i] = (struct perfrec_pair){ "k", PERFREC_VALUE(i) };
	PERFREC_INSTANT("thousand", PERFREC_PAIRS, perfrec_pairs(pairs, 1000));
	PERFREC_INSTANT("none", PERFREC_PAIRS, perfrec_pairs(NULL, 5));
	perfrec_name_thread(NULL);
}

static void paused(void)
{
	uint64_t handle = PERFREC_ASYNC_BEGIN(&g_child, 4, "over the pause");
	perfrec_span span = PERFREC_BEGIN("over the pause");

	PERFREC_ASYNC_ENTER(&g_child, handle, "over the pause");
	if (!perfrec_is_recording())
		exit(1);
	perfrec_pause();
	if (perfrec_is_recording())
		exit(2);
	{
		PERFREC_SCOPE("left out");
		PERFREC_INSTANT("left out");
		PERFREC_ASYNC_ENTER(&g_child, handle, "left out");
	}
	PERFREC_ASYNC_LEAVE(&g_child, handle, "over the pause");
	PERFREC_ASYNC_END(&g_child, handle, "over the pause");
	perfrec_end(span);
	perfrec_resume();
	PERFREC_SCOPE("after");
}

/* The test pauses as a collector while this is stopped, and resumes. */
static void paused_by_two(void)
{
	perfrec_pause();
	raise(SIGSTOP);
	perfrec_resume();
	if (perfrec_is_recording())
		exit(1);
	{
		PERFREC_SCOPE("left out");
	}
	raise(SIGSTOP);
	if (!perfrec_is_recording())
		exit(2);
	PERFREC_INSTANT("after both");
	perfrec_pause();
	if (!fork()) {
		PERFREC_INSTANT("left out of the child");
		perfrec_resume();
		PERFREC_INSTANT("child");
		_exit(0);
	}
	wait(NULL);
	if (perfrec_is_recording())
		exit(3);
}

static void work_on(uint64_t handle, int times)
{
	while (times--) {
		PERFREC_SCOPE("span");
		PERFREC_INSTANT("instant");
		PERFREC_ASYNC_SCOPE(&g_child, handle, "scope");
		PERFREC_ASYNC_BEGIN(&g_child, 5, "left out");
	}
}

/* A pause switches off only sites that were called before. */
static void paused_sites(void)
{
	uint64_t handle = PERFREC_ASYNC_BEGIN(&g_child, 4, "over the pauses");

	work_on(handle, 1);
	perfrec_pause();
	work_on(handle, 100);
	perfrec_resume();
	work_on(handle, 1);
	perfrec_pause();
	work_on(handle, 100);
	for (int i = 0; i < 2; i++)
		PERFREC_ASYNC_END(&g_child, handle, "over the pauses");
	perfrec_resume();
}

static void paused_by_collector(void)
{
	work_on(4, 1);
	raise(SIGSTOP);
	work_on(4, 100);
	raise(SIGSTOP);
	work_on(4, 1);
}

__attribute__((weak)) void __cyg_profile_func_enter(void *function, void *site);
__attribute__((weak)) void __cyg_profile_func_exit(void *function, void *site);

/* Its annotation ends with the function. */
static void paused_unended(void)
{
	void *function = (void *)(uintptr_t)paused_unended;

	perfrec_pause();
	__cyg_profile_func_enter(function, NULL);
	(void)PERFREC_BEGIN("left out, and never ended");
	__cyg_profile_func_exit(function, NULL);
	perfrec_resume();
	PERFREC_SCOPE("after");
}

/* The END comes in a callee that is itself omitted. */
static void finish(perfrec_span outer)
{
	PERFREC_SCOPE("callee");
	perfrec_end(outer);
}

static void paused_callee(void)
{
	perfrec_pause();
	{
		PERFREC_SCOPE("left out");
		finish(PERFREC_BEGIN("ended in a callee"));
	}
	perfrec_resume();
	PERFREC_SCOPE("after");
}

/* From here on any system call except the last one kills. */
static void no_syscalls(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog program = { sizeof(filter) / sizeof(filter[0]),
				      filter };

	memset(g_text, 'x', sizeof(g_text) - 1);
	PERFREC_INSTANT("before");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0))
		exit(1);
	PERFREC_INSTANT("one", "n", 1);
	PERFREC_INSTANT("short", "text", "16 bytes or less");
	PERFREC_INSTANT("long", "text", g_text);
	(void)PERFREC_TRACK_NEW(0, "made", 0, 0, NULL);
	if (perfrec_flush())
		_exit(2);
	_exit(0);
}

/* 64 sites that 6 threads reach at once. */
#define SITES_4(n)               \
	PERFREC_INSTANT(n "/0"); \
	PERFREC_INSTANT(n "/1"); \
	PERFREC_INSTANT(n "/2"); \
	PERFREC_INSTANT(n "/3")
#define SITES_16(n)      \
	SITES_4(n "/0"); \
	SITES_4(n "/1"); \
	SITES_4(n "/2"); \
	SITES_4(n "/3")

static pthread_barrier_t g_start;

static void *crowd_member(void *unused)
{
	pthread_barrier_wait(&g_start);
	SITES_16("a");
	SITES_16("b");
	SITES_16("c");
	SITES_16("d");
	return unused;
}

static void crowd(void)
{
	pthread_t thread[6];
	int i;

	pthread_barrier_init(&g_start, NULL, 6);
	for (i = 0; i < 6; i++)
		if (pthread_create(&thread[i], NULL, crowd_member, NULL))
			exit(1);
	for (i = 0; i < 6; i++)
		pthread_join(thread[i], NULL);
}

static volatile sig_atomic_t g_signals;

static void on_signal(int signal)
{
	PERFREC_SCOPE("in the handler", "signal", signal);
	g_signals++;
}

static void handler(void)
{
	int i;

	signal(SIGUSR1, on_signal);
	for (i = 0; i < 100; i++) {
		PERFREC_SCOPE("interrupted", "text", "of some length");
		raise(SIGUSR1);
	}
}

static void forks(void)
{
	perfrec_span span = PERFREC_BEGIN("across fork");
	pid_t pid = fork();

	if (!pid) {
		PERFREC_INSTANT("child");
		perfrec_end(span);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	perfrec_end(span);
	pid = vfork();
	if (!pid) {
		PERFREC_INSTANT("vfork child");
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

static __thread int t_used;
static pthread_key_t g_key;

static void at_thread_end(void *unused)
{
	(void)unused;
	PERFREC_INSTANT("destructor", "used", t_used);
}

static void *thread_main(void *unused)
{
	pthread_setspecific(g_key, &g_key);
	t_used = 1;
	return unused;
}

static void at_exit(void)
{
	PERFREC_INSTANT("at exit");
}

__attribute__((constructor)) static void before_main(void)
{
	if (getenv("EARLY"))
		PERFREC_INSTANT("before main");
}

static void lives(void)
{
	pthread_t thread;

	atexit(at_exit);
	pthread_key_create(&g_key, at_thread_end);
	if (pthread_create(&thread, NULL, thread_main, NULL))
		exit(1);
	pthread_join(thread, NULL);
}

static int dies(void)
{
	abort();
}

static void categories(void)
{
	int i;

	for (i = 0; i < 2; i++) {
		PERFREC_INSTANT_IN("net", "net");
		if (getenv("OFF"))
			PERFREC_INSTANT_IN("net.debug", "net.debug", "dies",
					   dies());
		else
			PERFREC_INSTANT_IN("net.debug", "net.debug", "lives",
					   0);
		PERFREC_INSTANT_IN("db", "db");
		PERFREC_INSTANT_IN("", "none");
		PERFREC_INSTANT_IN("debug.net", "debug.net");
		/* The test changes the list here. */
		if (!i && getenv("CHANGES"))
			raise(SIGSTOP);
	}
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} cases[] = {
		{ "spans", spans },
		{ "scalars", scalars },
		{ "texts", texts },
		{ "extras", extras },
		{ "counters", counters },
		{ "tracks", tracks },
		{ "bad_input", bad_input },
		{ "paused", paused },
		{ "paused_sites", paused_sites },
		{ "paused_by_collector", paused_by_collector },
		{ "handler", handler },
		{ "forks", forks },
		{ "equals", equals },
		{ "crowd", crowd },
		{ "paused_callee", paused_callee },
		{ "no_syscalls", no_syscalls },
		{ "paused_unended", paused_unended },
		{ "paused_by_two", paused_by_two },
		{ "lives", lives },
		{ "categories", categories },
	};
	size_t i;

	errno = ENOTTY;
	for (i = 0; argc > 1 && i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (strcmp(argv[1], cases[i].name) != 0)
			continue;
		cases[i].run();
		return 0;
	}
	return 2;
}
