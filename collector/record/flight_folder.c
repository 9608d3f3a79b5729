/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/record/flight_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "collector/output/own_files.h"

#define TRIES 100
#define HIDDEN_BYTES (FLIGHT_NAME_BYTES + sizeof("..new"))

struct kept {
	char name[FLIGHT_NAME_BYTES];
	dev_t dev;
	ino_t ino;
	uint64_t bytes;
};

struct flight_folder {
	int dir_fd;
	int fd; /* "snapshots"; -1: not open yet */
	bool named; /* the name of "snapshots" is synced */
	uint32_t number; /* of the last folder, 0: none yet */
	uint32_t most;
	uint64_t most_bytes;
	struct flight_folder_sums sums;
	struct kept *kept; /* oldest first; has room for most + 1 */
};

int flight_folder_new(int dir_fd, uint32_t most, uint64_t most_bytes,
		      struct flight_folder **out)
{
	struct flight_folder *folder = calloc(1, sizeof(*folder));

	if (!folder)
		return -ENOMEM;
	folder->dir_fd = dir_fd;
	folder->fd = -1;
	folder->most = most;
	folder->most_bytes = most_bytes;
	folder->kept = calloc((size_t)most + 1, sizeof(*folder->kept));
	if (!folder->kept) {
		free(folder);
		return -ENOMEM;
	}
	*out = folder;
	return 0;
}

void flight_folder_free(struct flight_folder **folder)
{
	struct flight_folder *old = *folder;

	*folder = NULL;
	if (!old)
		return;
	if (old->fd >= 0)
		close(old->fd);
	free(old->kept);
	free(old);
}

