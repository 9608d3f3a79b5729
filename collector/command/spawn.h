/* SPDX-License-Identifier: Apache-2.0
 *
 * spawn - finding and starting the two processes of a recording: the
 * collector and the program. For a process of one thread.
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
/* Looks beside this executable, where `make install` puts them, and for the
 * collector in PATH. 0, or -errno after logging one line. */
int spawn_find_parts(struct spawn_parts *out);

/* Which file a shell would run for @name, in @path. 0, or -errno: -ENOENT, or
 * -EACCES when what is there may not be executed. */
int spawn_find_command(const char *name, char path[PATH_MAX]);

struct spawn_program {
	char **argv; /* the caller's; argv[0] as it was typed */
	char path[PATH_MAX]; /* the file to run */
	char asan[NAME_MAX + 1]; /* libasan.so.N if it needs that, or "" */
};
/* What to do about it that @name cannot be run because of the errno @err, to
 * be put behind what strerror() says; "" when that says it all. */
const char *spawn_way_out(const char *name, int err);
/*
 * Find what @argv[0] means, as a shell would, and what must be preloaded
 * before the shim. @argv must outlive *@out. 0, or -errno after logging one
 * line that says why it cannot be run.
 */
int spawn_find_program(char **argv, struct spawn_program *out);

/* What the program must get back as perfrec got it. */
struct spawn_signals {
	sigset_t mask;
	struct sigaction child; /* of SIGCHLD */
};

/*
 * Start @path with @argv in a session of its own, with nothing open but
 * stderr and @control_fd (which stays the caller's) as SPAWN_CONTROL_FD.
 * 0, or -errno after logging one line.
 */
int spawn_collector(const char *path, char *const *argv, int control_fd,
		    const struct spawn_signals *signals, pid_t *out);

/*
 * Check what the environment asks of the shim, of its rings only if
 * @ring_is_given is not set: -EINVAL after logging a line for each variable
 * that is wrong, or 0.
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
int spawn_fork(const struct spawn_program *program,
	       const struct spawn_recording *recording,
	       const struct spawn_signals *signals, struct spawn_child *out);
/* Let it go. 0, or the -errno of its exec: then it is gone, but not yet
 * waited for. Closes the gate either way. */
int spawn_exec(struct spawn_child *child);

#endif
