/* SPDX-License-Identifier: Apache-2.0
 *
 * heap_ticks - periodic work on memory: the resident size of each process as a
 * counter in the trace, and heap profiles of each recording
 * (--snapshot-interval).
 */
#ifndef PERFREC_COLLECTOR_SERVE_HEAP_TICKS_H
#define PERFREC_COLLECTOR_SERVE_HEAP_TICKS_H

struct collector;
struct heap_ticks;

/* Sets *@out to NULL if @collector's options disable all of this. @collector
 * must outlive *@out, and the caller frees it. Returns 0 or -ENOMEM. */
int heap_ticks_new(struct collector *collector, struct heap_ticks **out);
/* The jobs thread must have ended, because it may run a job of *@ticks. *@ticks
 * may be NULL. */
void heap_ticks_free(struct heap_ticks **ticks);
/* Posts due work to the jobs thread. Main thread, at every heartbeat (25 ms).
 * @ticks may be NULL. */
void heap_ticks_beat(struct heap_ticks *ticks);

#endif
