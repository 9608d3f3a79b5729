/* SPDX-License-Identifier: Apache-2.0
 *
 * cmd_record - `perfrec record`: runs one program with a collector of its own,
 * and prints a summary when the program has ended.
 */
#ifndef PERFREC_COLLECTOR_COMMAND_CMD_RECORD_H
#define PERFREC_COLLECTOR_COMMAND_CMD_RECORD_H

/*
 * @argv is the command line of perfrec from its subcommand on: @argv[0] is
 * "record". If the program was started, this process ends as the program did,
 * with its exit status or by its signal, and the function does not return.
 * Otherwise it returns an exit status. Once, in the only thread of a process.
 */
int cmd_record(int argc, char **argv);

#endif
