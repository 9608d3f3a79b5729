/* SPDX-License-Identifier: Apache-2.0
 *
 * replay_lazy - the fast loop of a replay that leaves short calls out of the
 * trace (replay_set_min_duration()). The BEGIN of a call is pending until its
 * duration is known; docs/TRACE.md (--min-duration) says when it is written.
 *
 * Pending slices are above all written slices, because a BEGIN is written after
 * those around it. The depth of a call, and so folding, does not depend on
 * written slices.
 */
#include "collector/replay/replay_inner.h"

#include "collector/replay/heap_feed.h"
#include "collector/replay/index_build.h"
#include "shared/atomic.h"

struct lazy_run {
	struct replay *replay;
	uint32_t slices;
	size_t ended;
};

/* Returns the first frame whose slice is pending, or where it would be. */
static struct replay_frame *first_pending(const struct replay *replay)
{
	uint32_t next = (uint32_t)(replay->top - replay->stack) + 1;

	return replay->stack + MIN(replay->pending_from, next);
}

static uint32_t open_slices(const struct lazy_run *run,
			    const struct replay_frame *top)
{
	return run->slices + (uint32_t)(top - run->replay->top);
}

/* The call of @top ends at @ns and must be written, or its BEGIN is written.
 * The slices from @pending on are not yet. */
static ATTR_COLD void end_written(struct lazy_run *run,
				  const struct replay_frame *top,
				  const struct replay_frame *pending,
				  uint64_t ns)
{
	struct index_slice_end end = { .begin_ns = top->begin_ns,
				       .end_ns = ns };
	struct replay *replay = run->replay;

	replay->pending_from = (uint32_t)(pending - replay->stack);
	replay->pending = open_slices(run, top) - replay->written;
	if (replay->pending)
		replay_write_pending(replay, UINT64_MAX);
	replay_write_end(replay, ns);
	end.depth = replay->written;
	if (replay->index)
		index_build_slice(replay->index, top->node, &end);
	run->ended++;
}

static void count_lazy(struct lazy_run *run, struct replay_frame *top,
		       const struct replay_frame *pending, size_t records)
{
	struct replay *replay = run->replay;
	uint64_t begins = (records + (uint64_t)(top - replay->top)) / 2;

	replay->pending = open_slices(run, top) - replay->written;
	replay->pending_from = (uint32_t)(pending - replay->stack);
	replay->top = top;
	replay->counts.spans += begins;
	replay->counts.short_spans += records - begins - run->ended;
}

size_t replay_run_lazy(struct replay *replay, const struct record *cells,
		       size_t count)
{
	const struct clock_segment segment = replay->segment;
	struct lazy_run run = { .replay = replay,
				.slices = replay->written + replay->pending };
	struct replay_frame *const last_frame = replay_last_fast_frame(replay);
	struct replay_frame *top = replay->top;
	struct replay_frame *pending = first_pending(replay);
	const uint64_t min_ns = replay->min_ns;
	const uint64_t waited_ns = replay->counts.wait_ns;
	const uint64_t before = replay->cells;
	uint64_t last_ns = replay->last_ns;
	struct heap_feed *const feed = replay->feed;
	const struct record *cell = cells, *const end = cells + count;
	size_t blocks = 0, taken;

	for (; cell < end; cell++) {
		/* relaxed: as in run_fast() */
		uint64_t word = atom_load_rlx(&cell->word);
		uint64_t clock = atom_load_rlx(&cell->clock);
		uint64_t ns, change = top->word ^ word;
		struct cct_node *node;
		int depth;

		if (unlikely(!clock_segment_has(&segment, clock)))
			break;
		ns = clock_segment_ns(&segment, clock);
		ns = MAX(ns, last_ns);
		if (record_kind(word) == RECORD_BEGIN) {
			depth = replay_sp_below(top->word, word);
			if (unlikely(depth < 0 ||
				     top->same >= SAME_FRAMES_MAX ||
				     top >= last_frame))
				break;
			node = cct_child(&replay->cct, top->node,
					 record_payload(word));
			if (unlikely(!(node->stamp & CCT_PLAIN)))
				break;
			replay_set_frame(top + 1, word, ns, waited_ns,
					 before + (size_t)(cell - cells), node,
					 depth ? 0 : top->same + 1);
			top++;
		} else if (unlikely((change & ~RECORD_SP_MASK) !=
					    BEGIN_XOR_END ||
				    !top->written)) {
			if (!replay_feed_block(feed, top->node, word, clock))
				break;
			blocks++;
			continue;
		} else {
			node = top->node;
			if (unlikely(change & RECORD_SP_MASK &&
				     !node->function->shifted) ||
			    unlikely(top->waited_ns != waited_ns))
				break;
			replay_tell_slow(replay, top, ns, ns - top->begin_ns);
			replay_count_call(top, before + (size_t)(cell - cells),
					  ns, ns - top->begin_ns);
			if (unlikely(ns - top->begin_ns >= min_ns ||
				     top < pending)) {
				end_written(&run, top, pending, ns);
				pending = top;
			}
			top--;
		}
		last_ns = ns;
	}
	replay->last_ns = last_ns;
	taken = (size_t)(cell - cells);
	replay->cells += taken;
	count_lazy(&run, top, pending, taken - blocks);
	return taken;
}
