/* SPDX-License-Identifier: Apache-2.0
 *
 * index_check - holds what an index says of the packets of one sequence against
 * these packets. It follows them in the simplest way there is: a stack of open
 * slices, and sums for each path of names, counted slice by slice.
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
#include "collector/index/index_items.h"
#include "proto/perfetto_trace.pb-c.h"
#include "shared/compiler.h"

#define INDEX_CHECK_SLICES 1024

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

struct index_check {
	uint64_t ns;
	struct index_check_slice stack[INDEX_CHECK_SLICES];
	uint32_t depth;
	struct index_check_node *nodes; /* [0]: the root */
	uint32_t node_count, node_room;
	/* What the index calls them. */
	struct index_check_told *told;
	uint32_t told_room;
	/* The checkpoint before, as told. */
	struct index_check_slice open[INDEX_CHECK_SLICES];
	uint32_t open_count;
	uint64_t chunk; /* the one that is open, or the last one */
	bool chunk_open;
	uint64_t start_ns;
	uint64_t lost, paused; /* that marks in the chunk tell of */
	uint64_t checkpoints, chunks, rough, ends; /* seen */
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
	free(check);
}

/* The node of @iid below @parent. */
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

/* The node that the index calls @number. */
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

static inline void index_check_take_checkpoint(struct index_check *check,
					       struct index_get *get)
{
	uint64_t ns = index_get_number(get), chunk = index_get_number(get);
	uint64_t kept = index_get_number(get), more = index_get_number(get);
	uint64_t begin_ns;

	index_check_must(ns == check->ns, "another time at a checkpoint");
	if (!check->chunk_open) {
		index_check_must(!kept, "a chunk begins with a difference");
		check->start_ns = ns;
		check->chunk_open = true;
		check->chunk++;
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
			index_check_find(check, node >> 1), begin_ns, node & 1
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

/* A block begins, about which there are the items. */
static inline void index_check_begin(struct index_check *check,
				     const void *items, size_t bytes)
{
	struct index_get get = index_check_items(items, bytes);
	struct index_get payload;
	uint32_t kind;

	/* Nodes first: one may be told behind one that is below it. */
	while ((kind = index_get_item(&get, &payload)))
		if (kind == INDEX_NODE)
			index_check_take_node(check, &payload);
	index_check_must(!get.bad, "bad items");
	get = index_check_items(items, bytes);
	while ((kind = index_get_item(&get, &payload)))
		if (kind == INDEX_CHECKPOINT)
			index_check_take_checkpoint(check, &payload);
}

/* What the name of the begin @event is called; 0: a wait. */
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

/* How much of a slice that began at @begin_ns lies in the chunk, up to now. */
static inline uint64_t index_check_inside(const struct index_check *check,
					  uint64_t begin_ns)
{
	return check->ns - MAX(begin_ns, check->start_ns);
}

static inline void index_check_slice_end(struct index_check *check)
{
	struct index_check_slice *slice = &check->stack[--check->depth];
	struct index_check_node *node = &check->nodes[slice->node];

	node->calls++;
	node->ns += index_check_inside(check, slice->begin_ns);
	node->longest = MAX(node->longest, check->ns - slice->begin_ns);
}

/* Marks tell of calls that are not there. */
static inline void index_check_mark(struct index_check *check,
				    const Perfetto__Protos__TrackEvent *event)
{
	const Perfetto__Protos__DebugAnnotation *mark;

	if (!event->n_debug_annotations || !event->debug_annotations[0]->name)
		return;
	mark = event->debug_annotations[0];
	if (!strcmp(mark->name, "perfrec.lost_spans"))
		check->lost += (uint64_t)mark->int_value;
	if (!strcmp(mark->name, "perfrec.paused_spans"))
		check->paused += (uint64_t)mark->int_value;
}

/* An event of the block, on the track of the sequence. */
static inline void index_check_event(
	struct index_check *check, const Perfetto__Protos__TracePacket *packet)
{
	const Perfetto__Protos__TrackEvent *event = packet->track_event;

	if (!event || packet->has_timestamp_clock_id)
		return;
	check->ns += packet->timestamp;
	if (event->has_track_uuid)
		return;
	index_check_mark(check, event);
	if (event->type ==
	    PERFETTO__PROTOS__TRACK_EVENT__TYPE__TYPE_SLICE_BEGIN)
		index_check_slice_begin(check, event);
	if (event->type == PERFETTO__PROTOS__TRACK_EVENT__TYPE__TYPE_SLICE_END)
		index_check_slice_end(check);
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
	for (uint32_t i = 0;
	     i < check->node_count && !(flags & INDEX_CHUNK_ROUGH); i++)
		index_check_must(!check->nodes[i].calls && !check->nodes[i].ns,
				 "a node is missing");
	index_check_clear(check);
}

/* The block that index_check_begin() was told of ends. */
static inline void index_check_end(struct index_check *check, const void *items,
				   size_t bytes)
{
	struct index_get get = index_check_items(items, bytes);
	struct index_get payload;
	uint32_t kind;

	while ((kind = index_get_item(&get, &payload))) {
		if (kind == INDEX_CHUNK)
			index_check_take_chunk(check, &payload);
		if (kind != INDEX_SEQUENCE_END)
			continue;
		index_check_must(!check->depth && !check->chunk_open,
				 "open at the end");
		check->ends++;
	}
}

#endif
