/* SPDX-License-Identifier: Apache-2.0
 *
 * wait_files - a descriptor belongs to one thread: after the thread's end a
 * read fails with ESRCH, even if another thread has its id by then. So the file
 * is opened again once. The kernel checks the permission at each read.
 */
#include "collector/samples/wait_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "shared/compiler.h"

void wait_files_init(struct wait_files *files)
{
	*files = (struct wait_files){ 0 };
	for (size_t i = 0; i < WAIT_FILES_THREADS; i++)
		for (size_t file = 0; file < WAIT_FILE_KINDS; file++)
			files->thread[i].fd[file] = -1;
}

static void close_wait_file(struct wait_files_thread *thread, size_t file)
{
	if (thread->fd[file] >= 0)
		close(thread->fd[file]);
	thread->fd[file] = -1;
}

static void close_wait_files(struct wait_files_thread *thread)
{
	for (size_t file = 0; file < WAIT_FILE_KINDS; file++)
		close_wait_file(thread, file);
}

void wait_files_release(struct wait_files *files)
{
	for (size_t i = 0; i < WAIT_FILES_THREADS; i++)
		close_wait_files(&files->thread[i]);
}

struct wait_files_thread *wait_files_thread(struct wait_files *files, pid_t pid,
					    pid_t tid)
{
	struct wait_files_thread *thread =
		&files->thread[(uint32_t)tid % WAIT_FILES_THREADS];

	if (thread->tid == tid && thread->pid == pid)
		return thread;
	close_wait_files(thread);
	thread->pid = pid;
	thread->tid = tid;
	thread->sums_ns = 0;
	return thread;
}

static int read_open_file(const struct wait_files_thread *thread,
			  enum wait_file file, char *text, size_t size)
{
	ssize_t got = pread(thread->fd[file], text, size - 1, 0);

	text[MAX(got, 0)] = '\0';
	return got < 0 ? -errno : (int)got;
}

int wait_files_read(struct wait_files_thread *thread, enum wait_file file,
		    char *text, size_t size)
{
	static const char *const names[] = {
		[WAIT_FILE_CALL] = "syscall",
		[WAIT_FILE_SUMS] = "schedstat",
	};
	bool was_open = thread->fd[file] >= 0;
	char path[64];
	int got = was_open ? read_open_file(thread, file, text, size) : -ESRCH;

	if (got != -ESRCH)
		return got;
	close_wait_file(thread, file);
	snprintf(path, sizeof(path), "/proc/%d/task/%d/%s", (int)thread->pid,
		 (int)thread->tid, names[file]);
	thread->fd[file] = open(path, O_RDONLY | O_CLOEXEC);
	return thread->fd[file] < 0 ? -errno
				    : read_open_file(thread, file, text, size);
}
