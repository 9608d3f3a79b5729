/* SPDX-License-Identifier: Apache-2.0
 *
 * own_files - every file that perfrec writes into the folder of a
 * recording, by name, in one table. Nothing else is ever removed from there,
 * and nothing else is ever made there: a file that the table does not have
 * cannot be written, so none is written that the next recording would take for
 * a person's (scripts/check-layers.sh).
 */
#ifndef PERFREC_COLLECTOR_OUTPUT_OWN_FILES_H
#define PERFREC_COLLECTOR_OUTPUT_OWN_FILES_H

#include <limits.h>
#include <stdbool.h>

#define TRACE_NAME "trace.pftrace"
#define SUMMARY_NAME "summary.json"
#define WALL_PROFILE_NAME "wall.pb.gz"
#define CPU_PROFILE_NAME "cpu.pb.gz"
#define SPAN_PROFILE_NAME "span.pb.gz"
#define HEAP_PROFILE_NAME "heap.pb.gz"
#define HEAP_PEAK_NAME "heap-peak.pb.gz"

/* What is in a folder. */
struct own_files {
	unsigned int own; /* files of perfrec's, by name and type */
	unsigned int foreign; /* all else */
	char first_foreign[NAME_MAX + 1]; /* by strcmp(); "": there is none */
	/* A trace or a summary that perfrec wrote is among them, and no
	 * summary that it did not write. */
	bool recorded;
	bool summarized; /* a summary is there, the last file of a recording */
};

/* Any thread. @dir_fd is an open folder, and stays the caller's. */

/* Look at everything in the folder: 0 or -errno. */
int own_files_look(int dir_fd, struct own_files *out);
/* Remove the files of the table, and nothing else. Says nothing of what could
 * not be removed: the folder is then not empty. */
void own_files_remove(int dir_fd);
/* Open one to read it, at @path, which a symbolic link may be: a descriptor
 * that is the caller's, or -errno; -EBADMSG: it is no plain file. Never waits,
 * as for somebody who opens a pipe's other end. */
int own_files_open(const char *path);

/*
 * Make the file @name, which must not be there, and open it for writing; @flags
 * are 0 or O_APPEND. What the table has written under another name first is
 * made under that, until own_files_keep() or own_files_discard(). Returns a
 * descriptor, which is the caller's, or -errno; -EINVAL: the table does not
 * have @name.
 */
int own_files_create(int dir_fd, const char *name, int flags);
/* @name has been written and closed, and gets its name: 0 or -errno, and then
 * it is removed. */
int own_files_keep(int dir_fd, const char *name);
/* @name is not to be: removes it, under the name it was made. */
void own_files_discard(int dir_fd, const char *name);

#endif
