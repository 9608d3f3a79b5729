/* SPDX-License-Identifier: Apache-2.0
 *
 * All that unwinds or leaves the stack of functions without hooks: exceptions,
 * cancelled and ended threads, coroutines, contexts, and backtraces out of a
 * signal handler at any instruction. Prints the same each time.
 */
#include <coroutine>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>

#include <atomic>
#include <execinfo.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

#define ALONE __attribute__((noinline))

static volatile long sink;
static std::atomic<long> destroyed;

struct counted {
	std::string text = "a text that is too long for the object itself";
	~counted()
	{
		destroyed++;
	}
};

/* --- exceptions ---------------------------------------------------------- */

static ALONE void thrower(int depth, long a, long b, long c, long d, long e,
			  long f, long g)
{
	counted object;

	sink += a + b + c + d + e + f + g;
	if (!depth)
		throw std::runtime_error(object.text);
	thrower(depth - 1, a, b, c, d, e, f, g + 1);
	sink++;
}

static ALONE void rethrower(int depth)
{
	counted object;

	try {
		thrower(depth, 1, 2, 3, 4, 5, 6, 7);
	} catch (const std::logic_error &) {
		sink++;
	} catch (...) {
		sink++;
		throw;
	}
}

static ALONE long catcher(int rounds)
{
	long caught = 0;

	for (int i = 0; i < rounds; i++)
		try {
			rethrower(i % 20);
		} catch (const std::exception &error) {
			caught += error.what()[0] == 'a';
		}
	return caught;
}

static void *catching_thread(void *rounds)
{
	return (void *)catcher((int)(long)rounds);
}

/* --- ends of threads ----------------------------------------------------- */

static pthread_barrier_t barrier;

static ALONE void wait_for_cancel(int depth)
{
	counted object;

	if (depth) {
		wait_for_cancel(depth - 1);
		sink++;
		return;
	}
	pthread_barrier_wait(&barrier);
	for (;;)
		pause();
}

static void *cancelled_thread(void *)
{
	wait_for_cancel(5);
	return nullptr;
}

static ALONE void leave(int depth)
{
	counted object;

	if (!depth)
		pthread_exit((void *)42);
	leave(depth - 1);
	sink++;
}

static void *leaving_thread(void *)
{
	leave(5);
	return nullptr;
}

/* --- coroutines ---------------------------------------------------------- */

struct task {
	struct promise_type {
		std::coroutine_handle<> next;
		task get_return_object()
		{
			return { std::coroutine_handle<
				promise_type>::from_promise(*this) };
		}
		std::suspend_always initial_suspend() noexcept
		{
			return {};
		}
		struct to_next {
			bool await_ready() noexcept
			{
				return false;
			}
			std::coroutine_handle<>
			await_suspend(std::coroutine_handle<promise_type> h) noexcept
			{
				return h.promise().next;
			}
			void await_resume() noexcept
			{
			}
		};
		to_next final_suspend() noexcept
		{
			return {};
		}
		void return_void()
		{
		}
		void unhandled_exception()
		{
			std::abort();
		}
	};
	std::coroutine_handle<promise_type> handle;
	bool await_ready()
	{
		return false;
	}
	std::coroutine_handle<> await_suspend(std::coroutine_handle<> h)
	{
		handle.promise().next = h;
		return handle;
	}
	void await_resume()
	{
		handle.destroy();
	}
};

static task inner(long *count)
{
	++*count;
	co_return;
}

static task outer(long rounds, long *count)
{
	for (long i = 0; i < rounds; i++)
		co_await inner(count);
}

static ALONE long transfer(long rounds)
{
	long count = 0;
	task first = outer(rounds, &count);

	first.handle.promise().next = std::noop_coroutine();
	first.handle.resume();
	first.handle.destroy();
	return count;
}

/* --- contexts ------------------------------------------------------------ */

static ucontext_t main_context, other_context;
static long context_caught;

static ALONE void throw_after_switch(int depth)
{
	counted object;

	if (depth)
		return throw_after_switch(depth - 1);
	swapcontext(&other_context, &main_context);
	throw 3;
}

static void run_context()
{
	for (;;)
		try {
			throw_after_switch(4);
		} catch (int value) {
			context_caught += value;
		}
}

static ALONE long switch_contexts(int rounds)
{
	static char stack[256 << 10];

	getcontext(&other_context);
	other_context.uc_stack.ss_sp = stack;
	other_context.uc_stack.ss_size = sizeof(stack);
	makecontext(&other_context, run_context, 0);
	for (int i = 0; i < rounds; i++)
		swapcontext(&main_context, &other_context);
	return context_caught;
}

/* --- backtraces ---------------------------------------------------------- */

static volatile sig_atomic_t signals, lost;
static void *outermost;

static void take_backtrace(int)
{
	void *frame[256];
	int count = backtrace(frame, 256);

	/* The last frame is _start, which has no caller. */
	if (count < 3 || frame[count - 1] != outermost)
		lost++;
	signals++;
}

static ALONE long busy(int n, long a, long b, long c, long d, long e, long f)
{
	if (n < 2)
		return a + b + c + d + e + f;
	return busy(n - 1, b, c, d, e, f, a) + busy(n - 2, a, b, c, d, e, f);
}

static ALONE void trace_backtraces(int wanted)
{
	struct itimerval timer = { { 0, 200 }, { 0, 200 } };
	void *frame[256];

	outermost = frame[backtrace(frame, 256) - 1];
	signal(SIGALRM, take_backtrace);
	setitimer(ITIMER_REAL, &timer, nullptr);
	while (signals < wanted)
		sink += busy(12, 1, 2, 3, 4, 5, 6);
	timer = {};
	setitimer(ITIMER_REAL, &timer, nullptr);
}

static int count_object(struct dl_phdr_info *, size_t, void *count)
{
	++*(int *)count;
	return 0;
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 2000, objects = 0;
	pthread_t thread[3];
	void *result;

	printf("caught %ld\n", catcher(rounds));
	for (pthread_t &one : thread)
		pthread_create(&one, nullptr, catching_thread,
			       (void *)(long)rounds);
	for (pthread_t &one : thread) {
		pthread_join(one, &result);
		printf("thread caught %ld\n", (long)result);
	}
	pthread_barrier_init(&barrier, nullptr, 2);
	for (int i = 0; i < 20; i++) {
		pthread_create(thread, nullptr, cancelled_thread, nullptr);
		pthread_barrier_wait(&barrier);
		pthread_cancel(*thread);
		pthread_join(*thread, &result);
		if (result != PTHREAD_CANCELED)
			printf("not cancelled\n");
		pthread_create(thread, nullptr, leaving_thread, nullptr);
		pthread_join(*thread, &result);
		if (result != (void *)42)
			printf("did not leave\n");
	}
	printf("transferred %ld\n", transfer(rounds * 50L));
	printf("contexts %ld\n", switch_contexts(rounds));
	trace_backtraces(rounds / 2);
	printf("backtraces lost %d\n", (int)lost);
	dl_iterate_phdr(count_object, &objects);
	printf("objects %s\n", objects > 2 ? "some" : "few");
	printf("destroyed %ld\n", destroyed.load());
	return 5;
}
