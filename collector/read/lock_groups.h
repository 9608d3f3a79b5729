/* SPDX-License-Identifier: Apache-2.0
 *
 * lock_groups - the locks that lie in no file, such as those of objects on the heap,
 * by the stack of their first wait. One thread at a time.
 */
#ifndef PERFREC_COLLECTOR_READ_LOCK_GROUPS_H
#define PERFREC_COLLECTOR_READ_LOCK_GROUPS_H

#include "collector/read/lock_sums.h"
#include "collector/read/trace_waits.h"

/* Makes one row of the locks of one process and kind whose first waits have the same
 * stack, if it is known. @sums are those of @waits by holder. Returns 0 or -ENOMEM,
 * and then @sums can only be released. */
int lock_groups_make(struct lock_sums *sums, struct trace_waits *waits);

#endif
