/* SPDX-License-Identifier: Apache-2.0
 *
 * A repair holds the lock of the folder (folder_lock.h). It writes the summary
 * last, so an interrupted repair starts again.
 */
#include "collector/doctor/repair.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/base/log.h"
#include "collector/cut/reindex.h"
#include "collector/doctor/wall_from_trace.h"
#include "collector/output/folder_lock.h"
#include "collector/output/kept_trace.h"
#include "collector/output/own_files.h"
#include "collector/read/summary_read.h"
#include "collector/read/summary_rebuild.h"
#include "collector/read/time_range.h"
#include "collector/read/trace_sums.h"
#include "collector/show/progress.h"

static bool has_recording_file(const char *dir, const char *name)
{
	char path[PATH_MAX];
	struct stat status;
	int length = snprintf(path, sizeof(path), "%s/%s", dir, name);

	return length < (int)sizeof(path) && stat(path, &status) == 0 &&
	       (!S_ISREG(status.st_mode) || status.st_size > 0 ||
		strcmp(name, TRACE_NAME) == 0);
}

bool repair_is_needed(const char *dir)
{
	return !has_recording_file(dir, SUMMARY_NAME) &&
	       has_recording_file(dir, TRACE_NAME);
}

/* Returns true for a flight recorder that was killed: neither summary nor
 * trace. */
static bool has_only_snapshots(const char *dir)
{
	return !has_recording_file(dir, SUMMARY_NAME) &&
	       !has_recording_file(dir, TRACE_NAME) &&
	       has_recording_file(dir, SNAPSHOTS_NAME);
}

static int say_busy(const char *dir)
{
	summary_log_unfinished(dir, true);
	return -EBUSY;
}

static void say_cannot_read(const char *dir, const char *why)
{
	log_err("cannot read '%s/" TRACE_NAME "': %s", dir, why);
}

static int read_left_trace(const char *dir, struct trace_sums **out)
{
	struct progress progress;
	const struct read_progress tell = { progress_tell, &progress };
	char path[PATH_MAX];
	int err = -ENAMETOOLONG;

	progress_begin(&progress, "reading the trace", true);
	if (snprintf(path, sizeof(path), "%s/" TRACE_NAME, dir) < PATH_MAX)
		err = trace_sums_read(path, NULL, &tell, out);
	progress_end(&progress);
	if (err) {
		say_cannot_read(dir, err == -EBADMSG ? "it is no plain file"
						     : strerror(-err));
		return err;
	}
	if ((*out)->tree.totals.packets)
		return 0;
	trace_sums_free(out);
	say_cannot_read(dir, "it is empty, or no trace");
	return -EBADMSG;
}

static int make_summary(const char *dir, const struct trace_sums *sums,
			struct summary **out)
{
	int err = summary_rebuild(dir, sums, out);

	if (err)
		log_err("cannot make the summary of '%s': %s", dir,
			strerror(-err));
	return err;
}

int repair_show(const char *dir, struct summary **out)
{
	struct trace_sums *sums;
	int err;

	if (folder_lock_test(dir) == -EBUSY)
		return say_busy(dir);
	err = read_left_trace(dir, &sums);
	if (err)
		return err;
	err = make_summary(dir, sums, out);
	trace_sums_free(&sums);
	if (!err)
		(*out)->unwritten = true;
	return err;
}

/* --- writing --- */

static int say_cannot_repair(const char *dir, const char *name, int err)
{
	log_err("cannot write '%s/%s': %s", dir, name, strerror(-err));
	return err;
}

/* A killed collector may have written the profile already, with more data than
 * the trace has. */
static int write_repaired_wall(const char *dir, int dir_fd,
			       const struct trace_sums *sums)
{
	int err;

	if (has_recording_file(dir, WALL_PROFILE_NAME))
		return 0;
	own_files_discard(dir_fd, WALL_PROFILE_NAME);
	err = wall_from_trace(sums, dir_fd);
	return err ? say_cannot_repair(dir, WALL_PROFILE_NAME, err) : 0;
}

/* Closes @fd. Returns 0 or -errno. */
static int put_summary(const struct summary *summary, int fd)
{
	FILE *file = fdopen(fd, "w");
	int err;

	if (!file) {
		err = -errno;
		close(fd);
		return err;
	}
	err = summary_rebuild_write(summary, file);
	return fclose(file) && !err ? -errno : err;
}

static int write_repaired_summary(const char *dir, int dir_fd,
				  const struct summary *summary)
{
	int fd, err;

	own_files_discard(dir_fd, SUMMARY_NAME);
	fd = own_files_create(dir_fd, SUMMARY_NAME, 0);
	err = fd < 0 ? fd : put_summary(summary, fd);
	if (err && fd >= 0)
		own_files_discard(dir_fd, SUMMARY_NAME);
	if (!err)
		err = own_files_keep(dir_fd, SUMMARY_NAME);
	if (!err)
		err = own_files_sync(dir_fd);
	return err ? say_cannot_repair(dir, SUMMARY_NAME, err) : 0;
}

/* Makes a new index if there is none, or an incomplete one. Without an index
 * all commands work, but slower. Returns true if it made one. */
