/* SPDX-License-Identifier: Apache-2.0
 *
 * process_heap - the collector's threads and their work here:
 *
 *   drain workers  feed the streams of their threads (thread_heap.c); between
 *                  passes one of them at a time is the consumer
 *   consumer       changes the heap and writes its counters; for a sampled
 *                  heap it only posts samples
 *   sampler        changes the heap of a sampled process, under order_lock()
 *   jobs           process_heap_end(); snapshots, under order_lock()
 */
#include "collector/heap/process_heap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/clock.h"
#include "collector/base/grow.h"
#include "collector/base/lock.h"
#include "collector/base/log.h"
#include "collector/base/random.h"
#include "collector/heap/heap_spread.h"
#include "collector/heap/process_heap_inner.h"
#include "collector/names/modules.h"
#include "collector/options/collect_options.h"
#include "collector/profile/stacks.h"
#include "collector/record/arena.h"
#include "collector/record/collector.h"
#include "collector/record/process.h"
#include "collector/record/recording.h"
#include "collector/replay/heap_feed.h"
#include "collector/replay/order.h"
#include "collector/replay/pause.h"
#include "collector/samples/samples.h"
#include "shared/atomic.h"
#include "shared/compiler.h"

#define ORDER_BYTES (64u << 20)
/* After this many threads, new ones share a number with a thread of the same
 * name. Otherwise a program that creates threads for days would create new
 * sites for each. */
#define OWNERS_APART 4096u
#define OWNERS_MAX 65536u
/* In a large table each event misses every cache. This many events are
 * prefetched, so their misses overlap. */
#define AHEAD 8

/* --- the consumer -------------------------------------------------------- */

static void tell_double(struct process_heap *heap,
			const struct order_item *item)
{
	uint32_t owner = (uint32_t)item->c;
	uint64_t uuid;

	if (!heap_is_double(&heap->heap, item->clock, item->a))
		return;
	lock_acquire(&heap->lock);
	uuid = owner < heap->owner_count ? heap->owner[owner].uuid : 0;
	lock_release(&heap->lock);
	heap_track_double_free(&heap->track, item->clock,
			       uuid ? uuid : heap->track.process_uuid, item->b);
}

/* Reports double frees that no record up to @clock has explained. */
static void tell_doubles(struct process_heap *heap, uint64_t clock)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < heap->double_count; i++) {
		const struct order_item item = heap->doubles[i];

		if (clock > item.clock && clock - item.clock > HEAP_SKEW_DOUBLE)
			tell_double(heap, &item);
		else
			heap->doubles[kept++] = item;
	}
	heap->double_count = kept;
}

/*
 * Returns true if every allocation of the process so far is known, or will be
 * in the order before the free of its block. Otherwise a free without a block
 * may have an unrecorded allocation.
 *
 * The program signals a missing allocation before the allocator returns the
 * block, and frees the block later. So a reader of the free's record also sees
 * the signal.
 */
static bool knows_all_blocks(const struct process_heap *heap)
{
	const struct process *process = heap->process;
	const struct arena *arena = process_setup(process)->arena;

	/* relaxed, all: the record of the free was read after HEAD */
	if (atom_load_rlx(&process_setup(process)->arena_setup->page->flags) &
		    PAGE_BLOCKS_LOST ||
	    arena_late_slots(arena) || atom_load_rlx(&heap->unsure))
		return false;
	/* The rings may not be read completely any more. */
	if (arena_is_broken(arena) || order_early(heap->order))
		return false;
	return !process_is_ending(process) || process_is_gone(process);
}

static void add_double(struct process_heap *heap, const struct order_item *item)
{
	if (!knows_all_blocks(heap))
		heap_doubt(&heap->heap, item->a);
	else if (heap->double_count < HEAP_DOUBLES)
		heap->doubles[heap->double_count++] = *item;
}

