/* SPDX-License-Identifier: Apache-2.0
 *
 * stats - how a collector is: how far behind it is, what it uses, and whom it
 * refused. For `perfrec ctl stats`, and for --metrics. stats.def has the
 * figures.
 */
#ifndef PERFREC_COLLECTOR_SERVE_STATS_H
#define PERFREC_COLLECTOR_SERVE_STATS_H

struct collector;

/* The figures in the text format of Prometheus. The caller frees the text;
 * NULL: no memory. Main thread. */
char *stats_text(struct collector *collector);

#endif
