/* SPDX-License-Identifier: Apache-2.0
 *
 * index_check - compares an index with the packets of one sequence. It follows
 * them in the simplest way: a stack of open slices, and sums for each path of
 * names, counted slice by slice.
 *
 *   for each block: index_check_begin(), index_check_event() for each packet,
 *   index_check_end()
 */
#ifndef PERFREC_TESTS_INDEX_CHECK_H
#define PERFREC_TESTS_INDEX_CHECK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "collector/trace/index_items.h"
#include "proto/perfetto_trace.pb-c.h"
#include "shared/compiler.h"
#include "tests/curve_check.h"

#define INDEX_CHECK_SLICES 1024
#define INDEX_CHECK_VALUES 256

struct index_check_node {
	uint32_t parent, iid; /* iid 0: a wait */
	uint32_t child, sibling; /* 0: none */
	uint64_t calls, ns, longest; /* in this chunk */
};

struct index_check_told {
	uint32_t parent, iid;
	bool told;
};

struct index_check_slice {
	uint32_t node;
	uint64_t begin_ns;
	bool noted;
};

/* An ended slice, or a mark (row 0). */
struct index_check_end {
	uint32_t row, node;
	uint64_t begin_ns, end_ns; /* a mark has its time here */
	uint64_t lost, paused;
	uint64_t order;
};

#define INDEX_CHECK_LEVELS 16

struct index_check {
	uint64_t ns;
	struct index_check_slice stack[INDEX_CHECK_SLICES];
	uint32_t depth;
	struct index_check_node *nodes; /* [0]: the root */
	uint32_t node_count, node_room;
	/* The index's numbers of these nodes. */
	struct index_check_told *told;
	uint32_t told_room;
	/* The previous checkpoint according to the index. */
	struct index_check_slice open[INDEX_CHECK_SLICES];
	uint32_t open_count;
	uint64_t chunk; /* open or last one */
	bool chunk_open;
	uint64_t start_ns;
	uint64_t lost, paused; /* sums of the chunk's marks */
	struct index_check_end *ended; /* in the order of their ends */
	uint64_t ended_count, ended_room;
	struct index_check_start {
		uint64_t ended; /* number of earlier ends */
		uint64_t start_ns, end_ns;
		bool rough;
	} * starts; /* by number of a chunk, from 1 on */
	uint64_t start_room;
	uint64_t covered[INDEX_CHECK_LEVELS]; /* last chunk that has cells */
	bool starved; /* there may be no memory for cells */
	uint64_t checkpoints, chunks, rough, ends, cells; /* seen */
	/* Last values of tracks since the last checkpoint, with their times. */
	struct index_check_value {
		uint64_t track, ns;
		int64_t number;
		bool absolute, told;
	} values[INDEX_CHECK_VALUES];
	uint32_t value_count;
	uint64_t first_ns, last_ns;
	struct curve_check curves;
};

static inline void index_check_must(bool right, const char *what)
{
	if (right)
		return;
	fprintf(stderr, "index: %s\n", what);
	abort();
}

static inline struct index_check *index_check_new(uint64_t start_ns)
{
	struct index_check *check = calloc(1, sizeof(*check));

	index_check_must(check, "no memory");
	index_check_must(
		!grow_array_zeroed(check->nodes, check->node_room, 64u),
		"no memory");
	check->node_count = 1;
	check->ns = start_ns;
	return check;
}

static inline void index_check_free(struct index_check *check)
{
	free(check->nodes);
	free(check->told);
	free(check->ended);
	free(check->starts);
	curve_check_release(&check->curves);
	free(check);
}

