/* SPDX-License-Identifier: Apache-2.0
 *
 * retention - removes the oldest recordings beyond --keep-recordings. It checks a
 * folder when it lists it, and again before it removes it:
 *
 * - The summary confirms that the folder has the name that the daemon gave it.
 *   So renamed and copied recordings stay, and those of perfrec record.
 * - The folder has a summary, the last file of a recording, written by perfrec.
 * - All files were written by perfrec. A recording with foreign files, such as
 *   notes or charts, stays.
 * - The lock (folder_lock.h) is free: no collector writes the recording and no
 *   command repairs it.
 *
 * Folders are opened below the daemon's folder and never through symbolic
 * links. Files are removed by name, relative to the open folder, the summary
 * last. So a collector killed meanwhile leaves a finished recording.
 *
 * Each scan calls stat() for every folder, but opens only new and changed ones.
 * It takes about a microsecond for each old recording.
 */
#include "collector/serve/retention.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "collector/base/clock.h"
#include "collector/base/grow.h"
#include "collector/base/jobs.h"
#include "collector/base/lock.h"
#include "collector/base/log.h"
#include "collector/base/size.h"
#include "collector/options/keep_limits.h"
#include "collector/output/folder_lock.h"
#include "collector/output/own_files.h"

#define NS_PER_S UINT64_C(1000000000)
#define DIGITS "0123456789"

struct kept {
	char *name; /* of its folder */
	size_t program_length; /* prefix of name */
	dev_t dev;
	ino_t ino;
	struct timespec changed; /* ctime of the folder */
	uint64_t ended_ns; /* CLOCK_REALTIME */
	uint64_t bytes;
	const char *beyond; /* exceeded limit, or NULL */
};

struct kept_list {
	struct kept *kept;
	size_t count, room;
};

struct retention {
	struct job job; /* first */
	struct jobs *jobs;
	const struct keep_limits *limits;
	struct retention_owner owner;
	int dir_fd;
	/* Owned by the thread. */
	struct kept_list known; /* from the last look, sorted by inode */
	struct log_limit removals, failures;

	struct lock lock; /* guards everything below */
	bool posted; /* the job is queued */
	struct retention_counts counts;
};

/* --- finding recordings ------------------------------------------------- */

size_t retention_program(const char *name)
{
	const char *dash = strrchr(name, '-');
	size_t digits = dash ? strspn(dash + 1, DIGITS) : 0;
	const char *rest;

	if (!digits || dash == name)
		return 0;
	rest = dash + 1 + digits;
	if (*rest == '.')
		rest += 1 + strspn(rest + 1, DIGITS);
	return *rest ? 0 : (size_t)(dash - name);
}

static int compare_inodes(const void *a, const void *b)
{
	const struct kept *left = a, *right = b;

	return (left->ino > right->ino) - (left->ino < right->ino);
}

/* Opens the folder @name if it is a finished recording without foreign files.
 * Returns a descriptor or -errno. */
static int open_finished(int dir_fd, const char *name)
{
	int fd = openat(dir_fd, name,
			O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct own_files files;
	int err;

	if (fd < 0)
		return -errno;
	err = own_files_look(fd, &files);
	if (!err && !(files.recorded && files.summarized && !files.foreign &&
		      own_files_is_named(fd, name)))
		err = -EBADMSG;
	if (!err)
		return fd;
	close(fd);
	return err;
}

static uint64_t time_ns(const struct timespec *time)
{
	return (uint64_t)time->tv_sec * NS_PER_S + (uint64_t)time->tv_nsec;
}

static bool look_inside(int dir_fd, struct kept *kept)
{
	int fd = open_finished(dir_fd, kept->name);
	struct stat summary;
	bool finished;

	if (fd < 0)
		return false;
	finished = !fstatat(fd, SUMMARY_NAME, &summary, AT_SYMLINK_NOFOLLOW);
	if (finished) {
		kept->ended_ns = time_ns(&summary.st_mtim);
		kept->bytes = own_files_bytes(fd);
	}
	close(fd);
	return finished;
}

static const struct kept *find_known_recording(
	const struct retention *retention, const struct kept *kept)
{
	const struct kept *known =
		retention->known.count ? bsearch(kept, retention->known.kept,
						 retention->known.count,
						 sizeof(*kept), compare_inodes)
				       : NULL;

	return known && known->dev == kept->dev &&
			       time_ns(&known->changed) ==
				       time_ns(&kept->changed)
		       ? known
		       : NULL;
}

static int add_folder(const struct retention *retention, const char *name,
		      struct kept_list *list)
{
	struct kept kept = { .program_length = retention_program(name) };
	const struct kept *known;
	struct stat status;

	if (!kept.program_length ||
	    fstatat(retention->dir_fd, name, &status, AT_SYMLINK_NOFOLLOW) ||
	    !S_ISDIR(status.st_mode))
		return 0;
	kept.dev = status.st_dev;
	kept.ino = status.st_ino;
	kept.changed = status.st_ctim;
	kept.name = strdup(name);
	if (!kept.name || grow_array(list->kept, list->room, list->count + 1)) {
		free(kept.name);
		return -ENOMEM;
	}
	known = find_known_recording(retention, &kept);
	if (known) {
		kept.ended_ns = known->ended_ns;
		kept.bytes = known->bytes;
	} else if (!look_inside(retention->dir_fd, &kept)) {
		free(kept.name);
		return 0;
	}
	list->kept[list->count++] = kept;
	return 0;
}

static void release_list(struct kept_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->kept[i].name);
	free(list->kept);
	*list = (struct kept_list){ 0 };
}

