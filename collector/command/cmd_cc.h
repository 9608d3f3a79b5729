/* SPDX-License-Identifier: Apache-2.0
 *
 * cmd_cc - `perfrec cc` and `perfrec c++`: run a compiler with flags for
 * perfrec's hooks.
 */
#ifndef PERFREC_COLLECTOR_COMMAND_CMD_CC_H
#define PERFREC_COLLECTOR_COMMAND_CMD_CC_H

/*
 * @argv starts with "cc" or "c++" and ends with a NULL. Becomes the compiler
 * and does not return. Returns an exit status if that failed, if the command
 * line is wrong, or if the compiler had to run several times. Once, in a
 * process of one thread.
 */
int cmd_cc(int argc, char **argv);

#endif
