/* SPDX-License-Identifier: Apache-2.0
 *
 * descendants - for `perfrec record --follow`: knowing every process that comes
 * from the command, to the last one.
 *
 * perfrec makes itself the subreaper of its descendants (prctl(2)): whoever has
 * lost its parent becomes a child of perfrec instead of init's. So all of them
 * have ended when perfrec has no child left but the collector. That needs no
 * right and no word of the programs, and misses nobody, where cgroups want a
 * folder that is delegated to the user, and process groups and sessions are
 * left by every service. What it changes: getppid() of an orphan is perfrec's
 * pid, not 1. For a process of one thread.
 */
#ifndef PERFREC_COLLECTOR_COMMAND_DESCENDANTS_H
#define PERFREC_COLLECTOR_COMMAND_DESCENDANTS_H

#include <stdbool.h>
#include <sys/types.h>

/* Orphans are ours from now on. 0, or -errno after logging one line: the kernel
 * does not list a process' children. */
int descendants_adopt(void);

/* How many children this process has, @except not counted. All that have ended
 * must have been waited for. */
size_t descendants_count(pid_t except);

#endif
