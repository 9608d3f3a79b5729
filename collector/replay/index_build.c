/* SPDX-License-Identifier: Apache-2.0
 *
 * index_build - see index_build.h, and docs/TRACE.md for the items.
 *
 * The stamp of a node has CCT_PLAIN and the number of the chunk that touched it
 * last; numbers repeat after 2^31 chunks. cct_node.touch is then its index in
 * "touched".
 *
 * The time of a node in a chunk is the time of its slices within the chunk:
 * ended calls without the part before the chunk, and the part in the chunk of
 * calls that go on.
 */
#include "collector/replay/index_build.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/budget.h"
#include "collector/base/grow.h"
#include "collector/base/varint.h"
#include "collector/replay/replay_inner.h"
#include "collector/trace/index_items.h"
#include "collector/trace/packet_look.h"

#define CHUNK_SPANS (64u << 10)
#define ROW_SPANS 64
#define CHUNK_BYTES (32u << 20)
#define CHECKPOINT_SPANS 1024u
#define CHECKPOINT_BYTES (4u << 20)
/* The limit for values of counters, as a part of the packets between two
 * checkpoints that are no more than CHUNK_BYTES of the trace apart. */
#define VALUES_PART 256
#define SPAN_BYTES 22 /* of packets, about */
#define OTHERS_PART 256
/* Untouched nodes have smaller stamps. */
#define STAMP_FIRST (2 + CCT_PLAIN)
/* The most nodes with waits; more make the chunk rough. */
#define WAITS_MAX 4096u

#define SWAP(a, b)                        \
	do {                              \
		__typeof__(a) swap = (a); \
		(a) = (b);                \
		(b) = swap;               \
	} while (0)

int index_build_new(struct budget *budget, struct index_build **out)
{
	struct index_build *build = calloc(1, sizeof(*build));

	if (!build)
		return -ENOMEM;
	build->budget = build->cells.budget = budget;
	build->stamp = STAMP_FIRST;
	index_values_init(&build->values, budget);
	index_curves_init(&build->curves, budget, false);
	*out = build;
	return 0;
}

void index_build_free(struct index_build **build)
{
	struct index_build *freed = *build;

	if (!freed)
		return;
	budget_give(freed->budget,
		    freed->touch_room * sizeof(*freed->touched) +
			    freed->start_room * sizeof(*freed->start) +
			    freed->open_room * sizeof(*freed->open) +
			    freed->listed_room * sizeof(*freed->listed) +
			    freed->wait_room * sizeof(*freed->waits));
	free(freed->touched);
	free(freed->start);
	free(freed->open);
	free(freed->listed);
	free(freed->waits);
	index_cells_release(&freed->cells);
	index_values_release(&freed->values);
	index_curves_release(&freed->curves);
	bytes_release(&freed->items);
	bytes_release(&freed->payload);
	free(freed);
	*build = NULL;
}

static void put_item(struct index_build *build, enum index_kind kind)
{
	if (build->payload.failed)
		build->items.failed = true;
	index_put_item(&build->items, kind, build->payload.at,
		       build->payload.count);
	bytes_clear(&build->payload);
}

static void put(struct index_build *build, uint64_t number)
{
	bytes_varint(&build->payload, number);
}

/* --- nodes --------------------------------------------------------------- */

/* Returns the number of @node, 0 for the root. Writes new nodes first: it and
 * the nodes above it. */
static uint32_t node_number(struct index_build *build, struct cct_node *node)
{
	uint32_t number;

	for (struct cct_node *at = node; at->parent && !at->index_number;
	     at = at->parent) {
		at->index_number = ++build->next_node;
		number = at->parent->parent ? at->parent->index_number
						      ?: build->next_node + 1
					    : 0;
		put(build, at->index_number);
		put(build, number);
		put(build, at->function->begin.name_iid & ENCODE_IID_MASK);
		put_item(build, INDEX_NODE);
	}
	return node->index_number;
}

/* Touches @node. Returns its counts at the start of the chunk, or NULL without
 * memory. */
static struct index_touch *touch_of(struct index_build *build,
				    struct cct_node *node)
{
	uint32_t at = build->touch_count, plain = node->stamp & CCT_PLAIN;
	struct index_touch *touch;

