/* SPDX-License-Identifier: Apache-2.0
 *
 * measure - what commands cost, from the outside.
 *
 * usage: measure tree FILE COMMAND [ARGUMENT...]
 *	Run it once and append "CPU ns, wall ns" to FILE: of the command and
 *	all descendants that it has waited for. Its exit status is passed on.
 *
 * usage: measure start ROUNDS PROGRAM NAME[,VARIABLE=VALUE]...
 *	Start PROGRAM in every named environment, ROUNDS times in turn, and
 *	print a line "NAME wall-ns" for each.
 *
 * usage: measure clock
 *	Print the ns that one read of the CPU's counter takes, the least of
 *	many tries.
 */
#include <errno.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "tests/bench/clock.h"
#include "shared/compiler.h"
#include "shared/ticks.h"

#define VARIABLES_MAX 8
#define CLOCK_READS 100000
#define CLOCK_TRIES 50

extern char **environ;

static int fail(const char *what, int error)
{
	fprintf(stderr, "measure: %s: %s\n", what, strerror(error));
	return 127;
}

static uint64_t cpu_ns(const struct rusage *usage)
{
	uint64_t us = (uint64_t)usage->ru_utime.tv_usec +
		      (uint64_t)usage->ru_stime.tv_usec;
	uint64_t s = (uint64_t)usage->ru_utime.tv_sec +
		     (uint64_t)usage->ru_stime.tv_sec;

	return s * 1000000000 + us * 1000;
}

/* Returns the command's exit status, as a shell would. */
static int run(char **argv, char **environment, uint64_t *wall_ns,
	       struct rusage *usage)
{
	uint64_t start = clock_ns(CLOCK_MONOTONIC);
	int status, err;
	pid_t pid;

	err = posix_spawnp(&pid, argv[0], NULL, NULL, argv, environment);
	if (err)
		return fail(argv[0], err);
	if (wait4(pid, &status, 0, usage) < 0)
		return fail("wait4", errno);
	*wall_ns = clock_ns(CLOCK_MONOTONIC) - start;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int measure_tree(const char *path, char **argv)
{
	FILE *out = fopen(path, "a");
	struct rusage usage = { 0 };
	uint64_t wall_ns = 0;
	int status;

	if (!out)
		return fail(path, errno);
	status = run(argv, environ, &wall_ns, &usage);
	fprintf(out, "%llu %llu\n", (unsigned long long)cpu_ns(&usage),
		(unsigned long long)wall_ns);
	return fclose(out) ? fail(path, errno) : status;
}

/* @variant: "NAME,VARIABLE=VALUE,...", on top of our own environment. */
static int start_once(char *program, const char *variant)
{
	char copy[1024], *argv[] = { program, NULL };
	struct rusage usage;
	uint64_t wall_ns = 0;
	char *variable;
	int count = 0, status;
	char *names[VARIABLES_MAX];

	snprintf(copy, sizeof(copy), "%s", variant);
	strtok(copy, ",");
	while ((variable = strtok(NULL, ",")) && count < VARIABLES_MAX) {
		putenv(variable);
		names[count++] = variable;
	}
	status = run(argv, environ, &wall_ns, &usage);
	while (count--) {
		*strchr(names[count], '=') = '\0';
		unsetenv(names[count]);
	}
	printf("%s %llu\n", copy, (unsigned long long)wall_ns);
	return status;
}

static int measure_start(long rounds, char *program, char **variants)
{
	char **variant;
	int status;

	while (rounds--) {
		for (variant = variants; *variant; variant++) {
			status = start_once(program, *variant);
			if (status)
				return status;
		}
	}
	return 0;
}

static int measure_clock(void)
{
	uint64_t best = UINT64_MAX, start;
	int try, i;

	for (try = 0; try < CLOCK_TRIES; try++) {
		start = clock_ns(CLOCK_MONOTONIC);
		for (i = 0; i < CLOCK_READS; i++)
			ticks_now();
		best = MIN(best, clock_ns(CLOCK_MONOTONIC) - start);
	}
	printf("%.2f\n", (double)best / CLOCK_READS);
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (!strcmp(what, "tree") && argc > 3)
		return measure_tree(argv[2], argv + 3);
	if (!strcmp(what, "start") && argc > 4)
		return measure_start(atol(argv[2]), argv[3], argv + 4);
	if (!strcmp(what, "clock"))
		return measure_clock();
	fputs("usage: measure tree FILE COMMAND... | start ROUNDS PROGRAM "
	      "NAME[,VARIABLE=VALUE]... | clock\n",
	      stderr);
	return 2;
}
