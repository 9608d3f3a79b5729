/* SPDX-License-Identifier: Apache-2.0
 *
 * cmd_what_if - `perfrec what-if`: the time of a run if functions took less CPU
 * time.
 */
#ifndef PERFREC_COLLECTOR_COMMAND_CMD_WHAT_IF_H
#define PERFREC_COLLECTOR_COMMAND_CMD_WHAT_IF_H

/* @argv starts with "what-if". Returns the exit status. Once, in a process of one
 * thread. */
int cmd_what_if(int argc, char **argv);

#endif
