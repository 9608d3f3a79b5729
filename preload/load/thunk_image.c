/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/load/thunk_image.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>

#include "preload/core/clock.h"
#include "preload/core/path.h"
#include "preload/core/sys.h"
#include "shared/function_shm.h"

#define SUFFIX_BYTES 8

/* Not on the stack, which may be tiny. One thread at a time (map_log.c). */
static struct {
	char path[1024]; /* without the number of the mapping; "": no image */
	char other[1024 + SUFFIX_BYTES], first[1024 + SUFFIX_BYTES];
	unsigned int names;
} g_image;

static const char *name_image(char *name, unsigned int index)
{
	name[0] = '\0';
	path_add(name, sizeof(g_image.first), g_image.path);
	path_add(name, sizeof(g_image.first), ".");
	path_add_number(name, sizeof(g_image.first), index);
	return name;
}

/* A read of a page that the collector did not write would raise SIGBUS on a full
 * file system. The shim reads these; other pages only after the collector has. */
static bool keep_pages(long fd, uint32_t functions)
{
	return !sys(SYS_ftruncate, fd, thunk_area_bytes(functions)) &&
	       !sys(SYS_fallocate, fd, 0, THUNK_FRAMES, THUNK_FRAMES_HEAD) &&
	       !sys(SYS_fallocate, fd, 0, thunk_files(functions),
		    THUNK_MAPS * (uint64_t)THUNK_FILE_BYTES);
}

long thunk_image_make(const char *folder, uint32_t functions)
{
	struct statfs system = { 0 };
	char *path = g_image.path;
	long fd;

	path[0] = '\0';
	if (!path_add(path, sizeof(g_image.path), folder) ||
	    !path_add(path, sizeof(g_image.path), "/" THUNK_AREA_NAME "-") ||
	    !path_add_number(path, sizeof(g_image.path),
			     (unsigned long)sys(SYS_getpid)) ||
	    !path_add(path, sizeof(g_image.path), "-") ||
	    /* The process may have been another program before. */
	    !path_add_number(path, sizeof(g_image.path),
			     clock_ns(CLOCK_BOOTTIME))) {
		path[0] = '\0';
		return -1;
	}
	fd = sys(SYS_openat, AT_FDCWD, name_image(g_image.first, 0),
		 O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0) {
		path[0] = '\0';
		return -1;
	}
	g_image.names = 1;
	if (!sys(SYS_fstatfs, fd, &system) && system.f_type == TMPFS_MAGIC &&
	    keep_pages(fd, functions))
		return fd;
	sys(SYS_close, fd);
	thunk_image_remove();
	return -1;
}

static bool is_same_file(long fd, long other)
{
	struct stat one = { 0 }, two = { 0 };

	return !sys(SYS_fstat, fd, &one) && !sys(SYS_fstat, other, &two) &&
	       one.st_dev == two.st_dev && one.st_ino == two.st_ino;
}

long thunk_image_open(long fd, unsigned int index)
{
	const char *other;
	long opened;

	if (!g_image.path[0])
		return -1;
	other = name_image(g_image.other, index);
	if (sys(SYS_linkat, AT_FDCWD, g_image.first, AT_FDCWD, other, 0))
		return -1;
	g_image.names = index + 1;
	opened = sys(SYS_openat, AT_FDCWD, other,
		     O_RDONLY | O_NOFOLLOW | O_CLOEXEC, 0);
	/* Other users may rename files there, and after chroot() the path may lead
	 * to another folder. */
	if (opened < 0 || is_same_file(fd, opened))
		return opened;
	sys(SYS_close, opened);
	return -1;
}

void thunk_image_remove(void)
{
	for (unsigned int i = 0; g_image.path[0] && i < g_image.names; i++)
		sys(SYS_unlinkat, AT_FDCWD, name_image(g_image.other, i), 0);
	g_image.path[0] = '\0';
}
