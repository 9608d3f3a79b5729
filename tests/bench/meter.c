/* SPDX-License-Identifier: Apache-2.0
 *
 * meter - a preloaded library that times programs which do not time themselves:
 * when a program whose name starts with $BENCH_METER ends by exit(), it appends
 * its CPU time in ns since its last call of clock() to $BENCH_OUT, and its CPU
 * time in ns since its start.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/bench/clock.h"

static uint64_t g_warm_ns;

/* The program calls it where its measured part starts. */
__attribute__((visibility("default"))) clock_t clock(void)
{
	g_warm_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	return (clock_t)(g_warm_ns / (1000000000 / CLOCKS_PER_SEC));
}

__attribute__((destructor)) static void meter_write(void)
{
	const char *name = getenv("BENCH_METER"), *path = getenv("BENCH_OUT");
	uint64_t now = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	FILE *out;

	if (!name || !path ||
	    strncmp(name, program_invocation_short_name, strlen(name)) != 0)
		return;
	out = fopen(path, "a");
	if (!out)
		return;
	fprintf(out, "%llu %llu\n", (unsigned long long)(now - g_warm_ns),
		(unsigned long long)now);
	fclose(out);
}
