/* SPDX-License-Identifier: Apache-2.0
 *
 * everything PLUGIN - does all the rare things at once: threads that come and
 * go and are cancelled, 1,000 signals a second, fork, vfork, posix_spawn, exec,
 * dlopen and dlclose, longjmp out of calls and handlers, exceptions, and a
 * private allocator on top of malloc. Its output does not depend on the
 * scheduler. It ends with status 7, or with an error message and status 1.
 * alarm() limits all waits.
 */
#include <cerrno>
#include <csetjmp>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <dlfcn.h>
#include <new>
#include <pthread.h>
#include <spawn.h>
#include <stdexcept>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 6
#define ROUNDS 4
#define DEPTH 12
#define SECONDS 50 /* time limit */

extern "C" char **environ;

static const char *g_plugin, *g_self;
static volatile sig_atomic_t g_signals;

[[noreturn]] static void fail(const char *what)
{
	dprintf(2, "everything: %s: %s\n", what, strerror(errno));
	_exit(1);
}

/* --- errno --------------------------------------------------------------- */

__attribute__((noinline)) static int leaf(int i)
{
	return i + 1;
}

/* No hook may change it. */
__attribute__((noinline)) static int keep_errno(int value)
{
	int sum = 0;

	errno = value;
	for (int i = 0; i < 20; i++)
		sum += leaf(i);
	if (errno != value)
		fail("errno was changed by a call");
	return sum;
}

/* Wrappers of the shim must pass on errno of a failing call. */
static void check_failures()
{
	errno = 0;
	if (dlopen("/nonexistent/library.so", RTLD_NOW))
		fail("dlopen() of nothing");
	errno = 0;
	if (execl("/nonexistent/program", "program", nullptr) != -1 ||
	    errno != ENOENT)
		fail("exec() of nothing");
	errno = 0;
	/* More than possible; volatile hides it from the compiler. */
	volatile size_t huge = SIZE_MAX / 2;
	if (malloc(huge) || errno != ENOMEM)
		fail("malloc() of too much");
	pid_t pid;
	char name[] = "program", *argv[] = { name, nullptr };
	if (posix_spawn(&pid, "/nonexistent/program", nullptr, nullptr, argv,
			environ) != ENOENT)
		fail("posix_spawn() of nothing");
}

/* --- signals ------------------------------------------------------------- */

static void on_alarm(int, siginfo_t *, void *)
{
	int saved = errno;

	g_signals = g_signals + 1;
	keep_errno(77);
	errno = saved;
}

static void start_signals()
{
	struct sigaction action = {};
	struct sigevent event = {};
	struct itimerspec often = { { 0, 1000000 }, { 0, 1000000 } };
	timer_t timer;

	action.sa_sigaction = on_alarm;
	action.sa_flags = SA_RESTART | SA_SIGINFO;
	event.sigev_notify = SIGEV_SIGNAL;
	event.sigev_signo = SIGUSR1;
	if (sigaction(SIGUSR1, &action, nullptr) ||
	    timer_create(CLOCK_MONOTONIC, &event, &timer) ||
	    timer_settime(timer, 0, &often, nullptr))
		fail("timer");
}

static thread_local sigjmp_buf t_back;

static void on_jump(int)
{
	leaf(1);
	siglongjmp(t_back, 1);
}

__attribute__((noinline)) static int raise_deep(int depth)
{
	if (!depth)
		raise(SIGUSR2);
	return depth ? raise_deep(depth - 1) + 1 : 0;
}

static int jump_out_of_handler()
{
	volatile int jumps = 0;

	for (volatile int i = 0; i < ROUNDS; i = i + 1)
		if (sigsetjmp(t_back, 1))
			jumps = jumps + 1;
		else
			raise_deep(DEPTH);
	return jumps;
}

/* --- longjmp, exceptions ------------------------------------------------- */

static thread_local jmp_buf t_place;

__attribute__((noinline)) static int jump_deep(int depth)
{
	if (!depth)
		longjmp(t_place, 1);
	return jump_deep(depth - 1) + 1;
}

static int jump_out_of_calls()
{
	volatile int jumps = 0;

	for (volatile int i = 0; i < ROUNDS; i = i + 1)
		if (setjmp(t_place))
			jumps = jumps + 1;
		else
			jump_deep(DEPTH);
	return jumps;
}

struct counted {
	int *count;
	explicit counted(int *where) : count(where)
	{
	}
	~counted()
	{
		++*count;
	}
};

__attribute__((noinline)) static int throw_deep(int depth, int *unwound)
{
	counted here(unwound);

	if (!depth)
		throw std::runtime_error("deep");
	return throw_deep(depth - 1, unwound) + 1;
}

static int throw_and_catch()
{
	int unwound = 0, caught = 0;

	for (int i = 0; i < ROUNDS; i++) {
		try {
			throw_deep(DEPTH, &unwound);
		} catch (const std::runtime_error &) {
			caught++;
		}
	}
	return caught * 1000 + unwound;
}

/* --- an allocator around malloc ------------------------------------------ */

static thread_local long t_live;

__attribute__((noinline)) static void *own_alloc(size_t bytes)
{
	void *block = malloc(bytes);

	if (!block)
		fail("malloc");
	t_live++;
	return block;
}

__attribute__((noinline)) static void own_free(void *block)
{
	t_live -= block != nullptr;
	free(block);
}

