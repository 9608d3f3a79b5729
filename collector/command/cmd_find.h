/* SPDX-License-Identifier: Apache-2.0
 *
 * cmd_find - perfrec find: the calls of a function that took longer than a
 * time.
 */
#ifndef PERFREC_COLLECTOR_COMMAND_CMD_FIND_H
#define PERFREC_COLLECTOR_COMMAND_CMD_FIND_H

/* Runs "perfrec find"; argv[0] is "find". Returns the exit status: 1 if there
 * is no such call. */
int cmd_find(int argc, char **argv);

#endif
