/* SPDX-License-Identifier: Apache-2.0
 *
 * cmd_graph - `perfrec graph`: the callers and callees of a function.
 */
#ifndef PERFREC_COLLECTOR_COMMAND_CMD_GRAPH_H
#define PERFREC_COLLECTOR_COMMAND_CMD_GRAPH_H

/* @argv is the command line of perfrec from its subcommand on: @argv[0] is
 * "graph". Returns the exit status. Once, in the only thread of a process. */
int cmd_graph(int argc, char **argv);

#endif
