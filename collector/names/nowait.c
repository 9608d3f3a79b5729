/* SPDX-License-Identifier: Apache-2.0
 *
 * nowait - uses AT_STATX_DONT_SYNC and RESOLVE_CACHED. Devices of file systems
 * without a block device (network, FUSE, also tmpfs, overlay) have major number
 * 0. So do files of memfd_create(), but with one constant number.
 */
#include "collector/names/nowait.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

int nowait_stat(int fd, struct stat *out)
{
	struct statx known;

	memset(out, 0, sizeof(*out));
	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_BASIC_STATS,
		  &known))
		return -errno;
	out->st_dev = makedev(known.stx_dev_major, known.stx_dev_minor);
	out->st_ino = known.stx_ino;
	out->st_mode = known.stx_mode;
	out->st_nlink = known.stx_nlink;
	out->st_uid = known.stx_uid;
	out->st_size = (off_t)known.stx_size;
	out->st_mtim.tv_sec = known.stx_mtime.tv_sec;
	out->st_mtim.tv_nsec = known.stx_mtime.tv_nsec;
	return 0;
}

int nowait_open(int dir_fd, const char *path, uint64_t flags, uint64_t resolve)
{
	struct open_how how = { .flags = flags | O_PATH | O_CLOEXEC,
				.resolve = resolve | RESOLVE_CACHED };
	int fd = (int)syscall(SYS_openat2, dir_fd, path, &how, sizeof(how));

	if (fd >= 0)
		return fd;
	return errno == EINVAL ? -EAGAIN : -errno;
}

static pthread_once_t g_memory_once = PTHREAD_ONCE_INIT;
static dev_t g_memory; /* device of memory files; 0: unknown */

static void find_memory_device(void)
{
	int fd = memfd_create("perfrec-device", MFD_CLOEXEC);
	struct stat status;

	if (fd < 0)
		return;
	if (!nowait_stat(fd, &status))
		g_memory = status.st_dev;
	close(fd);
}

bool nowait_is_local_device(dev_t device)
{
	if (major(device))
		return true;
	pthread_once(&g_memory_once, find_memory_device);
	return device && device == g_memory;
}

bool nowait_is_local(int fd)
{
	struct stat status;

	return !nowait_stat(fd, &status) &&
	       nowait_is_local_device(status.st_dev);
}
