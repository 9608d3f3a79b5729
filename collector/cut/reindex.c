/* SPDX-License-Identifier: Apache-2.0
 *
 * reindex - makes the trace.index of a recording again if it is missing,
 * damaged or ends early, and reports the outcome.
 */
#include "collector/cut/reindex.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/base/log.h"
#include "collector/output/folder_lock.h"
#include "collector/output/kept_trace.h"
#include "collector/output/own_files.h"
#include "collector/read/trace_index.h"
#include "collector/trace/trace_index.h"

static int trace_path(const char *dir, char path[PATH_MAX])
{
	int length = snprintf(path, PATH_MAX, "%s/" TRACE_NAME, dir);

	return length < PATH_MAX ? 0 : -ENAMETOOLONG;
}

bool reindex_is_needed(const char *dir)
{
	struct trace_index *index = NULL;
	char path[PATH_MAX];
	bool needed;

	if (trace_path(dir, path) || trace_index_read_beside(path, &index))
		return true;
	needed = !index->whole;
	trace_index_free(&index);
	return needed;
}

static struct reindex_result ended(enum reindex_end end, int err)
{
	return (struct reindex_result){ .end = end, .err = err };
}

static enum reindex_end end_of(int err, int written,
			       const struct trace_reindex_result *trace)
{
	if (err == -EPROTO)
		return REINDEX_STRANGE;
	if (err)
		return REINDEX_UNREAD;
	if (written && written != -EOVERFLOW)
		return REINDEX_UNWRITTEN;
	if (!trace->packets)
		return REINDEX_EMPTY;
	return written ? REINDEX_PART : REINDEX_DONE;
}

static struct reindex_result write_index(const char *dir, int dir_fd,
					 const struct read_progress *progress)
{
	struct reindex_result result = { 0 };
	struct trace_index_to index;
	char path[PATH_MAX];
	int err, written;

	/* A killed perfrec may have left this file. */
	own_files_discard(dir_fd, INDEX_NEW_NAME);
	err = trace_index_open(dir_fd, INDEX_NEW_NAME, &index);
	if (err)
		return ended(REINDEX_UNWRITTEN, err);
	err = trace_path(dir, path);
	if (!err)
		err = trace_reindex(path, &index, progress, &result.trace);
	written = trace_index_close(&index, !err && !result.trace.read_err);
	result.end = end_of(err, written, &result.trace);
	result.err = err ?: written;
	return result;
}

struct reindex_result reindex_locked(const char *dir, int dir_fd,
				     const struct read_progress *progress)
{
	struct reindex_result result = write_index(dir, dir_fd, progress);
	struct stat status;
	int err;

	if (result.end != REINDEX_DONE && result.end != REINDEX_PART) {
		own_files_discard(dir_fd, INDEX_NEW_NAME);
		return result;
	}
	err = own_files_replace(dir_fd, INDEX_NEW_NAME, INDEX_NAME);
	if (err)
		return ended(REINDEX_UNWRITTEN, err);
	if (fstatat(dir_fd, INDEX_NAME, &status, AT_SYMLINK_NOFOLLOW) == 0)
		result.bytes = (uint64_t)status.st_size;
	return result;
}

static struct reindex_result lock_and_write(
	const char *dir, int dir_fd, bool again,
	const struct read_progress *progress)
{
	struct own_files files;
	int err;

	if (faccessat(dir_fd, TRACE_NAME, F_OK, 0) < 0)
		return ended(REINDEX_NO_TRACE, 0);
	err = folder_lock_take(dir_fd);
	if (err)
		return ended(err == -EBUSY ? REINDEX_BUSY : REINDEX_NO_LOCK,
			     err);
	err = own_files_look(dir_fd, &files);
	if (err)
		return ended(REINDEX_NO_FOLDER, err);
	if (!files.recorded)
		return ended(REINDEX_FOREIGN, 0);
	err = kept_trace_join(dir_fd);
	if (err)
		return ended(REINDEX_APART, err);
	if (!again && !reindex_is_needed(dir))
		return ended(REINDEX_NEEDLESS, 0);
	return reindex_locked(dir, dir_fd, progress);
}

struct reindex_result reindex_folder(const char *dir, bool again,
				     const struct read_progress *progress)
{
	struct reindex_result result;
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return ended(REINDEX_NO_TRACE, 0);
	if (fd < 0)
		return ended(REINDEX_NO_FOLDER, -errno);
	result = lock_and_write(dir, fd, again, progress);
	close(fd);
	return result;
}

/* --- messages ------------------------------------------------------------ */

static void log_unread(const char *dir, int err)
{
	if (err == -EBADMSG)
		log_err("cannot index '%.2000s/" TRACE_NAME
			"': it is no plain file, or another program shortened "
			"it",
			dir);
	else
		log_err("cannot index '%.2000s/" TRACE_NAME "': %s", dir,
			strerror(-err));
}

static void log_failure(const char *dir, const struct reindex_result *result)
{
	const char *why = strerror(-result->err);

	switch (result->end) {
	case REINDEX_NO_FOLDER:
		log_err("cannot open folder '%.2000s': %s", dir, why);
		return;
	case REINDEX_BUSY:
		log_err("'%.2000s' is in use: its recording still goes on, or "
			"another perfrec changes it",
			dir);
		return;
	case REINDEX_NO_LOCK:
		log_err("cannot lock '%.2000s': %s; its recording may still go "
			"on (copy it to another file system)",
			dir, why);
		return;
	case REINDEX_FOREIGN:
		log_err("'%.2000s' is no recording of perfrec: something else "
			"wrote its " TRACE_NAME,
			dir);
		return;
	case REINDEX_APART:
		log_err("cannot join '%.2000s/" HEAD_NAME
			"' and its " TRACE_NAME ": %s",
			dir, why);
		return;
	case REINDEX_EMPTY:
		log_err("'%.2000s/" TRACE_NAME "' is no trace, or is empty",
			dir);
		return;
	case REINDEX_STRANGE:
		log_err("cannot index '%.2000s/" TRACE_NAME "': it starts a "
			"thread twice, so perfrec did not write it like this",
			dir);
		return;
	case REINDEX_UNWRITTEN:
		log_err("cannot write '%.2000s/" INDEX_NAME "': %s", dir, why);
		return;
	default:
		log_unread(dir, result->err);
	}
}

void reindex_log(const char *dir, const struct reindex_result *result)
{
	if (result->end == REINDEX_PART)
		log_warn("the index of '%.2000s' reached its limit, half the "
			 "size of the trace plus 16 MiB: it ends early, and "
			 "commands read the rest from the trace",
			 dir);
	else if (result->end == REINDEX_NEEDLESS)
		log_info("'%.2000s' already has a complete index (--again "
			 "makes it anew)",
			 dir);
	else if (result->end > REINDEX_NO_TRACE)
		log_failure(dir, result);
}
