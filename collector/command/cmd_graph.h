/* SPDX-License-Identifier: Apache-2.0
 *
 * cmd_graph - `perfrec graph`: the callers and callees of a function.
 */
#ifndef PERFREC_COLLECTOR_COMMAND_CMD_GRAPH_H
#define PERFREC_COLLECTOR_COMMAND_CMD_GRAPH_H

/* @argv starts with "graph". Returns the exit status. Once, in a process of one
 * thread. */
int cmd_graph(int argc, char **argv);

#endif
