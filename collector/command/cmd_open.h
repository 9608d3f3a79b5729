/* SPDX-License-Identifier: Apache-2.0
 *
 * cmd_open - `perfrec open`: shows a recording in a browser.
 */
#ifndef PERFREC_COLLECTOR_COMMAND_CMD_OPEN_H
#define PERFREC_COLLECTOR_COMMAND_CMD_OPEN_H

/* @argv starts with "open". Returns an exit status, or becomes pprof. Once, in
 * a process of one thread. */
int cmd_open(int argc, char **argv);

#endif
