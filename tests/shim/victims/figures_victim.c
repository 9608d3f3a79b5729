/* SPDX-License-Identifier: Apache-2.0
 *
 * figures_victim - threads and processes that end in every possible way. Just
 * before, the tested one writes its kernel figures to FILE. Built with
 * -finstrument-functions; span() is the recorded function.
 *
 *   figures_victim CASE FILE
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/shim/victims/figures_victim.h"

#define NO_HOOKS __attribute__((no_instrument_function))
#define FAULTS 64

static volatile long g_calls;
static int g_file;

__attribute__((noinline)) static void span(void)
{
	g_calls++;
}

NO_HOOKS static uint64_t cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

NO_HOOKS static void write_figures(void)
{
	char text[100] = "";
	int fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
	struct victim_figures figures = { .cpu_ns = cpu_ns() };
	struct rusage usage;

	if (fd >= 0 && read(fd, text, sizeof(text) - 1) > 0)
		sscanf(text, "%*u %" SCNu64, &figures.delay_ns);
	if (fd >= 0)
		close(fd);
	getrusage(RUSAGE_THREAD, &usage);
	figures.user_ns = (uint64_t)usage.ru_utime.tv_sec * 1000000000 +
			  (uint64_t)usage.ru_utime.tv_usec * 1000;
	figures.system_ns = (uint64_t)usage.ru_stime.tv_sec * 1000000000 +
			    (uint64_t)usage.ru_stime.tv_usec * 1000;
	figures.minor_faults = (uint64_t)usage.ru_minflt;
	figures.major_faults = (uint64_t)usage.ru_majflt;
	if (pwrite(g_file, &figures, sizeof(figures), 0) != sizeof(figures))
		err(1, "write");
}

NO_HOOKS static void fault_pages(void)
{
	long page = sysconf(_SC_PAGESIZE);
	volatile char *memory =
		mmap(NULL, (size_t)(FAULTS * page), PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (long i = 0; memory != MAP_FAILED && i < FAULTS; i++)
		memory[i * page] = 1;
}

NO_HOOKS static void work(void)
{
	uint64_t until = cpu_ns() + 5000000;

	span();
	fault_pages();
	while (cpu_ns() < until)
		sched_yield();
	write_figures();
}

/* --- threads ------------------------------------------------------------- */

NO_HOOKS static void *returns(void *unused)
{
	work();
	return unused;
}

/* Reads no clock, as that would update the kernel's counts. */
NO_HOOKS static void *reads_nothing(void *unused)
{
	const struct victim_figures none = { 0 };

	span();
	fault_pages();
	if (pwrite(g_file, &none, sizeof(none), 0) != sizeof(none))
		err(1, "write");
	return unused;
}

NO_HOOKS static void *calls_pthread_exit(void *unused)
{
	work();
	pthread_exit(unused);
}

static pthread_barrier_t g_ready, g_go;

NO_HOOKS static void *waits_for_cancel(void *unused)
{
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	work();
	pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
	for (;;)
		pause();
	return unused;
}

NO_HOOKS static void *returns_late(void *unused)
{
	work();
	pthread_barrier_wait(&g_ready);
	pthread_barrier_wait(&g_go);
	return unused;
}

NO_HOOKS static void *calls_raw_exit(void *unused)
{
	work();
	syscall(SYS_exit, 0);
	return unused;
}

NO_HOOKS static void *calls_exit(void *unused)
{
	work();
	exit(0);
	return unused;
}

NO_HOOKS static void *records_nothing(void *unused)
{
	write_figures();
	return unused;
}

NO_HOOKS static int run_thread(void *(*function)(void *), size_t stack_bytes)
{
	pthread_attr_t attributes;
	pthread_t thread;
	int fd;

	span();
	pthread_attr_init(&attributes);
	if (stack_bytes && pthread_attr_setstacksize(&attributes, stack_bytes))
		return 1;
	if (pthread_create(&thread, &attributes, function, NULL))
		return 1;
	if (function == waits_for_cancel)
		pthread_cancel(thread);
	if (pthread_join(thread, NULL))
		return 1;
	/* Every other descriptor is closed. */
	fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	return fd == g_file + 1 ? 0 : 1;
}

NO_HOOKS static int case_thread(void)
{
	return run_thread(returns, 0);
}

NO_HOOKS static int case_tiny_thread(void)
{
	return run_thread(returns, 16384);
}

NO_HOOKS static int case_unread_thread(void)
{
	return run_thread(reads_nothing, 0);
}

NO_HOOKS static int case_pthread_exit(void)
{
	return run_thread(calls_pthread_exit, 0);
}