static void post_block(struct process_heap *heap, struct sample *sample)
{
	/* samples_post() may free the sample. */
	bool alloc = sample->kind == SAMPLE_ALLOC;

	if (!samples_post(heap->samples, sample) && heap->sampled)
		process_heap_dropped(heap, alloc, !alloc);
}

/* Posts the end of a block with a sampled stack. */
static void post_block_end(struct process_heap *heap, uint64_t clock)
{
	struct sample *sample = sample_new(0);

	if (sample) {
		sample->kind = SAMPLE_FREE;
		sample->address = heap->heap.ended;
		sample->clock = clock;
		sample->temporary = heap->heap.ended_temporary;
		sample->epoch = heap->heap.epoch;
		post_block(heap, sample);
	}
	heap->heap.ended = 0;
}

static void post_block_free(struct process_heap *heap,
			    const struct order_item *item)
{
	struct sample *sample = sample_new(0);

	if (!sample) {
		process_heap_dropped(heap, 0, 1);
		return;
	}
	sample->kind = SAMPLE_FREE;
	sample->address = item->a;
	sample->clock = item->clock;
	post_block(heap, sample);
}

static void take_other_item(struct process_heap *heap,
			    const struct order_item *item)
{
	struct sample *sample = (struct sample *)(uintptr_t)item->a;

	if (item->c & HEAP_ITEM_SAMPLE) {
		/* An exact heap: this is the stack of the block just before. */
		if (!heap->sampled) {
			bool is_live =
				heap_mark(&heap->heap, sample->clock,
					  sample->address & HEAP_ADDRESS_MAX,
					  &sample->at_peak);

			sample->flags &= ~(uint32_t)SAMPLE_LIVE;
			sample->flags |= is_live ? SAMPLE_LIVE : 0;
			sample->epoch = heap->heap.epoch;
		}
		post_block(heap, sample);
		return;
	}
	/* A LOSS: from now on any unknown block may be a lost one. */
	heap->heap.incomplete = true;
	process_heap_dropped(heap, item->a, item->b);
}

static inline void take_heap_item(struct process_heap *heap,
				  const struct order_item *item)
{
	if (item->c & HEAP_ITEM_ALLOC)
		heap_alloc(&heap->heap, item->clock, item->a, item->b,
			   (uint32_t)item->c);
	else if (unlikely(item->c & (HEAP_ITEM_SAMPLE | HEAP_ITEM_LOSS)))
		take_other_item(heap, item);
	else if (heap->sampled)
		post_block_free(heap, item);
	else if (unlikely(heap_free(&heap->heap, item->clock, item->a,
				    (uint32_t)item->c,
				    item->c & HEAP_ITEM_TEMPORARY) ==
			  HEAP_DOUBLE))
		add_double(heap, item);
	if (unlikely(heap->heap.ended))
		post_block_end(heap, item->clock);
}

/* Adds the heap as it is at the last written value of its counters to the
 * history. */
static void take_history(struct process_heap *heap)
{
	uint64_t begin_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);

	process_heap_spread(heap);
	heap_history_take(&heap->history, &heap->heap, heap->stacks,
			  heap->track.last_ns);
	process_heap_unspread(heap);
	heap_history_delay(&heap->history,
			   clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns);
}

/* Before the heap applies a record of @clock. */
static void step_track(struct process_heap *heap, uint64_t clock)
{
	uint64_t before_ns = heap->track.last_ns;

	heap_track_step(&heap->track, &heap->heap, clock);
	if (heap->track.last_ns > before_ns &&
	    heap->track.last_ns >= heap->history.next_ns)
		take_history(heap);
}

