/* SPDX-License-Identifier: Apache-2.0
 *
 * cpu_victim MODE FILE - spends CPU time in the ways that test_cpu.c expects to
 * see sampled or not, and checks that its own signals and timers work. Exits
 * with 0, or with the line number of a failed check modulo 256. Writes to FILE
 * the address ranges that no sampled stack pointer may be in.
 */
#include <dlfcn.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define SMALL_BYTES (32 << 10)
#define THREADS 200

#define CHECK(condition)                            \
	do {                                        \
		if (!(condition))                   \
			_exit(__LINE__ % 256 ?: 1); \
	} while (0)

static volatile unsigned long sum;
static const char *g_file;
static volatile sig_atomic_t g_signals;

static double cpu_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void burn(double seconds)
{
	double until = cpu_seconds() + seconds;

	while (cpu_seconds() < until)
		for (int i = 0; i < 1000; i++)
			sum += (unsigned long)i;
}

static void forbid(const void *from, size_t bytes)
{
	FILE *file = fopen(g_file, "a");

	CHECK(file);
	fprintf(file, "%lx %lx\n", (unsigned long)from,
		(unsigned long)from + bytes);
	fclose(file);
}

/* -1: the kernel does not tell. */
static int count_timers(void)
{
	FILE *file = fopen("/proc/self/timers", "r");
	char line[256];
	int count = 0;

	if (!file)
		return -1;
	while (fgets(line, sizeof(line), file))
		count += !strncmp(line, "ID:", 3);
	fclose(file);
	return count;
}

static void expect_timers(int count)
{
	int timers = count_timers();

	CHECK(timers < 0 || timers == count);
}

static void *burn_thread(void *seconds)
{
	burn(*(double *)seconds);
	return seconds;
}

/* --- modes --------------------------------------------------------------- */

static void many_threads(void)
{
	double seconds = 0.005;
	void *result;

	for (int i = 0; i < THREADS; i++) {
		pthread_t thread;

		CHECK(!pthread_create(&thread, NULL, burn_thread, &seconds));
		CHECK(!pthread_join(thread, &result) && result == &seconds);
	}
	expect_timers(1);
}

static int burn_c11(void *seconds)
{
	burn(*(double *)seconds);
	return -7;
}

/* Such threads return an int. */
static void c11_threads(void)
{
	double seconds = 0.005;
	int result;

	for (int i = 0; i < THREADS; i++) {
		thrd_t thread;

		CHECK(thrd_create(&thread, burn_c11, &seconds) == thrd_success);
		CHECK(thrd_join(thread, &result) == thrd_success &&
		      result == -7);
	}
	expect_timers(1);
}

static void *leave(void *seconds)
{
	burn(*(double *)seconds);
	pthread_exit(seconds);
}

static void *be_cancelled(void *seconds)
{
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
	for (;;)
		burn(*(double *)seconds);
	return NULL;
}

static void threads_end(void)
{
	double seconds = 0.002;
	void *result;

	for (int i = 0; i < 50; i++) {
		pthread_t thread[2];

		CHECK(!pthread_create(&thread[0], NULL, leave, &seconds));
		CHECK(!pthread_create(&thread[1], NULL, be_cancelled,
				      &seconds));
		CHECK(!pthread_join(thread[0], &result) && result == &seconds);
		CHECK(!pthread_cancel(thread[1]));
		CHECK(!pthread_join(thread[1], &result) &&
		      result == PTHREAD_CANCELED);
	}
	expect_timers(1);
}

static void count_signal(int signal)
{
	(void)signal;
	g_signals++;
}

