/* SPDX-License-Identifier: Apache-2.0
 *
 * flips - a program for flips.sh. Its threads call many functions, recurse,
 * throw, jump, fork and load a library under signals at 1 kHz, while the states
 * of all functions change. Calls of functions named exact_ or loose_ are the
 * same in each run, and so is the output.
 *
 * usage: flips THREADS ROUNDS PLUGIN
 */
#include <atomic>
#include <cerrno>
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <pthread.h>
#include <stdexcept>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOINLINE extern "C" __attribute__((noinline))
#define FORKS_EVERY 256
#define LOADS_EVERY 64

/* 100 functions of one kind, 1000 of the other. */
#define TEN(f, n)                                                       \
	f(n##0) f(n##1) f(n##2) f(n##3) f(n##4) f(n##5) f(n##6) f(n##7) \
		f(n##8) f(n##9)
#define HUNDRED(f, n) \
	TEN(f, n##0)  \
	TEN(f, n##1)  \
	TEN(f, n##2)  \
	TEN(f, n##3)  \
	TEN(f, n##4)  \
	TEN(f, n##5)  \
	TEN(f, n##6)  \
	TEN(f, n##7)  \
	TEN(f, n##8)  \
	TEN(f, n##9)
#define THOUSAND(f)   \
	HUNDRED(f, 1) \
	HUNDRED(f, 2) \
	HUNDRED(f, 3) \
	HUNDRED(f, 4) \
	HUNDRED(f, 5) \
	HUNDRED(f, 6) \
	HUNDRED(f, 7) \
	HUNDRED(f, 8) \
	HUNDRED(f, 9) \
	HUNDRED(f, 10)

#define EXACT(n)                           \
	NOINLINE long exact_##n(long x)    \
	{                                  \
		return x * 6364136223 + n; \
	}
#define LOOSE(n)                              \
	NOINLINE long loose_##n(long x)       \
	{                                     \
		return (x ^ x >> 7) * 31 + n; \
	}
HUNDRED(EXACT, 1)
THOUSAND(LOOSE)

#define CALL_EXACT(n) x = exact_##n(x);
#define CALL_LOOSE(n) x = loose_##n(x);
NOINLINE long exact_all(long x)
{
	HUNDRED(CALL_EXACT, 1)
	return x;
}
NOINLINE long loose_all(long x)
{
	THOUSAND(CALL_LOOSE)
	return x;
}

NOINLINE long exact_fib(long n)
{
	return n < 2 ? n : exact_fib(n - 1) + exact_fib(n - 2);
}
NOINLINE long loose_fib(long n)
{
	return n < 2 ? n : loose_fib(n - 1) + loose_fib(n - 2);
}

NOINLINE long exact_throw(long depth)
{
	if (depth == 0)
		throw std::runtime_error("deep");
	return exact_throw(depth - 1) + 1;
}
NOINLINE long loose_throw(long depth)
{
	if (depth == 0)
		throw std::runtime_error("deep");
	return loose_throw(depth - 1) + 1;
}
/* Caught half-way and thrown again. */
NOINLINE long exact_catch(long depth)
{
	try {
		return loose_throw(depth) + exact_throw(depth);
	} catch (const std::exception &) {
		if (depth > 3)
			throw;
		return depth;
	}
}
NOINLINE long loose_catch(long depth)
{
	try {
		return exact_catch(depth + 2);
	} catch (const std::exception &) {
		return depth * 2;
	}
}

NOINLINE long exact_jump(jmp_buf env, long depth)
{
	if (depth == 0)
		longjmp(env, 1);
	return exact_jump(env, depth - 1) + 1;
}
NOINLINE long loose_jump(jmp_buf env, long depth)
{
	if (depth == 0)
		return exact_jump(env, 3);
	return loose_jump(env, depth - 1) + 1;
}
NOINLINE long exact_land(long depth)
{
	jmp_buf env;

	if (setjmp(env) == 0)
		return loose_jump(env, depth);
	return depth * 3;
}

/* Tail calls. */
NOINLINE long exact_tail(long x);
NOINLINE long loose_tail(long x)
{
	return x <= 0 ? -x : exact_tail(x - 2);
}
NOINLINE long exact_tail(long x)
{
	return x <= 0 ? x : loose_tail(x - 1);
}

static const char *g_plugin;
static volatile sig_atomic_t g_signals;

NOINLINE void signal_leaf(int number)
{
	g_signals = g_signals + number;
}
NOINLINE void on_signal(int number)
{
	signal_leaf(number);
}

NOINLINE long load(long x)
{
	void *handle = dlopen(g_plugin, RTLD_NOW);
	long (*work)(long);

	if (!handle) {
		fprintf(stderr, "%s\n", dlerror());
		_exit(3);
	}
	work = (long (*)(long))dlsym(handle, "plugin_work");
	x = work(x);
	dlclose(handle);
	return x;
}

NOINLINE long exact_one(long x)
{
	x = exact_all(x);
	x = loose_all(x);
	x += exact_fib(7) + loose_fib(7);
	x += loose_catch(x & 3) + exact_land(x & 7);
	x += exact_tail(x & 15) + loose_tail(x & 15);
	return x;
}

NOINLINE void exact_child(long x)
{
	for (int i = 0; i < 4; i++)
		x = exact_one(x);
	_exit((int)(x & 63));
}

NOINLINE long make_child(long x)
{
	pid_t child = fork();
	int status;

	if (child == 0)
		exact_child(x);
	if (child < 0) {
		perror("fork");
		_exit(3);
	}
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			_exit(3);
	if (!WIFEXITED(status)) {
		fprintf(stderr, "a child ended with status %#x\n", status);
		_exit(4);
	}
	return WEXITSTATUS(status);
}

struct job {
	pthread_t thread;
	long rounds, result;
};

NOINLINE void *work(void *argument)
{
	struct job *job = (struct job *)argument;
	long x = job->result;

	for (long i = 0; i < job->rounds; i++) {
		x = exact_one(x);
		if (i % LOADS_EVERY == LOADS_EVERY - 1)
			x = load(x);
		if (i % FORKS_EVERY == FORKS_EVERY - 1)
			x += make_child(x);
	}
	job->result = x;
	return NULL;
}

int main(int argc, char **argv)
{
	struct itimerval timer = { { 0, 1000 }, { 0, 1000 } };
	struct sigaction action = {};
	int threads = argc > 1 ? atoi(argv[1]) : 1;
	job jobs[64];
	long sum = 0;

	if (argc < 4 || threads < 1 || threads > 64)
		return 2;
	g_plugin = argv[3];
	action.sa_handler = on_signal;
	action.sa_flags = SA_RESTART;
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &timer, NULL);
	for (int i = 0; i < threads; i++) {
		jobs[i].rounds = atol(argv[2]);
		jobs[i].result = i + 1;
		if (pthread_create(&jobs[i].thread, NULL, work, &jobs[i]))
			return 3;
	}
	for (int i = 0; i < threads; i++) {
		pthread_join(jobs[i].thread, NULL);
		sum = sum * 31 + jobs[i].result;
	}
	printf("%ld\n", sum);
	return 0;
}