/* Returns the node of @iid below @parent. */
static inline uint32_t index_check_child(struct index_check *check,
					 uint32_t parent, uint32_t iid)
{
	uint32_t at = check->nodes[parent].child;

	while (at && check->nodes[at].iid != iid)
		at = check->nodes[at].sibling;
	if (at)
		return at;
	at = check->node_count++;
	index_check_must(!grow_array_zeroed(check->nodes, check->node_room,
					    check->node_count),
			 "no memory");
	check->nodes[at] = (struct index_check_node){
		.parent = parent,
		.iid = iid,
		.sibling = check->nodes[parent].child,
	};
	check->nodes[parent].child = at;
	return at;
}

/* Returns the node with the index's number @number. */
static inline uint32_t index_check_find(struct index_check *check,
					uint64_t number)
{
	uint32_t parent;

	if (!number)
		return 0;
	index_check_must(number < check->told_room && check->told[number].told,
			 "a node that was not told");
	parent = index_check_find(check, check->told[number].parent);
	return index_check_child(check, parent, check->told[number].iid);
}

static inline void index_check_take_node(struct index_check *check,
					 struct index_get *get)
{
	uint64_t number = index_get_number(get);
	uint64_t parent = index_get_number(get);
	uint64_t iid = index_get_number(get);

	index_check_must(number && number < UINT32_MAX &&
				 !grow_array_zeroed(check->told,
						    check->told_room,
						    number + 1),
			 "no node");
	index_check_must(!check->told[number].told, "a node is told twice");
	check->told[number].told = true;
	check->told[number].parent = (uint32_t)parent;
	check->told[number].iid = (uint32_t)iid;
}

static inline void index_check_start_chunk(struct index_check *check,
					   uint64_t chunk)
{
	index_check_must(
		!grow_array_zeroed(check->starts, check->start_room, chunk + 2),
		"no memory");
	check->starts[chunk].ended = check->ended_count;
	check->starts[chunk].start_ns = check->ns;
}

static inline void index_check_add_end(struct index_check *check,
				       struct index_check_end end)
{
	index_check_must(!grow_array(check->ended, check->ended_room,
				     check->ended_count + 1),
			 "no memory");
	end.order = check->ended_count;
	check->ended[check->ended_count++] = end;
}

/* Notes that all values with (or without) absolute times were indexed. */
static inline void index_check_values_told(struct index_check *check,
					   bool absolute, bool told)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < check->value_count; i++) {
		if (check->values[i].absolute != absolute)
			check->values[kept++] = check->values[i];
		else
			index_check_must(!told || check->values[i].told,
					 "a value is missing");
	}
	check->value_count = kept;
	if (absolute && told)
		index_check_must(!check->last_ns, "absolute times are missing");
}

static inline void index_check_take_checkpoint(struct index_check *check,
					       struct index_get *get)
{
	uint64_t ns = index_get_number(get), chunk = index_get_number(get);
	uint64_t kept = index_get_number(get), more = index_get_number(get);
	uint64_t begin_ns;

	index_check_must(ns == check->ns, "another time at a checkpoint");
	index_check_values_told(check, false, true);
	if (!check->chunk_open) {
		index_check_must(!kept, "a chunk begins with a difference");
		check->start_ns = ns;
		check->chunk_open = true;
		index_check_start_chunk(check, ++check->chunk);
	}
	index_check_must(chunk == check->chunk, "another chunk");
	index_check_must(kept <= check->open_count &&
				 kept + more == check->depth,
			 "another depth at a checkpoint");
	begin_ns = kept ? check->open[kept - 1].begin_ns : 0;
	check->open_count = check->depth;
	for (uint64_t i = kept; i < kept + more; i++) {
		uint64_t node = index_get_number(get);

		begin_ns += index_get_number(get);
		check->open[i] = (struct index_check_slice){
			.node = index_check_find(check, node >> 1),
			.begin_ns = begin_ns,
			.noted = node & 1,
		};
	}
	for (uint32_t i = 0; i < check->depth; i++)
		index_check_must(check->open[i].node == check->stack[i].node &&
					 check->open[i].begin_ns ==
						 check->stack[i].begin_ns &&
					 check->open[i].noted ==
						 check->stack[i].noted,
				 "other slices open at a checkpoint");
	check->checkpoints++;
}

