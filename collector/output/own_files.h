/* SPDX-License-Identifier: Apache-2.0
 *
 * own_files - one table of the names of all files that perfrec writes into the
 * folder of a recording. perfrec removes no other file from there, and makes no
 * other file there (scripts/check-layers.sh): so the next recording never takes
 * a file of perfrec's for a person's.
 */
#ifndef PERFREC_COLLECTOR_OUTPUT_OWN_FILES_H
#define PERFREC_COLLECTOR_OUTPUT_OWN_FILES_H

#include <limits.h>
#include <stdbool.h>

#define TRACE_NAME "trace.pftrace"
#define HEAD_NAME "trace.head" /* with --keep last: see kept_trace.h */
#define HEAD_HEADER_BYTES 24 /* before its packets */
#define TRACE_JOINED_NAME ".trace.joined" /* that is to become the trace */
#define INDEX_NAME "trace.index"
#define INDEX_NEW_NAME ".trace.index.new" /* that is to become it */
#define SUMMARY_NAME "summary.json"
#define WALL_PROFILE_NAME "wall.pb.gz"
#define CPU_PROFILE_NAME "cpu.pb.gz"
#define OFFCPU_PROFILE_NAME "offcpu.pb.gz"
#define SPAN_PROFILE_NAME "span.pb.gz"
#define HEAP_PROFILE_NAME "heap.pb.gz"
#define HEAP_PEAK_NAME "heap-peak.pb.gz"
#define PAGE_NAME "report.html" /* perfrec record --html */
#define SNAPSHOTS_NAME "snapshots" /* the folder of those of --flight */
#define WHY_NAME "why.json" /* of a snapshot: why it was taken */

/* What is in a folder. */
struct own_files {
	unsigned int own; /* files that perfrec may have written, by name and
			   * type, and the folder of snapshots */
	unsigned int foreign; /* all others */
	char first_foreign[NAME_MAX + 1]; /* by strcmp(); "": there is none */
	bool recorded; /* perfrec wrote the summary; or, without a summary, the
			* trace; or, without either, the snapshots */
	bool summarized; /* there is a summary, the last file of a recording */
};

/* Any thread. @dir_fd is an open folder, and stays the caller's. */

/* Looks at everything in the folder. 0 or -errno. */
int own_files_look(int dir_fd, struct own_files *out);
/* Whether the file at @path is one of the table that is in the folder @dir, by
 * whatever name. */
bool own_files_has(const char *dir, const char *path);
/* Removes the files of the table, and the folder of snapshots unless something
 * else is in it; nothing else. If one of them cannot be
 * removed, it stays, and nothing is said. */
void own_files_remove(int dir_fd);
/* Removes the snapshot @name from the folder of snapshots @snapshots_fd. 0 or
 * -errno; -ENOTEMPTY: something is in it that perfrec did not write, and all of
 * it stays; -EINVAL: snapshots have other names. */
int own_files_remove_snapshot(int snapshots_fd, const char *name);
/* Removes what a collector leaves in the folder when it is killed: snapshots
 * and files of the table that have not got their names yet, and the link to its
 * socket; nothing else. Nobody writes there any more (folder_lock.h). Returns
 * how many went. */
struct own_left {
	unsigned int snapshots, files, links;
};
struct own_left own_files_remove_left(int dir_fd);
/* Waits until the files of the table, the folder and its own name are on the
 * disk. 0; or -errno of the first that failed, after all were tried. May take
 * as long as the disk takes to write all of the trace. */
int own_files_sync(int dir_fd);
/* Opens the file at @path, which may be a symbolic link, to read it. Returns a
 * descriptor, which is the caller's, or -errno; -EBADMSG: it is no plain file.
 * Never waits, not even at a pipe whose other end nobody has opened. */
int own_files_open(const char *path);

/*
 * Makes the file @name, which must not be there, and opens it for writing;
 * @flags are 0 or O_APPEND. Most files have another name until own_files_keep()
 * or own_files_discard(): the table says which. Returns a descriptor, which is
 * the caller's, or -errno; -EINVAL: the table does not have @name.
 */
int own_files_create(int dir_fd, const char *name, int flags);
/* Gives the file its name @name, after it was written and closed. 0; or -errno,
 * and the file is removed. */
int own_files_keep(int dir_fd, const char *name);
/* Removes the file that was made to be @name. */
void own_files_discard(int dir_fd, const char *name);
/* Gives the file @from the name @to, in place of the file that has it, if one
 * does. The table has both. 0; or -errno, and @from is removed. */
int own_files_replace(int dir_fd, const char *from, const char *to);

#endif
