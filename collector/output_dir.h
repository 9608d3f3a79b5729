/* SPDX-License-Identifier: Apache-2.0
 *
 * output_dir - room for a new recording: the one that is there moves to
 * DIR.old. Nothing is lost before the new program really runs: until
 * output_dir_commit() all can be put back.
 */
#ifndef PERFREC_COLLECTOR_OUTPUT_DIR_H
#define PERFREC_COLLECTOR_OUTPUT_DIR_H

#include <stdbool.h>

struct output_dir {
	char *dir;
	char *old; /* DIR.old */
	char *older; /* where DIR.old went; NULL: there was none */
	bool moved; /* DIR went to DIR.old */
	bool found_empty; /* DIR was there, with nothing in it, and stays */
};

/*
 * Move a recording in @dir to DIR.old, and one in DIR.old aside. Afterwards
 * @dir does not exist, or is empty. Returns 0, or -errno after logging one line
 * (-EEXIST: something that is no recording is in the way). On success the
 * caller ends
 * *@out with commit or undo.
 */
int output_dir_prepare(const char *dir, struct output_dir *out);
/* The new recording stays: what DIR.old held before is removed. */
void output_dir_commit(struct output_dir *output);
/* Remove what has been made in @dir and put everything back. */
void output_dir_undo(struct output_dir *output);

#endif
