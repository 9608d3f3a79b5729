/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/output/folder_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#define TRIES 20
#define TRY_PAUSE_NS 10000000

void folder_lock_hold(int dir_fd)
{
	(void)!flock(dir_fd, LOCK_SH | LOCK_NB);
}

int folder_lock_take(int dir_fd)
{
	if (flock(dir_fd, LOCK_EX | LOCK_NB) == 0)
		return 0;
	return errno == EWOULDBLOCK ? -EBUSY : -errno;
}

int folder_lock_wait(int dir_fd)
{
	const struct timespec pause = { .tv_nsec = TRY_PAUSE_NS };
	int err = folder_lock_take(dir_fd);

	for (int i = 1; err == -EBUSY && i < TRIES; i++) {
		nanosleep(&pause, NULL);
		err = folder_lock_take(dir_fd);
	}
	return err;
}

int folder_lock_test(const char *dir)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), err;

	if (fd < 0)
		return -errno;
	err = folder_lock_wait(fd);
	close(fd);
	return err;
}