	/* Ignores CCT_PLAIN, because a function may have gone off since. */
	if ((node->stamp | CCT_PLAIN) == build->stamp)
		return &build->touched[node->touch];
	if (at == UINT32_MAX || grow_array_from(build->budget, build->touched,
						build->touch_room, at + 1)) {
		build->rough = true;
		return NULL;
	}
	touch = &build->touched[build->touch_count++];
	*touch = (struct index_touch){ .node = node };
	if (!build->apart) {
		touch->calls = node->calls;
		touch->total_ns = node->total_ns;
	}
	node->touch = at;
	node->stamp = (build->stamp & ~CCT_PLAIN) | plain;
	node->longest_ns = 0;
	return touch;
}

void index_build_call_slow(struct index_build *build, struct cct_node *node,
			   const struct index_slice_end *end)
{
	uint64_t ns = end->end_ns - end->begin_ns - end->waited_ns;
	struct index_touch *touch = touch_of(build, node);

	if (touch) {
		node->longest_ns =
			MAX(node->longest_ns, (uint32_t)MIN(ns, UINT32_MAX));
		if (ns >= UINT32_MAX)
			touch->longest_ns = MAX(touch->longest_ns, ns);
	}
	index_cells_end(&build->cells, end->depth, node, end->begin_ns,
			end->end_ns);
}

struct index_build *index_build_reserve(struct index_build *build,
					uint32_t depths)
{
	if (!build || index_cells_reserve(&build->cells, depths))
		return build;
	index_build_stop(build);
	return NULL;
}

void index_build_skip(struct index_build *build, struct cct_node *node,
		      uint64_t ns)
{
	struct index_touch *touch = build->apart ? NULL : touch_of(build, node);

	/* Takes the call out of the difference at the end of the chunk. */
	if (touch) {
		touch->calls++;
		touch->total_ns += ns;
	}
}

void index_build_count_apart(struct index_build *build, bool apart)
{
	build->apart = apart;
}

void index_build_slice(struct index_build *build, struct cct_node *node,
		       const struct index_slice_end *end)
{
	uint64_t ns = end->end_ns - end->begin_ns;
	struct index_touch *touch;

	index_build_call_slow(build, node, end);
	touch = build->apart ? touch_of(build, node) : NULL;
	if (touch) {
		touch->calls++;
		touch->total_ns += ns;
	}
}

static struct index_touch in_chunk(const struct index_build *build, uint32_t at)
{
	struct index_touch in = build->touched[at];
	const struct cct_node *node = in.node;

	if (!build->apart) {
		in.calls = node->calls - in.calls;
		in.total_ns = node->total_ns - in.total_ns;
	}
	in.longest_ns = MAX(in.longest_ns, node->longest_ns);
	return in;
}

void index_build_wait(struct index_build *build, struct cct_node *caller,
		      const struct index_slice_end *end)
{
	struct index_wait *wait;
	uint64_t ns = end->end_ns - end->begin_ns;
	uint32_t at = 0;

	index_cells_wait(&build->cells, end->depth, caller, end->begin_ns,
			 end->end_ns);
	while (at < build->wait_count && build->waits[at].caller != caller)
		at++;
	if (at == build->wait_count) {
		if (at == WAITS_MAX ||
		    grow_array_from(build->budget, build->waits,
				    build->wait_room, at + 1)) {
			build->rough = true;
			return;
		}
		build->waits[at] = (struct index_wait){ .caller = caller };
		build->wait_count++;
	}
	wait = &build->waits[at];
	wait->calls++;
	wait->total_ns += ns;
	wait->longest_ns = MAX(wait->longest_ns, ns);
}

void index_build_interned(struct index_build *build, uint32_t sequence,
			  const void *interned, size_t bytes)
{
	put(build, sequence);
	bytes_put(&build->payload, interned, bytes);
	put_item(build, INDEX_INTERNED);
}

void index_build_event(struct index_build *build, uint64_t ns,
		       const struct encode_event *event)
{
	const uint8_t *fields = event->fields;
	struct packet_event about = { 0 };
	struct index_count count;

	if (fields)
		packet_look_at_event(
			(struct wire){ fields, fields + event->field_bytes },
			&about);
	index_values_take(&build->values, ns, event, about.track,
			  &build->items);
	if (event->type != TYPE_COUNTER)
		return;
	count = (struct index_count){ about.track, about.is_double,
				      about.value };
	index_curves_take(&build->curves, ns, &count, &build->items);
}

