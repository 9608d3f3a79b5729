/* SPDX-License-Identifier: Apache-2.0
 *
 * function_choice - which function a person means by a word of the command
 * line: perfrec graph and annotate.
 */
#ifndef PERFREC_COLLECTOR_COMMAND_FUNCTION_CHOICE_H
#define PERFREC_COLLECTOR_COMMAND_FUNCTION_CHOICE_H

#include <stddef.h>

#include "collector/show/pprof_rows.h"

/*
 * The full name of the function of @rows (one for each function) that @word
 * means: its name, or a pattern (name_pattern.h) that matches no other name.
 * NULL, after a message: nothing matches, and then the names that are nearest
 * are named; or several do, and then they are listed. @dir: the recording, as
 * the user wrote it. For a process of one thread.
 */
const char *function_choose(const char *word, const struct pprof_rows *rows,
			    const char *dir);

#endif
