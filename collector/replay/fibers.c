/* SPDX-License-Identifier: Apache-2.0
 *
 * fibers - a thread runs on one stack until it makes contexts of its own. From
 * then on its ring has the records of several stacks, and only FLOW records say
 * when the thread switches between them. One replay for all stacks would take
 * each switch for a longjmp. So each stack has its own replay, and the fiber
 * "current" gets the records.
 *
 * A point is the address of a jmp_buf or of a ucontext_t: a place where control
 * can come back to. It means a frame of a fiber, or a context that was made and
 * has not run yet. The address is only a name; nothing is read there.
 *
 *   setjmp, getcontext,     the point means the frame on top of the current
 *   swapcontext's first     fiber
 *   makecontext             the point means a context that has not started
 *   longjmp, setcontext,    control goes to the point. If it means a frame, its
 *   swapcontext's second    fiber is current now, and all frames above it end.
 *                           If it means a context, the context starts from its
 *                           beginning on an idle or a new fiber, even if it ran
 *                           before
 *   longjmp, no such point  (a copied jmp_buf) the innermost frame with the
 *                           stack pointer of the target stays, and all frames
 *                           above it end: a guess
 *   setcontext, no point    counted as mixed. The context counts as made, most
 *                           likely before the thread was recorded
 *   landing pad             frames deeper than its function end. Several frames
 *                           may have its stack pointer: the distance up the
 *                           stack tells them apart. If no frame has it, the
 *                           function is not instrumented: near the top of the
 *                           stack, a guess ends deeper frames; further away,
 *                           nothing ends
 *   thread's function left  all frames end: only destructors of thread-specific
 *                           data run
 *   context's end           its fiber is over, and control goes to its uc_link
 *
 * A point is stale when its frame has returned, and then ends no frames.
 *
 * If a context was made with a LINK record, no record reports its end: control
 * goes to its uc_link unseen. So when its stack has been used and is empty, the
 * next record decides. It belongs to the linked context if it ends the function
 * on top there. It also does if it lies below the stack pointer where control
 * left that context, and nearer to that than to the start of this context. This
 * is a guess by 12 bits: it confuses stacks that lie alike modulo 64 KiB.
 *
 * A fiber is over when its function has returned, or when its resume point gets
 * another meaning. Then the next context uses it. Open spans of a fiber go on
 * while another fiber runs: the time counts for them, as if they waited.
 *
 * Programs may switch stacks by other means (Boost.Context, assembly of a
 * library). No record shows such a switch; the rules of replay limit the
 * damage.
 *
 * Input is hostile: the numbers of fibers and of points have limits, and so
 * does the work for a record.
 */
#include "collector/replay/fibers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/budget.h"
#include "collector/base/grow.h"
#include "collector/replay/cct.h"
#include "collector/replay/cct_kernel.h"
#include "collector/replay/replay_inner.h"
#include "shared/atomic.h"
#include "shared/compiler.h"

#define POINT_WAYS 4
#define POINT_SETS_MIN 4u
#define POINT_SETS_MAX 1024u
#define UNLOADED_ROOM 64
/* The work for MAP records, in functions visited: the initial credit, which is
 * also its limit, and the credit for each record. */
#define RETIRE_CREDIT (1u << 26)
#define RETIRE_CREDIT_PER_RECORD 64

struct point {
	uint64_t address;
	uint64_t used;
	uint64_t word; /* of the record that set it: has its stack pointer */
	struct replay_mark mark;
	uint64_t link; /* uc_link of a made context whose end is not recorded */
	uint32_t fiber, life; /* of its frame, or of the made context once it
			       * runs */
	bool made; /* a context that starts from its beginning */
};

/* --- points -------------------------------------------------------------- */

static struct budget *budget_of(const struct fibers *fibers)
{
	return fibers->fiber[0].replay->cct.budget;
}

static uint64_t points_bytes(uint32_t sets)
{
	return (uint64_t)sets * POINT_WAYS * sizeof(struct point);
}

static struct point *set_of_point(const struct fibers *fibers, uint64_t address)
{
	uint64_t hash = address * 0x9e3779b97f4a7c15ULL >> 48;

	return fibers->points + (hash & (fibers->sets - 1)) * POINT_WAYS;
}

static struct point *point_find(const struct fibers *fibers, uint64_t address)
{
	struct point *set;

