/* SPDX-License-Identifier: Apache-2.0
 *
 * cmd_ctl - `perfrec ctl`: asks a running perfrec-collect to list, pause,
 * resume, flush or stop recordings, and prints its answer.
 * collector/options/ctl_wire.h defines the protocol.
 */
#ifndef PERFREC_COLLECTOR_COMMAND_CMD_CTL_H
#define PERFREC_COLLECTOR_COMMAND_CMD_CTL_H

/* @argv starts with "ctl". Returns the exit status. Once, in a process of one
 * thread. */
int cmd_ctl(int argc, char **argv);

#endif