static inline struct index_get index_check_items(const void *items,
						 size_t bytes)
{
	const uint8_t *at = items;

	return (struct index_get){ .at = at, .end = bytes ? at + bytes : at };
}

/* Starts a block with the index items @items. */
static inline void index_check_begin(struct index_check *check,
				     const void *items, size_t bytes)
{
	struct index_get get = index_check_items(items, bytes);
	struct index_get payload;
	uint32_t kind;

	/* All nodes first: a node may follow its children's. */
	while ((kind = index_get_item(&get, &payload)))
		if (kind == INDEX_NODE)
			index_check_take_node(check, &payload);
	index_check_must(!get.bad, "bad items");
	get = index_check_items(items, bytes);
	while ((kind = index_get_item(&get, &payload)))
		if (kind == INDEX_CHECKPOINT)
			index_check_take_checkpoint(check, &payload);
}

/* Returns the iid of the name in @event, which begins a slice; 0: a wait. */
static inline uint32_t index_check_name(
	const Perfetto__Protos__TrackEvent *event)
{
	if (event->has_name_iid)
		return (uint32_t)event->name_iid;
	if (event->n_category_iids)
		return (uint32_t)event->category_iids[0];
	if (event->has_source_location_iid)
		return (uint32_t)event->source_location_iid;
	index_check_must(event->name && !strcmp(event->name, INDEX_WAIT_NAME),
			 "a slice of no site");
	return 0;
}

static inline void index_check_slice_begin(
	struct index_check *check, const Perfetto__Protos__TrackEvent *event)
{
	uint32_t parent = 0;

	index_check_must(check->depth < INDEX_CHECK_SLICES, "too deep");
	if (check->depth)
		parent = check->stack[check->depth - 1].node;
	check->stack[check->depth++] = (struct index_check_slice){
		.node = index_check_child(check, parent,
					  index_check_name(event)),
		.begin_ns = check->ns,
		.noted = event->name || event->n_debug_annotations ||
			 event->n_flow_ids || event->n_terminating_flow_ids ||
			 event->has_correlation_id,
	};
}

/* Returns the part of an open slice that lies in the chunk so far. */
static inline uint64_t index_check_inside(const struct index_check *check,
					  uint64_t begin_ns)
{
	return check->ns - MAX(begin_ns, check->start_ns);
}

/* Returns how long the ending slice waited for the collector. */
static inline uint64_t index_check_waited(
	const Perfetto__Protos__TrackEvent *event)
{
	for (size_t i = 0; i < event->n_debug_annotations; i++)
		if (event->debug_annotations[i]->name &&
		    !strcmp(event->debug_annotations[i]->name,
			    "perfrec.waited_ns"))
			return (uint64_t)event->debug_annotations[i]->int_value;
	return 0;
}

static inline void index_check_slice_end(
	struct index_check *check, const Perfetto__Protos__TrackEvent *event)
{
	struct index_check_slice *slice = &check->stack[--check->depth];
	struct index_check_node *node = &check->nodes[slice->node];
	uint64_t ns = check->ns - slice->begin_ns;

	index_check_must(index_check_waited(event) <= ns, "too long a wait");
	node->calls++;
	node->ns += index_check_inside(check, slice->begin_ns);
	node->longest = MAX(node->longest, ns - index_check_waited(event));
	index_check_add_end(check, (struct index_check_end){
					   .row = check->depth + 1,
					   .node = slice->node,
					   .begin_ns = slice->begin_ns,
					   .end_ns = check->ns,
				   });
}