static bool write_repaired_index(const char *dir, int dir_fd)
{
	struct progress progress;
	const struct read_progress tell = { progress_tell, &progress };
	struct reindex_result result;

	if (!reindex_is_needed(dir))
		return false;
	progress_begin(&progress, "indexing the trace", true);
	result = reindex_locked(dir, dir_fd, &tell);
	progress_end(&progress);
	reindex_log(dir, &result);
	return result.end == REINDEX_DONE;
}

static void say_made(const char *dir, const struct trace_read_totals *totals,
		     bool indexed)
{
	char until[TIME_RANGE_TEXT];

	log_info("'%s' has " SUMMARY_NAME "%s " WALL_PROFILE_NAME
		 "%s now, made from its trace, which stays as it was, and ends "
		 "at %s: what came later is lost",
		 dir, indexed ? "," : " and", indexed ? " and " INDEX_NAME : "",
		 time_range_text(totals->last_ns - totals->first_ns, until));
}

static int write_repaired_files(const char *dir, int dir_fd)
{
	struct trace_read_totals totals;
	struct trace_sums *sums;
	struct summary *summary;
	bool indexed;
	int err = read_left_trace(dir, &sums);

	if (err)
		return err;
	totals = sums->tree.totals;
	err = write_repaired_wall(dir, dir_fd, sums);
	if (!err)
		err = make_summary(dir, sums, &summary);
	trace_sums_free(&sums);
	if (err)
		return err;
	indexed = write_repaired_index(dir, dir_fd);
	err = write_repaired_summary(dir, dir_fd, summary);
	summary_free(&summary);
	if (!err)
		say_made(dir, &totals, indexed);
	return err;
}

static int say_needless(const char *dir)
{
	struct summary *summary;
	int err = summary_read(dir, &summary);

	if (err) {
		log_info("if '%s/" SUMMARY_NAME "' is damaged, move it away: "
			 "then --repair makes a new one from the trace",
			 dir);
		return err;
	}
	summary_free(&summary);
	log_info("'%s' has its summary: there is nothing to repair", dir);
	return 0;
}

static void say_removed(unsigned int count, const char *what, const char *dir)
{
	if (count)
		log_info("removed %u %s%s of '%s' that the collector had not "
			 "finished when it was killed",
			 count, what, count == 1 ? "" : "s", dir);
}

static void remove_left(const char *dir, int dir_fd)
{
	const struct own_left left = own_files_remove_left(dir_fd);

	say_removed(left.snapshots, "snapshot", dir);
	say_removed(left.windows, "window", dir);
	say_removed(left.files, "file", dir);
}

static int take_lock(const char *dir, int dir_fd)
{
	int err = folder_lock_wait(dir_fd);

	if (err == -EBUSY)
		return say_busy(dir);
	if (err)
		log_err("cannot lock '%s': %s; its recording may still go on "
			"(copy it to another file system)",
			dir, strerror(-err));
	return err;
}

static int check_own(const char *dir, int dir_fd, const char *name)
{
	struct own_files files;
	int err = own_files_look(dir_fd, &files);

	if (err)
		return say_cannot_repair(dir, SUMMARY_NAME, err);
	if (files.summarized || files.recorded)
		return 0;
	log_err("'%s' is no recording of perfrec: something else wrote its %s",
		dir, name);
	return -EBADMSG;
}

static int lock_and_repair(const char *dir, int dir_fd)
{
	int err = take_lock(dir, dir_fd);

	if (err)
		return err;
	if (has_only_snapshots(dir)) {
		err = check_own(dir, dir_fd, SNAPSHOTS_NAME);
		if (err)
			return err;
		remove_left(dir, dir_fd);
		log_info("'%s' is of --flight: its snapshots, in "
			 "'%s/" SNAPSHOTS_NAME
			 "', are recordings of their own, and the rest is lost",
			 dir, dir);
		return 1;
	}
	if (!repair_is_needed(dir))
		return say_needless(dir);
	err = check_own(dir, dir_fd, TRACE_NAME);
	if (err)
		return err;
	err = kept_trace_join(dir_fd);
	if (err)
		return say_cannot_repair(dir, TRACE_NAME, err);
	err = write_repaired_files(dir, dir_fd);
	if (!err)
		remove_left(dir, dir_fd);
	return err;
}

void repair_tidy(const char *dir)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct own_files files;

	if (fd < 0)
		return;
	if (!folder_lock_take(fd) && !own_files_look(fd, &files) &&
	    files.recorded)
		remove_left(dir, fd);
	close(fd);
}

int repair_write(const char *dir)
{
	struct summary *summary;
	int fd, err;

	/* Reports the reason if nothing can be repaired. */
	if (!has_recording_file(dir, TRACE_NAME) && !has_only_snapshots(dir)) {
		err = summary_read(dir, &summary);
		if (!err)
			summary_free(&summary);
		return err;
	}
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0) {
		err = -errno;
		log_err("cannot open folder '%s': %m", dir);
		return err;
	}
	err = lock_and_repair(dir, fd);
	close(fd);
	return err;
}
