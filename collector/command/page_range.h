/* SPDX-License-Identifier: Apache-2.0
 *
 * page_range - the page of a part of a recording: perfrec report --html and
 * perfrec open --html with --from, --until or --thread. For a process of one
 * thread.
 */
#ifndef PERFREC_COLLECTOR_COMMAND_PAGE_RANGE_H
#define PERFREC_COLLECTOR_COMMAND_PAGE_RANGE_H

#include "collector/command/range_command.h"

/* Writes the page of a part of the recording in @dir to @file (NULL: default).
 * @thread may be NULL: all. Returns 0, or a negative number after one line in
 * the log. */
int page_range_write(const struct range_command *range, const char *thread,
		     const char *dir, const char *file);

#endif
