/* SPDX-License-Identifier: Apache-2.0
 *
 * cmd_open - `perfrec open`: shows a recording in a browser.
 */
#ifndef PERFREC_COLLECTOR_COMMAND_CMD_OPEN_H
#define PERFREC_COLLECTOR_COMMAND_CMD_OPEN_H

/* @argv is the command line of perfrec from its subcommand on: @argv[0] is
 * "open". Returns an exit status, or becomes pprof. Once, in the only thread of
 * a process. */
int cmd_open(int argc, char **argv);

#endif
