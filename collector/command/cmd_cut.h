/* SPDX-License-Identifier: Apache-2.0
 *
 * cmd_cut - perfrec cut: a part of a recording, as a trace of its own.
 */
#ifndef PERFREC_COLLECTOR_COMMAND_CMD_CUT_H
#define PERFREC_COLLECTOR_COMMAND_CMD_CUT_H

/* @argv[0] is the name of the command. Returns the exit status of perfrec. For
 * a process of one thread. */
int cmd_cut(int argc, char **argv);

#endif
