/* SPDX-License-Identifier: Apache-2.0
 *
 * cmd_annotate - `perfrec annotate`: the source of a function with samples and
 * allocations.
 */
#ifndef PERFREC_COLLECTOR_COMMAND_CMD_ANNOTATE_H
#define PERFREC_COLLECTOR_COMMAND_CMD_ANNOTATE_H

/* @argv is the command line of perfrec from its subcommand on: @argv[0] is
 * "annotate". Returns the exit status. Once, in the only thread of a process.
 */
int cmd_annotate(int argc, char **argv);

#endif
