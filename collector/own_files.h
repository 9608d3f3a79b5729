/* SPDX-License-Identifier: Apache-2.0
 *
 * own_files - every file that perfrec writes into the folder of a
 * recording, by name, in one table. Nothing else is ever removed from there.
 */
#ifndef PERFREC_COLLECTOR_OWN_FILES_H
#define PERFREC_COLLECTOR_OWN_FILES_H

#include <limits.h>
#include <stdbool.h>

#define TRACE_NAME "trace.pftrace"
#define SUMMARY_NAME "summary.json"
#define SUMMARY_TEMPORARY ".summary.json.new"
#define WALL_PROFILE_NAME "wall.pb.gz"

/* What is in a folder. */
struct own_files {
	unsigned int own; /* files of perfrec's, by name and type */
	unsigned int foreign; /* all else */
	char first_foreign[NAME_MAX + 1]; /* by strcmp(); "": there is none */
	/* A trace or a summary that perfrec wrote is among them, and no
	 * summary that it did not write. */
	bool recorded;
};

/* Any thread. @dir_fd is an open folder, and stays the caller's. */

/* Look at everything in the folder: 0 or -errno. */
int own_files_look(int dir_fd, struct own_files *out);
/* Remove the files of the table, and nothing else. Says nothing of what could
 * not be removed: the folder is then not empty. */
void own_files_remove(int dir_fd);

#endif
