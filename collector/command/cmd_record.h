/* SPDX-License-Identifier: Apache-2.0
 *
 * cmd_record - `perfrec record`: runs a program with its own collector and
 * prints a summary at the end.
 */
#ifndef PERFREC_COLLECTOR_COMMAND_CMD_RECORD_H
#define PERFREC_COLLECTOR_COMMAND_CMD_RECORD_H

/*
 * @argv starts with "record". If the program was started, this process ends
 * like the program, with its exit status or by its signal, and the function
 * does not return. Otherwise returns an exit status. Once, in a process of one
 * thread.
 */
int cmd_record(int argc, char **argv);

#endif
