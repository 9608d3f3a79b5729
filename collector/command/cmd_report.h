/* SPDX-License-Identifier: Apache-2.0
 *
 * cmd_report - `perfrec report`: the summary of a recording, once more.
 */
#ifndef PERFREC_COLLECTOR_COMMAND_CMD_REPORT_H
#define PERFREC_COLLECTOR_COMMAND_CMD_REPORT_H

/* @argv[0] is "report". Returns the exit status. */
int cmd_report(int argc, char **argv);

#endif
