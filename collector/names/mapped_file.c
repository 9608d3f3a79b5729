/* SPDX-License-Identifier: Apache-2.0
 *
 * mapped_file - the map of a process has the inode of a mapping. Its path may
 * lead to another inode (after a rebuild), belong to another root (container,
 * chroot), or be gone. So /proc/PID/map_files comes first: it is exact, but
 * needs privileges. A file opened by path must have the mapped inode.
 *
 * Callers that must not wait try the path first, and only files known to the
 * kernel (nowait.h): map_files may ask a file server. The inode check ensures
 * the same file.
 */
#include "collector/names/mapped_file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collector/names/maps.h"
#include "collector/names/nowait.h"
#include "collector/names/opener.h"

static int keep_if_mapped_inode(int fd, const struct maps_line *line,
				bool strictly)
{
	struct stat status;

	if (fd < 0)
		return -1;
	/* overlayfs and btrfs may show other devices for the same file */
	if (!nowait_stat(fd, &status) &&
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

/* As nowait_open() for folders on local disks, which the kernel may read: @path
 * must not leave the disk. */
static int open_on_disk(int dir_fd, const char *path, uint64_t flags,
			uint64_t resolve)
{
	struct open_how how = { .flags = flags | O_PATH | O_CLOEXEC,
				.resolve = resolve | RESOLVE_NO_XDEV };
	int fd;

	if (!nowait_is_local(dir_fd))
		return -EAGAIN;
	fd = (int)syscall(SYS_openat2, dir_fd, path, &how, sizeof(how));
	if (fd >= 0)
		return fd;
	return errno == EXDEV ? -EAGAIN : -errno;
}

/* Asks the kernel, then an opener. Returns -1 with errno. */
static int find_path(struct openers *openers, int dir_fd, const char *path,
		     uint64_t flags, uint64_t resolve)
{
	int fd = nowait_open(dir_fd, path, flags, resolve);

	if (fd == -EAGAIN && openers)
		fd = open_on_disk(dir_fd, path, flags, resolve);
	if (fd == -EAGAIN && openers)
		fd = opener_find(openers, dir_fd, path, flags, resolve);
	if (fd >= 0)
		return fd;
	errno = -fd;
	return -1;
}

int mapped_file_at(struct openers *openers, int root_fd, const char *path,
		   uint64_t flags)
{
	return find_path(openers, root_fd, path, flags,
			 RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);
}

int mapped_file_open(struct openers *openers, int proc_fd, int root_fd,
		     struct maps_line *line)
{
	bool is_deleted = mapped_file_strip_deleted(line->path);
	char name[64];
	int fd;

	snprintf(name, sizeof(name), "map_files/%llx-%llx",
		 (unsigned long long)line->start,
		 (unsigned long long)line->end);
	fd = nowait_is_local_device(line->device)
		     ? openat(proc_fd, name, O_PATH | O_CLOEXEC)
		     : find_path(openers, proc_fd, name, 0, 0);
	if (fd < 0)
		fd = keep_if_mapped_inode(
			mapped_file_at(openers, root_fd, line->path, 0), line,
			is_deleted);
	if (fd < 0)
		fd = keep_if_mapped_inode(
			find_path(openers, proc_fd, "exe", 0, 0), line, true);
	/* for a program in a chroot the map has paths of our root */
	if (fd < 0)
		fd = keep_if_mapped_inode(
			find_path(openers, AT_FDCWD, line->path, 0, 0), line,
			true);
	return fd;
}

int mapped_file_open_nowait(int proc_fd, int root_fd, struct maps_line *line)
{
	bool is_deleted;

	/* Local devices never block. */
	if (nowait_is_local_device(line->device))
		return mapped_file_open(NULL, proc_fd, root_fd, line);
	is_deleted = mapped_file_strip_deleted(line->path);
	return keep_if_mapped_inode(
		mapped_file_at(NULL, root_fd, line->path, 0), line, is_deleted);
}
