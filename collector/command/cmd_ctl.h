/* SPDX-License-Identifier: Apache-2.0
 *
 * cmd_ctl - `perfrec ctl`: list, pause, resume, flush and stop what a
 * perfrec-collect records. See ctl_wire.h.
 */
#ifndef PERFREC_COLLECTOR_COMMAND_CMD_CTL_H
#define PERFREC_COLLECTOR_COMMAND_CMD_CTL_H

/* @argv[0] is "ctl". Returns the exit status. */
int cmd_ctl(int argc, char **argv);

#endif
