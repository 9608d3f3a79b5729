/* SPDX-License-Identifier: Apache-2.0
 *
 * mapped_file - the map of a process says which inode is mapped. The path in
 * the map may lead to another inode by now (the program was rebuilt or
 * updated); it may be meant in another root (container, chroot); or it may be
 * gone (deleted). So /proc/PID/map_files is tried first: it is exact, but needs
 * privileges. A file that is opened by its path must have the inode that is
 * mapped.
 */
#include "collector/names/mapped_file.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collector/names/maps.h"

/* Closes @fd and returns -1 unless it is the mapped inode. */
static int keep_if_mapped_inode(int fd, const struct maps_line *line,
				bool strictly)
{
	struct stat status;

	if (fd < 0)
		return -1;
	/* overlayfs and btrfs may show other numbers for the same file */
	if (!fstat(fd, &status) &&
	    (status.st_ino == line->inode ||
	     (!strictly && status.st_dev != line->device)))
		return fd;
	close(fd);
	return -1;
}

bool mapped_file_strip_deleted(char *path)
{
	static const char mark[] = " (deleted)";
	size_t length = strlen(path);

	if (length < sizeof(mark) ||
	    strcmp(path + length - (sizeof(mark) - 1), mark))
		return false;
	path[length - (sizeof(mark) - 1)] = '\0';
	return true;
}

int mapped_file_at(int root_fd, const char *path)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC,
				.resolve = RESOLVE_IN_ROOT |
					   RESOLVE_NO_MAGICLINKS };

	return (int)syscall(SYS_openat2, root_fd, path, &how, sizeof(how));
}

int mapped_file_open(int proc_fd, int root_fd, struct maps_line *line)
{
	bool is_deleted = mapped_file_strip_deleted(line->path);
	char name[64];
	int fd;

	snprintf(name, sizeof(name), "map_files/%llx-%llx",
		 (unsigned long long)line->start,
		 (unsigned long long)line->end);
	fd = openat(proc_fd, name, O_PATH | O_CLOEXEC);
	if (fd >= 0)
		return fd;
	fd = keep_if_mapped_inode(mapped_file_at(root_fd, line->path), line,
				  is_deleted);
	if (fd < 0)
		fd = keep_if_mapped_inode(
			openat(proc_fd, "exe", O_PATH | O_CLOEXEC), line, true);
	/* of a program in a chroot the map shows paths as we see them */
	if (fd < 0)
		fd = keep_if_mapped_inode(open(line->path, O_PATH | O_CLOEXEC),
					  line, true);
	return fd;
}
