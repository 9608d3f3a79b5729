#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# A seccomp filter that forbids mprotect(), with threads that have not recorded
# yet. Set by libc, it finds all slots with access: nothing is lost. Set by raw
# system calls nobody sees it: slots that had no access cannot be used, their
# threads' spans are counted, and the program runs as always.
#
# Four threads have recorded when the filter comes, which gives access to slots 0
# to 3. None of them ends before all have recorded: no slot is free again.
. "$TOP/tests/e2e/lib.sh"
need jq
[ "$(uname -m)" = x86_64 ] || skip 'raw system calls of x86-64'

build filtered -pthread <<'SOURCE'
#define _GNU_SOURCE
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
__attribute__((noinline)) static void leaf(void) { __asm__ volatile(""); }
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
SOURCE
./filtered >plain
grep -qx filter plain || skip 'no seccomp filter can be set here'

# What main() records, each early thread, and each late one: 2, 3 and 2.
for mode in '' raw; do
	run timeout 60 "$PERFREC" record -q --alloc=off --cpu=off -o data \
		./filtered $mode
	expect_status 0
	expect_match out '^filter$'
	if [ "$mode" ]; then
		expected='4 threads, 11 spans, 6 without a slot'
	else
		expected='7 threads, 17 spans, 0 without a slot'
	fi
	expect_eq "what is recorded, $mode" "$(json data/summary.json '.totals |
		"\(.threads) threads, \(.spans) spans, " +
		"\(.unslotted_spans) without a slot"')" "$expected"
done
# Where calls are lost, it says by whom.
"$PERFREC" report data >report || fail 'no report'
expect_match report 'spans of threads that have no slot: the kernel refused'
