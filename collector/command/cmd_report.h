/* SPDX-License-Identifier: Apache-2.0
 *
 * cmd_report - `perfrec report`: prints the summary of a recording again, or
 * one of its profiles as a table.
 */
#ifndef PERFREC_COLLECTOR_COMMAND_CMD_REPORT_H
#define PERFREC_COLLECTOR_COMMAND_CMD_REPORT_H

/* @argv is the command line of perfrec from its subcommand on: @argv[0] is
 * "report". Returns the exit status. Once, in the only thread of a process. */
int cmd_report(int argc, char **argv);

#endif
