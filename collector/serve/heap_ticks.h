/* SPDX-License-Identifier: Apache-2.0
 *
 * heap_ticks - what is done about memory every so often, while programs run:
 * the resident size of each process, as a counter in the trace, and a heap
 * profile of each recording (--snapshot-interval).
 */
#ifndef PERFREC_COLLECTOR_SERVE_HEAP_TICKS_H
#define PERFREC_COLLECTOR_SERVE_HEAP_TICKS_H

struct collector;
struct heap_ticks;

/* *@out is NULL when @collector's options ask for none of it. @collector must
 * outlive it; the caller ends it with heap_ticks_free(). 0 or -ENOMEM. */
int heap_ticks_new(struct collector *collector, struct heap_ticks **out);
/* The jobs thread must have ended: a job of it may be under way before. Also
 * for NULL. */
void heap_ticks_free(struct heap_ticks **ticks);
/* Post what is due to the jobs thread. Main thread, with every heartbeat (25
 * ms). Also for NULL. */
void heap_ticks_beat(struct heap_ticks *ticks);

#endif
