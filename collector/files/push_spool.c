/* SPDX-License-Identifier: Apache-2.0
 *
 * push_spool - reads the size of the folder at most once a second, and adds the
 * windows written in between: perfrec-push removes windows at the same time,
 * and 200 recordings write theirs within one second.
 */
#include "collector/files/push_spool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/base/bytes.h"
#include "collector/base/clock.h"
#include "collector/base/lock.h"
#include "collector/base/log.h"
#include "collector/output/own_files.h"
#include "collector/output/unwritten.h"
#include "shared/compiler.h"

#define LOOK_NS 1000000000
#define COUNTERS_BYTES 16384

struct push_spool {
	char *path;
	int fd; /* of the folder; -1: not made yet */
	int pipe[2]; /* [1] does not wait; -1: no window comes any more */
	uint64_t most;
	struct lock lock; /* of what follows */
	uint64_t bytes, looked_ns;
	struct push_spool_counts counts;
};

int push_spool_new(uint64_t bytes, struct push_spool **out)
{
	struct push_spool *spool = calloc(1, sizeof(*spool));
	int err;

	if (!spool)
		return -ENOMEM;
	spool->fd = -1;
	spool->most = bytes;
	lock_init(&spool->lock, LOCK_PUSH_SPOOL);
	if (pipe2(spool->pipe, O_CLOEXEC) == 0 &&
	    fcntl(spool->pipe[1], F_SETFL, O_NONBLOCK) == 0) {
		*out = spool;
		return 0;
	}
	err = -errno;
	lock_destroy(&spool->lock);
	free(spool);
	return err;
}

void push_spool_close(struct push_spool *spool)
{
	if (spool->pipe[1] >= 0)
		close(spool->pipe[1]);
	spool->pipe[1] = -1;
}

void push_spool_free(struct push_spool **spool)
{
	struct push_spool *old = *spool;

	*spool = NULL;
	if (!old)
		return;
	push_spool_close(old);
	close(old->pipe[0]);
	if (old->fd >= 0)
		close(old->fd);
	lock_destroy(&old->lock);
	free(old->path);
	free(old);
}

/* --- its windows --------------------------------------------------------- */

/* Opens the folder once more, to read it from its start. NULL: it is gone. */
static DIR *open_windows(int fd)
{
	int again = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = again < 0 ? NULL : fdopendir(again);

	if (!dir && again >= 0)
		close(again);
	return dir;
}

/* Returns the name of the next window, and sets *@whole; NULL: there are no
 * more. */
static const char *next_window(DIR *dir, bool *whole)
{
	struct dirent *entry;

	do
		entry = readdir(dir);
	while (entry && !own_files_is_window(entry->d_name, whole));
	return entry ? entry->d_name : NULL;
}

static uint64_t all_bytes(const struct push_spool *spool)
{
	DIR *dir = open_windows(spool->fd);
	struct stat status;
	const char *name;
	uint64_t bytes = 0;
	bool whole;

	while (dir && (name = next_window(dir, &whole)))
		if (!fstatat(spool->fd, name, &status, AT_SYMLINK_NOFOLLOW) &&
		    S_ISREG(status.st_mode))
			bytes += (uint64_t)status.st_size;
	if (dir)
		closedir(dir);
	return bytes;
}

/* Removes windows that are not whole. Returns the number of whole windows. */
static unsigned int tidy_windows(const struct push_spool *spool)
{
	DIR *dir = open_windows(spool->fd);
	unsigned int count = 0;
	const char *name;
	bool whole;

	while (dir && (name = next_window(dir, &whole))) {
		count += whole;
		if (!whole)
			(void)own_files_remove_window(spool->fd, name);
	}
	if (dir)
		closedir(dir);
	return count;
}

/* --- the folder ---------------------------------------------------------- */

int push_spool_open(struct push_spool *spool, const char *output)
{
	int err = 0;

	if (asprintf(&spool->path, "%s/" PUSH_NAME, output) < 0) {
		spool->path = NULL;
		return -ENOMEM;
	}
	if (mkdir(spool->path, 0700) < 0 && errno != EEXIST)
		err = -errno;
	if (!err) {
		spool->fd = open(spool->path, O_RDONLY | O_DIRECTORY |
						      O_NOFOLLOW | O_CLOEXEC);
		if (spool->fd < 0)
			err = -errno;
	}
	if (err)
		log_err("cannot make folder '%s', for --push: %s (%s)",
			spool->path, strerror(-err), unwritten_way_out(err));
	else
		(void)tidy_windows(spool);
	return err;
}

