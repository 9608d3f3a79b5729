/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/heap/thread_heap.h"

#include <errno.h>
#include <stdlib.h>

#include "collector/heap/process_heap_inner.h"
#include "collector/profile/stacks.h"
#include "collector/record/arena.h"
#include "collector/record/process.h"
#include "collector/record/thread_state.h"
#include "collector/replay/cct.h"
#include "collector/replay/heap_feed.h"
#include "collector/replay/replay.h"
#include "collector/samples/samples.h"
#include "shared/atomic.h"
#include "shared/ring_shm.h"

#define PATH_NODES 64

struct thread_heap {
	struct process_heap *heap; /* owned by the process, outlives this */
	struct heap_feed feed; /* for replay, from the first block on */
	uint64_t told_allocs, told_frees; /* losses reported by records */
};

/* --- stacks -------------------------------------------------------------- */

/* Numbers the stack of @node, whose callers already have numbers. */
static void set_node_stack(const struct cct *cct, struct cct_node *node,
			   struct stacks *stacks)
{
	const struct cct_node *parent = node->parent;
	struct stack_frame frame = {
		.address = node->function->address,
		.generation = node->function->generation,
		.kind = FRAME_ENTRY,
	};
	uint32_t below = STACKS_ROOT;

	if (!parent)
		frame = (struct stack_frame){
			.address = node == cct->overflow ? FRAME_OTHER
							 : FRAME_UNKNOWN,
			.kind = FRAME_NAMED,
		};
	else if (parent != cct->root)
		below = parent->stack;
	node->stack = stacks_child(stacks, below, &frame);
}

uint32_t cct_stack(const struct cct *cct, struct cct_node *node,
		   struct stacks *stacks)
{
	struct cct_node *few[PATH_NODES], **path = few, *up;
	size_t count = 0, i;

	if (node->stack)
		return node->stack;
	for (up = node; up && !up->stack; up = up->parent)
		count++;
	if (count > PATH_NODES)
		path = malloc(count * sizeof(*path));
	if (!path) {
		/* Not stored in the node: the next call may have memory. */
		const struct stack_frame other = { .address = FRAME_OTHER,
						   .kind = FRAME_NAMED };

		return stacks_child(stacks, STACKS_ROOT, &other);
	}
	for (up = node, i = 0; i < count; up = up->parent)
		path[i++] = up;
	while (i > 0)
		set_node_stack(cct, path[--i], stacks);
	if (path != few)
		free(path);
	return node->stack;
}

/* --- blocks -------------------------------------------------------------- */

static int start_thread_heap(struct thread *thread)
{
	struct thread_heap *own = thread->heap;

	if (!own)
		own = thread->heap = calloc(1, sizeof(*own));
	if (!own)
		return -ENOMEM;
	if (own->feed.stream)
		return 0;
	own->heap = process_heap_of(thread->process);
	if (!own->heap || order_open(own->heap->order, &own->feed.stream) < 0)
		return -ENOMEM;
	own->feed.owner = process_heap_owner(own->heap, thread->entry.tid,
					     thread->entry.name, thread->uuid);
	return 0;
}

static uint32_t block_site(struct thread *thread, struct replay *replay)
{
	struct process_heap *heap = thread->heap->heap;
	struct cct_node *node = replay_top_node(replay);

	/* A sampled heap gets its stacks and sites from the samples. */
	if (heap->sampled)
		return 0;
	if (!node->heap_site)
		node->heap_site = heap_site(
			&heap->heap, thread->heap->feed.owner,
			cct_stack(replay_tree(replay), node, heap->stacks));
	return node->heap_site;
}

/* Returns the key of the block at @address, or 0 if malformed. @heap: number of
 * a heap of the program's own, or 0. A block of such a heap may start at the
 * same address as the block that contains it, so its key is no address. */
static uint64_t block_key(uint64_t address, uint32_t heap)
{
	uint64_t x;

	if (!heap)
		return address <= HEAP_ADDRESS_MAX ? address : 0;
	x = (address ^ (uint64_t)heap << 48) * 0x9e3779b97f4a7c15ULL;
	return (x ^ x >> 32) >> 17 | 1ULL << (HEAP_ADDRESS_BITS - 1);
}

static void feed_alloc(struct thread *thread, struct replay *replay,
		       uint64_t clock, uint64_t address, uint64_t size,
		       uint32_t heap)
{
	struct heap_feed *feed = &thread->heap->feed;
	uint32_t site = block_site(thread, replay);
	uint64_t key = block_key(address, heap);

	if (!key) {
		process_heap_odd(thread->heap->heap);
		return;
	}
	if (heap) {
		const struct stack_frame top = { .address = heap,
						 .kind = FRAME_ENTRY };
		struct stacks *stacks = thread->heap->heap->stacks;

		site = heap_site(
			&thread->heap->heap->heap, feed->owner,
			stacks_child(stacks,
				     cct_stack(replay_tree(replay),
					       replay_top_node(replay), stacks),
				     &top));
	}
	order_feed(feed->stream, heap_feed_alloc(feed, clock, key, size, site));
}

static void feed_free(struct thread *thread, uint64_t clock, uint64_t address,
		      uint32_t heap)
{
	struct heap_feed *feed = &thread->heap->feed;
	uint64_t key = block_key(address, heap);

	if (key)
		order_feed(feed->stream,
			   heap_feed_free(feed, clock, key, address));
	else
		process_heap_odd(thread->heap->heap);
}

