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

/* 0 or -ENOMEM; *@out is NULL when nobody wants any of it. @collector must
 * outlive it. */
int heap_ticks_new(struct collector *collector, struct heap_ticks **out);
/* When no job of @collector's is left. Also for NULL. */
void heap_ticks_free(struct heap_ticks **ticks);
/* A while has passed: posts what is due to the jobs thread. Main thread, every
 * 50 ms or so. Also for NULL. */
void heap_ticks_beat(struct heap_ticks *ticks);

#endif
