/* SPDX-License-Identifier: Apache-2.0
 *
 * export_folder - `perfrec export --to parquet`: the tables of a recording as
 * files in a folder. For a process of one thread.
 */
#ifndef PERFREC_COLLECTOR_COMMAND_EXPORT_FOLDER_H
#define PERFREC_COLLECTOR_COMMAND_EXPORT_FOLDER_H

#include "collector/command/call_command.h"

/* Writes the tables of @call's recording into @folder, and creates the folder
 * if necessary. Files get their names when all are complete. Returns the exit
 * status, after one line in the log for errors. */
int export_folder_write(struct call_command *call, const char *folder);

#endif
