/* SPDX-License-Identifier: Apache-2.0
 *
 * cmd_aggregate - `perfrec aggregate`: the variation between several recordings
 * of a program.
 */
#ifndef PERFREC_COLLECTOR_COMMAND_CMD_AGGREGATE_H
#define PERFREC_COLLECTOR_COMMAND_CMD_AGGREGATE_H

/* @argv starts with "aggregate". Returns the exit status. Once, in a process of
 * one thread. */
int cmd_aggregate(int argc, char **argv);

#endif
