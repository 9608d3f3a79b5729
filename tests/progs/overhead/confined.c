/* SPDX-License-Identifier: Apache-2.0
 *
 * confined HOW CALLS THREADS CHILDREN - calls leaf() CALLS times in main, in
 * each of THREADS threads, and in CHILDREN forked children. First it gives up
 * something for good. HOW is
 *
 *	none
 *	undumpable	its files in /proc belong to root
 *	mdwe		memory is writable or executable once (PR_SET_MDWE)
 *	eperm		system calls that a shim might make fail with EPERM
 *	kill		the same end the process
 *
 * and "exec-HOW" the same, then the program anew, which finds it so from its
 * start. Prints the sum, waits for the end of stdin, and prints "end". Exits
 * with 77 if the kernel does not know HOW.
 */
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define QUIET __attribute__((no_instrument_function))
#define THREADS_MAX 16
#define SET_MDWE 65 /* linux/prctl.h, Linux 6.3 */

static long g_calls;

__attribute__((noinline)) long leaf(long i)
{
	__asm__ volatile(""); /* keeps calls whose result is unused */
	return i ^ (i >> 3);
}

__attribute__((noinline)) long work(void)
{
	long sum = 0;

	for (long i = 0; i < g_calls; i++)
		sum += leaf(i);
	return sum;
}

static void *thread_run(void *result)
{
	*(long *)result = work();
	return NULL;
}

/* Restricts open() for writing, which opens /proc/self/mem, membarrier(), and
 * calls that read the memory of other processes. */
QUIET static int set_filter(unsigned int action)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 6, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 5, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_writev, 4,
			 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 2),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, args[2])),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, O_WRONLY | O_RDWR, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, action),
	};
	struct sock_fprog program = { sizeof(filter) / sizeof(filter[0]),
				      filter };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

QUIET static int give_up(const char *how)
{
	if (!strcmp(how, "undumpable"))
		return prctl(PR_SET_DUMPABLE, 0);
	if (!strcmp(how, "mdwe"))
		return prctl(SET_MDWE, 1, 0, 0, 0);
	if (!strcmp(how, "eperm"))
		return set_filter(SECCOMP_RET_ERRNO | 1);
	if (!strcmp(how, "kill"))
		return set_filter(0x80000000); /* the whole process */
	return strcmp(how, "none");
}

static long run(long threads, long children)
{
	pthread_t thread[THREADS_MAX];
	long results[THREADS_MAX] = { 0 }, sum = 0;

	for (long i = 0; i < threads && i < THREADS_MAX; i++)
		pthread_create(&thread[i], NULL, thread_run, &results[i]);
	sum = work();
	for (long i = 0; i < threads && i < THREADS_MAX; i++) {
		pthread_join(thread[i], NULL);
		sum += results[i];
	}
	for (long i = 0; i < children; i++) {
		int status = 1;
		pid_t pid = fork();

		if (!pid) {
			work();
			_exit(0);
		}
		waitpid(pid, &status, 0);
		if (status)
			puts("a child did not end well");
	}
	return sum;
}

int main(int argc, char **argv)
{
	if (argc < 5)
		return 2;
	if (!strncmp(argv[1], "exec-", 5)) {
		if (give_up(argv[1] + 5))
			return 77;
		argv[1] = "none";
		execv(argv[0], argv);
		return 2;
	}
	g_calls = strtol(argv[2], NULL, 10);
	leaf(0);
	if (give_up(argv[1]))
		return 77;
	printf("%ld\n",
	       run(strtol(argv[3], NULL, 10), strtol(argv[4], NULL, 10)));
	fflush(stdout);
	while (getchar() != EOF)
		;
	puts("end");
	return 0;
}
