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

/* Where the collector finds its end of the control socket. */
#define SPAWN_CONTROL_FD 3

/* Where perfrec's own parts are installed. */
struct spawn_parts {
	char collector[PATH_MAX]; /* perfrec-collect */
	char shim[PATH_MAX]; /* libperfrec_preload.so */
};
/* Looks for both where `make install` puts them beside this executable, and for
 * the collector in PATH, too. Returns 0, or -errno after one line in the log.
 */
int spawn_find_parts(struct spawn_parts *out);

/* Writes to @path which file a shell would run for the command @name. Returns 0
 * or -errno, and logs nothing: -ENOENT if there is none, -EACCES if the file
 * may not be executed. */
int spawn_find_command(const char *name, char path[PATH_MAX]);

struct spawn_program {
	char **argv; /* the caller's; argv[0] as it was typed */
	char path[PATH_MAX]; /* the file to run */
	char asan[NAME_MAX + 1]; /* libasan.so.N if it needs that, or "" */
};
/*
 * The command @name cannot be run, with @err as errno. Returns what a person
 * can do about it, to be put behind what strerror() says: a constant that
 * begins with a blank, or "" if there is nothing to add.
 */
const char *spawn_way_out(const char *name, int err);
/*
 * Finds the file that @argv[0] means, as a shell would, and what must be
 * preloaded before the shim. *@out points to @argv, which must outlive it.
 * Returns 0, or -errno after one line in the log that says why the program
 * cannot be run.
 */
int spawn_find_program(char **argv, struct spawn_program *out);

/* Signals as they were when perfrec started: the program gets them back so. */
struct spawn_signals {
	sigset_t mask;
	struct sigaction child; /* of SIGCHLD */
};

/*
 * Starts the collector @path with the words @argv in a session of its own. It
 * inherits stderr, and @control_fd as SPAWN_CONTROL_FD, and no other file that
 * is open; @control_fd stays the caller's. *@out is its pid, which the caller
 * waits for. Returns 0, or -errno after one line in the log.
 */
int spawn_collector(const char *path, char *const *argv, int control_fd,
		    const struct spawn_signals *signals, pid_t *out);

/*
 * Checks the variables of the environment that the shim reads, but not that of
 * the size of rings if @ring_is_given: then an option says the size. Returns 0,
 * or -EINVAL after a line in the log for each variable that is wrong.
 */
int spawn_check_environment(bool ring_is_given);

struct spawn_recording { /* what the program's environment says */
	const char *shim;
	const char *socket;
	uint64_t ring_kb; /* 0: as the user's environment has it */
};

/* A program that is forked and waits to be let go. */
struct spawn_child {
	pid_t pid;
	int gate; /* our end of a socket pair */
};
/*
 * Forks a process that will become @program, recorded as @recording says, and
 * that waits for spawn_exec(). The caller ends *@out with spawn_exec(), and
 * waits for its pid. Returns 0 or -errno, and logs nothing.
 */
int spawn_fork(const struct spawn_program *program,
	       const struct spawn_recording *recording,
	       const struct spawn_signals *signals, struct spawn_child *out);
/* Lets the process execute its program, and closes the gate. Returns 0, or the
 * -errno of its exec: then the process has ended, and the caller waits for it
 * all the same. */
int spawn_exec(struct spawn_child *child);

#endif
