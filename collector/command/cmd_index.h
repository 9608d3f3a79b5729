/* SPDX-License-Identifier: Apache-2.0
 *
 * cmd_index - perfrec index: the index of a trace that has none, made from it.
 */
#ifndef PERFREC_COLLECTOR_COMMAND_CMD_INDEX_H
#define PERFREC_COLLECTOR_COMMAND_CMD_INDEX_H

/* @argv[0] is the name of the command. Returns the exit status of perfrec. For
 * a process of one thread. */
int cmd_index(int argc, char **argv);

#endif
