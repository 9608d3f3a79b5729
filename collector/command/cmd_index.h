/* SPDX-License-Identifier: Apache-2.0
 *
 * cmd_index - `perfrec index`: makes the missing index of a trace.
 */
#ifndef PERFREC_COLLECTOR_COMMAND_CMD_INDEX_H
#define PERFREC_COLLECTOR_COMMAND_CMD_INDEX_H

/* @argv starts with the name of the command. Returns the exit status. For a
 * process of one thread. */
int cmd_index(int argc, char **argv);

#endif