/* Marks stand for missing calls. */
static inline void index_check_mark(struct index_check *check,
				    const Perfetto__Protos__TrackEvent *event)
{
	const Perfetto__Protos__DebugAnnotation *mark;
	struct index_check_end end = { .end_ns = check->ns };

	if (!event->n_debug_annotations || !event->debug_annotations[0]->name)
		return;
	mark = event->debug_annotations[0];
	if (!strcmp(mark->name, "perfrec.lost_spans"))
		end.lost = (uint64_t)mark->int_value;
	if (!strcmp(mark->name, "perfrec.paused_spans"))
		end.paused = (uint64_t)mark->int_value;
	check->lost += end.lost;
	check->paused += end.paused;
	if (end.lost || end.paused)
		index_check_add_end(check, end);
}

static inline void index_check_counter(
	struct index_check *check, const Perfetto__Protos__TrackEvent *event,
	uint64_t ns)
{
	bool real = event->has_double_counter_value;
	uint64_t bits = (uint64_t)event->counter_value;

	if (real)
		memcpy(&bits, &event->double_counter_value, sizeof(bits));
	curve_check_value(&check->curves, event->track_uuid, real, bits, ns);
}

/* A value or a state; each track keeps the last. */
static inline void index_check_value(struct index_check *check,
				     const Perfetto__Protos__TrackEvent *event,
				     uint64_t ns, bool absolute)
{
	struct index_check_value *value = check->values;
	uint64_t track = event->has_track_uuid ? event->track_uuid : 0;

	if (event->type == PERFETTO__PROTOS__TRACK_EVENT__TYPE__TYPE_COUNTER)
		index_check_counter(check, event, ns);
	if (event->type != PERFETTO__PROTOS__TRACK_EVENT__TYPE__TYPE_COUNTER &&
	    event->type != PERFETTO__PROTOS__TRACK_EVENT__TYPE__TYPE_STATE)
		return;
	while (value < check->values + check->value_count &&
	       (value->track != track || value->absolute != absolute))
		value++;
	index_check_must(value < check->values + INDEX_CHECK_VALUES,
			 "too many values");
	if (value == check->values + check->value_count)
		check->value_count++;
	else if (ns < value->ns)
		return;
	*value = (struct index_check_value){ track, ns, event->counter_value,
					     absolute, false };
}

/* An event with an absolute time. */
static inline void index_check_absolute(
	struct index_check *check, const Perfetto__Protos__TrackEvent *event,
	uint64_t ns)
{
	if (!check->last_ns || ns < check->first_ns)
		check->first_ns = ns;
	check->last_ns = MAX(check->last_ns, ns);
	index_check_value(check, event, ns, true);
}

/* An indexed value must be the last one of its track. */
static inline void index_check_take_value(struct index_check *check,
					  struct index_get *get)
{
	uint64_t ns = index_get_number(get);
	Perfetto__Protos__TrackEvent *event =
		perfetto__protos__track_event__unpack(
			NULL, (size_t)(get->end - get->at), get->at);

	index_check_must(event && !get->bad, "no value");
	for (uint32_t i = 0; i < check->value_count; i++) {
		struct index_check_value *value = &check->values[i];

		value->told |= value->track == (event->has_track_uuid
							? event->track_uuid
							: 0) &&
			       value->ns == ns &&
			       value->number == event->counter_value;
	}
	perfetto__protos__track_event__free_unpacked(event, NULL);
}

static inline void index_check_take_times(struct index_check *check,
					  struct index_get *get)
{
	uint64_t first_ns = index_get_number(get);

	index_check_must(first_ns == check->first_ns &&
				 first_ns + index_get_number(get) ==
					 check->last_ns,
			 "other absolute times");
	check->first_ns = check->last_ns = 0;
}

/* Takes an event of the block, on the track of the sequence. */
static inline void index_check_event(
	struct index_check *check, const Perfetto__Protos__TracePacket *packet)
{
	const Perfetto__Protos__TrackEvent *event = packet->track_event;

