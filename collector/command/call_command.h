/* SPDX-License-Identifier: Apache-2.0
 *
 * call_command - shared by perfrec replay, dump and export: options that select
 * calls, opening the trace, and messages about damaged traces. For a process of
 * one thread.
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
	bool met; /* the trace has the chosen thread and function */
	struct progress progress; /* of reading */
};

/* Handles --min-duration, --depth, --function, --thread, --from and --until.
 * Sets *@taken to true for these options. Returns OPTS_GO_ON or OPTS_WRONG. */
int call_command_take(struct call_command *command,
		      const struct opts_value *value, bool *taken);
/* Parses the folder argument and rejects contradicting options. Returns
 * OPTS_GO_ON or OPTS_WRONG. */
int call_command_operands(struct call_command *command, int argc, char **argv);

/*
 * Opens the trace of the recording, if it has the selected names. Shows
 * progress on the terminal if that cannot mix with output to @to. Returns 0,
 * and the caller closes *@out; or -errno after one line in the log. Returns
 * -ENODATA without a line if calls_only is set and there are no calls.
 */
int call_command_open(struct call_command *command, FILE *to,
		      struct call_reader **out);
/* Reports errors after all was read. @result is the result of the writer.
 * Returns the exit status. A running recording and a closed pipe are no
 * errors. */
int call_command_end(struct call_command *command,
		     const struct call_reader *reader, int result);

#endif
