/* SPDX-License-Identifier: Apache-2.0
 *
 * heap_spread - stacks for blocks that are recorded exactly but outside any
 * span, which would show their origin. The program records the stacks of some
 * of these blocks, chosen like sampled blocks. Their distribution over stacks
 * is an estimate for all blocks, scaled so that the sums of each thread stay
 * exact.
 *
 * Blocks in use and freed blocks are scaled separately, so that no stack has
 * freed more than it has allocated. Without a sample, for example when no
 * sampled block is in use, the stack stays unknown. Pure.
 */
#ifndef PERFREC_COLLECTOR_HEAP_HEAP_SPREAD_H
#define PERFREC_COLLECTOR_HEAP_HEAP_SPREAD_H

#include <stdint.h>

struct heap;

/* heap_spread() moves the values of @exact at sites with stack @unknown to the
 * sites of @known, a heap that follows @exact (heap.h), thread by thread.
 * Values without memory stay. heap_unspread() undoes it. One thread at a time;
 * the two heaps must not change in between. */
void heap_spread(struct heap *exact, struct heap *known, uint32_t unknown);
void heap_unspread(struct heap *exact, struct heap *known, uint32_t unknown);

#endif