	if (!fibers->sets || !address)
		return NULL;
	set = set_of_point(fibers, address);
	for (int i = 0; i < POINT_WAYS; i++)
		if (set[i].address == address)
			return &set[i];
	return NULL;
}

/* Doubles the number of sets. The points of a set go to two, so they fit. */
static bool points_grow(struct fibers *fibers)
{
	struct point *old = fibers->points, *to;
	uint32_t old_sets = fibers->sets;
	uint32_t sets = MAX(2 * old_sets, POINT_SETS_MIN);

	if (sets > POINT_SETS_MAX ||
	    !budget_take(budget_of(fibers), points_bytes(sets)))
		return false;
	fibers->points = calloc(sets, POINT_WAYS * sizeof(*to));
	if (!fibers->points) {
		fibers->points = old;
		budget_give(budget_of(fibers), points_bytes(sets));
		return false;
	}
	fibers->sets = sets;
	for (uint32_t i = 0; i < old_sets * POINT_WAYS; i++) {
		if (!old[i].address)
			continue;
		for (to = set_of_point(fibers, old[i].address); to->address;
		     to++)
			;
		*to = old[i];
	}
	budget_give(budget_of(fibers), points_bytes(old_sets));
	free(old);
	return true;
}

static struct point *free_way_of_set(struct fibers *fibers, uint64_t address)
{
	struct point *set = set_of_point(fibers, address), *oldest = set;

	for (struct point *way = set; way < set + POINT_WAYS; way++) {
		if (!way->address)
			return way;
		if (way->used < oldest->used)
			oldest = way;
	}
	if (points_grow(fibers))
		return free_way_of_set(fibers, address);
	return oldest;
}

/* A new point is all zero. Returns NULL for address 0 and without memory. */
static struct point *point_at(struct fibers *fibers, uint64_t address)
{
	struct point *point = point_find(fibers, address);

	if (!point) {
		if (!address || (!fibers->sets && !points_grow(fibers)))
			return NULL;
		point = free_way_of_set(fibers, address);
		*point = (struct point){ .address = address };
	}
	point->used = ++fibers->uses;
	return point;
}

/* --- fibers -------------------------------------------------------------- */

struct replay *fibers_current(const struct fibers *fibers)
{
	return fibers->fiber[fibers->current].replay;
}

static bool is_point_alive(const struct fibers *fibers,
			   const struct point *point)
{
	return fibers->fiber[point->fiber].life == point->life;
}

/* The calls of fiber @index lasted until @ns, but none of them ran since
 * control left it, so that time was not on a CPU. */
static void count_suspended(struct fibers *fibers, uint32_t index, uint64_t ns)
{
	struct fiber *fiber = &fibers->fiber[index];
	struct cct *tree = replay_tree(fiber->replay);
	struct cct_node *node = replay_top_node(fiber->replay);
	uint64_t left_ns = fiber->left_ns;

	fiber->left_ns = 0;
	if (!left_ns || left_ns >= ns || node == tree->root)
		return;
	cct_kernel_of(tree, node)->counts.unknown_ns += ns - left_ns;
	if (fibers->sink.suspended)
		fibers->sink.suspended(fibers->sink.context, index, left_ns,
				       ns);
}

static void end_fiber(struct fibers *fibers, uint32_t index, uint64_t clock)
{
	struct fiber *fiber = &fibers->fiber[index];
	uint64_t ns = replay_ns(fiber->replay, clock, fibers->now_ns);

	count_suspended(fibers, index, ns);
	replay_clear(fiber->replay, ns, REPLAY_CONTEXT);
	replay_link(fiber->replay, false);
	fiber->life++;
	fiber->idle = true;
	fiber->link = fiber->resume = 0;
	fiber->guests = 0;
}

static bool fibers_grow(struct fibers *fibers)
{
	uint32_t before = fibers->room;

	if (grow_array(fibers->fiber, fibers->room, fibers->count + 1))
		return false;
	memset(fibers->fiber + before, 0,
	       (fibers->room - before) * sizeof(struct fiber));
	return true;
}

static int init_replay(struct fibers *fibers, struct replay *replay,
		       uint64_t ns)
{
	const struct replay *main = fibers->fiber[0].replay;
	uint32_t sequence = fibers->sink.open_track(fibers->sink.context,
						    fibers->count, ns);
	int err = replay_init(replay, &main->sink, sequence, ns, main->sync,
			      main->pauses, budget_of(fibers));

	if (err)
		return err;
	replay->cct.generation = main->cct.generation;
	replay->sites = main->sites;
	replay->log = main->log;
	replay->histograms = main->histograms;
	replay_limit(replay, main->limit);
	replay_set_min_duration(replay, main->min_ns);
	err = replay_take_turns(replay);
	if (err)
		replay_release(replay);
	return err;
}

