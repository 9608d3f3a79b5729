/* SPDX-License-Identifier: Apache-2.0
 *
 * cmd_replay - `perfrec replay` prints the calls of a recording as indented
 * text. `perfrec dump` prints its events as JSON, one a line.
 */
#ifndef PERFREC_COLLECTOR_COMMAND_CMD_REPLAY_H
#define PERFREC_COLLECTOR_COMMAND_CMD_REPLAY_H

/* @argv starts with the subcommand. Return the exit status. Once, in a process
 * of one thread. */
int cmd_replay(int argc, char **argv);
int cmd_dump(int argc, char **argv);

#endif