static void consume_blocks(void *context, const struct order_item *items,
			   size_t count)
{
	struct process_heap *heap = context;
	struct heap_track *track = &heap->track;

	/* Blocks allocated in a pause are unknown, but their frees are
	 * recorded. */
	if (unlikely(pause_changes(
		    process_setup(heap->process)->arena_setup->pauses)))
		heap->heap.incomplete = true;
	for (size_t i = 0; i < MIN(count, (size_t)AHEAD); i++)
		heap_table_fetch(&heap->heap.table, items[i].a);
	for (size_t i = 0; i < count; i++) {
		if (i + AHEAD < count)
			heap_table_fetch(&heap->heap.table, items[i + AHEAD].a);
		if (unlikely(heap->double_count))
			tell_doubles(heap, items[i].clock);
		if (unlikely(items[i].clock >= track->next_clock) &&
		    !heap->sampled)
			step_track(heap, items[i].clock);
		take_heap_item(heap, &items[i]);
	}
	if (heap->sampled || !count)
		return;
	track->last_clock = MAX(track->last_clock, items[count - 1].clock);
}

/* --- samples ------------------------------------------------------------- */

/* Applies a sampled stack of an exact heap, on the sampler's thread. Samples
 * arrive in the consumer's order of allocs and frees, so their clocks are
 * numbers in that order. */
static void take_known(struct process_heap *heap, const struct sample *sample,
		       uint32_t stack)
{
	uint64_t address = sample->address & HEAP_ADDRESS_MAX;
	uint64_t size = heap_sampled_size(sample->size, sample->level);
	uint32_t owner, site = 0;
	uint64_t clock;

	if (!heap->known)
		return;
	if (sample->kind == SAMPLE_ALLOC) {
		owner = process_heap_owner(heap, sample->tid, sample->thread,
					   0);
		site = heap_site(heap->known, owner, stack);
	}
	lock_acquire(&heap->known_lock);
	heap->known->epoch = sample->epoch;
	heap->known->at_peak = sample->at_peak;
	clock = ++heap->known_clock;
	if (sample->kind == SAMPLE_FREE)
		heap_free(heap->known, clock, address, 0, sample->temporary);
	else if (address && sample->flags & SAMPLE_LIVE)
		heap_alloc(heap->known, clock, address, size, site);
	else
		heap_alloc_untracked(heap->known, size, site);
	lock_release(&heap->known_lock);
}

/* On the sampler's thread, in the order of clocks. */
static void take_sampled(void *context, const struct sample *sample,
			 uint32_t stack)
{
	struct process_heap *heap = context;
	uint64_t address = sample->address & HEAP_ADDRESS_MAX;
	uint64_t size = heap_sampled_size(sample->size, 0);
	bool alloc = sample->kind == SAMPLE_ALLOC;
	uint32_t owner, site = 0;

	if (!heap->sampled) {
		take_known(heap, sample, stack);
		return;
	}

	if (alloc) {
		owner = process_heap_owner(heap, sample->tid, sample->thread,
					   0);
		site = heap_site(&heap->heap, owner, stack);
	}
	order_lock(heap->order);
	if (heap->track.next_clock <= sample->clock)
		step_track(heap, sample->clock);
	if (alloc && address && sample->flags & SAMPLE_LIVE)
		heap_alloc(&heap->heap, sample->clock, address, size, site);
	else if (alloc)
		heap_alloc_untracked(&heap->heap, size, site);
	else
		heap_free(&heap->heap, sample->clock, address, 0, false);
	heap->track.last_clock = MAX(heap->track.last_clock, sample->clock);
	order_unlock(heap->order);
}

/* --- threads ------------------------------------------------------------- */

static uint32_t find_owner(struct process_heap *heap, pid_t tid,
			   const char *name)
{
	/* With many owners, any thread with that name will do. */
	bool by_name = heap->owner_count >= OWNERS_APART;

	for (uint32_t i = heap->owner_count; i-- > 1;) {
		const struct heap_owner *owner = &heap->owner[i];

		if (owner->tid == tid ||
		    (by_name &&
		     !strncmp(owner->name, name, sizeof(owner->name))))
			return i;
	}
	return 0;
}

static bool reserve_owner(struct process_heap *heap)
{
	return heap->owner_count < OWNERS_MAX &&
	       !grow_array(heap->owner, heap->owner_room,
			   heap->owner_count + 1);
}