static struct replay *new_replay(struct fibers *fibers, uint64_t ns)
{
	struct replay *main = fibers->fiber[0].replay, *replay;

	if (!main->stage && replay_take_turns(main) < 0)
		return NULL;
	if (!budget_take(budget_of(fibers), sizeof(*replay)))
		return NULL;
	replay = malloc(sizeof(*replay));
	if (replay && init_replay(fibers, replay, ns) == 0)
		return replay;
	free(replay);
	budget_give(budget_of(fibers), sizeof(*replay));
	return NULL;
}

static uint32_t idle_fiber(struct fibers *fibers, uint64_t ns)
{
	struct replay *replay;

	for (uint32_t i = 1; i < fibers->count; i++)
		if (fibers->fiber[i].idle)
			return i;
	if (fibers->full)
		return 0;
	fibers->full = fibers->count > FIBERS_MAX || !fibers_grow(fibers);
	replay = fibers->full ? NULL : new_replay(fibers, ns);
	if (!replay) {
		fibers->full = true;
		return 0;
	}
	fibers->fiber[fibers->count].replay = replay;
	return fibers->count++;
}

/* --- flow ---------------------------------------------------------------- */

static uint64_t fiber_ns(struct fibers *fibers, uint64_t clock)
{
	return replay_ns(fibers_current(fibers), clock, fibers->now_ns);
}

/* @point gets another meaning. A fiber that waits for this point is over,
 * unless it is current. */
static void forget_point(struct fibers *fibers, const struct point *point,
			 uint64_t clock)
{
	if (point->fiber && point->fiber != fibers->current &&
	    is_point_alive(fibers, point) &&
	    fibers->fiber[point->fiber].resume == point->address)
		end_fiber(fibers, point->fiber, clock);
}

static void save_point(struct fibers *fibers, uint64_t address, uint64_t word,
		       uint64_t clock)
{
	struct point *point = point_at(fibers, address);
	struct fiber *fiber = &fibers->fiber[fibers->current];

	fiber->resume = address;
	if (!point)
		return;
	forget_point(fibers, point, clock);
	replay_settle(fiber->replay, word, fiber_ns(fibers, clock));
	point->word = word;
	point->mark = replay_mark(fiber->replay);
	point->fiber = fibers->current;
	point->life = fiber->life;
	point->made = false;
}

static void make_context(struct fibers *fibers, uint64_t address,
			 uint64_t clock)
{
	struct point *point = point_at(fibers, address);

	fibers->made = address;
	if (!point)
		return;
	forget_point(fibers, point, clock);
	point->fiber = point->life = 0;
	point->made = true;
	point->link = 0;
}

static void switch_fiber(struct fibers *fibers, uint32_t index, uint64_t clock)
{
	uint64_t ns = fiber_ns(fibers, clock);

	if (index == fibers->current)
		return;
	fibers->fiber[fibers->current].left_ns = ns;
	fibers->current = index;
	count_suspended(fibers, index, ns);
}

/* Control goes to where @point was set. Returns false if the frame is
 * unknown. */
static bool go_to_point(struct fibers *fibers, const struct point *point,
			uint64_t clock, enum replay_cause cause)
{
	switch_fiber(fibers, point->fiber, clock);
	return replay_unwind(fibers_current(fibers), &point->mark,
			     fiber_ns(fibers, clock), cause);
}

/* Marks that spans of the current context may be wrong. */
static void count_mixed_context(struct fibers *fibers, uint64_t clock,
				const char *what)
{
	fibers->mixed_contexts++;
	replay_instant(fibers_current(fibers), fiber_ns(fibers, clock), what, 0,
		       false);
}

static void start_context(struct fibers *fibers, struct point *point,
			  uint64_t clock)
{
	uint32_t index;

	/* It has run before, and its stack is now overwritten. */
	if (point->fiber && is_point_alive(fibers, point))
		end_fiber(fibers, point->fiber, clock);
	index = idle_fiber(fibers, fiber_ns(fibers, clock));
	if (!index) {
		fibers->fiber[fibers->current].guests++;
		count_mixed_context(fibers, clock,
				    "perfrec: too many contexts: stacks are "
				    "mixed from here "
				    "on");
		return;
	}
	switch_fiber(fibers, index, clock);
	point->fiber = index;
	point->life = fibers->fiber[index].life;
	fibers->fiber[index].idle = false;
	fibers->fiber[index].link = point->link;
	replay_link(fibers_current(fibers), point->link != 0);
}

