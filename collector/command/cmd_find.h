/* SPDX-License-Identifier: Apache-2.0
 *
 * cmd_find - `perfrec find`: the calls of a function that took longer than a
 * time.
 */
#ifndef PERFREC_COLLECTOR_COMMAND_CMD_FIND_H
#define PERFREC_COLLECTOR_COMMAND_CMD_FIND_H

/* @argv starts with "find". Returns the exit status, OPTS_FAILED if there is no
 * such call. Once, in a process of one thread. */
int cmd_find(int argc, char **argv);

#endif