void index_build_missing(struct index_build *build, uint64_t lost,
			 uint64_t paused, uint64_t ns)
{
	index_cells_missing(&build->cells, lost, paused, ns);
	build->lost += lost;
	build->paused += paused;
}

/* --- checkpoints --------------------------------------------------------- */

/* Lists the open slices, outermost first. Returns 0 or -ENOMEM. */
static int list_open(struct index_build *build, const struct index_now *now)
{
	const struct replay_frame *frame = now->stack;
	uint32_t count = 0;

	if (grow_array_from(build->budget, build->listed, build->listed_room,
			    now->written))
		return -ENOMEM;
	while (count < now->written && ++frame < now->stack_end)
		if (frame->written)
			build->listed[count++] = (struct index_open){
				.begin_ns = frame->begin_ns,
				.node = frame->node,
				.noted = frame->noted,
			};
	build->listed_count = count;
	return 0;
}

/* Returns the number of equal slices, from the outermost on. */
static uint32_t count_same(const struct index_open *a, uint32_t a_count,
			   const struct index_open *b, uint32_t b_count)
{
	uint32_t same = 0;

	while (same < a_count && same < b_count &&
	       a[same].node == b[same].node &&
	       a[same].begin_ns == b[same].begin_ns &&
	       a[same].noted == b[same].noted)
		same++;
	return same;
}

static int start_chunk(struct index_build *build, const struct index_now *now)
{
	if (grow_array_from(build->budget, build->start, build->start_room,
			    build->listed_count))
		return -ENOMEM;
	if (build->listed_count)
		memcpy(build->start, build->listed,
		       build->listed_count * sizeof(*build->start));
	build->start_count = build->listed_count;
	build->start_ns = now->last_ns;
	build->start_spans = now->spans;
	build->start_bytes = now->trace_bytes;
	build->rough = false;
	build->chunk++;
	build->started = true;
	return 0;
}

void index_build_begin(struct index_build *build, const struct index_now *now)
{
	uint64_t outer_ns;
	uint32_t same = 0;

	if (build->stopped || (build->started && !build->due))
		return;
	/* Readers start at the checkpoint before instead. */
	if (list_open(build, now) < 0) {
		build->stopped = !build->started;
		return;
	}
	if (build->started)
		same = count_same(build->open, build->open_count, build->listed,
				  build->listed_count);
	else if (start_chunk(build, now) < 0)
		index_build_stop(build);
	if (build->stopped)
		return;
	/* A checkpoint lists only the inner open slices: it shares the outer
	 * ones with the checkpoint before. */
	outer_ns = same ? build->listed[same - 1].begin_ns : 0;
	for (uint32_t i = same; i < build->listed_count; i++)
		node_number(build, build->listed[i].node);
	put(build, now->last_ns);
	put(build, build->chunk);
	put(build, same);
	put(build, build->listed_count - same);
	for (uint32_t i = same; i < build->listed_count; i++) {
		const struct index_open *open = &build->listed[i];

		put(build, 2ULL * open->node->index_number + open->noted);
		put(build, open->begin_ns - outer_ns);
		outer_ns = open->begin_ns;
	}
	put_item(build, INDEX_CHECKPOINT);
	SWAP(build->open, build->listed);
	SWAP(build->open_count, build->listed_count);
	SWAP(build->open_room, build->listed_room);
	build->told_spans = now->spans;
	build->told_bytes = now->trace_bytes;
}

void index_build_stop(struct index_build *build)
{
	build->stopped = true;
}

/* --- chunks -------------------------------------------------------------- */

/* Adds @ns, modulo 2^64, to the time of @node in this chunk. */
static void add_node_time(struct index_build *build, struct cct_node *node,
			  uint64_t ns)
{
	struct index_touch *touch = touch_of(build, node);

	if (touch)
		touch->total_ns -= build->apart ? -ns : ns;
}