NO_HOOKS static int case_cancel(void)
{
	return run_thread(waits_for_cancel, 0);
}

NO_HOOKS static int case_raw_exit(void)
{
	return run_thread(calls_raw_exit, 0);
}

NO_HOOKS static int case_exit_in_thread(void)
{
	return run_thread(calls_exit, 0) + 1;
}

NO_HOOKS static int case_silent_thread(void)
{
	return run_thread(records_nothing, 0);
}

/* --- processes ----------------------------------------------------------- */

NO_HOOKS static int case_exit(void)
{
	work();
	exit(0);
}

NO_HOOKS static int case_return(void)
{
	work();
	return 0;
}

NO_HOOKS static int case__exit(void)
{
	work();
	_exit(0);
}

NO_HOOKS static int case__Exit(void)
{
	work();
	_Exit(0);
}

NO_HOOKS static int case_raw_exit_group(void)
{
	work();
	syscall(SYS_exit_group, 0);
	return 1;
}

/* The second program is not preloaded. */
NO_HOOKS static int case_raw_exec(void)
{
	char *const argv[] = { "true", NULL }, *const none[] = { NULL };

	work();
	errno = 1234;
	if (syscall(SYS_execve, "/nowhere", argv, none) != -1 ||
	    errno != ENOENT)
		return 1;
	work();
	syscall(SYS_execve, "/bin/true", argv, none);
	return 1;
}

/* The parent is killed, so only the child reports. */
NO_HOOKS static int case_fork(void)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		work();
		_exit(0);
	}
	if (waitpid(pid, &status, 0) != pid || status)
		return 1;
	kill(getpid(), SIGKILL);
	return 1;
}

/* A child in this memory ends; then this process is killed. */
NO_HOOKS static int case_vfork(void)
{
	pid_t pid;

	work();
	pid = vfork();
	if (!pid)
		_exit(0);
	kill(getpid(), SIGKILL);
	return 1;
}

NO_HOOKS static int child_in_memory(void *unused)
{
	(void)unused;
	_exit(0);
}

NO_HOOKS static int case_clone(void)
{
	static char stack[65536] __attribute__((aligned(16)));

	work();
	if (clone(child_in_memory, stack + sizeof(stack),
		  CLONE_VM | CLONE_VFORK | SIGCHLD, NULL) < 0)
		return 1;
	kill(getpid(), SIGKILL);
	return 1;
}

/* --- few permissions ----------------------------------------------------- */

NO_HOOKS static int case_no_descriptor(void)
{
	struct rlimit limit = { 4, 4 };

	work();
	return setrlimit(RLIMIT_NOFILE, &limit) ? 1 : 0;
}

/* The calls at a thread's end would kill. */
NO_HOOKS static int case_seccomp(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 4, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pread64, 3, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getrusage, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_gettid, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog program = { 7, filter };
	pthread_t thread;

	span();
	pthread_barrier_init(&g_ready, NULL, 2);
	pthread_barrier_init(&g_go, NULL, 2);
	if (pthread_create(&thread, NULL, returns_late, NULL))
		return 1;
	pthread_barrier_wait(&g_ready);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
		    SECCOMP_FILTER_FLAG_TSYNC, &program))
		return 1;
	pthread_barrier_wait(&g_go);
	return pthread_join(thread, NULL);
}

static const struct {
	const char *name;
	int (*run)(void);
} g_cases[] = {
	{ "thread", case_thread },
	{ "tiny_thread", case_tiny_thread },
	{ "unread_thread", case_unread_thread },
	{ "pthread_exit", case_pthread_exit },
	{ "cancel", case_cancel },
	{ "raw_exit", case_raw_exit },
	{ "exit_in_thread", case_exit_in_thread },
	{ "silent_thread", case_silent_thread },
	{ "exit", case_exit },
	{ "return", case_return },
	{ "_exit", case__exit },
	{ "_Exit", case__Exit },
	{ "raw_exit_group", case_raw_exit_group },
	{ "raw_exec", case_raw_exec },
	{ "fork", case_fork },
	{ "vfork", case_vfork },
	{ "clone", case_clone },
	{ "no_descriptor", case_no_descriptor },
	{ "seccomp", case_seccomp },
};

NO_HOOKS int main(int argc, char **argv)
{
	size_t i;

	if (argc != 3)
		errx(2, "usage: figures_victim CASE FILE");
	g_file = open(argv[2], O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	if (g_file < 0)
		err(2, "%s", argv[2]);
	for (i = 0; i < sizeof(g_cases) / sizeof(g_cases[0]); i++)
		if (!strcmp(argv[1], g_cases[i].name))
			return g_cases[i].run();
	errx(2, "%s: no such case", argv[1]);
}