static int list_recordings(const struct retention *retention,
			   struct kept_list *list)
{
	int fd = openat(retention->dir_fd, ".",
			O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	int err = dir ? 0 : -errno;
	struct dirent *entry;

	while (dir && !err && (entry = readdir(dir)))
		err = add_folder(retention, entry->d_name, list);
	if (dir)
		closedir(dir);
	else if (fd >= 0)
		close(fd);
	if (err)
		release_list(list);
	return err;
}

/* --- removing recordings ------------------------------------------------ */

static int compare_ends(const struct kept *left, const struct kept *right)
{
	int order = (left->ended_ns < right->ended_ns) -
		    (left->ended_ns > right->ended_ns);

	return order ?: strcmp(right->name, left->name);
}

static int compare_recording_ages(const void *a, const void *b)
{
	return compare_ends(a, b);
}

static int compare_programs(const struct kept *left, const struct kept *right)
{
	size_t length = MIN(left->program_length, right->program_length);

	return memcmp(left->name, right->name, length)
		       ?: (left->program_length > length) -
				  (right->program_length > length);
}

static int compare_program_age(const void *a, const void *b)
{
	return compare_programs(a, b) ?: compare_ends(a, b);
}

/* Returns the reason why @kept exceeds @limit, or NULL. @kept is recording
 * @number, counted from the newest; @bytes includes all newer ones. The newest
 * recording only exceeds a limit of age, because its user needs it now. */
static const char *why_beyond(const struct keep_limit *limit,
			      const struct kept *kept, uint64_t number,
			      uint64_t bytes, uint64_t now_ns)
{
	if (limit->age_ns && kept->ended_ns < now_ns &&
	    now_ns - kept->ended_ns > limit->age_ns)
		return "too old";
	if (number > 1 && limit->count && number > limit->count)
		return "too many";
	if (number > 1 && limit->bytes && bytes > limit->bytes)
		return "too large together";
	return NULL;
}

/* @kept is sorted, newest first. */
static void mark_old(struct kept *kept, size_t count,
		     const struct keep_limit *limit, uint64_t now_ns)
{
	uint64_t bytes = 0, number = 0;

	for (; count; kept++, count--)
		if (!kept->beyond) {
			bytes += kept->bytes;
			kept->beyond = why_beyond(limit, kept, ++number, bytes,
						  now_ns);
		}
}

/* Returns 0 or -errno. -EBUSY, -EBADMSG: must stay, at least for now. */
static int remove_kept_folder(const struct retention *retention,
			      const struct kept *kept)
{
	int fd = open_finished(retention->dir_fd, kept->name), err = 0;

	if (fd < 0)
		return fd;
	/* Some file systems do not support locks. */
	if (folder_lock_take(fd) == -EBUSY)
		err = -EBUSY;
	else
		own_files_remove(fd);
	close(fd);
	if (!err && unlinkat(retention->dir_fd, kept->name, AT_REMOVEDIR) < 0)
		err = -errno;
	return err;
}

static void remove_old(struct retention *retention, const struct kept *kept,
		       uint64_t now_ns, struct retention_counts *counts)
{
	int err = remove_kept_folder(retention, kept);

	if (!err) {
		char size[SIZE_TEXT], age[SIZE_TEXT];

		counts->removed++;
		counts->removed_bytes += kept->bytes;
		retention->owner.removed(retention->owner.context, kept->dev,
					 kept->ino);
		log_limited(&retention->removals, LOG_INFO,
			    "removed recording '%s' (%s, ended %s ago): it was "
			    "beyond --keep-recordings (%s)",
			    kept->name, size_format_bytes(kept->bytes, size),
			    size_format_ns(now_ns - MIN(now_ns, kept->ended_ns),
					   age),
			    kept->beyond);
		return;
	}
	counts->stuck++;
	if (err != -EBUSY && err != -EBADMSG)
		log_limited(&retention->failures, LOG_WARN,
			    "cannot remove recording '%s', which is beyond "
			    "--keep-recordings: %s",
			    kept->name, strerror(-err));
}

/* --- the thread ---------------------------------------------------------- */

static void mark_each(struct kept_list *list, const struct keep_limit *limit,
		      uint64_t now_ns)
{
	size_t first = 0;

	qsort(list->kept, list->count, sizeof(*list->kept),
	      compare_program_age);
	for (size_t i = 1; i <= list->count; i++)
		if (i == list->count ||
		    compare_programs(&list->kept[first], &list->kept[i])) {
			mark_old(list->kept + first, i - first, limit, now_ns);
			first = i;
		}
}

/* From now on, retention_look() posts another look. */
static struct retention_counts begin_look(struct retention *retention)
{
	struct retention_counts counts;

