/* SPDX-License-Identifier: Apache-2.0
 *
 * wait_files - the files of threads in /proc that are read again and again,
 * kept open: that makes a read three times as fast. One thread.
 */
#ifndef PERFREC_COLLECTOR_WAITS_WAIT_FILES_H
#define PERFREC_COLLECTOR_WAITS_WAIT_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define WAIT_FILES_THREADS 32u /* whose files are open; a power of two */

enum wait_file {
	WAIT_FILE_CALL, /* "syscall" */
	WAIT_FILE_SUMS, /* "schedstat" */
	WAIT_FILE_KINDS,
};

struct wait_files {
	struct wait_files_thread {
		pid_t pid, tid; /* 0: none */
		int fd[WAIT_FILE_KINDS]; /* -1: not open */
		uint64_t sums_ns; /* the caller's: when it read the sums */
	} thread[WAIT_FILES_THREADS]; /* by tid: the last one there */
};

void wait_files_init(struct wait_files *files);
/* Closes all; they are opened again as they are read. */
void wait_files_release(struct wait_files *files);

/* Thread @tid of process @pid, whose files need not be open; valid until the
 * next call. */
struct wait_files_thread *wait_files_thread(struct wait_files *files, pid_t pid,
					    pid_t tid);
/* Reads @file of @thread into @text, which it ends with a NUL. Returns how many
 * bytes, or -errno: -ESRCH and -ENOENT: the thread is gone. */
int wait_files_read(struct wait_files_thread *thread, enum wait_file file,
		    char *text, size_t size);

#endif