/* Starts a context whose making and saving were not recorded: most such
 * contexts were made before the thread recorded anything. Unless this thread
 * records ends of contexts, assumes that it returns to the context that
 * switches to it now. */
static void start_unknown_context(struct fibers *fibers, uint64_t address,
				  uint64_t clock)
{
	uint64_t link =
		fibers->ends_told ? 0 : fibers->fiber[fibers->current].resume;
	struct point *point = point_at(fibers, address);
	uint32_t before = fibers->current;

	if (point) {
		point->fiber = point->life = 0;
		point->made = true;
		point->link = link;
		start_context(fibers, point, clock);
	}
	if (!point || fibers->current != before)
		count_mixed_context(
			fibers, clock,
			"perfrec: a context of unknown origin: spans may be "
			"missing "
			"their begins or ends");
}

static void switch_to_context(struct fibers *fibers, uint64_t address,
			      uint64_t clock)
{
	struct point *point = point_find(fibers, address);

	if (point && point->made)
		start_context(fibers, point, clock);
	else if (point && is_point_alive(fibers, point))
		go_to_point(fibers, point, clock, REPLAY_CONTEXT);
	else
		start_unknown_context(fibers, address, clock);
}

/* The function of the current context has returned; @link runs next. */
static void leave_context(struct fibers *fibers, uint64_t link, uint64_t clock)
{
	struct fiber *fiber = &fibers->fiber[fibers->current];

	fibers->ends_told = true;
	if (!link)
		return; /* exit() runs here */
	if (fiber->guests)
		fiber->guests--;
	else if (fibers->current)
		end_fiber(fibers, fibers->current, clock);
	else if (!point_find(fibers, link))
		return; /* this context has the thread's first record */
	switch_to_context(fibers, link, clock);
}

static void jump_to_point(struct fibers *fibers, uint64_t address,
			  uint64_t word, uint64_t clock)
{
	struct point *point = point_find(fibers, address);

	if (!point || point->made || !is_point_alive(fibers, point) ||
	    !go_to_point(fibers, point, clock, REPLAY_LONGJMP))
		replay_unwind_hint(fibers_current(fibers), word,
				   fiber_ns(fibers, clock), REPLAY_GUESS);
}

static void take_flow(struct fibers *fibers, uint64_t word, uint64_t clock)
{
	uint64_t address = record_flow_address(record_payload(word));
	struct point *point;
	struct replay *replay;

	switch (record_flow(record_payload(word))) {
	case FLOW_SETJMP:
	case FLOW_CONTEXT_SAVE:
		save_point(fibers, address, word, clock);
		break;
	case FLOW_LONGJMP:
		jump_to_point(fibers, address, word, clock);
		break;
	case FLOW_CATCH:
		replay = fibers_current(fibers);
		/* Unwinding continues so many bytes above the unwinder; 0:
		 * unknown. */
		if (address)
			replay_land(replay, word, address,
				    fiber_ns(fibers, clock));
		else
			replay_unwind_hint(replay, word,
					   fiber_ns(fibers, clock),
					   REPLAY_EXCEPTION);
		break;
	case FLOW_CONTEXT_MAKE:
		make_context(fibers, address, clock);
		break;
	case FLOW_CONTEXT_LINK:
		point = point_find(fibers, fibers->made);
		if (point && point->made)
			point->link = address;
		break;
	case FLOW_CONTEXT_SWITCH:
		switch_to_context(fibers, address, clock);
		break;
	case FLOW_CONTEXT_END:
		leave_context(fibers, address, clock);
		break;
	case FLOW_THREAD_LEFT:
		replay_clear(fibers_current(fibers), fiber_ns(fibers, clock),
			     REPLAY_EXIT);
		break;
	}
}

/* --- uc_link, by guess --------------------------------------------------- */

