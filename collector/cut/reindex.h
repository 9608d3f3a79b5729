/* SPDX-License-Identifier: Apache-2.0
 *
 * reindex - makes the index of a recording again from its trace, if the index
 * is missing, ends early, is damaged or belongs to another trace. One thread at
 * a time.
 */
#ifndef PERFREC_COLLECTOR_CUT_REINDEX_H
#define PERFREC_COLLECTOR_CUT_REINDEX_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/cut/trace_reindex.h"

/* The outcome. Only REINDEX_DONE and REINDEX_PART have a new index; with all
 * others an old index stays. */
enum reindex_end {
	REINDEX_DONE,
	REINDEX_PART, /* it reached the limit on its size and ends early */
	REINDEX_NEEDLESS,
	REINDEX_NO_TRACE,
	REINDEX_NO_FOLDER,
	REINDEX_BUSY,
	REINDEX_NO_LOCK, /* cannot find out if it is in use: err */
	REINDEX_FOREIGN,
	REINDEX_APART, /* cannot join the two files of the trace: err */
	REINDEX_UNREAD,
	REINDEX_EMPTY,
	REINDEX_STRANGE,
	REINDEX_UNWRITTEN,
};

struct reindex_result {
	enum reindex_end end;
	int err; /* -errno, or 0 */
	struct trace_reindex_result trace;
	uint64_t bytes;
};

/* Returns true if the folder @dir has no index of its whole trace. Reads the
 * index. */
bool reindex_is_needed(const char *dir);

/*
 * Makes the index of the recording in @dir, which is open as @dir_fd. The
 * caller holds the lock of the folder (folder_lock.h) and has checked that
 * perfrec wrote the trace. The new index replaces an old one only when it is
 * finished. @progress may be NULL. Logs nothing.
 */
struct reindex_result reindex_locked(const char *dir, int dir_fd,
				     const struct read_progress *progress);

/* Like reindex_locked(), but takes the lock and joins a trace that has two
 * files (output/kept_trace.h). If an index of the whole trace exists, makes a
 * new one only with @again. */
struct reindex_result reindex_folder(const char *dir, bool again,
				     const struct read_progress *progress);

/* Logs one line about a failure, a partial index or REINDEX_NEEDLESS. Logs
 * nothing for REINDEX_NO_TRACE, because trace_command_log_open() has a better
 * message. */
void reindex_log(const char *dir, const struct reindex_result *result);

#endif