/* Turns the time of ended calls into the time within the chunk. */
static void clip_times(struct index_build *build, const struct index_now *now)
{
	uint32_t same = count_same(build->start, build->start_count,
				   build->listed, build->listed_count);
	uint64_t start_ns = build->start_ns;

	for (uint32_t i = 0; i < same; i++)
		add_node_time(build, build->start[i].node,
			      now->last_ns - start_ns);
	for (uint32_t i = same; i < build->start_count; i++)
		add_node_time(build, build->start[i].node,
			      build->start[i].begin_ns - start_ns);
	for (uint32_t i = same; i < build->listed_count; i++)
		add_node_time(build, build->listed[i].node,
			      now->last_ns - build->listed[i].begin_ns);
}

/* Returns true if a slice is not below its caller in the tree, for want of
 * memory: see cct_node.stray_ns. */
static bool has_stray(const struct index_open *open, uint32_t count)
{
	for (uint32_t i = 1; i < count; i++)
		if (open[i].node->parent != open[i - 1].node)
			return true;
	return false;
}

static bool stacks_are_rough(const struct index_build *build,
			     const struct index_now *now)
{
	if (build->rough || now->overflowed != build->overflowed)
		return true;
	return now->overflowed &&
	       (has_stray(build->start, build->start_count) ||
		has_stray(build->listed, build->listed_count));
}

static bool number_wait(struct index_build *build, struct index_wait *wait)
{
	uint32_t caller;

	if (!wait->calls)
		return false;
	caller = node_number(build, wait->caller);
	if (wait->number)
		return true;
	wait->number = ++build->next_node;
	put(build, wait->number);
	put(build, caller);
	put(build, 0);
	put_item(build, INDEX_NODE);
	return true;
}

static void put_row(struct index_build *build, uint32_t number, uint64_t calls,
		    uint64_t total_ns, uint64_t longest_ns)
{
	uint8_t *at = bytes_add(&build->payload, 4 * VARINT_BYTES_MAX), *end;

	if (!at)
		return;
	end = varint_put(at, index_zigzag((int64_t)number - build->row_before));
	end = varint_put(end, calls);
	end = varint_put(end, total_ns);
	end = varint_put(end, longest_ns);
	build->payload.count -= (size_t)(at + 4 * VARINT_BYTES_MAX - end);
	build->row_before = number;
}

/* Keeps only touched nodes with calls or time in this chunk. Returns the number
 * of rows, with waits. */
static uint64_t make_rows(struct index_build *build)
{
	uint32_t kept = 0;
	uint64_t rows;

	for (uint32_t i = 0; i < build->touch_count; i++) {
		const struct index_touch in = in_chunk(build, i);

		if (!in.calls && !in.total_ns)
			continue;
		if (!in.node->index_number)
			node_number(build, in.node);
		build->touched[kept++] = in;
	}
	build->touch_count = kept;
	rows = kept;
	for (uint32_t i = 0; i < build->wait_count; i++)
		rows += number_wait(build, &build->waits[i]);
	return rows;
}

static void put_rows(struct index_build *build)
{
	build->row_before = 0;
	for (uint32_t i = 0; i < build->touch_count; i++) {
		const struct index_touch *in = &build->touched[i];

		put_row(build, in->node->index_number, in->calls, in->total_ns,
			in->longest_ns);
	}
	build->touch_count = 0;
	build->stamp += 2;
	for (uint32_t i = 0; i < build->wait_count; i++) {
		struct index_wait *wait = &build->waits[i];

		if (wait->calls)
			put_row(build, wait->number, wait->calls,
				wait->total_ns, wait->longest_ns);
		wait->calls = wait->total_ns = wait->longest_ns = 0;
	}
}

static void put_chunk(struct index_build *build, const struct index_now *now)
{
	uint64_t rows;

	clip_times(build, now);
	rows = make_rows(build);
	put(build, build->chunk);
	put(build, stacks_are_rough(build, now) ? INDEX_CHUNK_ROUGH : 0);
	put(build, build->start_ns);
	put(build, now->last_ns);
	put(build, now->spans - build->start_spans);
	put(build, build->lost);
	put(build, build->paused);
	put(build, rows);
	put_rows(build);
	put_item(build, INDEX_CHUNK);
	build->overflowed = now->overflowed;
	build->lost = build->paused = 0;
	build->started = false;
}

/* --- levels of detail ---------------------------------------------------- */

static uint32_t wait_number(const struct index_build *build,
			    const struct cct_node *caller)
{
	for (uint32_t i = 0; i < build->wait_count; i++)
		if (build->waits[i].caller == caller)
			return build->waits[i].number;
	return 0;
}

