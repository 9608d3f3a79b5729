/* SPDX-License-Identifier: Apache-2.0
 *
 * cmd_annotate - `perfrec annotate`: the source of a function with samples and
 * allocations.
 */
#ifndef PERFREC_COLLECTOR_COMMAND_CMD_ANNOTATE_H
#define PERFREC_COLLECTOR_COMMAND_CMD_ANNOTATE_H

/* @argv starts with "annotate". Returns the exit status. Once, in a process of
 * one thread. */
int cmd_annotate(int argc, char **argv);

#endif
