/* SPDX-License-Identifier: Apache-2.0
 *
 * call_command - what the commands that read the trace of a recording share:
 * perfrec replay, dump and export. Options that choose calls, opening, and what
 * is said of a trace that is not whole. For a process of one thread.
 */
#ifndef PERFREC_COLLECTOR_COMMAND_CALL_COMMAND_H
#define PERFREC_COLLECTOR_COMMAND_CALL_COMMAND_H

#include <stdbool.h>
#include <stdio.h>

#include "collector/command/range_command.h"
#include "collector/options/opts.h"
#include "collector/show/call_read.h"
#include "collector/show/progress.h"

#define CALL_FUNCTIONS_MAX 64

struct call_command {
	const char *dir;
	struct call_choice choice;
	struct range_command range;
	const char *functions[CALL_FUNCTIONS_MAX];
	struct progress progress; /* of reading, from opening to the end */
};

/* Takes @value if it is --min-duration, --depth, --function, --thread, --from
 * or --until. Sets *@taken to whether it is. Returns OPTS_GO_ON or OPTS_WRONG.
 */
int call_command_take(struct call_command *command,
		      const struct opts_value *value, bool *taken);
/* Takes the folder behind the options, and checks what was given together.
 * Returns OPTS_GO_ON or OPTS_WRONG. */
int call_command_operands(struct call_command *command, int argc, char **argv);

/* Opens the trace of the recording, which has what was chosen by name. What is
 * read will be written to @to; the terminal shows how far it is, where both
 * have room. 0; the caller closes *@out; or -errno after one line in the log;
 * or -ENODATA, without such a line: calls_only is set, and there are no calls.
 */
int call_command_open(struct call_command *command, FILE *to,
		      struct call_reader **out);
/*
 * Says what is wrong with what was written, after all was read: @result is what
 * the writer returned. Returns the exit status. A recording that goes on, and a
 * reader of a pipe that has enough, are no errors.
 */
int call_command_end(struct call_command *command,
		     const struct call_reader *reader, int result);

#endif
