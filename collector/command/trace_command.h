/* SPDX-License-Identifier: Apache-2.0
 *
 * trace_command - messages of all commands that read a trace: missing or
 * damaged traces, and unknown names. For a process of one thread.
 */
#ifndef PERFREC_COLLECTOR_COMMAND_TRACE_COMMAND_H
#define PERFREC_COLLECTOR_COMMAND_TRACE_COMMAND_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "collector/read/trace_read.h"

/* Sets @path to the trace in the folder @dir. Returns 0 or -ENAMETOOLONG. */
int trace_command_path(const char *dir, char path[PATH_MAX]);
/* Returns true if @path is a folder, and no function's name. */
bool trace_command_is_folder(const char *path);
/* Logs error @err of opening the trace in @dir. */
void trace_command_log_open(const char *dir, int err);

/* Reports damage of the trace in @dir after all was read. @err is the result of
 * reading, @totals its totals. Returns the exit status. A running recording is
 * no error. */
int trace_command_check(const char *dir, int err,
			const struct trace_read_totals *totals);

/* Recommends an index if much of the trace in @dir (@bytes long) was read
 * because its index only covers the first @told bytes. */
void trace_command_say_index(const char *dir, uint64_t told, uint64_t bytes);

/* Warns if short calls were not recorded in @trace. */
void trace_command_say_short(const struct trace_reader *trace);

/* Logs that no thread has the name @word, with similar names. */
void trace_command_say_thread(const char *word,
			      const struct trace_reader *trace);
/* Logs that no function matches @word, the value of the option or operand @name
 * ("--function "), with similar names. @saw, called with @of, returns true for
 * texts of @trace that are names of functions. */
void trace_command_say_function(const char *name, const char *word,
				const struct trace_reader *trace,
				bool (*saw)(const void *of, uint32_t text),
				const void *of);

#endif
