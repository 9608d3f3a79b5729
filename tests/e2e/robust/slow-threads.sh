# SPDX-License-Identifier: Apache-2.0
#
# Threads that make a call now and then: the filled parts of their rings do not stay
# in memory, and no call is lost. Half of them are in a forked child. The program
# itself measures how much memory of the arena it has touched, and ends when that is
# at most half the bytes that its threads wrote. It gives up before their rings have
# been written once: after that it could not be more.
. "$TOP/tests/e2e/lib.sh"

build slow -pthread <<'SOURCE'
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#define THREADS 12 /* of each process */
#define CALLS 60 /* two cells each, and a sleep */
#define CELL_BYTES 16
#define LEAST (160 * 1024) /* of each thread, before the first look */
#define MOST (1024 * 1024) /* the size of a ring */
static atomic_int over;
static atomic_ulong calls;
__attribute__((noinline)) static void leaf(void) { __asm__ volatile(""); }
__attribute__((noinline)) static void *run(void *context)
{
	/* 250 us a cell: four fifths of what counts as slow. */
	struct timespec nap = { 0, 2 * CALLS * 250 * 1000 };

	while (!over) {
		for (int i = 0; i < CALLS; i++)
			leaf();
		atomic_fetch_add(&calls, CALLS);
		nanosleep(&nap, NULL);
	}
	return context;
}
/* Bytes of the arena that this process has touched and still has. */
static unsigned long arena_bytes(void)
{
	FILE *maps = fopen("/proc/self/smaps", "r");
	unsigned long sum = 0, kb;
	char line[4096];
	int ours = 0;

	while (maps && fgets(line, sizeof(line), maps)) {
		if (strstr(line, "-") && strchr(line, '-') < strchr(line, ' '))
			ours = strstr(line, "memfd:perfrec") != NULL;
		if (ours && sscanf(line, "Rss: %lu kB", &kb) == 1)
			sum += kb * 1024;
	}
	if (maps)
		fclose(maps);
	return sum;
}
static int look(unsigned long before)
{
	unsigned long written, kept;

	do {
		usleep(100000);
		written = calls * 2 * CELL_BYTES;
		kept = arena_bytes() - before;
	} while (written < THREADS * LEAST ||
		 (kept > written / 2 && written < THREADS * MOST));
	fprintf(stderr, "%lu written, %lu kept\n", written, kept);
	return kept > written / 2;
}
int main(void)
{
	unsigned long before = arena_bytes();
	pthread_t threads[THREADS];
	pid_t child = fork();
	int failed, status = 0;

	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, run, NULL))
			return 2;
	failed = look(before);
	over = 1;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	if (child && (waitpid(child, &status, 0) != child || status))
		failed = 1;
	printf("%lu\n", (unsigned long)calls);
	return failed;
}
SOURCE

run_ok "$PERFREC" record -q --ring-size 1M -o data ./slow
expect_eq "calls" "$(json data/summary.json '[.functions[] |
	select(.name == "leaf") | .calls] | add')" \
	"$(awk '{ sum += $1 } END { printf "%d", sum }' out)"
