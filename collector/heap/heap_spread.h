/* SPDX-License-Identifier: Apache-2.0
 *
 * heap_spread - stacks for blocks that are recorded exactly, but without a span
 * that would say where they were allocated. For some of these blocks, chosen as
 * sampled blocks are, the program told the stack. Their distribution over
 * stacks is an estimate for all blocks. It is scaled, so that the sums of each
 * thread are the exact ones.
 *
 * Blocks in use and blocks that were freed are scaled apart, so that no stack
 * has freed more than it has allocated. Where there is no sample to go by, for
 * example when no sampled block is in use, the stack stays unknown. Pure.
 */
#ifndef PERFREC_COLLECTOR_HEAP_HEAP_SPREAD_H
#define PERFREC_COLLECTOR_HEAP_HEAP_SPREAD_H

#include <stdint.h>

struct heap;

/* Move the values that @exact has at sites with the stack @unknown to the sites
 * of @known, a heap that follows @exact (heap.h), thread by thread. Values for
 * which there is no memory stay. heap_unspread() undoes it. One thread at a
 * time; nobody may change the two heaps in between. */
void heap_spread(struct heap *exact, struct heap *known, uint32_t unknown);
void heap_unspread(struct heap *exact, struct heap *known, uint32_t unknown);

#endif
