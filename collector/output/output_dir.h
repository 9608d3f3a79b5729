/* SPDX-License-Identifier: Apache-2.0
 *
 * output_dir - room for a new recording: the one that is there moves to
 * DIR.old. Nothing is lost before the new program really runs: until
 * output_dir_commit() all can be put back. What perfrec did not write is never
 * moved or removed.
 */
#ifndef PERFREC_COLLECTOR_OUTPUT_OUTPUT_DIR_H
#define PERFREC_COLLECTOR_OUTPUT_OUTPUT_DIR_H

#include <stdbool.h>

struct output_dir {
	char *dir; /* where to record; of a symbolic link, where it leads */
	char *old; /* DIR.old */
	char *older; /* where DIR.old went; NULL: there was none */
	int parent_fd; /* the folder that all three are in */
	int older_fd; /* -1: there was none */
	bool moved; /* DIR went to DIR.old */
	bool unfinished; /* and has no summary: its perfrec was killed, or still
			  * records */
	bool found_empty; /* DIR was there, with nothing in it, and stays */
};

/*
 * Move a recording in @dir to DIR.old, and one in DIR.old aside. Afterwards
 * out->dir does not exist, or is an empty folder. Returns 0, or -errno after
 * logging one line that names what is in the way (-EEXIST: something that
 * perfrec did not write; -EBUSY: a recording that is still made). On success
 * the caller ends *@out with commit or undo.
 */
int output_dir_prepare(const char *dir, struct output_dir *out);
/* The new recording stays: what DIR.old held before is removed. Unless @quiet,
 * says of a recording that was moved if it is unfinished. */
void output_dir_commit(struct output_dir *output, bool quiet);
/* Remove what perfrec has made in @dir and put everything back. */
void output_dir_undo(struct output_dir *output);

#endif
