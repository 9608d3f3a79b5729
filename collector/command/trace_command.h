/* SPDX-License-Identifier: Apache-2.0
 *
 * trace_command - what all commands that read the trace of a recording say: of
 * a folder without a trace, of a trace that is not whole, and of names that it
 * does not have. For a process of one thread.
 */
#ifndef PERFREC_COLLECTOR_COMMAND_TRACE_COMMAND_H
#define PERFREC_COLLECTOR_COMMAND_TRACE_COMMAND_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "collector/read/trace_read.h"

/* Sets @path to that of the trace in the folder @dir. 0 or -ENAMETOOLONG. */
int trace_command_path(const char *dir, char path[PATH_MAX]);
/* Logs why the trace in @dir could not be opened: @err. */
void trace_command_log_open(const char *dir, int err);

/*
 * Says what is wrong with the trace in @dir after all was read: @err is how
 * that ended, @totals what was read. Returns the exit status. A recording that
 * goes on is no error.
 */
int trace_command_check(const char *dir, int err,
			const struct trace_read_totals *totals);

/* Says how the next such command is faster, if much of the trace in @dir, which
 * has @bytes, was read because its index tells of the first @told only. */
void trace_command_say_index(const char *dir, uint64_t told, uint64_t bytes);

/* Says so if calls were left out of @trace when it was recorded. */
void trace_command_say_short(const struct trace_reader *trace);

/* Logs that no thread is called @word, and which it may be. */
void trace_command_say_thread(const char *word,
			      const struct trace_reader *trace);
/* Logs that no function matches @word, the value of the option or operand
 * @name ("--function "), and which it may be. @saw says of which texts of
 * @trace functions have the names; it is given @of. */
void trace_command_say_function(const char *name, const char *word,
				const struct trace_reader *trace,
				bool (*saw)(const void *of, uint32_t text),
				const void *of);

#endif
