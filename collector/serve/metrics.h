/* SPDX-License-Identifier: Apache-2.0
 *
 * metrics - the figures of a collector (stats.h) for Prometheus, with
 * --metrics: in a file that is rewritten periodically, or on a socket.
 */
#ifndef PERFREC_COLLECTOR_SERVE_METRICS_H
#define PERFREC_COLLECTOR_SERVE_METRICS_H

struct collector;
struct metrics;

/*
 * Publishes the figures of @collector at @path, the argument of --metrics: a
 * socket "unix:PATH" or the file PATH. If @path is NULL, sets *@out to NULL.
 * The caller frees *@out. Main thread, before other threads create files.
 * Returns 0, or -errno after logging one line.
 */
int metrics_new(struct collector *collector, const char *path,
		struct metrics **out);
/* Removes the file or the socket. Waits at most a second for a file being
 * written. Sets *@metrics to NULL; it may be NULL. Main thread. */
void metrics_free(struct metrics **metrics);

#endif
