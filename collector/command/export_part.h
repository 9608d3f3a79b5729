/* SPDX-License-Identifier: Apache-2.0
 *
 * export_part - `perfrec export` of a part of a recording, in formats with
 * summed calls. For a process of one thread.
 */
#ifndef PERFREC_COLLECTOR_COMMAND_EXPORT_PART_H
#define PERFREC_COLLECTOR_COMMAND_EXPORT_PART_H

#include <stdio.h>

#include "collector/command/range_command.h"
#include "collector/export/formats.h"

struct export_part {
	const char *dir;
	struct range_command range;
	const char *thread; /* NULL: all */
	const char *value; /* "wall" or "calls" */
	const char *title; /* of the recording */
	export_profile *write;
};

/* Writes the part to @out. Returns 0; -EIO or another -errno of writing without
 * a message; or an OPTS_* above 0 after one line in the log. */
int export_part_write(const struct export_part *part, FILE *out);

#endif
