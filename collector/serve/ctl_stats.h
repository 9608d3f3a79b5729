/* SPDX-License-Identifier: Apache-2.0
 *
 * ctl_stats - the figures of a collector (stats.h) as a member of an answer of
 * `perfrec ctl`.
 */
#ifndef PERFREC_COLLECTOR_SERVE_CTL_STATS_H
#define PERFREC_COLLECTOR_SERVE_CTL_STATS_H

#include <jansson.h>

struct collector;

/* The member "stats" (ctl_wire.h), which belongs to the caller; NULL: no
 * memory. Main thread. */
json_t *ctl_stats_json(struct collector *collector);

#endif
