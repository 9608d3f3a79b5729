/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/push/spool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/base/folder.h"
#include "collector/output/folder_lock.h"
#include "collector/output/own_files.h"

#define MARKED_BYTES (SCHEDULE_NAME_BYTES + 32)
#define BLOCK_BYTES 512 /* unit of st_blocks */

int spool_open(const char *path, struct spool *out)
{
	int err;

	*out = (struct spool){
		.fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC),
	};
	if (out->fd < 0)
		return -errno;
	err = folder_lock_take(out->fd);
	if (err)
		close(out->fd);
	return err;
}

void spool_close(struct spool *spool)
{
	close(spool->fd);
}

static void mark_name(const struct spool *spool, const char *name,
		      uint32_t lane, char mark[MARKED_BYTES])
{
	snprintf(mark, MARKED_BYTES, "%.*s" PUSH_MARK "%016" PRIx64,
		 SCHEDULE_NAME_BYTES, name, spool->endpoints[lane].id);
}

int spool_remove(const struct spool *spool, const char *name, uint32_t marks)
{
	int err = unlinkat(spool->fd, name, 0) ? -errno : 0;
	char mark[MARKED_BYTES];

	for (uint32_t i = 0; marks >> i; i++) {
		if (!(marks >> i & 1))
			continue;
		mark_name(spool, name, i, mark);
		(void)unlinkat(spool->fd, mark, 0);
	}
	return err;
}

static bool is_left_mark(const struct spool *spool, const char *name)
{
	const char *mark = strstr(name, PUSH_MARK);
	char window[SCHEDULE_NAME_BYTES];
	uint64_t start_ns, session;

	if (!mark || mark - name >= (ptrdiff_t)sizeof(window))
		return false;
	snprintf(window, sizeof(window), "%.*s", (int)(mark - name), name);
	return schedule_parse(window, &start_ns, &session) &&
	       faccessat(spool->fd, window, F_OK, AT_SYMLINK_NOFOLLOW) &&
	       errno == ENOENT;
}

void spool_remove_left(const struct spool *spool)
{
	DIR *folder = folder_read(spool->fd);
	const struct dirent *entry;
	uint64_t start_ns, session;

	while (folder && (entry = readdir(folder)))
		if ((*entry->d_name == '.' &&
		     schedule_parse(entry->d_name + 1, &start_ns, &session)) ||
		    is_left_mark(spool, entry->d_name))
			unlinkat(spool->fd, entry->d_name, 0);
	if (folder)
		closedir(folder);
	own_files_discard(spool->fd, PUSH_COUNTERS_NAME);
}

int spool_mark(const struct spool *spool, const char *name, uint32_t lane)
{
	char mark[MARKED_BYTES];
	int fd;

	mark_name(spool, name, lane, mark);
	fd = openat(spool->fd, mark,
		    O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

/* Looks at window @name: how many bytes of the disk it takes, and the lanes
 * that have it. 0 or -errno. */
static int look_at(const struct spool *spool, const char *name, uint32_t lanes,
		   uint64_t *bytes, uint32_t *done)
{
	char mark[MARKED_BYTES];
	struct stat status;

	if (fstatat(spool->fd, name, &status, AT_SYMLINK_NOFOLLOW))
		return -errno;
	if (S_ISDIR(status.st_mode))
		return -EISDIR;
	*bytes = (uint64_t)status.st_blocks * BLOCK_BYTES;
	*done = 0;
	for (uint32_t i = 0; i < lanes && !spool->was_scanned; i++) {
		mark_name(spool, name, i, mark);
		if (!faccessat(spool->fd, mark, F_OK, AT_SYMLINK_NOFOLLOW))
			*done |= 1u << i;
	}
	return 0;
}

int spool_scan(struct spool *spool, struct schedule *schedule,
	       const struct schedule_time *now)
{
	DIR *folder = folder_read(spool->fd);
	const struct dirent *entry;
	uint64_t bytes = 0, ignored;
	uint32_t done = 0;
	int err = 0;

	if (!folder)
		return -errno;
	schedule->left_windows = schedule->left_bytes = 0;
	while (!err && (entry = readdir(folder))) {
		if (!schedule_parse(entry->d_name, &ignored, &ignored) ||
		    schedule_has(schedule, entry->d_name) ||
		    look_at(spool, entry->d_name, schedule->lane_count, &bytes,
			    &done))
			continue;
		err = schedule_see(schedule, entry->d_name, bytes, done, now);
	}
	closedir(folder);
	/* The next scan must read the marks of the windows left out. */
	spool->was_scanned =
		!schedule->left_windows && (spool->was_scanned || !err);
	return err;
}
