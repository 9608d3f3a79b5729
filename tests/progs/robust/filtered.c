/* SPDX-License-Identifier: Apache-2.0
 *
 * filtered [raw] - sets a seccomp filter that forbids mprotect() when some of
 * its threads have recorded and others have not; with "raw", by raw system
 * calls.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#define QUIET __attribute__((no_instrument_function))
#define THREADS 6
static pthread_barrier_t barrier;
__attribute__((noinline)) static void leaf(void)
{
	__asm__ volatile("");
}
QUIET static long raw(long number, long a, long b, long c)
{
	register long r10 __asm__("r10") = 0, r8 __asm__("r8") = 0;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10),
			   "r"(r8)
			 : "rcx", "r11", "memory");
	return result;
}
/* Half of them record before the filter is there. */
QUIET static void *run(void *early)
{
	if (early)
		leaf();
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	leaf();
	leaf();
	pthread_barrier_wait(&barrier);
	return NULL;
}
QUIET int main(int argc, char **argv)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mprotect, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { 4, filter };
	pthread_t thread[THREADS];
	long result;

	(void)argv;
	leaf();
	pthread_barrier_init(&barrier, NULL, THREADS + 1);
	for (long i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, run, (void *)(i & 1));
	pthread_barrier_wait(&barrier);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	result = argc > 1 ? raw(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
				SECCOMP_FILTER_FLAG_TSYNC, (long)&program)
			  : syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
				    SECCOMP_FILTER_FLAG_TSYNC, &program);
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	leaf();
	puts(result ? "no filter" : "filter");
	return 0;
}