uint32_t process_heap_owner(struct process_heap *heap, pid_t tid,
			    const char *name, uint64_t uuid)
{
	struct heap_owner owner = { .tid = tid, .uuid = uuid };
	uint32_t number;

	memcpy(owner.name, name, strnlen(name, sizeof(owner.name) - 1));
	lock_acquire(&heap->lock);
	number = find_owner(heap, tid, owner.name);
	if (number && heap->owner[number].tid != tid) {
		heap->owner[number].tid = 0;
		process_heap_unsure(heap);
	} else if (number) {
		/* The thread may have a new name. */
		memcpy(heap->owner[number].name, owner.name,
		       sizeof(owner.name));
	} else if (reserve_owner(heap)) {
		number = heap->owner_count++;
		heap->owner[number] = owner;
	}
	lock_release(&heap->lock);
	return number;
}

void process_heap_dropped(struct process_heap *heap, uint64_t allocs,
			  uint64_t frees)
{
	lock_acquire(&heap->lock);
	heap->dropped_allocs += allocs;
	heap->dropped_frees += frees;
	lock_release(&heap->lock);
}

void process_heap_unsure(struct process_heap *heap)
{
	/* relaxed: knows_all_blocks() */
	atom_store_rlx(&heap->unsure, 1);
}

void process_heap_paused(struct process_heap *heap, uint64_t allocs)
{
	lock_acquire(&heap->lock);
	heap->paused += allocs;
	lock_release(&heap->lock);
}

void process_heap_odd(struct process_heap *heap)
{
	lock_acquire(&heap->lock);
	heap->odd++;
	lock_release(&heap->lock);
}

/* --- life ---------------------------------------------------------------- */

static void release_heap(struct process_heap *heap)
{
	if (heap->known)
		heap_release(heap->known);
	free(heap->known);
	heap->known = NULL;
	if (heap->heap.budget)
		heap_release(&heap->heap);
	heap_history_release(&heap->history);
	order_put(&heap->order);
	if (heap->samples)
		samples_put(&heap->samples);
	else
		stacks_free(&heap->stacks);
	modules_put(&heap->modules);
	lock_destroy(&heap->lock);
	lock_destroy(&heap->known_lock);
	free(heap->owner);
	recording_put(&heap->recording);
	free(heap);
}

/* Without memory all stacks stay unknown. */
static void start_known_blocks(struct process_heap *heap, uint64_t period)
{
	heap->known = calloc(1, sizeof(*heap->known));
	if (heap->known &&
	    heap_init(heap->known, recording_setup(heap->recording)->budget,
		      period, random_u64()) < 0) {
		free(heap->known);
		heap->known = NULL;
	}
	if (heap->known)
		heap->known->follows = true;
}

static int start_heap(struct process_heap *heap, struct process *process)
{
	const struct process_setup *of = process_setup(process);
	const struct arena_setup *arena = of->arena_setup;
	const struct recording_setup *setup = recording_setup(heap->recording);
	uint64_t period = setup->options->alloc_period;
	struct budget *budget = setup->budget;
	int err = 0;

	heap->sampled = arena->alloc == WIRE_ALLOC_SAMPLED && of->samples;
	if (of->samples && (heap->sampled || arena->stackless)) {
		heap->samples = samples_get(of->samples);
		heap->stacks = samples_stacks(heap->samples);
		samples_take_blocks(heap->samples, take_sampled, heap);
		if (!heap->sampled)
			start_known_blocks(heap, period);
	} else {
		err = stacks_new(budget, &heap->stacks);
	}
	if (!err)
		err = heap_init(&heap->heap, budget, heap->sampled ? period : 0,
				random_u64());
	heap_history_init(&heap->history, budget);
	if (!err)
		err = order_new(budget, ORDER_BYTES, consume_blocks, heap,
				&heap->order);
	/* Owner 0 stands for no thread. */
	if (!err && !reserve_owner(heap))
		err = -ENOMEM;
	if (err)
		return err;
	heap->owner[heap->owner_count++] = (struct heap_owner){ 0 };
	heap_track_init(&heap->track, setup->trace,
			arena->clock == WIRE_CLOCK_TSC ? of->collector->clock
						       : NULL,
			of->uuid, recording_sequence(heap->recording));
	heap_track_set_triggers(&heap->track, setup->triggers, of->pid);
	return orders_add(arena->orders, heap->order);
}

