/* SPDX-License-Identifier: Apache-2.0
 *
 * heap_bands - the bytes in use by function over time, as counters in the trace:
 * one for each of the HEAP_BANDS functions that had the most bytes at any
 * moment, and one for all others. At each time their sum is the counter of bytes
 * in use (heap_track.h).
 */
#ifndef PERFREC_COLLECTOR_HEAP_HEAP_BANDS_H
#define PERFREC_COLLECTOR_HEAP_HEAP_BANDS_H

struct process_heap;

#define HEAP_BANDS 12u

/* Writes the bands of the ended process of @heap. Writes nothing for a history of
 * less than two points, or a trace that forgets its beginning. Looks up names, so
 * it may read files. Jobs thread. */
void heap_bands_write(struct process_heap *heap);

#endif
