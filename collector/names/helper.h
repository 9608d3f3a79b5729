/* SPDX-License-Identifier: Apache-2.0
 *
 * helper - starts and ends the processes that read files of programs. They get
 * only the given descriptors. Any thread.
 */
#ifndef PERFREC_COLLECTOR_NAMES_HELPER_H
#define PERFREC_COLLECTOR_NAMES_HELPER_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define HELPER_FDS_MAX 6

struct helper {
	pid_t pid;
	int answer; /* socket: stdout */
	int complaint; /* pipe: stderr; -1: closed */
};

const char *helper_told_path(const char *variable);
/* Looks in @variable, beside this executable, and in the libexec folder. */
int helper_find(const char *name, const char *variable, char path[PATH_MAX]);
/* Starts @argv. Descriptor i of the process is fds[i], or /dev/null for -1.
 * @count is at least three; stdout and stderr are set here. Returns 0 or
 * -errno. helper_end() ends @out. */
int helper_start(char *const *argv, char *const *env, int *fds, int count,
		 struct helper *out);
/* As helper_start(), with all descriptors from @fds. */
int helper_spawn(char *const *argv, char *const *env, const int *fds, int count,
		 pid_t *pid);
/* Counts processes; failed ones crashed or exceeded a limit. */
struct helper_counts {
	uint64_t started, running, failed;
};
struct helper_counts helper_counts(void);
void helper_count_failed(void);
/* Kills and waits briefly. Returns the wait status; 0: it hangs. */
int helper_end(struct helper *helper);
/* As helper_end() without waiting. */
void helper_dismiss(struct helper *helper);
/* Limits all waits for helpers (CLOCK_MONOTONIC), for our own end. */
void helper_hurry(uint64_t until_ns);
/* Returns the next poll() timeout in ms; 0 after @deadline_ns or
 * helper_hurry(). */
int helper_patience_ms(uint64_t deadline_ns);
bool helper_is_over(void);
void helper_close(const int *fds, int count);

#endif
