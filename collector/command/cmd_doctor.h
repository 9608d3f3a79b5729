/* SPDX-License-Identifier: Apache-2.0
 *
 * cmd_doctor - `perfrec doctor`: reports what this machine permits, and what to
 * change.
 */
#ifndef PERFREC_COLLECTOR_COMMAND_CMD_DOCTOR_H
#define PERFREC_COLLECTOR_COMMAND_CMD_DOCTOR_H

/* @argv starts with "doctor". Returns an exit status, OPTS_FAILED if recording
 * is impossible here. Once, in a process of one thread. */
int cmd_doctor(int argc, char **argv);

#endif