void *operator new(size_t bytes)
{
	return own_alloc(bytes);
}
void operator delete(void *block) noexcept
{
	own_free(block);
}
void operator delete(void *block, size_t) noexcept
{
	own_free(block);
}

static int allocate()
{
	unsigned char *blocks[32] = {};
	long live = t_live;
	int sum = 0;

	for (int i = 0; i < 400; i++) {
		unsigned char *&block = blocks[i % 32];

		if (block && block[0] != (unsigned char)(i - 32))
			fail("a block was changed");
		own_free(block);
		block = (unsigned char *)own_alloc((size_t)(i * 37 % 3000 + 1));
		block[0] = (unsigned char)i;
		errno = 99;
		if (i % 7 == 0) {
			block = (unsigned char *)realloc(block, 4000);
			sum += block[0];
		}
		free(nullptr);
		if (errno != 99)
			fail("errno was changed by an allocation");
	}
	for (unsigned char *block : blocks)
		own_free(block);
	delete new int(3);
	return sum + (t_live == live);
}

/* --- processes ----------------------------------------------------------- */

static int wait_for(pid_t pid)
{
	int status = 0;
	pid_t got;

	do
		got = waitpid(pid, &status, 0);
	while (got < 0 && errno == EINTR);
	if (got != pid)
		fail("waitpid");
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + status;
}

static pid_t checked(pid_t pid)
{
	if (pid < 0)
		fail("a process");
	return pid;
}

static int spawn_all()
{
	char word[] = "child";
	char *argv[] = { (char *)g_self, word, nullptr };
	int sum = 0;
	pid_t pid = checked(fork());

	if (!pid) {
		keep_errno(5);
		_exit(throw_and_catch() == ROUNDS * (1000 + DEPTH + 1) ? 11
								       : 1);
	}
	sum += wait_for(pid);
	pid = checked(fork());
	if (!pid) {
		execv(g_self, argv);
		_exit(1);
	}
	sum += wait_for(pid);
	pid = checked(vfork());
	if (!pid) {
		execv(g_self, argv);
		_exit(1);
	}
	sum += wait_for(pid);
	pid = checked(vfork());
	if (!pid)
		_exit(13);
	sum += wait_for(pid);
	if (posix_spawn(&pid, g_self, nullptr, nullptr, argv, environ))
		fail("posix_spawn");
	return sum + wait_for(pid);
}

/* --- libraries ----------------------------------------------------------- */

static int load_and_unload()
{
	int sum = 0;

	for (int i = 0; i < ROUNDS; i++) {
		void *library = dlopen(g_plugin, RTLD_NOW | RTLD_LOCAL);
		int (*plugin)(int);

		if (!library)
			fail(dlerror());
		plugin = (int (*)(int))dlsym(library, "plugin_work");
		sum += plugin(i);
		if (dlclose(library))
			fail("dlclose");
	}
	return sum;
}

/* --- threads ------------------------------------------------------------- */

static void clean(void *count)
{
	leaf(2);
	__atomic_add_fetch((int *)count, 1, __ATOMIC_RELAXED);
}

static void *wait_for_cancel(void *count)
{
	pthread_cleanup_push(clean, count);
	for (;;) {
		leaf(3);
		usleep(500);
	}
	pthread_cleanup_pop(0);
	return nullptr;
}

static int cancel_threads()
{
	pthread_t thread[ROUNDS];
	int cleaned = 0;

	for (pthread_t &one : thread)
		if (pthread_create(&one, nullptr, wait_for_cancel, &cleaned))
			fail("pthread_create");
	for (pthread_t one : thread) {
		void *result;

		/* A thread that has not begun needs no cleanup. */
		usleep(2000);
		pthread_cancel(one);
		if (pthread_join(one, &result) || result != PTHREAD_CANCELED)
			fail("a thread was not cancelled");
	}
	return cleaned <= ROUNDS;
}

static void *work(void *context)
{
	long sum = 0;

	for (int i = 0; i < ROUNDS; i++) {
		sum += keep_errno(40 + i);
		sum += jump_out_of_calls();
		sum += throw_and_catch();
		sum += allocate();
		sum += load_and_unload();
	}
	*(long *)context = sum;
	return nullptr;
}

static long run_threads()
{
	pthread_t thread[THREADS];
	long sums[THREADS] = {}, sum = 0;

	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&thread[i], nullptr, work, &sums[i]))
			fail("pthread_create");
	/* While they run. */
	sum += spawn_all();
	sum += jump_out_of_handler();
	for (int i = 0; i < THREADS; i++) {
		pthread_join(thread[i], nullptr);
		sum += sums[i];
	}
	return sum;
}

int main(int argc, char **argv)
{
	struct sigaction jump = {};

	alarm(SECONDS);
	if (argc == 2 && !strcmp(argv[1], "child"))
		return keep_errno(3) == 210 ? 17 : 1;
	if (argc < 2)
		return 2;
	g_plugin = argv[1];
	g_self = argv[0];
	jump.sa_handler = on_jump;
	sigaction(SIGUSR2, &jump, nullptr);
	start_signals();
	check_failures();
	printf("cancel %d\n", cancel_threads());
	printf("all %ld\n", run_threads());
	/* The run exceeds a ms, so signals came. */
	printf("signals %d\n", g_signals > 0);
	fflush(stdout);
	if (argc > 2) {
		char *again[] = { argv[0], argv[1], nullptr };

		/* exec of a process with ended threads, and signals. */
		execv(argv[0], again);
		fail("exec");
	}
	return 7;
}