	if (!event)
		return;
	if (packet->has_timestamp_clock_id) {
		index_check_absolute(check, event, packet->timestamp);
		return;
	}
	check->ns += packet->timestamp;
	index_check_value(check, event, check->ns, false);
	if (event->has_track_uuid)
		return;
	index_check_mark(check, event);
	if (event->type ==
	    PERFETTO__PROTOS__TRACK_EVENT__TYPE__TYPE_SLICE_BEGIN)
		index_check_slice_begin(check, event);
	if (event->type == PERFETTO__PROTOS__TRACK_EVENT__TYPE__TYPE_SLICE_END)
		index_check_slice_end(check, event);
}

static inline void index_check_row(struct index_check *check, uint64_t number,
				   struct index_get *get)
{
	uint32_t at = index_check_find(check, number); /* may move them */
	struct index_check_node *node = &check->nodes[at];
	uint64_t calls = index_get_number(get), ns = index_get_number(get);
	uint64_t longest = index_get_number(get);

	index_check_must(calls == node->calls, "other calls");
	index_check_must(ns == node->ns, "another time");
	index_check_must(longest == node->longest, "another longest call");
	node->calls = node->ns = node->longest = 0;
}

static inline void index_check_clear(struct index_check *check)
{
	for (uint32_t i = 0; i < check->node_count; i++)
		check->nodes[i].calls = check->nodes[i].ns =
			check->nodes[i].longest = 0;
	check->chunk_open = false;
	check->chunks++;
}

static inline void index_check_take_chunk(struct index_check *check,
					  struct index_get *get)
{
	uint64_t number = index_get_number(get), flags = index_get_number(get);
	uint64_t start_ns = index_get_number(get), rows;
	int64_t node = 0;

	index_check_must(check->chunk_open && number == check->chunk,
			 "the end of another chunk");
	index_check_must(start_ns == check->start_ns, "another start");
	index_check_must(index_get_number(get) == check->ns, "another end");
	index_get_number(get); /* spans: about */
	index_check_must(index_get_number(get) == check->lost, "other losses");
	index_check_must(index_get_number(get) == check->paused,
			 "other pauses");
	check->lost = check->paused = 0;
	rows = index_get_number(get);
	for (uint32_t i = 0; i < check->depth; i++)
		check->nodes[check->stack[i].node].ns +=
			index_check_inside(check, check->stack[i].begin_ns);
	for (; rows && !(flags & INDEX_CHUNK_ROUGH); rows--) {
		node += index_unzigzag(index_get_number(get));
		index_check_row(check, (uint64_t)node, get);
	}
	index_check_must(!get->bad, "a cut chunk");
	check->rough += flags & INDEX_CHUNK_ROUGH;
	check->starts[number].rough = flags & INDEX_CHUNK_ROUGH;
	check->starts[number].end_ns = check->ns;
	check->starts[number + 1].ended = check->ended_count;
	for (uint32_t i = 0;
	     i < check->node_count && !(flags & INDEX_CHUNK_ROUGH); i++)
		index_check_must(!check->nodes[i].calls && !check->nodes[i].ns,
				 "a node is missing");
	index_check_clear(check);
}

/* --- levels of detail ---------------------------------------------------- */

/* A block of cells while it is read. */
struct index_check_cells {
	uint64_t level, first, last; /* chunks */
	uint64_t beyond_calls, beyond_ns;
	uint64_t shift;
	bool rough;
	struct index_check_end *ended; /* sorted by bucket and row */
	uint64_t count;
	uint64_t bucket; /* of the previous cell */
	uint64_t row;
	uint64_t node[INDEX_CHECK_SLICES + 2];
};

static inline int index_check_order(const void *a, const void *b)
{
	const struct index_check_end *x = a, *y = b;

	if (x->begin_ns != y->begin_ns) /* the bucket, at this point */
		return x->begin_ns < y->begin_ns ? -1 : 1;
	if (x->row != y->row)
		return x->row < y->row ? -1 : 1;
	return x->order < y->order ? -1 : 1;
}

/* Expected sums of the slices that ended in a cell. */
struct index_check_cell {
	uint64_t calls, total_ns, longest_ns, lost, paused;
};

