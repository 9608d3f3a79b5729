/* SPDX-License-Identifier: Apache-2.0
 *
 * cmd_export - `perfrec export`: writes a recording in the format of another
 * tool.
 */
#ifndef PERFREC_COLLECTOR_COMMAND_CMD_EXPORT_H
#define PERFREC_COLLECTOR_COMMAND_CMD_EXPORT_H

/* @argv starts with "export". Returns the exit status. Once, in a process of
 * one thread. */
int cmd_export(int argc, char **argv);

#endif
