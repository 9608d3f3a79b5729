/* SPDX-License-Identifier: Apache-2.0
 *
 * cmd_complete - what shells ask to complete a command line: a command that is
 * in no list, since nobody types it.
 */
#ifndef PERFREC_COLLECTOR_COMMAND_CMD_COMPLETE_H
#define PERFREC_COLLECTOR_COMMAND_CMD_COMPLETE_H

/*
 * perfrec __complete functions WORD...: a pattern for each function of the last
 * WORD that is a recording, or else of perfrec.data, a line each, and those
 * that are called most first. Prints nothing if there is no recording. Returns
 * an exit status.
 */
int cmd_complete(int argc, char **argv);

#endif
