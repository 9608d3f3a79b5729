/* SPDX-License-Identifier: Apache-2.0
 *
 * heap_dump - the heap of a process in the trace by stack, for Perfetto's heap
 * view: at its peak and at its end.
 */
#ifndef PERFREC_COLLECTOR_HEAP_HEAP_DUMP_H
#define PERFREC_COLLECTOR_HEAP_HEAP_DUMP_H

struct process_heap;

/* Writes both dumps of @heap, which no thread changes any more. Leaves out
 * values without memory. Reads symbol tables. Jobs thread. */
void heap_dump_write(struct process_heap *heap);

#endif
