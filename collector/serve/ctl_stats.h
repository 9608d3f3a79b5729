/* SPDX-License-Identifier: Apache-2.0
 *
 * ctl_stats - the figures of a collector (stats.h) in an answer of `perfrec
 * ctl`.
 */
#ifndef PERFREC_COLLECTOR_SERVE_CTL_STATS_H
#define PERFREC_COLLECTOR_SERVE_CTL_STATS_H

#include <jansson.h>

struct collector;

/* Returns the member "stats" (ctl_wire.h) for the caller to free, or NULL
 * without memory. Main thread. */
json_t *ctl_stats_json(struct collector *collector);

#endif
