/* SPDX-License-Identifier: Apache-2.0
 *
 * limit_hint - names the limit to raise when the system refuses something.
 */
#ifndef PERFREC_COLLECTOR_BASE_LIMIT_HINT_H
#define PERFREC_COLLECTOR_BASE_LIMIT_HINT_H

/* Returns advice for @err, a -errno, to append to strerror(): such as " (raise
 * ulimit -n)", or "" if no limit is the cause. Static text; any thread. */
const char *limit_hint(int err);

#endif
