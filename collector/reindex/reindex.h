/* SPDX-License-Identifier: Apache-2.0
 *
 * reindex - gives the recording in a folder an index that says what its trace
 * says, in place of one that is missing, was cut short, is damaged or of
 * another trace. One thread at a time.
 */
#ifndef PERFREC_COLLECTOR_REINDEX_REINDEX_H
#define PERFREC_COLLECTOR_REINDEX_REINDEX_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/reindex/trace_reindex.h"

/* How it ended. But for the first three there is no new index, and an old one
 * stays. */
enum reindex_end {
	REINDEX_DONE,
	REINDEX_PART, /* it would be as large as the trace, so it ends early */
	REINDEX_NEEDLESS, /* there is one that tells of all of the trace */
	REINDEX_NO_TRACE,
	REINDEX_NO_FOLDER, /* it cannot be opened: err */
	REINDEX_BUSY, /* it is being recorded or changed */
	REINDEX_NO_LOCK, /* whether it is cannot be known: err */
	REINDEX_FOREIGN, /* perfrec did not write the trace */
	REINDEX_APART, /* the two files of the trace cannot be joined: err */
	REINDEX_UNREAD, /* the trace cannot be read: err */
	REINDEX_EMPTY, /* it has no packet */
	REINDEX_STRANGE, /* a sequence begins twice in it */
	REINDEX_UNWRITTEN, /* the index cannot be written: err */
};

struct reindex_result {
	enum reindex_end end;
	int err; /* -errno */
	struct trace_reindex_result trace; /* what was read */
	uint64_t bytes; /* of the new index */
};

/* Whether the folder @dir has no index that tells of all of its trace. Reads
 * the index. */
bool reindex_is_needed(const char *dir);

/*
 * Makes the index of the recording in @dir, which is open as @dir_fd. The
 * caller holds its lock (folder_lock.h), and has made sure that perfrec wrote
 * the trace. The index has its name when it is finished; until then an index
 * that is there stays. @progress may be NULL. Logs nothing.
 */
struct reindex_result reindex_locked(const char *dir, int dir_fd,
				     const struct read_progress *progress);

/* The same without a lock: takes it, and joins a trace that is apart
 * (output/kept_trace.h). If there is an index that tells of all of
 * the trace, makes it only if @again. */
struct reindex_result reindex_folder(const char *dir, bool again,
				     const struct read_progress *progress);

/* One line for the user, if there is something to say. REINDEX_NO_TRACE has
 * nothing: trace_command_log_open() knows more. */
void reindex_log(const char *dir, const struct reindex_result *result);

#endif
