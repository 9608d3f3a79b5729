/* SPDX-License-Identifier: Apache-2.0
 *
 * open_range - perfrec open --from, --to and --thread: a part of a recording,
 * as a trace of its own, which has no name. For a process of one thread.
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

/* The option that was given, "--from"; NULL: none was. */
const char *open_range_given(const struct open_range *wish);
/*
 * Cuts what was given out of the recording in @dir. Sets *@out to the file,
 * which is gone when the caller closes it; @path to how it is opened again by
 * this process until then; and *@size. Returns OPTS_GO_ON, or an exit status
 * after one line in the log.
 */
int open_range_cut(const struct open_range *wish, const char *dir, FILE **out,
		   char path[PATH_MAX], uint64_t *size);

#endif
