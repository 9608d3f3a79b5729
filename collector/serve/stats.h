/* SPDX-License-Identifier: Apache-2.0
 *
 * stats - the figures of a collector: lag, use of resources, and refusals. For
 * `perfrec ctl stats` and --metrics. stats.def lists the figures.
 */
#ifndef PERFREC_COLLECTOR_SERVE_STATS_H
#define PERFREC_COLLECTOR_SERVE_STATS_H

struct collector;

/* Returns the figures in the text format of Prometheus for the caller to free,
 * or NULL without memory. Main thread. */
char *stats_text(struct collector *collector);

#endif
