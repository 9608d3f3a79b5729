/* SPDX-License-Identifier: Apache-2.0
 *
 * cmd_record - `perfrec record`: a collector for one run of one program.
 */
#ifndef PERFREC_COLLECTOR_COMMAND_CMD_RECORD_H
#define PERFREC_COLLECTOR_COMMAND_CMD_RECORD_H

/* @argv[0] is "record". Returns the exit status, which is the program's if
 * that could be started; ends by the signal that the program ended by. */
int cmd_record(int argc, char **argv);

#endif
