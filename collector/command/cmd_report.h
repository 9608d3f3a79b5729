/* SPDX-License-Identifier: Apache-2.0
 *
 * cmd_report - `perfrec report`: prints the summary of a recording, or one of
 * its profiles as a table.
 */
#ifndef PERFREC_COLLECTOR_COMMAND_CMD_REPORT_H
#define PERFREC_COLLECTOR_COMMAND_CMD_REPORT_H

/* @argv starts with "report". Returns the exit status. Once, in a process of
 * one thread. */
int cmd_report(int argc, char **argv);

#endif
