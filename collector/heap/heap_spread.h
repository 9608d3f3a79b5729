/* SPDX-License-Identifier: Apache-2.0
 *
 * heap_spread - stacks for blocks that are recorded exactly, but of which
 * nothing tells where they were allocated: of some of them the stack was told,
 * chosen as sampled blocks are. What is known of these is an estimate for all,
 * by stack; scaled, so that each sum of each thread is what it is exactly.
 *
 * Blocks in use and blocks that were freed are scaled apart, so no stack has
 * freed more than it has allocated. Of what no sample tells (none of those in
 * use, say) the stack stays unknown. Pure.
 */
#ifndef PERFREC_COLLECTOR_HEAP_HEAP_SPREAD_H
#define PERFREC_COLLECTOR_HEAP_HEAP_SPREAD_H

#include <stdint.h>

struct heap;

/* What @exact has at the sites of the stack @unknown goes to the sites that
 * @known has, which follows it (heap.h), as far as the thread is the same. What
 * finds no memory stays. One thread at a time, and nobody changes the two
 * heaps before heap_unspread(), which undoes it. */
void heap_spread(struct heap *exact, struct heap *known, uint32_t unknown);
void heap_unspread(struct heap *exact, struct heap *known, uint32_t unknown);

#endif
