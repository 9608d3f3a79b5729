/* SPDX-License-Identifier: Apache-2.0
 *
 * cmd_top - `perfrec top`: prints the current activity of a recording
 * periodically.
 */
#ifndef PERFREC_COLLECTOR_COMMAND_CMD_TOP_H
#define PERFREC_COLLECTOR_COMMAND_CMD_TOP_H

/* @argv starts with "top". Returns the exit status. Once, in a process of one
 * thread. */
int cmd_top(int argc, char **argv);

#endif
