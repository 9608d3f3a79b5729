/* SPDX-License-Identifier: Apache-2.0
 *
 * cmd_doctor - `perfrec doctor`: says what this machine permits, and what to
 * change.
 */
#ifndef PERFREC_COLLECTOR_COMMAND_CMD_DOCTOR_H
#define PERFREC_COLLECTOR_COMMAND_CMD_DOCTOR_H

/* @argv is the command line of perfrec from its subcommand on: @argv[0] is
 * "doctor". Returns an exit status: OPTS_FAILED if nothing can be recorded
 * here. Once, in the only thread of a process. */
int cmd_doctor(int argc, char **argv);

#endif
