/* SPDX-License-Identifier: Apache-2.0
 *
 * host_victim - programs that break a careless preload. Each case is a function
 * in the table at the end. It exits with 0 if the program saw nothing unusual.
 * Built with -finstrument-functions; span() is the recorded function.
 *
 *   host_victim CASE
 */
#include <dlfcn.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define NO_HOOKS __attribute__((no_instrument_function))

extern char **environ;
static volatile long g_calls;

__attribute__((noinline)) static void span(void)
{
	g_calls++;
}

NO_HOOKS static void spans(long count)
{
	while (count--)
		span();
}

NO_HOOKS static int case_plain(void)
{
	spans(1000);
	return 0;
}

NO_HOOKS static int case_closefrom(void)
{
	int fd;

	spans(500);
	closefrom(3);
	for (fd = 3; fd < 100; fd++)
		if (dup2(2, fd) != fd)
			return 1;
	spans(500);
	for (fd = 3; fd < 100; fd++)
		if (close(fd))
			return 1;
	return 0;
}

/* The shim must not occupy the first free descriptor. */
NO_HOOKS static int case_descriptors(void)
{
	int fd = open("/dev/null", O_RDONLY);

	spans(1000);
	return fd == 3 ? 0 : 1;
}

NO_HOOKS static int case_errno(void)
{
	long i;

	for (i = 0; i < 1000; i++) {
		errno = 1234;
		span();
		if (errno != 1234)
			return 1;
	}
	return 0;
}

NO_HOOKS static int case_vfork(void)
{
	int status, i;

	spans(500);
	for (i = 0; i < 10; i++) {
		pid_t pid = vfork();

		if (!pid) {
			spans(100); /* in the parent's memory: not recorded */
			_exit(7);
		}
		if (waitpid(pid, &status, 0) != pid || WEXITSTATUS(status) != 7)
			return 1;
		spans(50);
	}
	g_calls -= 1000;
	return 0;
}

NO_HOOKS static int case_vfork_fails(void)
{
	struct rlimit none = { 0, 0 };

	spans(500);
	setrlimit(RLIMIT_NPROC, &none);
	if (setresuid(65534, 65534, 65534))
		return 1;
	errno = 0;
	if (vfork() != -1 || errno != EAGAIN)
		return 1;
	spans(500);
	return 0;
}

NO_HOOKS static int case_spawn(void)
{
	char *argv[] = { "true", NULL };
	int status;
	pid_t pid;

	spans(500);
	unsetenv("LD_PRELOAD");
	if (posix_spawnp(&pid, "true", NULL, NULL, argv, environ) ||
	    waitpid(pid, &status, 0) != pid || status)
		return 1;
	spans(500);
	return 0;
}

NO_HOOKS static int case_fork(void)
{
	int status, i;

	spans(500);
	for (i = 0; i < 10; i++) {
		pid_t pid = fork();

		if (!pid) {
			spans(50);
			_exit(0);
		}
		if (waitpid(pid, &status, 0) != pid || status)
			return 1;
	}
	spans(500);
	return 0;
}

/* From here on all system calls except read, write, _exit and sigreturn kill,
 * and so does rdtsc. These spans can only be counted. */
NO_HOOKS static int case_seccomp_strict(void)
{
	spans(500);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0))
		return 1;
	spans(100000);
	__asm__ volatile("syscall" : : "a"(SYS_exit), "D"(0));
	return 1;
}

NO_HOOKS static void *clockless_thread(void *unused)
{
	spans(100);
	return unused;
}

/* Also in threads that this thread creates. Their spans are only counted. */
NO_HOOKS static int case_no_clock(void)
{
	pthread_t thread;

	spans(500);
	/* Allowing an allowed instruction changes nothing. */
	if (prctl(PR_SET_TSC, PR_TSC_ENABLE, 0, 0, 0))
		return 1;
	spans(500);
	if (prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0))
		return 1;
	spans(100);
	if (pthread_create(&thread, NULL, clockless_thread, NULL))
		return 1;
	return pthread_join(thread, NULL);
}

/* All system calls that a hook might need kill. A ring of 64 KiB is full long
 * before the end. */
NO_HOOKS static int case_seccomp_filter(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog program = { 4, filter };

	spans(500);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program))
		return 1;
	spans(100000);
	_exit(0);
}

/* The system calls that the shim might make during dlopen() kill. */
NO_HOOKS static int case_seccomp_dlopen(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_faccessat, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_futex, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_nanosleep, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { 6, filter };

	spans(500);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) ||
	    !dlopen("libm.so.6", RTLD_NOW))
		return 1;
	spans(500);
	return 0;
}

NO_HOOKS static int case_no_files(void)
{
	struct rlimit limit = { 3, 3 };

	spans(500);
	if (setrlimit(RLIMIT_NOFILE, &limit))
		return 1;
	spans(500);
	return 0;
}

NO_HOOKS static long status_kb(const char *field)
{
	char line[256];
	FILE *file = fopen("/proc/self/status", "r");
	long kb = -1;

	while (file && fgets(line, sizeof(line), file))
		if (!strncmp(line, field, strlen(field)))
			kb = strtol(line + strlen(field) + 1, NULL, 10);
	if (file)
		fclose(file);
	return kb;
}

