/* SPDX-License-Identifier: Apache-2.0
 *
 * cmd_diff - `perfrec diff`: the differences of two recordings, or of several
 * on each side.
 */
#ifndef PERFREC_COLLECTOR_COMMAND_CMD_DIFF_H
#define PERFREC_COLLECTOR_COMMAND_CMD_DIFF_H

/* @argv is the command line of perfrec from its subcommand on: @argv[0] is
 * "diff". Returns the exit status. Once, in the only thread of a process. */
int cmd_diff(int argc, char **argv);

#endif
