// SPDX-License-Identifier: Apache-2.0
//
// Ways out of functions that are no return: exceptions through many frames and
// cleanups, ended threads, and coroutines (ucontext) that switch in the middle
// of functions. Prints sums, which are the same however it was built.
//
//	flow ROUNDS
//
// f_leaf() is called 8 times a round: four in each of the two threads.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <pthread.h>
#include <ucontext.h>

#define OWN __attribute__((noinline))

static long g_cleanups;

struct cleanup {
	~cleanup()
	{
		__atomic_add_fetch(&g_cleanups, 1, __ATOMIC_RELAXED);
	}
};

static OWN long f_leaf(long n)
{
	__asm__ volatile("");
	return n & 3;
}

static OWN long f_thrower(long n)
{
	cleanup here;

	if (n % 3 == 0)
		throw n;
	if (n % 3 == 1)
		throw 1.5;
	return f_leaf(n);
}

static OWN long f_between(long n, int depth)
{
	cleanup here;

	if (depth)
		return f_between(n, depth - 1) + 1;
	return f_thrower(n);
}

static OWN long f_rethrow(long n)
{
	try {
		return f_between(n, (int)(n % 5));
	} catch (double) {
		f_leaf(n);
		throw;
	}
}

static OWN long f_catch(long n)
{
	try {
		return f_rethrow(n);
	} catch (long value) {
		return value + f_leaf(n);
	} catch (double) {
		return 2;
	}
}

static ucontext_t g_main, g_other;
static long g_passed;

static OWN void f_yield(void)
{
	swapcontext(&g_other, &g_main);
}

static OWN void f_deep(int depth)
{
	if (depth)
		f_deep(depth - 1);
	else
		f_yield();
	__asm__ volatile("");
}

static void f_coroutine(void)
{
	for (long n = 0;; n++) {
		f_deep((int)(n % 4));
		g_passed += f_leaf(n);
	}
}

static OWN void f_resume(void)
{
	swapcontext(&g_main, &g_other);
}

static long g_rounds;
static __thread long g_sum;

static OWN void f_work(bool coroutines)
{
	for (long n = 0; n < g_rounds; n++) {
		g_sum += f_catch(n);
		if (coroutines)
			f_resume();
		else
			f_leaf(n);
		for (int i = 0; i < 2; i++)
			g_sum += f_leaf(n);
	}
}

static OWN void f_exit(void)
{
	pthread_exit(reinterpret_cast<void *>(g_sum));
}

static void *f_thread(void *)
{
	cleanup here;

	f_work(false);
	f_exit();
	return nullptr;
}

int main(int argc, char **argv)
{
	static char stack[256 * 1024];
	pthread_t thread;
	void *sum;

	g_rounds = argc > 1 ? atol(argv[1]) : 100;
	getcontext(&g_other);
	g_other.uc_stack.ss_sp = stack;
	g_other.uc_stack.ss_size = sizeof(stack);
	makecontext(&g_other, f_coroutine, 0);
	pthread_create(&thread, nullptr, f_thread, nullptr);
	f_resume();
	f_work(true);
	pthread_join(thread, &sum);
	std::printf("%ld %ld %ld %ld\n", g_sum, reinterpret_cast<long>(sum),
		    g_passed, g_cleanups);
}
