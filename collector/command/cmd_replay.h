/* SPDX-License-Identifier: Apache-2.0
 *
 * cmd_replay - `perfrec replay`: prints the calls of a recording as indented
 * text. And `perfrec dump`: its events as JSON, one a line.
 */
#ifndef PERFREC_COLLECTOR_COMMAND_CMD_REPLAY_H
#define PERFREC_COLLECTOR_COMMAND_CMD_REPLAY_H

/* @argv is the command line of perfrec from its subcommand on. Return the exit
 * status. Once, in the only thread of a process. */
int cmd_replay(int argc, char **argv);
int cmd_dump(int argc, char **argv);

#endif
