/* SPDX-License-Identifier: Apache-2.0
 *
 * cmd_cut - `perfrec cut`: cuts a part of a recording into its own trace.
 */
#ifndef PERFREC_COLLECTOR_COMMAND_CMD_CUT_H
#define PERFREC_COLLECTOR_COMMAND_CMD_CUT_H

/* @argv starts with the name of the command. Returns the exit status. For a
 * process of one thread. */
int cmd_cut(int argc, char **argv);

#endif
