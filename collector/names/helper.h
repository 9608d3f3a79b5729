/* SPDX-License-Identifier: Apache-2.0
 *
 * helper - starts and ends the processes that read files of programs: they get
 * the descriptors that they are given, and nothing else. Any thread.
 */
#ifndef PERFREC_COLLECTOR_NAMES_HELPER_H
#define PERFREC_COLLECTOR_NAMES_HELPER_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Descriptors that a helper may get. */
#define HELPER_FDS_MAX 6

struct helper {
	pid_t pid;
	int answer; /* a stream socket: its stdout */
	int complaint; /* a pipe: its stderr; -1: closed */
};

/* The path that the environment @variable names, or NULL. */
const char *helper_told_path(const char *variable);
/* Finds the program @name: where the environment @variable says, or beside this
 * executable, or where `make install` puts it.
 * 0 with its path, or -errno. */
int helper_find(const char *name, const char *variable, char path[PATH_MAX]);
/*
 * Starts @argv with @env. @fds has @count descriptors, at least three:
 * descriptor i of the process is fds[i], or /dev/null for -1. Sets those of
 * stdout and stderr itself. 0: the caller ends @out by helper_end(). Or -errno.
 */
int helper_start(char *const *argv, char *const *env, int *fds, int count,
		 struct helper *out);
/* How many processes were started, run now, and were ended because they reached
 * a limit or crashed. Any thread. */
struct helper_counts {
	uint64_t started, running, failed;
};
struct helper_counts helper_counts(void);
/* One that was started reached a limit of ours, or crashed. Any thread. */
void helper_count_failed(void);
/* Kills the process, if it has not ended, and waits for it: not for long, as
 * one that hangs in a file system cannot be killed. Returns its wait status; 0:
 * it has not ended. */
int helper_end(struct helper *helper);
/* The same without waiting, for a process that nothing is expected of. */
void helper_dismiss(struct helper *helper);
/* This process shall end: from now on nobody waits for a helper beyond
 * @until_ns (CLOCK_MONOTONIC). */
void helper_hurry(uint64_t until_ns);
/* How long to wait for the next input of a helper whose time is over at
 * @deadline_ns (CLOCK_MONOTONIC), in milliseconds for poll(). 0: time is over,
 * or helper_hurry() says so. Ask again after each wait. */
int helper_patience_ms(uint64_t deadline_ns);
/* Whether helper_hurry() was called, and its time is over. Any thread. */
bool helper_is_over(void);
/* Closes those of the @count descriptors @fds that are not -1. */
void helper_close(const int *fds, int count);

#endif
