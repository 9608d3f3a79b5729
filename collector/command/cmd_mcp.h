/* SPDX-License-Identifier: Apache-2.0
 *
 * cmd_mcp - `perfrec mcp`: lets agents read recordings through the Model Context
 * Protocol, on standard input and output.
 */
#ifndef PERFREC_COLLECTOR_COMMAND_CMD_MCP_H
#define PERFREC_COLLECTOR_COMMAND_CMD_MCP_H

/* @argv starts with "mcp". Serves until the end of the input. Returns the exit
 * status. Once, in a process of one thread. */
int cmd_mcp(int argc, char **argv);

#endif