NO_HOOKS static int has_thunks(void)
{
	char line[512];
	FILE *file = fopen("/proc/self/maps", "r");
	int found = 0;

	while (file && fgets(line, sizeof(line), file))
		found |= strstr(line, "perfrec-thunks") != NULL;
	if (file)
		fclose(file);
	return found;
}

NO_HOOKS static int case_mlockall(void)
{
	spans(500);
	if (mlockall(MCL_CURRENT | MCL_FUTURE))
		return 1;
	spans(500);
	/* Without changes of states no thunks are locked, 15 MiB in two
	 * places. */
	return status_kb("VmLck:") < 64 << 10 && !has_thunks() ? 0 : 1;
}

NO_HOOKS static int case_address_space(void)
{
	struct rlimit limit = { 256 << 20, 256 << 20 };
	void *memory;

	spans(500);
	if (setrlimit(RLIMIT_AS, &limit))
		return 1;
	memory = malloc(100 << 20);
	spans(500);
	free(memory);
	return memory ? 0 : 1;
}

NO_HOOKS static void *named_thread(void *gate)
{
	spans(1);
	pthread_barrier_wait(gate);
	pthread_barrier_wait(gate);
	return NULL;
}

NO_HOOKS static int case_names(void)
{
	pthread_barrier_t gate;
	pthread_t thread;

	spans(999);
	prctl(PR_SET_NAME, "main by prctl");
	pthread_barrier_init(&gate, NULL, 2);
	pthread_create(&thread, NULL, named_thread, &gate);
	pthread_barrier_wait(&gate);
	pthread_setname_np(thread, "named by main");
	pthread_barrier_wait(&gate);
	return pthread_join(thread, NULL);
}

NO_HOOKS static void *one_thread(void *unused)
{
	spans(1);
	return unused;
}

NO_HOOKS static int case_threads(void)
{
	pthread_attr_t tiny;
	pthread_t thread;
	int i;

	spans(800);
	pthread_attr_init(&tiny);
	if (pthread_attr_setstacksize(&tiny, 16384))
		return 1;
	for (i = 0; i < 200; i++)
		if (pthread_create(&thread, &tiny, one_thread, NULL) ||
		    pthread_join(thread, NULL))
			return 1;
	return 0;
}

NO_HOOKS static void on_signal(int signal)
{
	(void)signal;
	spans(1);
}

/* The smallest stack; its handler makes the first record. */
NO_HOOKS static int case_tiny_stack(void)
{
	static char stack[65536];
	size_t size = (size_t)sysconf(_SC_MINSIGSTKSZ) + 768;
	size_t guard = sizeof(stack) - size;
	stack_t tiny = { .ss_sp = stack + guard, .ss_size = size };
	struct sigaction action = { .sa_handler = on_signal,
				    .sa_flags = SA_ONSTACK };
	size_t i;

	memset(stack, 0x5a, guard);
	if (sigaltstack(&tiny, NULL) || sigaction(SIGUSR1, &action, NULL))
		return 1;
	for (i = 0; i < 1000; i++)
		raise(SIGUSR1);
	for (i = 0; i < guard; i++)
		if (stack[i] != 0x5a)
			return 1;
	return 0;
}

/* The thread is cancelled inside a span. */
NO_HOOKS static void *cancelled_thread(void *unused)
{
	spans(1);
	pause();
	return unused;
}

NO_HOOKS static int case_cancel(void)
{
	pthread_t thread;
	int i;

	spans(900);
	for (i = 0; i < 100; i++)
		if (pthread_create(&thread, NULL, cancelled_thread, NULL) ||
		    pthread_cancel(thread) || pthread_join(thread, NULL))
			return 1;
	return 0;
}

static const struct {
	const char *name;
	int (*run)(void);
} g_cases[] = {
	{ "plain", case_plain },
	{ "closefrom", case_closefrom },
	{ "descriptors", case_descriptors },
	{ "errno", case_errno },
	{ "vfork", case_vfork },
	{ "vfork_fails", case_vfork_fails },
	{ "spawn", case_spawn },
	{ "fork", case_fork },
	{ "seccomp_strict", case_seccomp_strict },
	{ "no_clock", case_no_clock },
	{ "seccomp_filter", case_seccomp_filter },
	{ "seccomp_dlopen", case_seccomp_dlopen },
	{ "no_files", case_no_files },
	{ "mlockall", case_mlockall },
	{ "address_space", case_address_space },
	{ "names", case_names },
	{ "threads", case_threads },
	{ "tiny_stack", case_tiny_stack },
	{ "cancel", case_cancel },
};

NO_HOOKS int main(int argc, char **argv)
{
	size_t i;

	for (i = 0; argc == 2 && i < sizeof(g_cases) / sizeof(g_cases[0]); i++)
		if (!strcmp(argv[1], g_cases[i].name))
			return g_cases[i].run();
	errx(2, "usage: host_victim CASE");
}