const char *push_spool_path(const struct push_spool *spool)
{
	return spool->path;
}

int push_spool_pipe(const struct push_spool *spool)
{
	return spool->pipe[0];
}

json_t *push_spool_read_counters(const char *spool)
{
	char path[PATH_MAX], text[COUNTERS_BYTES];
	ssize_t got;
	int fd;

	snprintf(path, sizeof(path), "%s/" PUSH_COUNTERS_NAME, spool);
	fd = own_files_open(path);
	if (fd < 0)
		return NULL;
	got = read(fd, text, sizeof(text));
	close(fd);
	return got > 0 ? json_loadb(text, (size_t)got, 0, NULL) : NULL;
}

bool push_spool_has_lost(const struct push_spool *spool)
{
	json_t *counters = push_spool_read_counters(spool->path);
	bool lost = json_integer_value(
			    json_object_get(counters, "dropped_windows")) ||
		    json_integer_value(
			    json_object_get(counters, "rejected_profiles"));

	json_decref(counters);
	return lost;
}

unsigned int push_spool_remove(struct push_spool *spool, bool keep_counters)
{
	unsigned int count = spool->fd < 0 ? 0 : tidy_windows(spool);

	if (count || keep_counters || spool->fd < 0)
		return count;
	(void)unlinkat(spool->fd, PUSH_COUNTERS_NAME, 0);
	own_files_discard(spool->fd, PUSH_COUNTERS_NAME);
	(void)rmdir(spool->path);
	return 0;
}

struct push_spool_counts push_spool_counts(struct push_spool *spool)
{
	return LOCKED(&spool->lock, spool->counts);
}

bool push_spool_has_room(struct push_spool *spool)
{
	uint64_t now = clock_boottime_ns(), bytes;
	bool has_room, looks;

	if (spool->fd < 0)
		return false;
	lock_acquire(&spool->lock);
	looks = now - spool->looked_ns >= LOOK_NS;
	/* Others need not look at the same time. */
	if (looks)
		spool->looked_ns = now;
	lock_release(&spool->lock);
	bytes = looks ? all_bytes(spool) : 0;
	lock_acquire(&spool->lock);
	if (looks)
		spool->bytes = bytes;
	has_room = spool->bytes < spool->most;
	spool->counts.full += !has_room;
	lock_release(&spool->lock);
	return has_room;
}

/* Returns 0 or -errno. */
static int write_spool_file(int fd, const struct bytes *window)
{
	const uint8_t *at = window->at, *end = at + window->count;
	ssize_t done;

	while (at < end) {
		done = write(fd, at, (size_t)(end - at));
		if (done < 0 && errno != EINTR)
			return -errno;
		at += MAX(done, 0);
	}
	return 0;
}

/* Makes the window @name, first under a hidden name. Returns 0 or -errno. */
static int make_window(const struct push_spool *spool,
		       const char name[WINDOW_NAME_BYTES],
		       const struct bytes *window)
{
	char hidden[WINDOW_NAME_BYTES + 1];
	int fd, err;

	snprintf(hidden, sizeof(hidden), ".%s", name);
	fd = own_files_create_window(spool->fd, hidden);
	if (fd < 0)
		return fd;
	err = write_spool_file(fd, window);
	if (close(fd) < 0 && !err)
		err = -errno;
	if (!err && renameat(spool->fd, hidden, spool->fd, name) < 0)
		err = -errno;
	/* The next window of this recording has the same name. */
	if (err)
		(void)own_files_remove_window(spool->fd, hidden);
	return err;
}

int push_spool_put(struct push_spool *spool, const char name[WINDOW_NAME_BYTES],
		   const struct bytes *window)
{
	int err = window->failed ? -ENOMEM : make_window(spool, name, window);

	lock_acquire(&spool->lock);
	spool->bytes += err ? 0 : window->count;
	spool->counts.windows += !err;
	spool->counts.failed += err != 0;
	/* When the pipe is full, perfrec-push has enough to do. */
	if (!err && spool->pipe[1] >= 0)
		(void)!write(spool->pipe[1], "w", 1);
	lock_release(&spool->lock);
	return err;
}
