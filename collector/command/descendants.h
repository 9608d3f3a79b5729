/* SPDX-License-Identifier: Apache-2.0
 *
 * descendants - detects the end of the last descendant of the command, for
 * `perfrec record --follow`.
 *
 * perfrec becomes the subreaper of its descendants (prctl(2)): an orphan
 * becomes a child of perfrec instead of init. So when the collector is
 * perfrec's only child, all descendants have ended. This needs neither
 * privileges nor help of the programs, and misses no process. Cgroups would
 * need a folder delegated to the user; services leave their process group and
 * session. One effect on programs: getppid() of an orphan is perfrec's pid
 * instead of 1. For a process of one thread.
 */
#ifndef PERFREC_COLLECTOR_COMMAND_DESCENDANTS_H
#define PERFREC_COLLECTOR_COMMAND_DESCENDANTS_H

#include <stdbool.h>
#include <sys/types.h>

/* Makes orphans among the descendants children of this process. Returns 0, or
 * -errno after one line in the log if this kernel does not list children. */
int descendants_adopt(void);

/* Returns the number of children except @except (0: all), including ended
 * children that the caller has not waited for. */
size_t descendants_count(pid_t except);

#endif