/* Sums the next group of slices with equal bucket and row. */
static inline struct index_check_cell index_check_group(
	const struct index_check *check, const struct index_check_cells *cells,
	uint64_t *at)
{
	const struct index_check_end *first = &cells->ended[*at];
	struct index_check_cell sum = { 0 };

	for (; *at < cells->count &&
	       cells->ended[*at].begin_ns == first->begin_ns &&
	       cells->ended[*at].row == first->row;
	     ++*at) {
		const struct index_check_end *end =
			&check->ended[cells->ended[*at].order];
		uint64_t ns = end->end_ns - end->begin_ns;

		sum.lost += end->lost;
		sum.paused += end->paused;
		if (!end->row)
			continue;
		sum.calls++;
		sum.total_ns += ns;
		sum.longest_ns = MAX(sum.longest_ns, ns);
	}
	return sum;
}

/* Returns true if slices [@from, @to) include this one. */
static inline bool index_check_is_one(const struct index_check *check,
				      const struct index_check_cells *cells,
				      uint64_t from, uint64_t to, uint32_t node,
				      uint64_t begin_ns, uint64_t end_ns)
{
	for (; from < to; from++) {
		const struct index_check_end *end =
			&check->ended[cells->ended[from].order];

		if (end->begin_ns == begin_ns && end->end_ns == end_ns &&
		    (cells->rough || end->node == node))
			return true;
	}
	return false;
}

/* Reads the bucket and row of the next cell. */
static inline void index_check_step(struct index_check_cells *cells,
				    struct index_get *get)
{
	uint64_t step = index_get_number(get);

	if (step & 1) {
		cells->bucket += step >> 1;
		cells->row = index_get_number(get);
	} else {
		cells->row += step >> 1;
	}
	index_check_must(!get->bad && cells->row <= INDEX_CHECK_SLICES + 1,
			 "no row");
}

static inline void index_check_cell(struct index_check *check,
				    struct index_check_cells *cells,
				    uint64_t from, uint64_t to,
				    const struct index_check_cell *sum,
				    struct index_get *get)
{
	uint64_t first = index_get_number(get), end_ns, ns, calls = 1, others;
	uint64_t *node = &cells->node[cells->row];

	if (!cells->row) {
		index_check_must(first == sum->lost &&
					 index_get_number(get) == sum->paused,
				 "other marks in a cell");
		return;
	}
	*node += (uint64_t)index_unzigzag(first >> 1);
	end_ns = (cells->bucket << cells->shift) + index_get_number(get);
	ns = index_get_number(get);
	if (first & 1)
		calls = index_get_number(get);
	others = first & 1 ? index_get_number(get) : 0;
	index_check_must(calls == sum->calls, "other calls in a cell");
	index_check_must(ns == sum->longest_ns, "another longest in a cell");
	index_check_must(ns + others == sum->total_ns, "another time in cell");
	index_check_must(
		index_check_is_one(
			check, cells, from, to,
			cells->rough ? 0 : index_check_find(check, *node),
			end_ns - ns, end_ns),
		"a cell has a slice that is none");
}

/* Compares all cells. Slices outside of cells must be the omitted ones. */
static inline void index_check_all_cells(struct index_check *check,
					 struct index_check_cells *cells,
					 struct index_get *get)
{
	uint64_t at = 0, calls = 0, ns = 0, deepest = 0, left_out = UINT64_MAX;

	while (get->at < get->end) {
		bool found = false;

		index_check_step(cells, get);
		while (at < cells->count && !found) {
			uint64_t from = at, bucket = cells->ended[at].begin_ns;
			uint32_t row = cells->ended[at].row;
			struct index_check_cell sum =
				index_check_group(check, cells, &at);

			found = bucket == cells->bucket && row == cells->row;
			if (found) {
				deepest = MAX(deepest, row);
				index_check_cell(check, cells, from, at, &sum,
						 get);
				continue;
			}
			left_out = MIN(left_out, row);
			calls += sum.calls;
			ns += sum.total_ns;
		}
		index_check_must(found, "a cell of nothing");
	}
	while (at < cells->count) {
		uint32_t row = cells->ended[at].row;
		struct index_check_cell sum =
			index_check_group(check, cells, &at);

		left_out = MIN(left_out, row);
		calls += sum.calls;
		ns += sum.total_ns;
	}
	index_check_must(calls == cells->beyond_calls &&
				 ns == cells->beyond_ns && left_out > deepest,
			 "slices in no cell");
}

