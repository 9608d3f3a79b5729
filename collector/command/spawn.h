/* SPDX-License-Identifier: Apache-2.0
 *
 * spawn - finds and starts the two processes of a recording: the collector and
 * the program. For a process of one thread.
 */
#ifndef PERFREC_COLLECTOR_COMMAND_SPAWN_H
#define PERFREC_COLLECTOR_COMMAND_SPAWN_H

#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* The collector's descriptor of the control socket. */
#define SPAWN_CONTROL_FD 3

/* Paths of perfrec's own parts. */
struct spawn_parts {
	char collector[PATH_MAX]; /* perfrec-collect */
	char shim[PATH_MAX]; /* libperfrec_preload.so */
};
/* Finds both parts relative to this executable, as `make install` places them;
 * searches the collector also in PATH. Returns 0, or -errno after one line in
 * the log. */
int spawn_find_parts(struct spawn_parts *out);

/* Sets @path to the file that a shell would run for the command @name. Returns
 * 0, -ENOENT, -EACCES if the file is not executable, or another -errno. Logs
 * nothing. */
int spawn_find_command(const char *name, char path[PATH_MAX]);

struct spawn_program {
	char **argv; /* owned by the caller; argv[0] as typed */
	char path[PATH_MAX];
	char asan[NAME_MAX + 1]; /* libasan.so.N if required, or "" */
};
/* Returns advice for a command @name that failed with errno @err, to append to
 * strerror(): a static text that begins with a blank, or "". */
const char *spawn_way_out(const char *name, int err);
/* Finds the file of @argv[0] as a shell would, and libraries to preload before
 * the shim. *@out points to @argv, which must outlive it. Returns 0, or -errno
 * after logging why the program cannot run. */
int spawn_find_program(char **argv, struct spawn_program *out);

/* Signals at the start of perfrec, restored for the program. */
struct spawn_signals {
	sigset_t mask;
	struct sigaction child;
};

/*
 * Starts the collector @path with @argv in its own session. It inherits only
 * stderr, and @control_fd as SPAWN_CONTROL_FD; the caller keeps @control_fd.
 * The caller waits for the pid *@out. Returns 0, or -errno after one line in
 * the log.
 */
int spawn_collector(const char *path, char *const *argv, int control_fd,
		    const struct spawn_signals *signals, pid_t *out);

/* Checks the environment variables of the shim. Skips the size of rings if
 * @ring_is_given by an option. Returns 0, or -EINVAL after a line in the log
 * for each wrong variable. */
int spawn_check_environment(bool ring_is_given);

struct spawn_recording { /* values of the program's environment */
	const char *shim;
	const char *socket;
	uint64_t ring_kb; /* 0: from the user's environment */
};

/* A forked process that waits at the gate. */
struct spawn_child {
	pid_t pid;
	int gate; /* perfrec's end of a socket pair */
};
/* Forks a process that waits for spawn_exec() and then becomes @program,
 * recorded as @recording says. The caller calls spawn_exec() and waits for the
 * pid. Returns 0 or -errno; logs nothing. */
int spawn_fork(const struct spawn_program *program,
	       const struct spawn_recording *recording,
	       const struct spawn_signals *signals, struct spawn_child *out);
/* Lets the process execute its program, and closes the gate. Returns 0, or
 * -errno of its exec; then the process has ended. The caller waits for its pid
 * in both cases. */
int spawn_exec(struct spawn_child *child);

#endif
