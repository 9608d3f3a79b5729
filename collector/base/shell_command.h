/* SPDX-License-Identifier: Apache-2.0
 *
 * shell_command - runs a user's command line with a time limit.
 */
#ifndef PERFREC_COLLECTOR_BASE_SHELL_COMMAND_H
#define PERFREC_COLLECTOR_BASE_SHELL_COMMAND_H

#include <stddef.h>
#include <stdint.h>

struct shell_command {
	const char *text;
	/* "NAME=VALUE"; override the environment of this process. */
	const char *const *variables;
	size_t variable_count;
	/* Names of variables of this process that the command does not get,
	 * ended by NULL; NULL: it gets all. */
	const char *const *hidden;
	uint64_t limit_ns;
	int stop_fd; /* readable: the command is killed; -1: none */
};

/*
 * Runs @command in its own process group, with /dev/null as stdin, our stderr
 * as stdout and stderr, no other descriptor, and no blocked signal. Waits until
 * the shell has ended and kills the rest of the group. If it kills the command,
 * it also kills processes in other groups and sessions, which it recognizes by
 * the variable PERFREC_COMMAND_ID. Returns 0 and sets *@wait_status; -ETIMEDOUT
 * or -ECANCELED if it killed the command for its limit or for stop_fd; or
 * another -errno if the command could not run. Any thread that may wait.
 */
int shell_command_run(const struct shell_command *command, int *wait_status);

/* Returns @text, of @room bytes, with the outcome of shell_command_run() from
 * @err and @wait_status: "exit status 3", "killed by signal 9 (Killed)",
 * "killed after 5 min". */
const char *shell_command_end(const struct shell_command *command, int err,
			      int wait_status, char *text, size_t room);

#endif
