/* SPDX-License-Identifier: Apache-2.0
 *
 * killer COUNT SEED MS THREADS COMMAND... - runs COMMAND... FILE THREADS, which
 * is to end as witness, COUNT times, and kills witness with SIGKILL at a random
 * moment of its first MS milliseconds. Prints a line for each thread that ran:
 *
 *	run pid tid calls-ended
 *
 * A COMMAND that stays between, as perfrec record does, is not killed; its
 * witness is not before it has reached main().
 */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "shared/atomic.h"
#include "tests/progs/witness_file.h"

#define FILE_NAME "witness.map"

struct plan {
	unsigned int seed;
	long most_us; /* to live */
	char *threads;
	char **command;
	bool stays;
};

static void sleep_us(long us)
{
	struct timespec time = { us / 1000000, us % 1000000 * 1000 };

	while (nanosleep(&time, &time) < 0 && errno == EINTR)
		continue;
}

static pid_t start(const struct plan *plan)
{
	char *argument[64];
	size_t count = 0;
	pid_t pid;

	while (plan->command[count] && count < 60) {
		argument[count] = plan->command[count];
		count++;
	}
	argument[count++] = FILE_NAME;
	argument[count++] = plan->threads;
	argument[count] = NULL;
	pid = fork();
	if (pid == 0) {
		execvp(argument[0], argument);
		perror(argument[0]);
		_exit(127);
	}
	return pid;
}

/* The process id that witness tells, or 0 when its command ends before. */
static pid_t await_witness(const struct witness_file *file, pid_t command)
{
	siginfo_t ended = { .si_pid = 0 };
	uint64_t pid = 0;

	while (!pid && !ended.si_pid) {
		sleep_us(200);
		waitid(P_PID, (id_t)command, &ended,
		       WEXITED | WNOHANG | WNOWAIT);
		/* relaxed: one word */
		pid = atom_load_rlx(&file->pid);
	}
	return (pid_t)pid;
}

static int run_once(struct plan *plan, int run)
{
	struct witness_file *file;
	pid_t command, victim;
	int i, status;

	unlink(FILE_NAME);
	file = witness_map(FILE_NAME);
	if (!file)
		return -errno;
	command = start(plan);
	victim = plan->stays ? await_witness(file, command) : command;
	sleep_us((long)rand_r(&plan->seed) % plan->most_us);
	if (victim <= 0 || kill(victim, SIGKILL) < 0)
		return -ESRCH;
	waitpid(command, &status, 0);
	for (i = 0; i < WITNESSES_MAX; i++)
		if (file->witness[i].tid)
			printf("%d %d %d %llu\n", run, (int)victim,
			       (int)file->witness[i].tid,
			       (unsigned long long)file->witness[i].ended);
	munmap(file, sizeof(*file));
	return 0;
}

int main(int argc, char **argv)
{
	struct plan plan;
	int run, err, count;

	if (argc < 6) {
		fputs("usage: killer COUNT SEED MS THREADS COMMAND...\n",
		      stderr);
		return 2;
	}
	count = atoi(argv[1]);
	plan = (struct plan){
		.seed = (unsigned int)strtoul(argv[2], NULL, 10),
		.most_us = 1000 * atol(argv[3]),
		.threads = argv[4],
		.command = argv + 5,
		.stays = strcmp(argv[5], "env") != 0,
	};
	for (run = 0; run < count; run++) {
		err = run_once(&plan, run);
		if (err) {
			fprintf(stderr, "killer: run %d: %s\n", run,
				strerror(-err));
			return 1;
		}
	}
	return 0;
}
