/* SPDX-License-Identifier: Apache-2.0
 *
 * report_several - `perfrec report` of several recordings. For a process of one
 * thread.
 */
#ifndef PERFREC_COLLECTOR_COMMAND_REPORT_SEVERAL_H
#define PERFREC_COLLECTOR_COMMAND_REPORT_SEVERAL_H

#include <stdbool.h>
#include <stddef.h>

#include "collector/compare/together.h"

/* Prints the @count recordings @dirs. Returns the exit status. */
int report_several(char *const *dirs, size_t count,
		   const struct together_options *options, bool json);

#endif
