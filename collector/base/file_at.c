/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/base/file_at.h"

#include <errno.h>
#include <unistd.h>

int file_read_at(int fd, void *to, size_t count, uint64_t offset)
{
	uint8_t *at = to;

	while (count) {
		ssize_t got = pread(fd, at, count, (off_t)offset);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got ? -errno : -EBADMSG;
		at += got;
		offset += (uint64_t)got;
		count -= (size_t)got;
	}
	return 0;
}
