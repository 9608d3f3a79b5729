/* SPDX-License-Identifier: Apache-2.0
 *
 * output_dir - makes room for a new recording in DIR: a recording in DIR moves
 * to DIR.old. Every step can be undone until output_dir_commit(), so nothing is
 * lost before the new program runs. perfrec moves and removes only its own
 * files.
 */
#ifndef PERFREC_COLLECTOR_OUTPUT_OUTPUT_DIR_H
#define PERFREC_COLLECTOR_OUTPUT_OUTPUT_DIR_H

#include <stdbool.h>

struct output_dir {
	char *dir; /* DIR, or the target of the symbolic link DIR */
	char *old;
	char *older; /* the new name of DIR.old; NULL: there was no DIR.old */
	int parent_fd;
	int older_fd; /* @older; -1: there was no DIR.old */
	bool moved;
	bool unfinished; /* the moved recording has no summary: its collector
			  * was killed, or still records */
	bool found_empty; /* DIR existed and was empty; it stays */
};

/*
 * Moves a recording in @dir to DIR.old, and a recording in DIR.old aside.
 * Afterwards out->dir does not exist, or is an empty folder. Returns 0, and the
 * caller ends *@out with output_dir_commit() or output_dir_undo(). Otherwise
 * logs one line that names the obstacle, and returns -errno (-EEXIST: files
 * that perfrec did not write; -EBUSY: a recording that still runs).
 */
int output_dir_prepare(const char *dir, struct output_dir *out);
/* Keeps the new recording, and removes the former contents of DIR.old. Unless
 * @quiet, logs a warning if the recording that moved is unfinished. */
void output_dir_commit(struct output_dir *output, bool quiet);
/* Removes perfrec's files from DIR, and renames the folders back. */
void output_dir_undo(struct output_dir *output);

#endif
