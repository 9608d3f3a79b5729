/* SPDX-License-Identifier: Apache-2.0
 *
 * function_choice - resolves a function name in the command line, for perfrec
 * graph and annotate.
 */
#ifndef PERFREC_COLLECTOR_COMMAND_FUNCTION_CHOICE_H
#define PERFREC_COLLECTOR_COMMAND_FUNCTION_CHOICE_H

#include <stddef.h>

#include "collector/read/summary_read.h"
#include "collector/show/pprof_rows.h"

enum function_wish {
	FUNCTION_CALLS, /* perfrec graph */
	FUNCTION_LINES, /* perfrec annotate */
};

/* Sets *@word and, if given, *@dir to the operands FUNC [DIR] of @command (perfrec
 * graph), which are behind optind in @argv. Returns OPTS_GO_ON, or OPTS_WRONG after a
 * message. */
int function_choice_operands(const char *command, int argc, char **argv,
			     const char **word, const char **dir);

/*
 * Returns the full name of the function in @rows (one row a function) that
 * @word means: its name, or a pattern (name_pattern.h) that matches no other
 * name. Returns NULL after a message that lists several matches, or explains
 * why there is none: no data for @wish although @summary has the function, or
 * else the nearest name. @dir: the recording, as given by the user. For a
 * process of one thread.
 */
const char *function_choose(const char *word, const struct pprof_rows *rows,
			    const struct summary *summary,
			    enum function_wish wish, const char *dir);

#endif
