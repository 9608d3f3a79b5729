/* SPDX-License-Identifier: Apache-2.0
 *
 * cmd_ctl - `perfrec ctl`: asks a running perfrec-collect to list, pause,
 * resume, flush or stop recordings, and prints its answer. What the two say to
 * each other is in collector/serve/ctl_wire.h.
 */
#ifndef PERFREC_COLLECTOR_COMMAND_CMD_CTL_H
#define PERFREC_COLLECTOR_COMMAND_CMD_CTL_H

/* @argv is the command line of perfrec from its subcommand on: @argv[0] is
 * "ctl". Returns the exit status. Once, in the only thread of a process. */
int cmd_ctl(int argc, char **argv);

#endif
