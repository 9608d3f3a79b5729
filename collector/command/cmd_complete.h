/* SPDX-License-Identifier: Apache-2.0
 *
 * cmd_complete - helps shells to complete command lines. It is in no list of
 * commands, because nobody types it.
 */
#ifndef PERFREC_COLLECTOR_COMMAND_CMD_COMPLETE_H
#define PERFREC_COLLECTOR_COMMAND_CMD_COMPLETE_H

/*
 * perfrec __complete functions WORD...: prints a pattern for each function, one
 * a line, most called first. The recording is the last WORD that is one, or
 * else perfrec.data. Prints nothing without a recording. Returns an exit
 * status.
 */
int cmd_complete(int argc, char **argv);

#endif