static void take_over(void)
{
	struct sigaction action = { .sa_handler = count_signal }, old;
	double seconds = 0.05;
	pthread_t thread;

	CHECK(!sigaction(SIGPROF, NULL, &old));
	CHECK(old.sa_handler == SIG_DFL && !old.sa_flags);
	burn(0.05);
	CHECK(!pthread_create(&thread, NULL, burn_thread, &seconds));
	CHECK(!sigaction(SIGPROF, &action, &old));
	CHECK(old.sa_handler == SIG_DFL);
	burn(0.1);
	CHECK(!pthread_join(thread, NULL));
	CHECK(g_signals == 0);
	expect_timers(0);
	raise(SIGPROF);
	CHECK(g_signals == 1);
	CHECK(!pthread_create(&thread, NULL, burn_thread, &seconds));
	CHECK(!pthread_join(thread, NULL));
	expect_timers(0);
	CHECK(!sigaction(SIGPROF, NULL, &old) &&
	      old.sa_handler == count_signal);
}

/* With SIG_DFL a pending signal would kill. */
static void take_default(void)
{
	double seconds = 0.05;
	pthread_t thread[4];

	for (int i = 0; i < 4; i++)
		CHECK(!pthread_create(&thread[i], NULL, burn_thread, &seconds));
	burn(0.02);
	CHECK(signal(SIGPROF, SIG_DFL) == SIG_DFL);
	for (int i = 0; i < 4; i++)
		CHECK(!pthread_join(thread[i], NULL));
	burn(0.05);
	CHECK(signal(SIGPROF, SIG_IGN) == SIG_DFL);
	CHECK(signal(SIGPROF, count_signal) == SIG_IGN);
}

/* deprecated, but available */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
static void ignore(void)
{
	double seconds = 0.05;
	struct sigaction old;
	pthread_t thread;

	CHECK(!pthread_create(&thread, NULL, burn_thread, &seconds));
	CHECK(!sigignore(SIGPROF));
	CHECK(!pthread_join(thread, NULL));
	expect_timers(0);
	CHECK(!sigaction(SIGPROF, NULL, &old) && old.sa_handler == SIG_IGN);
	CHECK(signal(SIGPROF, count_signal) == SIG_IGN);
	burn(0.05);
	CHECK(g_signals == 0);
	CHECK(!sigignore(SIGPROF));
	raise(SIGPROF);
	CHECK(g_signals == 0);
}