static void put_levels(struct index_build *build, bool last)
{
	struct index_cells *cells = &build->cells;

	for (unsigned int level = 0; level < INDEX_CELL_LEVELS; level++) {
		struct index_cell_block *block =
			index_cells_full(cells, level, last);

		if (!block && !last)
			break;
		if (!block)
			continue;
		for (uint32_t i = 0; i < block->list.count; i++) {
			struct index_cell *cell = &block->list.cells[i];

			if (cell->number || !cell->node)
				continue;
			cell->number = cell->wait
					       ? wait_number(build, cell->node)
					       : node_number(build, cell->node);
		}
		index_cells_put(cells, level, &build->payload);
		put_item(build, INDEX_CELLS);
	}
}

static void cells_chunk(struct index_build *build, const struct index_now *now)
{
	const struct index_cell_block chunk = {
		.first_chunk = build->chunk,
		.last_chunk = build->chunk,
		.start_ns = build->start_ns,
		.end_ns = now->last_ns,
		.spans = now->spans - build->start_spans,
	};

	index_cells_chunk(&build->cells, &chunk);
}

static void end_chunk(struct index_build *build, const struct index_now *now)
{
	if (list_open(build, now) < 0) {
		index_cells_stop(&build->cells);
		return;
	}
	cells_chunk(build, now);
	put_chunk(build, now);
	put_levels(build, now->last);
}

static bool ends_chunk(const struct index_build *build,
		       const struct index_now *now)
{
	uint64_t spans = MAX((uint64_t)build->touch_count * ROW_SPANS,
			     (uint64_t)CHUNK_SPANS);

	if (!build->started || now->mid_call)
		return false;
	return now->last || now->spans - build->start_spans >= spans ||
	       (now->spans != build->start_spans &&
		now->trace_bytes - build->start_bytes >= CHUNK_BYTES);
}

/* Returns true if the next block shall have a checkpoint. The values that it
 * costs must be a small part of the packets since the last one. */
static bool is_checkpoint_due(const struct index_build *build,
			      const struct index_now *now)
{
	uint64_t spans = now->spans - build->told_spans;
	uint64_t bytes = now->trace_bytes - build->told_bytes;

	if (!build->started)
		return true;
	if (spans < CHECKPOINT_SPANS && bytes < CHECKPOINT_BYTES)
		return false;
	return bytes >= CHUNK_BYTES ||
	       build->values.steps_bytes * VALUES_PART <=
		       build->values.taken_bytes + spans * SPAN_BYTES;
}

static size_t give_items(struct index_build *build, const void **items)
{
	size_t bytes;

	if (build->items.failed)
		index_build_stop(build);
	bytes = build->stopped ? 0 : build->items.count;
	*items = build->items.at;
	bytes_clear(&build->items);
	bytes_clear(&build->payload);
	return bytes;
}

/* Packets without values are packets of slices. A thread with few slices also
 * has a part of the bytes of other threads. Otherwise a reader would have to
 * read everything that these did between two values of a counter. */
static void spare_for_curves(struct index_build *build,
			     const struct index_now *now)
{
	uint64_t spans = now->spans - build->curves_spans;
	uint64_t bytes = now->trace_bytes - build->curves_trace_bytes;

	if (spans < CHECKPOINT_SPANS && bytes < CHECKPOINT_BYTES)
		return;
	index_curves_spare(&build->curves,
			   spans * SPAN_BYTES + bytes / OTHERS_PART);
	build->curves_spans = now->spans;
	build->curves_trace_bytes = now->trace_bytes;
}

size_t index_build_end(struct index_build *build, const struct index_now *now,
		       const void **items)
{
	if (ends_chunk(build, now))
		end_chunk(build, now);
	build->due = is_checkpoint_due(build, now);
	index_values_put_block(&build->values, &build->items);
	if (build->due || now->last)
		index_values_put_steps(&build->values, &build->items);
	spare_for_curves(build, now);
	if (now->last) {
		index_curves_end(&build->curves, &build->items);
		put(build, now->last_ns);
		put_item(build, INDEX_SEQUENCE_END);
	}
	return give_items(build, items);
}

size_t index_build_break(struct index_build *build, const void **items)
{
	index_curves_end(&build->curves, &build->items);
	return give_items(build, items);
}
