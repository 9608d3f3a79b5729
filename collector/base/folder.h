/* SPDX-License-Identifier: Apache-2.0
 *
 * folder - reads the names in an open folder. Any thread.
 */
#ifndef PERFREC_COLLECTOR_BASE_FOLDER_H
#define PERFREC_COLLECTOR_BASE_FOLDER_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/* Opens the folder @dir_fd once more, because a copy of the descriptor would
 * share its place in the list of names. The caller calls closedir(). Returns
 * NULL with errno set on failure. */
static inline DIR *folder_read(int dir_fd)
{
	int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	int saved = errno;

	if (!dir && fd >= 0)
		close(fd);
	errno = saved;
	return dir;
}

#endif