static struct process_heap *make_heap(struct process *process)
{
	const struct process_setup *setup = process_setup(process);
	struct process_heap *heap = calloc(1, sizeof(*heap));

	if (!heap)
		return NULL;
	*heap = (struct process_heap){
		.refs = 1,
		.recording = recording_get(setup->arena_setup->recording),
		.modules = modules_get(setup->modules),
		.pid = setup->pid,
		.forked = setup->forked,
		.process = process,
		.unsure = setup->arena_setup->late,
	};
	lock_init(&heap->lock, LOCK_PROCESS_HEAP);
	lock_init(&heap->known_lock, LOCK_HEAP_KNOWN);
	if (start_heap(heap, process) == 0)
		return heap;
	release_heap(heap);
	return NULL;
}

struct process_heap *process_heap_of(struct process *process)
{
	static struct log_limit limit;
	const struct process_setup *setup = process_setup(process);
	struct process_parts *parts = process_parts(process);
	struct process_heap *heap, **list;

	arena_lock(setup->arena);
	if (!parts->heap) {
		parts->heap = heap = make_heap(process);
		/* Snapshots read the list; heap_files_finish() removes it. */
		if (heap) {
			recording_lock(heap->recording);
			memcpy(heap->name, setup->entry->name,
			       sizeof(heap->name));
			list = recording_heaps(heap->recording);
			heap->next = *list;
			*list = heap;
			recording_unlock(heap->recording);
		}
	}
	heap = parts->heap;
	arena_unlock(setup->arena);
	if (!heap)
		log_limited(&limit, LOG_ERR,
			    "out of memory: allocations of '%s' (pid %d) are "
			    "not followed",
			    setup->entry->name, (int)setup->pid);
	return heap;
}

struct process_heap *process_heap_get(struct process_heap *heap)
{
	/* relaxed: the caller already has a reference */
	atom_add_rlx(&heap->refs, 1);
	return heap;
}

void process_heap_put(struct process_heap **heap)
{
	struct process_heap *old = *heap;

	*heap = NULL;
	/* order: sc, REFS: all uses of it come before its end */
	if (old && atom_add_sc(&old->refs, -1u) == 1)
		release_heap(old);
}

static uint32_t unknown_stack(struct process_heap *heap)
{
	const struct stack_frame frame = { .address = FRAME_UNKNOWN,
					   .kind = FRAME_NAMED };

	return stacks_child(heap->stacks, STACKS_ROOT, &frame);
}

void process_heap_spread(struct process_heap *heap)
{
	if (!heap->known)
		return;
	lock_acquire(&heap->known_lock);
	heap_spread(&heap->heap, heap->known, unknown_stack(heap));
}

void process_heap_unspread(struct process_heap *heap)
{
	if (!heap->known)
		return;
	heap_unspread(&heap->heap, heap->known, unknown_stack(heap));
	lock_release(&heap->known_lock);
}

struct process_heap *process_heap_end(struct process *process)
{
	const struct process_setup *setup = process_setup(process);
	struct process_heap *heap = process_parts(process)->heap;

	if (!heap)
		return NULL;
	orders_remove(setup->arena_setup->orders, heap->order);
	order_release_all(heap->order);
	if (heap->samples)
		sampler_flush(setup->collector->sampler, heap->recording);
	recording_lock(heap->recording);
	memcpy(heap->name, setup->entry->name, sizeof(heap->name));
	recording_unlock(heap->recording);
	order_lock(heap->order);
	tell_doubles(heap, UINT64_MAX);
	heap_track_end(&heap->track, &heap->heap);
	take_history(heap);
	order_unlock(heap->order);
	return heap;
}
