/* SPDX-License-Identifier: Apache-2.0
 *
 * witness FILE THREADS - calls work() in each thread until it is killed, and
 * counts in FILE, mapped and shared, the calls whose exit hook has returned.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "shared/atomic.h"
#include "tests/progs/witness_file.h"

static struct witness_file *g_file;

__attribute__((noinline)) static void leaf(void)
{
	__asm__ volatile("");
}

/* Long enough that the trace of a run is read in no time. */
__attribute__((noinline)) static void work(void)
{
	volatile int spin;

	leaf();
	for (spin = 0; spin < 200; spin++)
		continue;
}

__attribute__((noinline)) static void *run(void *context)
{
	struct witness *witness = context;
	uint64_t ended = 0;

	/* relaxed: read after our death */
	atom_store_rlx(&witness->tid, (uint64_t)gettid());
	for (;;) {
		work();
		atom_store_rlx(&witness->ended, ++ended);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	int i, threads = argc > 2 ? atoi(argv[2]) : 1;

	if (argc != 3 || threads < 1 || threads > WITNESSES_MAX) {
		fputs("usage: witness FILE THREADS\n", stderr);
		return 2;
	}
	g_file = witness_map(argv[1]);
	if (!g_file) {
		perror(argv[1]);
		return 1;
	}
	/* relaxed: the killer only needs to know whom */
	atom_store_rlx(&g_file->pid, (uint64_t)getpid());
	for (i = 1; i < threads; i++)
		pthread_create(&thread, NULL, run, &g_file->witness[i]);
	run(&g_file->witness[0]);
	return 0;
}
