/* SPDX-License-Identifier: Apache-2.0
 *
 * cmd_diff - `perfrec diff`: the differences between two recordings, or between
 * two groups of recordings.
 */
#ifndef PERFREC_COLLECTOR_COMMAND_CMD_DIFF_H
#define PERFREC_COLLECTOR_COMMAND_CMD_DIFF_H

/* @argv starts with "diff". Returns the exit status. Once, in a process of one
 * thread. */
int cmd_diff(int argc, char **argv);

#endif
