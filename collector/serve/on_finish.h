/* SPDX-License-Identifier: Apache-2.0
 *
 * on_finish - runs the command of --on-finish on its own threads for each
 * finished recording of a daemon. No other thread waits for the command.
 */
#ifndef PERFREC_COLLECTOR_SERVE_ON_FINISH_H
#define PERFREC_COLLECTOR_SERVE_ON_FINISH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct on_finish;
struct retention;

struct on_finish_recording {
	const char *path; /* of its folder, NAME-PID */
	int dir_fd; /* of the folder */
	uid_t uid; /* of the program */
	bool whole; /* all files are complete */
};

struct on_finish_counts {
	uint64_t run; /* finished commands */
	uint64_t failed; /* of these; exit status not 0, or killed */
	uint64_t skipped; /* recordings without a command */
	uint64_t waiting; /* recordings with a running or waiting command */
};

/*
 * Runs @command for at most @limit_ns each, without the environment variables
 * @hidden (see shell_command.h). @command must stay valid. After each command,
 * @retention (may be NULL) may remove the recording. The caller frees *@out.
 * Returns 0 or -errno.
 */
int on_finish_new(const char *command, uint64_t limit_ns,
		  const char *const *hidden, struct retention *retention,
		  struct on_finish **out);
/* Waits at most @limit_ns for the commands of all recordings. Commands that
 * could not start by then are skipped. Sets *@on_finish to NULL; it may be
 * NULL. */
void on_finish_free(struct on_finish **on_finish);

/* Queues the command for @recording, which stays until the command has ended.
 * Reads the path on the disk, but waits for no command. Any thread that may
 * wait for the disk. @on_finish may be NULL. */
void on_finish_run(struct on_finish *on_finish,
		   const struct on_finish_recording *recording);
/* Any thread. @on_finish may be NULL. */
struct on_finish_counts on_finish_counts(struct on_finish *on_finish);

#endif
