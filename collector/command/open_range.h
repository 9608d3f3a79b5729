/* SPDX-License-Identifier: Apache-2.0
 *
 * open_range - `perfrec open` with --from, --until and --thread: a part of a
 * recording as an unnamed trace. For a process of one thread.
 */
#ifndef PERFREC_COLLECTOR_COMMAND_OPEN_RANGE_H
#define PERFREC_COLLECTOR_COMMAND_OPEN_RANGE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "collector/command/range_command.h"

struct open_range {
	struct range_command range;
	const char *thread; /* NULL: all */
};

/* Returns the given option, such as "--from", or NULL. */
const char *open_range_given(const struct open_range *wish);
/*
 * Cuts the selected part out of the recording in @dir. Sets *@out to the file,
 * which disappears when the caller closes it. Until then this process can open
 * it again at @path. Sets *@size. Returns OPTS_GO_ON, or an exit status after
 * one line in the log.
 */
int open_range_cut(const struct open_range *wish, const char *dir, FILE **out,
		   char path[PATH_MAX], uint64_t *size);

#endif
