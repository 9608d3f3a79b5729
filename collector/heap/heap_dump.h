/* SPDX-License-Identifier: Apache-2.0
 *
 * heap_dump - the heap of a process in the trace, by stack, as Perfetto's heap
 * view shows it: once at its peak and once at its end.
 */
#ifndef PERFREC_COLLECTOR_HEAP_HEAP_DUMP_H
#define PERFREC_COLLECTOR_HEAP_HEAP_DUMP_H

struct process_heap;

/* Write both dumps of @heap, which nobody may change any more. Values for which
 * there is no memory are left out. Reads symbol tables. The jobs thread. */
void heap_dump_write(struct process_heap *heap);

#endif