/* Returns true if the hint of @word is the stack pointer at the record. */
static bool has_stack_pointer(uint64_t word)
{
	switch (record_kind(word)) {
	case RECORD_BEGIN:
	case RECORD_PHANTOM:
		return true;
	case RECORD_FLOW:
		switch (record_flow(record_payload(word))) {
		case FLOW_SETJMP:
		case FLOW_CATCH:
		case FLOW_CONTEXT_SAVE:
			return true;
		default:
			return false;
		}
	default:
		return false;
	}
}

/* The stack of the current fiber is empty. Returns true if @word is a record of
 * @linked, which runs when the fiber's function returns. */
static bool is_of_linked_context(const struct fibers *fibers,
				 const struct point *linked, uint64_t word)
{
	const struct replay *to = fibers->fiber[linked->fiber].replay;
	int down = replay_sp_below(linked->word, word);
	int away = replay_sp_below(fibers_current(fibers)->outer_word, word);

	if (record_kind(word) == RECORD_END)
		return record_payload(to->top->word) == record_payload(word);
	return has_stack_pointer(word) && down >= 0 && down < abs(away);
}

static void look_for_unrecorded_return(struct fibers *fibers, uint64_t word,
				       uint64_t clock)
{
	uint32_t index = fibers->current;
	const struct point *linked =
		point_find(fibers, fibers->fiber[index].link);

	if (!linked || linked->made || !is_point_alive(fibers, linked) ||
	    linked->fiber == index ||
	    !is_of_linked_context(fibers, linked, word))
		return;
	go_to_point(fibers, linked, clock, REPLAY_CONTEXT);
	end_fiber(fibers, index, clock);
}

/* --- the load map -------------------------------------------------------- */

static void retire_range(struct fibers *fibers, struct address_range range)
{
	uint64_t cost = 0;

	for (uint32_t i = 0; i < fibers->count; i++)
		cost += fibers->fiber[i].replay->cct.live_count;
	if (cost > fibers->retire_credit) {
		fibers->skipped_maps++;
		return;
	}
	fibers->retire_credit -= cost;
	for (uint32_t i = 0; i < fibers->count; i++)
		cct_retire(&fibers->fiber[i].replay->cct, range.start,
			   range.end);
}

/* --- records ------------------------------------------------------------- */

static int take_other_record(struct fibers *fibers, uint64_t word,
			     uint64_t clock)
{
	uint64_t generation;
	struct address_range range[UNLOADED_ROOM];
	uint32_t known;
	size_t count;

	if (replay_has_left(fibers_current(fibers)))
		look_for_unrecorded_return(fibers, word, clock);
	switch (record_kind(word)) {
	case RECORD_FLOW:
		take_flow(fibers, word, clock);
		return 0;
	case RECORD_MAP:
		generation = record_payload(word);
		known = fibers->fiber[0].replay->cct.generation;
		if (generation > known && generation <= UINT32_MAX) {
			count = fibers->sink.unloaded(
				fibers->sink.context, known,
				(uint32_t)generation, range, UNLOADED_ROOM);
			if (count > UNLOADED_ROOM) {
				range[0] =
					(struct address_range){ 0, UINT64_MAX };
				count = 1;
			}
			for (size_t n = 0; n < count; n++)
				retire_range(fibers, range[n]);
			for (uint32_t i = 0; i < fibers->count; i++)
				fibers->fiber[i].replay->cct.generation =
					(uint32_t)generation;
		}
		return 0;
	case RECORD_FORK:
		fibers->fork_parent = record_payload(word);
		replay_inherit(fibers_current(fibers));
		replay_instant(fibers_current(fibers), fiber_ns(fibers, clock),
			       "forked", 0, false);
		return 0;
	case RECORD_FORKING:
		fibers->forking = true;
		return 0;
	case RECORD_ALLOC:
	case RECORD_FREE:
		fibers->sink.block(fibers->sink.context, fibers_current(fibers),
				   word, clock);
		return 0;
	default:
		return replay_take(fibers_current(fibers), word, clock);
	}
}

/* Handles the extended record at the @count cells at @cells. The sink gets a
 * copy that cannot change. Returns the number of its cells, 0 if some are still
 * missing, or -errno. */
