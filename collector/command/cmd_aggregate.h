/* SPDX-License-Identifier: Apache-2.0
 *
 * cmd_aggregate - `perfrec aggregate`: how far several recordings of a program
 * are from each other.
 */
#ifndef PERFREC_COLLECTOR_COMMAND_CMD_AGGREGATE_H
#define PERFREC_COLLECTOR_COMMAND_CMD_AGGREGATE_H

/* @argv is the command line of perfrec from its subcommand on: @argv[0] is
 * "aggregate". Returns the exit status. Once, in the only thread of a process.
 */
int cmd_aggregate(int argc, char **argv);

#endif
