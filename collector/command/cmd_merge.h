/* SPDX-License-Identifier: Apache-2.0
 *
 * cmd_merge - `perfrec merge`: several recordings as one trace for Perfetto.
 */
#ifndef PERFREC_COLLECTOR_COMMAND_CMD_MERGE_H
#define PERFREC_COLLECTOR_COMMAND_CMD_MERGE_H

/* @argv starts with the name of the command. Returns the exit status. For a
 * process of one thread. */
int cmd_merge(int argc, char **argv);

#endif