/* Sorts the slices of the block by bucket and row. */
static inline void index_check_sort(const struct index_check *check,
				    struct index_check_cells *cells)
{
	uint64_t from = check->starts[cells->first].ended;

	cells->count = check->starts[cells->last + 1].ended - from;
	cells->ended = calloc(cells->count + 1, sizeof(*cells->ended));
	index_check_must(cells->ended, "no memory");
	for (uint64_t i = 0; i < cells->count; i++) {
		cells->ended[i] = check->ended[from + i];
		cells->ended[i].begin_ns =
			check->ended[from + i].end_ns >> cells->shift;
	}
	qsort(cells->ended, cells->count, sizeof(*cells->ended),
	      index_check_order);
}

static inline void index_check_take_cells(struct index_check *check,
					  struct index_get *get)
{
	struct index_check_cells cells = { .level = index_get_number(get) };
	uint64_t start_ns, end_ns;

	cells.first = index_get_number(get);
	cells.last = cells.first + index_get_number(get);
	start_ns = index_get_number(get);
	end_ns = start_ns + index_get_number(get);
	index_get_number(get); /* spans: about */
	cells.beyond_calls = index_get_number(get);
	cells.beyond_ns = index_get_number(get);
	cells.shift = index_get_number(get);
	index_check_must(!get->bad && cells.level < INDEX_CHECK_LEVELS &&
				 cells.shift < 64 && cells.first &&
				 cells.last <= check->chunk,
			 "no block of cells");
	index_check_must(cells.first == check->covered[cells.level] + 1,
			 "cells of other chunks");
	check->covered[cells.level] = cells.last;
	index_check_must(check->starts[cells.first].start_ns == start_ns &&
				 check->starts[cells.last].end_ns == end_ns,
			 "other times of cells");
	for (uint64_t i = cells.first; i <= cells.last; i++)
		cells.rough |= check->starts[i].rough;
	cells.bucket = (start_ns >> cells.shift) - 1;
	index_check_sort(check, &cells);
	index_check_all_cells(check, &cells, get);
	free(cells.ended);
	check->cells++;
}

/* Ends the block of index_check_begin(). */
static inline void index_check_end(struct index_check *check, const void *items,
				   size_t bytes)
{
	struct index_get get = index_check_items(items, bytes);
	struct index_get payload;
	bool ended = false;
	uint32_t kind;

	while ((kind = index_get_item(&get, &payload))) {
		curve_check_item(&check->curves, kind, payload);
		if (kind == INDEX_CHUNK)
			index_check_take_chunk(check, &payload);
		if (kind == INDEX_CELLS)
			index_check_take_cells(check, &payload);
		if (kind == INDEX_VALUE)
			index_check_take_value(check, &payload);
		if (kind == INDEX_TIMES)
			index_check_take_times(check, &payload);
		if (kind != INDEX_SEQUENCE_END)
			continue;
		index_check_must(!check->depth && !check->chunk_open,
				 "open at the end");
		ended = true;
		index_check_must(check->starved || check->curves.ended,
				 "no curves");
		index_check_must(check->starved ||
					 check->covered[0] == check->chunk,
				 "chunks without cells");
		check->ends++;
	}
	if (ended)
		index_check_values_told(check, false, true);
	/* Without items the sequence has no index any more. */
	index_check_values_told(check, true, bytes != 0);
	check->first_ns = check->last_ns = 0;
}

#endif