static void lose_blocks(struct thread *thread, uint64_t allocs, uint64_t frees)
{
	struct recording *recording = thread->setup->arena_setup->recording;
	struct process_heap *heap = thread->heap ? thread->heap->heap : NULL;
	struct heap_sums *sums;

	/* Also disables reports of double frees. */
	if (heap)
		process_heap_unsure(heap);

	sums = &recording_lock(recording)->heap;
	sums->dropped_allocs += allocs;
	sums->dropped_frees += frees;
	recording_unlock(recording);
}

void thread_heap_block(struct thread *thread, struct replay *replay,
		       uint64_t word, uint64_t clock)
{
	uint64_t address = record_alloc_address(word);

	replay_top_node(replay)->blocks++;
	if (start_thread_heap(thread) < 0) {
		lose_blocks(thread, record_kind(word) == RECORD_ALLOC,
			    record_kind(word) == RECORD_FREE);
		return;
	}
	if (record_kind(word) == RECORD_ALLOC)
		feed_alloc(thread, replay, clock, address,
			   record_alloc_size(word), 0);
	else
		feed_free(thread, clock, address, 0);
	/* From now on replay feeds blocks itself. Its idea of the clock must be
	 * up to date for that. */
	if (!thread->heap->heap->sampled)
		replay_set_feed(replay, &thread->heap->feed);
	(void)replay_ns(replay, clock, replay_now_ns(replay));
}

int thread_heap_extended(struct thread *thread, struct replay *replay,
			 const struct record *cells, size_t count)
{
	enum record_ext ext = record_ext(cells[0].word);
	uint32_t heap = record_ext_value(cells[0].word);
	uint64_t clock = cells[0].clock;

	if (count != (ext == EXT_REALLOC ? 3 : 2) || heap >= SITES_MAX)
		return -EBADMSG;
	if (start_thread_heap(thread) < 0) {
		lose_blocks(thread, ext == EXT_ALLOC || ext == EXT_REALLOC,
			    ext == EXT_FREE || ext == EXT_REALLOC);
		return 0;
	}
	switch (ext) {
	case EXT_ALLOC:
		feed_alloc(thread, replay, clock, cells[1].word, cells[1].clock,
			   heap);
		return 0;
	case EXT_FREE:
		feed_free(thread, clock, cells[1].word, heap);
		return 0;
	case EXT_REALLOC:
		/* The old block was freed before the new one was returned. */
		if (cells[1].word)
			feed_free(thread, MIN(cells[1].clock, clock),
				  cells[1].word, heap);
		if (cells[2].word)
			feed_alloc(thread, replay, clock, cells[2].word,
				   cells[2].clock, heap);
		return 0;
	case EXT_ALLOC_LOSS:
		thread->heap->told_allocs += cells[1].word;
		thread->heap->told_frees += cells[1].clock;
		order_feed(thread->heap->feed.stream,
			   (struct order_item){ clock, cells[1].word,
						cells[1].clock,
						HEAP_ITEM_LOSS });
		return 0;
	default:
		return -EBADMSG;
	}
}

bool thread_heap_wants(const struct thread *thread, const struct replay *replay)
{
	const struct arena_setup *arena = thread->setup->arena_setup;

	return arena->alloc == WIRE_ALLOC_SAMPLED ||
	       (arena->stackless && !replay_top_node(replay)->parent);
}

int thread_heap_sample(struct thread *thread, struct sample *sample)
{
	if (start_thread_heap(thread) < 0 || !thread->heap->heap->samples)
		return -ENOMEM;
	order_feed(thread->heap->feed.stream,
		   (struct order_item){ sample->clock,
					(uint64_t)(uintptr_t)sample, 0,
					HEAP_ITEM_SAMPLE });
	return 0;
}

void thread_heap_lose_sample(struct thread *thread)
{
	struct thread_heap *own = thread->heap;

	if (own && own->heap && own->heap->sampled)
		process_heap_dropped(own->heap, 1, 0);
}

void thread_heap_flush(struct thread *thread)
{
	if (thread->heap && thread->heap->feed.stream)
		order_flush(thread->heap->feed.stream);
}

void thread_heap_finish(struct thread *thread)
{
	const struct slot_shm *slot = thread->slot;
	struct thread_heap *own = thread->heap;
	/* relaxed, both: the owner is gone; the counts are as reliable as the
	 * program */
	uint64_t allocs = atom_load_rlx(&slot->dropped_allocs);
	uint64_t frees = atom_load_rlx(&slot->dropped_frees);
	/* relaxed: the same */
	uint32_t paused = atom_load_rlx(&slot->paused_allocs);

	if (own && own->feed.stream) {
		/* The thread may have a new name. */
		process_heap_owner(own->heap, thread->entry.tid,
				   thread->entry.name, thread->uuid);
		order_close(&own->feed.stream);
	}
	/* No record has the last losses. */
	if (own) {
		allocs -= MIN(allocs, own->told_allocs);
		frees -= MIN(frees, own->told_frees);
	}
	if (!(allocs || frees || paused) || start_thread_heap(thread) < 0)
		return;
	process_heap_dropped(thread->heap->heap, allocs, frees);
	process_heap_paused(thread->heap->heap, paused);
	order_close(&thread->heap->feed.stream);
}

void thread_heap_release(struct thread *thread)
{
	free(thread->heap);
	thread->heap = NULL;
}
