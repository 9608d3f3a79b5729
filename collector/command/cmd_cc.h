/* SPDX-License-Identifier: Apache-2.0
 *
 * cmd_cc - `perfrec cc` and `perfrec c++`: a compiler with the flags that make
 * it call perfrec's hooks.
 */
#ifndef PERFREC_COLLECTOR_COMMAND_CMD_CC_H
#define PERFREC_COLLECTOR_COMMAND_CMD_CC_H

/*
 * @argv is the command line of perfrec from its subcommand on: @argv[0] is "cc"
 * or "c++", and a NULL follows the last word. Replaces this process by the
 * compiler, and then does not return. Returns an exit status if that failed,
 * if the command line is wrong, or if the compiler had to run more than once.
 * Once, in the only thread of a process.
 */
int cmd_cc(int argc, char **argv);

#endif
