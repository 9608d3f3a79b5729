/* SPDX-License-Identifier: Apache-2.0
 *
 * own_files - the table of all files that perfrec writes into the folder of a
 * recording. perfrec makes and removes only these files there
 * (scripts/check-layers.sh). So the next recording never mistakes a file of
 * perfrec for a person's file.
 */
#ifndef PERFREC_COLLECTOR_OUTPUT_OWN_FILES_H
#define PERFREC_COLLECTOR_OUTPUT_OWN_FILES_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#define TRACE_NAME "trace.pftrace"
#define HEAD_NAME "trace.head" /* with --keep last: see kept_trace.h */
#define HEAD_HEADER_BYTES 24 /* in front of its packets */
#define TRACE_JOINED_NAME ".trace.joined" /* becomes TRACE_NAME */
#define INDEX_NAME "trace.index"
#define INDEX_NEW_NAME ".trace.index.new" /* becomes INDEX_NAME */
#define SUMMARY_NAME "summary.json"
#define WALL_PROFILE_NAME "wall.pb.gz"
#define CPU_PROFILE_NAME "cpu.pb.gz"
#define OFFCPU_PROFILE_NAME "offcpu.pb.gz"
#define SPAN_PROFILE_NAME "span.pb.gz"
#define HEAP_PROFILE_NAME "heap.pb.gz"
#define HEAP_PEAK_NAME "heap-peak.pb.gz"
#define PAGE_NAME "report.html" /* perfrec record --html */
#define SNAPSHOTS_NAME "snapshots" /* the folder of --flight */
#define WHY_NAME "why.json" /* of a snapshot: the trigger that fired */
/* The folder of windows to be sent (--push), with the counters of
 * perfrec-push. */
#define PUSH_NAME ".push"
#define PUSH_COUNTERS_NAME "push.json"
#define PUSH_MARK ".sent-" /* behind a window's name: a server has it */

struct own_files {
	unsigned int own; /* files with a name and type of the table, and the
			   * folders of snapshots and of windows */
	unsigned int foreign; /* all other files and folders */
	char first_foreign[NAME_MAX + 1]; /* the least by strcmp(); "": none */
	bool recorded; /* perfrec wrote the summary; or, without a summary, the
		        * trace; or, without either, the snapshots */
	bool summarized; /* has a summary, the last file of a recording */
};

/* All functions: any thread. @dir_fd is an open folder, and stays the
 * caller's. */

int own_files_look(int dir_fd, struct own_files *out);
/* Returns true if the summary says that a daemon named the folder @name, as
 * "folder". */
bool own_files_is_named(int dir_fd, const char *name);
/* Returns true if the file at @path is, under any name, a file of the table in
 * the folder @dir. */
bool own_files_has(const char *dir, const char *path);
/* Returns true if the folder @dir has the file or folder @name. */
bool own_files_exists(const char *dir, const char *name);
/* Returns the disk space of the folder's files, with those in its folders. */
uint64_t own_files_bytes(int dir_fd);
/* Removes the files of the table, and the folders of snapshots and windows that
 * have no foreign files. The summary goes last: until then the folder counts as
 * a finished recording. Files that cannot be removed stay, without a report. */
void own_files_remove(int dir_fd);
/* Removes the snapshot @name from the folder of snapshots @snapshots_fd.
 * Returns 0 or -errno; -ENOTEMPTY: it has a file that perfrec did not write,
 * and stays whole; -EINVAL: not a name of a snapshot. */
int own_files_remove_snapshot(int snapshots_fd, const char *name);
/* Removes the window @name from the folder of windows @push_fd. Returns 0 or
 * -errno; -EINVAL: not a name of a window, or not a plain file. */
int own_files_remove_window(int push_fd, const char *name);
/* Returns true if @name is the name of a window in the folder of windows. Sets
 * *@whole to true if it is the final name. */
bool own_files_is_window(const char *name, bool *whole);
/* Removes the remains of a killed collector: snapshots, windows and files of
 * the table with temporary names, and the link to its socket. No process may
 * write there any more (folder_lock.h). Returns the numbers of removed
 * things. */
struct own_left {
	unsigned int snapshots, windows, files, links;
};
struct own_left own_files_remove_left(int dir_fd);
/* Waits until the files of the table, the folder and its name are on the disk.
 * Tries all of them, then returns 0 or the first -errno. This may last longer
 * than the whole recording. */
int own_files_sync(int dir_fd);
/* Opens the file at @path, which may be a symbolic link, for reading. Returns a
 * descriptor, which is the caller's, or -errno; -EBADMSG: not a plain file.
 * Never waits, not even at a pipe without a writer. */
int own_files_open(const char *path);

/*
 * Makes the file @name, which must not exist, and opens it for writing. @flags
 * are 0 or O_APPEND. Most files have a temporary name until own_files_keep() or
 * own_files_discard(), as the table says. Returns a descriptor, which is the
 * caller's, or -errno; -EINVAL: @name is not in the table.
 */
int own_files_create(int dir_fd, const char *name, int flags);
/* Makes the window @name, of either form (own_files_is_window()), in the folder
 * of windows @push_fd. Returns the values of own_files_create(). */
int own_files_create_window(int push_fd, const char *name);
/* Renames a file to its name @name, after it was written and closed. Returns 0;
 * or -errno, and the file is removed. */
int own_files_keep(int dir_fd, const char *name);
/* Removes the unfinished file of @name. */
void own_files_discard(int dir_fd, const char *name);
/* Renames the file @from to @to, and replaces an existing @to. Both are in the
 * table. Returns 0; or -errno, and @from is removed. */
int own_files_replace(int dir_fd, const char *from, const char *to);

#endif
