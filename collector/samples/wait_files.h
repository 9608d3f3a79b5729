/* SPDX-License-Identifier: Apache-2.0
 *
 * wait_files - keeps files of threads in /proc open that are read repeatedly: a
 * read is then three times as fast. One thread.
 */
#ifndef PERFREC_COLLECTOR_SAMPLES_WAIT_FILES_H
#define PERFREC_COLLECTOR_SAMPLES_WAIT_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define WAIT_FILES_THREADS 32u /* with open files; a power of two */

enum wait_file {
	WAIT_FILE_CALL, /* "syscall" */
	WAIT_FILE_SUMS, /* "schedstat" */
	WAIT_FILE_KINDS,
};

struct wait_files {
	struct wait_files_thread {
		pid_t pid, tid; /* 0: none */
		int fd[WAIT_FILE_KINDS]; /* -1: not open */
		/* the caller's: time of its last read of the sums */
		uint64_t sums_ns;
	} thread[WAIT_FILES_THREADS]; /* by tid: the last one there */
};

void wait_files_init(struct wait_files *files);
/* Closes all files; the next reads open them again. */
void wait_files_release(struct wait_files *files);

/* Returns the entry of thread @tid of process @pid, perhaps without open files;
 * valid until the next call. */
struct wait_files_thread *wait_files_thread(struct wait_files *files, pid_t pid,
					    pid_t tid);
/* Reads @file of @thread into @text, and ends it with a NUL. Returns the number
 * of bytes, or -errno: -ESRCH and -ENOENT: the thread is gone. */
int wait_files_read(struct wait_files_thread *thread, enum wait_file file,
		    char *text, size_t size);

#endif
