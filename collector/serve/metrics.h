/* SPDX-License-Identifier: Apache-2.0
 *
 * metrics - the figures of a collector (stats.h) for Prometheus, by --metrics:
 * in a file that is written again and again, or on a socket.
 */
#ifndef PERFREC_COLLECTOR_SERVE_METRICS_H
#define PERFREC_COLLECTOR_SERVE_METRICS_H

struct collector;
struct metrics;

/*
 * Starts to offer the figures of @collector at @path, as --metrics has it: at
 * the socket "unix:PATH", or in the file PATH. NULL: nowhere, and *@out is
 * NULL. The caller ends *@out with metrics_free(). Main thread, before other
 * threads make files. 0, or -errno after logging one line.
 */
int metrics_new(struct collector *collector, const char *path,
		struct metrics **out);
/* Removes the file or the socket. Waits for a file that is being written for a
 * second at most. *@metrics may be NULL; it is NULL afterwards. Main thread. */
void metrics_free(struct metrics **metrics);

#endif
