/* SPDX-License-Identifier: Apache-2.0
 *
 * mcp_tools - the tools of `perfrec mcp`. Each runs a command of perfrec in a
 * child process and returns a part of its output. For a process of one thread.
 */
#ifndef PERFREC_COLLECTOR_COMMAND_MCP_TOOLS_H
#define PERFREC_COLLECTOR_COMMAND_MCP_TOOLS_H

#include <jansson.h>

/* Returns the result of tools/list, or NULL without memory. The caller owns
 * it. */
json_t *mcp_tools_list(void);

/*
 * Returns the result of tools/call for the tool @name with @arguments (an
 * object, or NULL: none), also if the tool fails. Returns NULL if there is no
 * such tool, or without memory. Recordings, and sources with their text, are
 * below the current folder. Waits up to a minute for the child. The caller owns
 * the result.
 */
json_t *mcp_tools_call(const char *name, const json_t *arguments);

#endif
