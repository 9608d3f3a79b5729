/* SPDX-License-Identifier: Apache-2.0
 *
 * output_dir - makes room for a new recording in DIR: a recording that is there
 * moves to DIR.old. Nothing is lost before the new program really runs, since
 * all can be put back until output_dir_commit(). Nothing is ever moved or
 * removed that perfrec did not write.
 */
#ifndef PERFREC_COLLECTOR_OUTPUT_OUTPUT_DIR_H
#define PERFREC_COLLECTOR_OUTPUT_OUTPUT_DIR_H

#include <stdbool.h>

struct output_dir {
	char *dir; /* DIR, or where the symbolic link DIR leads */
	char *old; /* DIR.old */
	char *older; /* where DIR.old went; NULL: there was none */
	int parent_fd; /* the folder that all three are in */
	int older_fd; /* the folder @older; -1: there was none */
	bool moved; /* DIR went to DIR.old */
	bool unfinished; /* what moved has no summary: its collector was killed,
			  * or still records */
	bool found_empty; /* DIR was there, with nothing in it, and stays */
};

/*
 * Moves a recording in @dir to DIR.old, and a recording in DIR.old aside.
 * Afterwards out->dir does not exist, or is an empty folder. Returns 0, and the
 * caller ends *@out with output_dir_commit() or output_dir_undo(); or -errno
 * after logging one line that names what is in the way (-EEXIST: something that
 * perfrec did not write; -EBUSY: a recording that is still made).
 */
int output_dir_prepare(const char *dir, struct output_dir *out);
/* The new recording stays: removes what DIR.old held before. Unless @quiet,
 * logs a warning if the recording that moved is unfinished. */
void output_dir_commit(struct output_dir *output, bool quiet);
/* Removes what perfrec has made in DIR, and puts everything back. */
void output_dir_undo(struct output_dir *output);

#endif
