/* SPDX-License-Identifier: Apache-2.0
 *
 * cmd_cc - `perfrec cc` and `perfrec c++`: a compiler with the flags that make
 * it call perfrec's hooks.
 */
#ifndef PERFREC_COLLECTOR_COMMAND_CMD_CC_H
#define PERFREC_COLLECTOR_COMMAND_CMD_CC_H

/* @argv[0] is "cc" or "c++". Becomes the compiler; returns the exit status
 * where that cannot be, or where one run of it is not enough. */
int cmd_cc(int argc, char **argv);

#endif
