/* SPDX-License-Identifier: Apache-2.0
 *
 * cmd_top - `perfrec top`: prints again and again what a recording does now.
 */
#ifndef PERFREC_COLLECTOR_COMMAND_CMD_TOP_H
#define PERFREC_COLLECTOR_COMMAND_CMD_TOP_H

/* @argv is the command line of perfrec from its subcommand on: @argv[0] is
 * "top". Returns the exit status. Once, in the only thread of a process. */
int cmd_top(int argc, char **argv);

#endif
