/* SPDX-License-Identifier: Apache-2.0
 *
 * descendants - knows when the last process that comes from the command has
 * ended. `perfrec record --follow` needs that.
 *
 * perfrec makes itself the subreaper of its descendants (prctl(2)): a process
 * that has lost its parent becomes a child of perfrec, not of init. So when
 * perfrec has no child left but the collector, all descendants have ended. This
 * needs no privilege and no help of the programs, and misses no process.
 * Cgroups would need a folder that is delegated to the user; every service
 * leaves its process group and its session. One thing changes for the programs:
 * getppid() of an orphan is perfrec's pid, not 1. For a process of one thread.
 */
#ifndef PERFREC_COLLECTOR_COMMAND_DESCENDANTS_H
#define PERFREC_COLLECTOR_COMMAND_DESCENDANTS_H

#include <stdbool.h>
#include <sys/types.h>

/* From now on, orphans among our descendants become our children. Returns 0,
 * or -errno after one line in the log: this kernel does not list the children
 * of a process. */
int descendants_adopt(void);

/* How many children this process has, without the one with the pid @except (0:
 * with all). The caller has waited for all children that have ended: else they
 * count, too. */
size_t descendants_count(pid_t except);

#endif
