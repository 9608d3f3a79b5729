/* SPDX-License-Identifier: Apache-2.0
 *
 * limit_hint - which limit to raise when the system refuses something.
 */
#ifndef PERFREC_COLLECTOR_BASE_LIMIT_HINT_H
#define PERFREC_COLLECTOR_BASE_LIMIT_HINT_H

/* What to do about @err, a -errno, for behind what strerror() says: such as
 * " (raise ulimit -n)". "": it is about no limit. Static text; any thread. */
const char *limit_hint(int err);

#endif
