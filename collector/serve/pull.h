/* SPDX-License-Identifier: Apache-2.0
 *
 * pull - --listen: an HTTP server for profiles of all recordings, compatible
 * with those of Go programs, and for the figures of --metrics (docs/SERVICE.md).
 * Each request has its own thread. All functions: main thread only.
 */
#ifndef PERFREC_COLLECTOR_SERVE_PULL_H
#define PERFREC_COLLECTOR_SERVE_PULL_H

struct collector;

/* Starts to listen, with --listen only. Call it once, after everything that
 * recordings need. Returns 0, or -errno after logging one line. */
int pull_start(struct collector *collector);
/* Ends all requests. Call it before recordings end. Does nothing without
 * pull_start(). */
void pull_stop(void);

#endif