static ssize_t take_extended_record(struct fibers *fibers, uint64_t word,
				    const struct record *cells, size_t count)
{
	size_t size = 1 + (size_t)record_ext_cells(word);
	int result;

	if (size > count)
		return 0;
	if (record_ext(word) == EXT_PAD)
		return (ssize_t)size;
	if (!fibers->extended)
		fibers->extended =
			malloc((EXT_CELLS_MAX + 1) * sizeof(*fibers->extended));
	if (!fibers->extended)
		return -ENOMEM;
	fibers->extended[0].word = word;
	/* relaxed, all: below head, so whole; one load each */
	fibers->extended[0].clock = atom_load_rlx(&cells[0].clock);
	for (size_t i = 1; i < size; i++) {
		fibers->extended[i].word = atom_load_rlx(&cells[i].word);
		fibers->extended[i].clock = atom_load_rlx(&cells[i].clock);
	}
	result = fibers->sink.extended(fibers->sink.context,
				       fibers_current(fibers), fibers->extended,
				       size);
	return result < 0 ? result : (ssize_t)size;
}

int fibers_run(struct fibers *fibers, const struct record *cells, size_t count,
	       uint64_t now_ns, size_t *done)
{
	const struct record *first = cells;
	ssize_t result;

	*done = 0;
	fibers->now_ns = now_ns;
	fibers->retire_credit =
		MIN(fibers->retire_credit + count * RETIRE_CREDIT_PER_RECORD,
		    RETIRE_CREDIT);
	for (;;) {
		uint64_t word;
		size_t taken;

		result = replay_run(fibers_current(fibers), cells, count,
				    now_ns, &taken);
		cells += taken;
		count -= taken;
		*done = (size_t)(cells - first);
		if (result <= 0)
			return (int)result;
		/* relaxed: as in replay_run(); another record by now is as
		 * good */
		word = atom_load_rlx(&cells->word);
		if (record_kind(word) == RECORD_EXT)
			result = take_extended_record(fibers, word, cells,
						      count);
		else
			result = take_other_record(fibers, word,
						   /* relaxed: the same */
						   atom_load_rlx(&cells->clock))
					 ?: 1;
		if (result <= 0)
			return (int)result;
		cells += result;
		count -= (size_t)result;
	}
}

/* --- all fibers ---------------------------------------------------------- */

void fibers_flush(struct fibers *fibers)
{
	for (uint32_t i = 0; i < fibers->count; i++)
		replay_flush(fibers->fiber[i].replay);
}

bool fibers_hold_back(const struct fibers *fibers)
{
	for (uint32_t i = 0; i < fibers->count; i++)
		if (fibers->fiber[i].replay->pending)
			return true;
	return false;
}

void fibers_write_old(struct fibers *fibers, uint64_t ns)
{
	for (uint32_t i = 0; i < fibers->count; i++)
		replay_write_old(fibers->fiber[i].replay, ns);
}

void fibers_finish(struct fibers *fibers, uint64_t ns)
{
	fibers->current = 0;
	for (uint32_t i = 0; i < fibers->count; i++) {
		count_suspended(fibers, i, ns);
		replay_finish(fibers->fiber[i].replay, ns);
	}
}

void fibers_each(struct fibers *fibers, fibers_visit *visit, void *context)
{
	for (uint32_t i = 0; i < fibers->count; i++)
		visit(context, fibers->fiber[i].replay);
}

struct replay_counts fibers_counts(const struct fibers *fibers)
{
	struct replay_counts sum = { 0 };

	_Static_assert(sizeof(sum) % sizeof(uint64_t) == 0, "all are uint64_t");
	for (uint32_t i = 0; i < fibers->count; i++) {
		const struct replay_counts *one =
			&fibers->fiber[i].replay->counts;

		for (size_t n = 0; n < sizeof(sum) / sizeof(uint64_t); n++)
			((uint64_t *)&sum)[n] += ((const uint64_t *)one)[n];
	}
	return sum;
}

int fibers_init(struct fibers *fibers, const struct fibers_sink *sink,
		struct replay *main)
{
	*fibers = (struct fibers){ .sink = *sink,
				   .retire_credit = RETIRE_CREDIT };
	if (!fibers_grow(fibers))
		return -ENOMEM;
	fibers->fiber[0].replay = main;
	fibers->count = 1;
	return 0;
}

void fibers_release(struct fibers *fibers)
{
	if (!fibers->count)
		return;
	for (uint32_t i = 1; i < fibers->count; i++) {
		replay_release(fibers->fiber[i].replay);
		free(fibers->fiber[i].replay);
		budget_give(budget_of(fibers), sizeof(struct replay));
	}
	budget_give(budget_of(fibers), points_bytes(fibers->sets));
	free(fibers->extended);
	free(fibers->points);
	free(fibers->fiber);
	*fibers = (struct fibers){ 0 };
}