static int open_below(int dir_fd, const char *name)
{
	int fd = openat(dir_fd, name,
			O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int open_snapshots(struct flight_folder *folder)
{
	int fd;
	struct stat ours, there;

	/* A person may have removed or moved the folder. */
	if (folder->fd >= 0 && fstat(folder->fd, &ours) == 0 &&
	    fstatat(folder->dir_fd, SNAPSHOTS_NAME, &there,
		    AT_SYMLINK_NOFOLLOW) == 0 &&
	    ours.st_dev == there.st_dev && ours.st_ino == there.st_ino)
		return 0;
	if (folder->fd >= 0)
		close(folder->fd);
	folder->fd = -1;
	folder->named = false;
	if (mkdirat(folder->dir_fd, SNAPSHOTS_NAME, 0700) < 0 &&
	    errno != EEXIST)
		return -errno;
	fd = open_below(folder->dir_fd, SNAPSHOTS_NAME);
	if (fd < 0)
		return fd;
	folder->fd = fd;
	return 0;
}

static const char *hide_name(const struct flight_draft *draft,
			     char name[HIDDEN_BYTES])
{
	snprintf(name, HIDDEN_BYTES, ".%s.new", draft->name);
	return name;
}

static int make_folder(struct flight_folder *folder, const char *why,
		       struct flight_draft *draft)
{
	char name[HIDDEN_BYTES];
	int err = -EEXIST;

	for (int i = 0; i < TRIES && err == -EEXIST; i++) {
		time_t now = time(NULL);
		char clock[16];
		struct tm utc;

		gmtime_r(&now, &utc);
		strftime(clock, sizeof(clock), "%H%M%S", &utc);
		snprintf(draft->name, sizeof(draft->name), "%04u-%s-%.16s",
			 (unsigned int)++folder->number, clock, why);
		if (faccessat(folder->fd, draft->name, F_OK,
			      AT_SYMLINK_NOFOLLOW) == 0)
			continue;
		err = mkdirat(folder->fd, hide_name(draft, name), 0700) < 0
			      ? -errno
			      : 0;
	}
	return err;
}

int flight_folder_begin(struct flight_folder *folder, const char *why,
			struct flight_draft *out)
{
	char name[HIDDEN_BYTES];
	int err = open_snapshots(folder);

	if (!err)
		err = make_folder(folder, why, out);
	if (err)
		return err;
	out->fd = open_below(folder->fd, hide_name(out, name));
	if (out->fd >= 0)
		return 0;
	(void)unlinkat(folder->fd, name, AT_REMOVEDIR);
	return out->fd;
}

void flight_folder_discard(struct flight_folder *folder,
			   struct flight_draft *draft)
{
	char name[HIDDEN_BYTES];

	close(draft->fd);
	draft->fd = -1;
	(void)own_files_remove_snapshot(folder->fd, hide_name(draft, name));
}

/* --- limits -------------------------------------------------------------- */

static void remove_oldest(struct flight_folder *folder)
{
	const struct kept *one = &folder->kept[0];
	struct stat status;

	/* The name may lead to a folder of somebody else by now. */
	if (!fstatat(folder->fd, one->name, &status, AT_SYMLINK_NOFOLLOW) &&
	    status.st_dev == one->dev && status.st_ino == one->ino &&
	    !own_files_remove_snapshot(folder->fd, one->name))
		folder->sums.removed++;
	folder->sums.count--;
	folder->sums.bytes -= folder->kept[0].bytes;
	memmove(folder->kept, folder->kept + 1,
		folder->sums.count * sizeof(folder->kept[0]));
}

static uint64_t file_size(int dir_fd, const char *name)
{
	struct stat status;

	return fstatat(dir_fd, name, &status, AT_SYMLINK_NOFOLLOW) < 0
		       ? 0
		       : (uint64_t)status.st_size;
}

/* --- keeping ------------------------------------------------------------- */

static int sync_folder(int dir_fd)
{
	return fsync(dir_fd) < 0 ? -errno : 0;
}

/* Renames the hidden folder to its name and syncs it. Returns 0 or -errno; on
 * an error the folder is hidden again. */
static int show_folder(struct flight_folder *folder,
		       const struct flight_draft *draft)
{
	char name[HIDDEN_BYTES];
	int err = renameat2(folder->fd, hide_name(draft, name), folder->fd,
			    draft->name, RENAME_NOREPLACE);

	/* Some file systems lack RENAME_NOREPLACE. A plain rename replaces only
	 * an empty folder. */
	if (err < 0 && errno == EINVAL)
		err = renameat(folder->fd, name, folder->fd, draft->name);
	if (err < 0)
		return -errno;
	err = sync_folder(folder->fd);
	/* The first snapshot also created "snapshots". */
	if (!err && !folder->named)
		err = sync_folder(folder->dir_fd);
	folder->named |= !err;
	if (err)
		(void)renameat(folder->fd, draft->name, folder->fd, name);
	return err;
}

int flight_folder_keep(struct flight_folder *folder, struct flight_draft *draft)
{
	struct kept *one = &folder->kept[folder->sums.count];
	struct stat status;
	int err = own_files_sync(draft->fd);

	one->bytes = file_size(draft->fd, TRACE_NAME) +
		     file_size(draft->fd, WHY_NAME);
	if (!err && one->bytes > folder->most_bytes)
		err = -E2BIG;
	if (!err && fstat(draft->fd, &status) < 0)
		err = -errno;
	if (!err)
		err = show_folder(folder, draft);
	if (err) {
		flight_folder_discard(folder, draft);
		return err;
	}
	close(draft->fd);
	draft->fd = -1;
	memcpy(one->name, draft->name, sizeof(one->name));
	one->dev = status.st_dev;
	one->ino = status.st_ino;
	folder->sums.count++;
	folder->sums.bytes += one->bytes;
	folder->sums.written++;
	while (folder->sums.count > folder->most ||
	       folder->sums.bytes > folder->most_bytes)
		remove_oldest(folder);
	return 0;
}

struct flight_folder_sums flight_folder_sums(const struct flight_folder *folder)
{
	return folder->sums;
}

const char *flight_folder_name(const struct flight_folder *folder, uint32_t at)
{
	return folder->kept[at].name;
}
