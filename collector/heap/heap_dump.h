/* SPDX-License-Identifier: Apache-2.0
 *
 * heap_dump - a process' heap in the trace, by stack, as Perfetto's heap view
 * has it: at its peak and at its end.
 */
#ifndef PERFREC_COLLECTOR_HEAP_HEAP_DUMP_H
#define PERFREC_COLLECTOR_HEAP_HEAP_DUMP_H

struct process_heap;

/* Nobody changes @heap any more. Reads symbol tables: the jobs thread. What
 * finds no memory is left out. */
void heap_dump_write(struct process_heap *heap);

#endif