static void deny_timers(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_timer_delete, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_timer_settime, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {
		.len = sizeof(filter) / sizeof(*filter),
		.filter = filter,
	};

	/* Bypasses the shim, which would delete its timers first. */
	void *libc = dlopen("libc.so.6", RTLD_NOW);
	long (*raw)(long, ...) = (long (*)(long, ...))dlsym(libc, "syscall");

	CHECK(raw);
	CHECK(!raw(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	CHECK(!raw(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program));
	CHECK(syscall(SYS_timer_delete, -1) == -1 && errno == EPERM);
	CHECK(count_timers());
}

/* On a busy machine the ticks that check timers may miss a thread. */
static void burn_until_signal(void)
{
	for (int i = 0; i < 100 && !g_signals; i++)
		burn(0.05);
	CHECK(g_signals > 0);
}

/* A timer that cannot be deleted keeps firing, for any SIGPROF action. */
static void denied(void)
{
	struct sigaction action = { .sa_handler = count_signal }, old;

	burn(0.02);
	deny_timers();
	CHECK(!sigaction(SIGPROF, &action, &old));
	CHECK(old.sa_handler == SIG_DFL);
	burn_until_signal();
	CHECK(signal(SIGPROF, SIG_DFL) == count_signal);
	burn(0.05);
	CHECK(!sigaction(SIGPROF, NULL, &old) && old.sa_handler == SIG_DFL);
	CHECK(signal(SIGPROF, SIG_IGN) == SIG_DFL);
	burn(0.05);
	memset(&action, 0, sizeof(action));
	action.sa_flags = SA_SIGINFO;
	CHECK(!sigaction(SIGPROF, &action, &old) && old.sa_handler == SIG_IGN);
	burn(0.05);
}

static void small_stack(void)
{
	double seconds = 0.1;
	pthread_attr_t attributes;
	pthread_t thread;
	void *stack = aligned_alloc(4096, SMALL_BYTES);

	forbid(stack, SMALL_BYTES);
	CHECK(!pthread_attr_init(&attributes));
	CHECK(!pthread_attr_setstack(&attributes, stack, SMALL_BYTES));
	CHECK(!pthread_create(&thread, &attributes, burn_thread, &seconds));
	CHECK(!pthread_join(thread, NULL));
	burn(0.05);
}

static ucontext_t g_main, g_fiber;

static void in_fiber(void)
{
	burn(0.05);
	CHECK(!swapcontext(&g_fiber, &g_main));
	burn(0.05);
}

static void fiber(void)
{
	char *stack = malloc(SMALL_BYTES);
	sigset_t mask;

	forbid(stack, SMALL_BYTES);
	CHECK(!getcontext(&g_fiber));
	g_fiber.uc_stack.ss_sp = stack;
	g_fiber.uc_stack.ss_size = SMALL_BYTES;
	g_fiber.uc_link = &g_main;
	makecontext(&g_fiber, in_fiber, 0);
	CHECK(!swapcontext(&g_main, &g_fiber));
	CHECK(!pthread_sigmask(SIG_BLOCK, NULL, &mask));
	CHECK(!sigismember(&mask, SIGPROF));
	burn(0.05);
	CHECK(!swapcontext(&g_main, &g_fiber));
	burn(0.05);
}

static void burn_in_handler(int signal)
{
	(void)signal;
	burn(0.1);
}

static void own_stack(void)
{
	struct sigaction action = { .sa_handler = burn_in_handler,
				    .sa_flags = SA_ONSTACK },
			 old;
	stack_t stack = { .ss_sp = malloc(SMALL_BYTES),
			  .ss_size = SMALL_BYTES };

	forbid(stack.ss_sp, SMALL_BYTES);
	CHECK(!sigaltstack(&stack, NULL));
	CHECK(!sigaction(SIGUSR1, &action, NULL));
	CHECK(!sigaction(SIGUSR1, NULL, &old));
	CHECK(!sigismember(&old.sa_mask, SIGPROF));
	CHECK(old.sa_handler == burn_in_handler);
	raise(SIGUSR1);
	burn(0.05);
	sigaddset(&action.sa_mask, SIGPROF);
	CHECK(!sigaction(SIGUSR1, &action, &old));
	CHECK(!sigismember(&old.sa_mask, SIGPROF));
	CHECK(!sigaction(SIGUSR1, NULL, &old));
	CHECK(sigismember(&old.sa_mask, SIGPROF));
}

static void children(void)
{
	int status;

	for (int i = 0; i < 3; i++) {
		pid_t pid = fork();

		CHECK(pid >= 0);
		if (!pid) {
			burn(0.1);
			expect_timers(1);
			_exit(0);
		}
		CHECK(waitpid(pid, &status, 0) == pid && !status);
	}
	burn(0.05);
}

/* A child's calls between vfork() and exec do not affect the parent. */
static void child_of_vfork(void)
{
	struct sigaction old;
	int status;
	pid_t pid = vfork();

	CHECK(pid >= 0);
	if (!pid) {
		signal(SIGPROF, SIG_IGN); /* NOLINT: the point */
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid && !status);
	CHECK(!sigaction(SIGPROF, NULL, &old) && old.sa_handler == SIG_DFL);
	expect_timers(1);
	burn(0.1);
}

static void just_burn(void)
{
	burn(0.2);
}

static void no_timers(void)
{
	burn(0.1);
	expect_timers(0);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} modes[] = {
		{ "burn", just_burn },	     { "threads", many_threads },
		{ "ends", threads_end },     { "take_over", take_over },
		{ "default", take_default }, { "small", small_stack },
		{ "fiber", fiber },	     { "own_stack", own_stack },
		{ "fork", children },	     { "vfork", child_of_vfork },
		{ "none", no_timers },	     { "denied", denied },
		{ "c11", c11_threads },	     { "ignore", ignore },
	};

	if (argc != 3)
		return 2;
	g_file = argv[2];
	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++)
		if (!strcmp(modes[i].name, argv[1])) {
			modes[i].run();
			return 0;
		}
	return 2;
}
