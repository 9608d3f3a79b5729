/* SPDX-License-Identifier: Apache-2.0
 *
 * lower_limit - resource limits of helpers.
 */
#ifndef PERFREC_COLLECTOR_NAMES_LOWER_LIMIT_H
#define PERFREC_COLLECTOR_NAMES_LOWER_LIMIT_H

#include <sys/resource.h>

#include "shared/compiler.h"

/* Never raises a limit. */
static inline void lower_limit(int resource, rlim_t value)
{
	struct rlimit limit;

	if (getrlimit(resource, &limit))
		return;
	limit.rlim_cur = MIN(limit.rlim_cur, value);
	limit.rlim_max = MIN(limit.rlim_max, value);
	setrlimit(resource, &limit);
}

#endif
