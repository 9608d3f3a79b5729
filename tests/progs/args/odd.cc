/* SPDX-License-Identifier: Apache-2.0
 *
 * odd - calls with arguments that end in odd ways: recursion, exceptions, longjmp,
 * tail calls, signals, threads, fork, the end of the stack. Each function returns
 * a number that follows from its arguments. The output has the count of calls.
 */
#include <atomic>
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <pthread.h>
#include <stdexcept>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define CALLED __attribute__((noinline, noclone))
#define KEEP __asm__ volatile("" : : : "memory")

extern "C" {
/* 3 * n + m */
CALLED long sum(int n, long m)
{
	KEEP;
	return 3L * n + m;
}
CALLED long deep(int n)
{
	long below = n ? deep(n - 1) : 0;

	KEEP;
	return below + 1;
}
CALLED int thrower(int n)
{
	KEEP;
	if (n % 2)
		throw std::runtime_error("odd");
	return n;
}
static jmp_buf g_back;
CALLED int jumper(int n)
{
	KEEP;
	if (n % 2)
		longjmp(g_back, 1);
	return n;
}
CALLED long tail_end(long a, double x)
{
	KEEP;
	return a + (long)x;
}
CALLED long tail(int n)
{
	KEEP;
	return tail_end(n + 1L, 0.5);
}
CALLED double mixed(double x, int n)
{
	KEEP;
	return x * 2 + n;
}
CALLED const char *text(const char *name, int n)
{
	__asm__ volatile("" : : "r"(name) : "memory");
	return n ? name : NULL;
}
}

static std::atomic<int> g_signals;

static void on_signal(int)
{
	int n = g_signals++;

	if (sum(n, 5) != 3L * n + 5 || mixed(n, 1) != 2.0 * n + 1)
		abort();
}

static void *run_thread(void *)
{
	for (int i = 0; i < 2000; i++)
		if (sum(i, -i) != 2L * i || mixed(0.5, i) != 1 + i)
			abort();
	return NULL;
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 1000;
	struct itimerval often = { { 0, 500 }, { 0, 500 } }, never = {};
	pthread_t threads[3];
	volatile int caught = 0, jumped = 0;

	signal(SIGALRM, on_signal);
	setitimer(ITIMER_REAL, &often, NULL);
	for (int i = 0; i < rounds; i++)
		if (sum(i, 1000000000000L) != 3L * i + 1000000000000L)
			abort();
	setitimer(ITIMER_REAL, &never, NULL);
	if (deep(200) != 201)
		abort();
	for (int i = 0; i < 20; i++)
		try {
			thrower(i);
		} catch (const std::exception &) {
			caught = caught + 1;
		}
	for (int i = 0; i < 20; i++)
		if (setjmp(g_back))
			jumped = jumped + 1;
		else
			jumper(i);
	for (int i = 0; i < 100; i++)
		if (tail(i) != i + 1 || mixed(i, i) != 3 * i ||
		    !text("a text", 1))
			abort();
	for (pthread_t &thread : threads)
		pthread_create(&thread, NULL, run_thread, NULL);
	for (pthread_t thread : threads)
		pthread_join(thread, NULL);
	if (fork() == 0) {
		for (int i = 0; i < 100; i++)
			if (sum(-i, i) != -2L * i || !text("the child", i + 1))
				abort();
		_exit(0);
	}
	wait(NULL);
	printf("caught %d jumped %d\nsum %d\nmixed %d\n", caught, jumped,
	       rounds + g_signals + 6000 + 100, g_signals + 100 + 6000);
	return 0;
}
