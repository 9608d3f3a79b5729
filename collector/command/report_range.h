/* SPDX-License-Identifier: Apache-2.0
 *
 * report_range - `perfrec report` with --from, --until and --thread: a part of a
 * recording, from its trace. For a process of one thread.
 */
#ifndef PERFREC_COLLECTOR_COMMAND_REPORT_RANGE_H
#define PERFREC_COLLECTOR_COMMAND_REPORT_RANGE_H

#include <stdbool.h>
#include <stddef.h>

#include "collector/command/range_command.h"

struct report_range {
	const char *dir;
	struct range_command range;
	const char *thread; /* NULL: all */
	const char *sort; /* a key; NULL: self */
	size_t limit; /* rows; 0: all */
	bool json, markdown, full_names;
};

/* Returns true if a part was selected. */
bool report_range_given(const struct report_range *line);
/* Returns OPTS_GO_ON, or OPTS_WRONG after one line in the log. */
int report_range_check(const struct report_range *line);
/* Prints to stdout. Returns the exit status. */
int report_range_print(const struct report_range *line);

#endif