	lock_acquire(&retention->lock);
	retention->posted = false;
	counts = retention->counts;
	lock_release(&retention->lock);
	counts.stuck = 0;
	return counts;
}

static void retention_job(struct job *job)
{
	struct retention *retention = (struct retention *)job; /* first */
	struct retention_counts counts = begin_look(retention);
	uint64_t now_ns = clock_read_ns(CLOCK_REALTIME);
	struct kept_list list = { 0 };
	int err = list_recordings(retention, &list);

	if (err)
		log_limited(&retention->failures, LOG_WARN,
			    "cannot look for recordings beyond "
			    "--keep-recordings: %s",
			    strerror(-err));
	if (list.count) {
		mark_each(&list, &retention->limits->each, now_ns);
		qsort(list.kept, list.count, sizeof(*list.kept),
		      compare_recording_ages);
		mark_old(list.kept, list.count, &retention->limits->all,
			 now_ns);
	}
	for (size_t i = list.count; i-- > 0;)
		if (list.kept[i].beyond)
			remove_old(retention, &list.kept[i], now_ns, &counts);
	lock_acquire(&retention->lock);
	retention->counts = counts;
	lock_release(&retention->lock);
	release_list(&retention->known);
	if (list.count)
		qsort(list.kept, list.count, sizeof(*list.kept),
		      compare_inodes);
	retention->known = list;
}

int retention_new(const char *path, const struct keep_limits *limits,
		  const struct retention_owner *owner, struct retention **out)
{
	struct retention *retention = calloc(1, sizeof(*retention));
	int err;

	if (!retention)
		return -ENOMEM;
	retention->job.run = retention_job;
	retention->limits = limits;
	retention->owner = *owner;
	lock_init(&retention->lock, LOCK_RETENTION);
	retention->dir_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	err = retention->dir_fd < 0
		      ? -errno
		      : jobs_new("perfrec-keep", NULL, &retention->jobs);
	if (err) {
		retention_free(&retention);
		return err;
	}
	*out = retention;
	return 0;
}

void retention_free(struct retention **retention)
{
	struct retention *old = *retention;

	*retention = NULL;
	if (!old)
		return;
	jobs_free(&old->jobs);
	release_list(&old->known);
	lock_destroy(&old->lock);
	if (old->dir_fd >= 0)
		close(old->dir_fd);
	free(old);
}

void retention_look(struct retention *retention)
{
	bool posted;

	if (!retention)
		return;
	lock_acquire(&retention->lock);
	posted = retention->posted;
	retention->posted = true;
	lock_release(&retention->lock);
	if (!posted)
		jobs_post(retention->jobs, &retention->job);
}

struct retention_counts retention_counts(struct retention *retention)
{
	struct retention_counts counts = { 0 };

	if (!retention)
		return counts;
	lock_acquire(&retention->lock);
	counts = retention->counts;
	lock_release(&retention->lock);
	return counts;
}
