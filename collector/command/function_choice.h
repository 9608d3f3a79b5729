/* SPDX-License-Identifier: Apache-2.0
 *
 * function_choice - which function a person means by a word of the command
 * line: perfrec graph and annotate.
 */
#ifndef PERFREC_COLLECTOR_COMMAND_FUNCTION_CHOICE_H
#define PERFREC_COLLECTOR_COMMAND_FUNCTION_CHOICE_H

#include <stddef.h>

#include "collector/read/summary_read.h"
#include "collector/show/pprof_rows.h"

/* What a person wants to see of the function. */
enum function_wish {
	FUNCTION_CALLS, /* perfrec graph */
	FUNCTION_LINES, /* perfrec annotate */
};

/*
 * The full name of the function of @rows (one for each function) that @word
 * means: its name, or a pattern (name_pattern.h) that matches no other name.
 * NULL, after a message: several match, and then they are listed; or nothing
 * does. Then the message says why there is nothing of @wish, if @summary has
 * the function, and else which name is nearest. @dir: the recording, as the
 * user wrote it. For a process of one thread.
 */
const char *function_choose(const char *word, const struct pprof_rows *rows,
			    const struct summary *summary,
			    enum function_wish wish, const char *dir);

#endif
