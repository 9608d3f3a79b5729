/* SPDX-License-Identifier: Apache-2.0
 *
 * sequence_index - packets have no addresses of functions, so the tree uses the
 * interned id of a name as the address. Frames are those of a replay that
 * writes all of its slices.
 */
#include "collector/cut/sequence_index.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/budget.h"
#include "collector/base/grow.h"
#include "collector/read/time_gaps.h"
#include "collector/read/usual_packet.h"
#include "collector/replay/index_build.h"
#include "collector/trace/encode.h"
#include "collector/trace/fields.h"
#include "collector/trace/index_items.h"
#include "shared/compiler.h"

#define FRAMES_MIN 32u
/* Readers keep this many open slices; perfrec draws 512. */
#define SLICES_MAX 1024u

/* --- life ---------------------------------------------------------------- */

static int make_stack(struct sequence_index *sequence)
{
	if (grow_array_from(sequence->budget, sequence->stack,
			    sequence->capacity, FRAMES_MIN))
		return -ENOMEM;
	memset(sequence->stack, 0, sizeof(*sequence->stack));
	if (cct_init(&sequence->cct, sequence->budget) < 0)
		return -ENOMEM;
	sequence->top = sequence->stack;
	sequence->top->node = sequence->cct.root;
	return 0;
}

static void drop_stack(struct sequence_index *sequence)
{
	budget_give(sequence->budget,
		    sequence->capacity * sizeof(*sequence->stack));
	free(sequence->stack);
	sequence->stack = sequence->top = NULL;
	sequence->capacity = 0;
	cct_release(&sequence->cct);
}

/* From here on, readers read the sequence from the trace. */
static void stop_indexing(struct sequence_index *sequence)
{
	sequence->given_up = true;
	sequence->waits = false;
}

int sequence_index_new(uint32_t id, uint64_t track, uint64_t start_ns,
		       struct budget *budget, struct sequence_index **out)
{
	struct sequence_index *sequence = calloc(1, sizeof(*sequence));

	if (!sequence)
		return -ENOMEM;
	*sequence = (struct sequence_index){
		.id = id, .track = track, .ns = start_ns, .budget = budget
	};
	if (index_build_new(budget, &sequence->build) < 0) {
		free(sequence);
		return -ENOMEM;
	}
	if (make_stack(sequence) < 0) {
		drop_stack(sequence);
		stop_indexing(sequence);
	}
	*out = sequence;
	return 0;
}

void sequence_index_free(struct sequence_index **sequence)
{
	struct sequence_index *freed = *sequence;

	if (!freed)
		return;
	index_build_free(&freed->build);
	drop_stack(freed);
	free(freed);
	*sequence = NULL;
}

/* --- blocks -------------------------------------------------------------- */

static uint32_t depth_of(const struct sequence_index *sequence)
{
	return (uint32_t)(sequence->top - sequence->stack);
}

/* @sequence must have a build, because without it there is no stack. */
static struct index_now now_of(const struct sequence_index *sequence,
			       uint64_t trace_bytes, bool last)
{
	return (struct index_now){
		.last_ns = sequence->ns,
		.spans = sequence->spans,
		.trace_bytes = trace_bytes,
		.overflowed = sequence->cct.overflowed,
		.stack = sequence->stack,
		.stack_end = sequence->stack + sequence->capacity,
		.written = depth_of(sequence),
		.mid_call = sequence->given_up,
		.last = last,
	};
}

void sequence_index_begin_block(struct sequence_index *sequence,
				uint64_t trace_bytes)
{
	struct index_now now;

	sequence->first_ns = sequence->last_ns = sequence->ns;
	sequence->begun = true;
	if (!sequence->build)
		return;
	now = now_of(sequence, trace_bytes, false);
	index_build_begin(sequence->build, &now);
	if (!sequence->build->stopped)
		return;
	stop_indexing(sequence);
	index_build_free(&sequence->build);
	drop_stack(sequence);
}

size_t sequence_index_end_block(struct sequence_index *sequence,
				uint64_t trace_bytes, bool last,
				const void **items)
{
	struct index_now now;
	size_t bytes;

	sequence->last_ns = MAX(sequence->last_ns, sequence->ns);
	if (!sequence->build)
		return 0;
	now = now_of(sequence, trace_bytes, last);
	bytes = index_build_end(sequence->build, &now, items);
	/* The returned items are in the build, so it cannot be freed yet. */
	if (sequence->given_up)
		index_build_stop(sequence->build);
	return bytes;
}

size_t sequence_index_break(struct sequence_index *sequence, const void **items)
{
	return sequence->build ? index_build_break(sequence->build, items) : 0;
}

/* --- slices -------------------------------------------------------------- */

static bool grow_stack(struct sequence_index *sequence)
{
	uint32_t depth = depth_of(sequence);

	if (unlikely(depth == SLICES_MAX))
		return false;
	if (depth + 1 < sequence->capacity)
		return true;
	if (grow_array_from(sequence->budget, sequence->stack,
			    sequence->capacity, depth + 2))
		return false;
	sequence->top = sequence->stack + depth;
	return true;
}

static void begin_indexed(struct sequence_index *sequence, uint64_t ns,
			  uint64_t iid, bool noted)
{
	struct cct_node *node;

	if (unlikely(!iid || iid > ENCODE_IID_MASK || sequence->waits ||
		     !grow_stack(sequence))) {
		stop_indexing(sequence);
		return;
	}
	node = cct_child(&sequence->cct, sequence->top->node, iid);
	if (unlikely(!(node->stamp & CCT_PLAIN))) {
		node->function->begin.name_iid = (uint32_t)iid;
		node->stamp |= CCT_PLAIN;
	}
	/* No room: the call counts below "overflow", not in its place. */
	if (unlikely(sequence->cct.overflowed)) {
		stop_indexing(sequence);
		return;
	}
	*++sequence->top = (struct replay_frame){
		.begin_ns = ns, .node = node, .written = true, .noted = noted
	};
	sequence->spans++;
}

static struct index_slice_end slice_end(const struct sequence_index *sequence,
					uint64_t begin_ns)
{
	return (struct index_slice_end){
		.depth = depth_of(sequence),
		.begin_ns = begin_ns,
		.end_ns = sequence->ns,
	};
}

static void end_indexed(struct sequence_index *sequence, uint64_t waited_ns)
{
	struct replay_frame *frame = sequence->top;
	struct index_slice_end end;

	if (unlikely(sequence->waits)) {
		sequence->waits = false;
		end = slice_end(sequence, sequence->wait_ns);
		index_build_wait(sequence->build, sequence->top->node, &end);
		return;
	}
	/* Readers also skip an end that has no beginning. */
	if (unlikely(frame == sequence->stack))
		return;
	sequence->top--;
	end = slice_end(sequence, frame->begin_ns);
	end.waited_ns = MIN(waited_ns, end.end_ns - end.begin_ns);
	index_build_slice(sequence->build, frame->node, &end);
	cct_count(frame->node, frame[-1].node, end.end_ns - end.begin_ns);
}

static void step(struct sequence_index *sequence, uint64_t ns)
{
	if (unlikely(ns > UINT64_MAX - sequence->ns)) {
		sequence->bad_clock = true;
		stop_indexing(sequence);
		return;
	}
	sequence->ns += ns;
}

bool sequence_index_usual(struct sequence_index *sequence, struct wire fields)
{
	struct usual_packet usual;

	if (!usual_packet_take(fields, sequence->id, &usual))
		return false;
	step(sequence, usual.step);
	if (unlikely(sequence->given_up))
		return true;
	if (usual.type == TYPE_SLICE_BEGIN)
		begin_indexed(sequence, sequence->ns, usual.name_iid, false);
	else
		end_indexed(sequence, 0);
	return true;
}

/* --- other events -------------------------------------------------------- */

struct event {
	uint64_t type, stamp, clock, name_iid, category, location, track;
	struct wire name;
	bool stamped, noted;
	uint64_t lost, paused; /* missing calls, as a mark reports them */
	uint64_t waited_ns;
	struct wire rest; /* the fields of the TrackEvent after its type */
	struct wire interned;
};

static bool is_text(struct wire wire, const char *text)
{
	size_t bytes = strlen(text);

	return (size_t)(wire.end - wire.at) == bytes &&
	       !memcmp(wire.at, text, bytes);
}

static void look_at_argument(struct wire fields, struct event *event)
{
	struct wire name = { 0 };
	struct wire_field field;
	uint64_t number = 0;

	while (wire_next(&fields, &field))
		if (field.tag == TAG_DEBUG_ANNOTATION_NAME)
			name = wire_of(&field);
		else if (field.tag == TAG_DEBUG_ANNOTATION_INT_VALUE)
			number = field.value;
	if (!name.at)
		return;
	if (is_text(name, TIME_GAP_LOST_NAME))
		event->lost += number;
	else if (is_text(name, TIME_GAP_PAUSED_NAME))
		event->paused += number;
	else if (is_text(name, ENCODE_WAITED))
		event->waited_ns = number;
}

static void take_track_event(struct wire fields, struct event *event)
{
	struct wire_field field;

	while (wire_next(&fields, &field))
		switch (field.tag) {
		case TAG_TRACK_EVENT_TYPE:
			event->type = field.value;
			event->rest = fields;
			break;
		case TAG_TRACK_EVENT_NAME_IID:
			event->name_iid = field.value;
			break;
		case TAG_TRACK_EVENT_CATEGORY_IIDS:
			event->category = field.value;
			break;
		case TAG_TRACK_EVENT_SOURCE_LOCATION_IID:
			event->location = field.value;
			break;
		case TAG_TRACK_EVENT_TRACK_UUID:
			event->track = field.value;
			break;
		case TAG_TRACK_EVENT_NAME:
			event->name = wire_of(&field);
			event->noted = true;
			break;
		case TAG_TRACK_EVENT_DEBUG_ANNOTATIONS:
			look_at_argument(wire_of(&field), event);
			event->noted = true;
			break;
		case TAG_TRACK_EVENT_FLOW_IDS:
		case TAG_TRACK_EVENT_TERMINATING_FLOW_IDS:
		case TAG_TRACK_EVENT_CORRELATION_ID:
			event->noted = true;
			break;
		}
}

static struct event look_at_fields(struct wire fields)
{
	struct event event = { 0 };
	struct wire_field field;

	while (wire_next(&fields, &field))
		switch (field.tag) {
		case TAG_TRACE_PACKET_TIMESTAMP:
			event.stamp = field.value;
			event.stamped = true;
			break;
		case TAG_TRACE_PACKET_TIMESTAMP_CLOCK_ID:
			event.clock = field.value;
			break;
		case TAG_TRACE_PACKET_TRACK_EVENT:
			take_track_event(wire_of(&field), &event);
			break;
		case TAG_TRACE_PACKET_INTERNED_DATA:
			event.interned = wire_of(&field);
			break;
		}
	return event;
}

static void index_slice(struct sequence_index *sequence, uint64_t ns,
			const struct event *event)
{
	/* The id of the site, or else of the name; 0: a wait, or no name. */
	uint64_t iid = event->category ?: event->location ?: event->name_iid;

	if (event->type == TYPE_SLICE_END) {
		end_indexed(sequence, event->waited_ns);
		return;
	}
	if (iid || sequence->waits || !event->name.at ||
	    !is_text(event->name, INDEX_WAIT_NAME)) {
		begin_indexed(sequence, ns, iid,
			      event->noted || (event->name_iid &&
					       event->name_iid != iid));
		return;
	}
	sequence->waits = true;
	sequence->wait_ns = ns;
}

/* Handles an event with an absolute time, which leaves the clock of the
 * sequence alone. */
static void take_absolute(struct sequence_index *sequence,
			  const struct event *event)
{
	sequence->first_ns = MIN(sequence->first_ns, event->stamp);
	sequence->last_ns = MAX(sequence->last_ns, event->stamp);
	if (event->track)
		return;
	/* Slices of threads have no absolute time, except slices that were open
	 * when --keep last deleted the trace before. */
	if (event->type == TYPE_SLICE_END ||
	    (event->type == TYPE_SLICE_BEGIN &&
	     (sequence->spans > depth_of(sequence) ||
	      event->stamp < sequence->top->begin_ns ||
	      event->stamp < sequence->ns)))
		stop_indexing(sequence);
	else if (event->type == TYPE_SLICE_BEGIN)
		index_slice(sequence, event->stamp, event);
}

static bool is_absolute(const struct event *event)
{
	return event->clock && event->clock < CLOCK_SEQUENCE_FIRST;
}

/* The index keeps last values. perfrec writes the type of an event first, so
 * "rest" has all other fields. */
static void tell_event(struct sequence_index *sequence,
		       const struct event *event)
{
	const struct encode_event told = {
		.type = (uint32_t)event->type,
		.absolute = is_absolute(event),
		.fields = event->rest.at,
		.field_bytes = (size_t)(event->rest.end - event->rest.at),
	};

	index_build_event(sequence->build,
			  told.absolute ? event->stamp : sequence->ns, &told);
}

void sequence_index_event(struct sequence_index *sequence, struct wire fields)
{
	const struct event event = look_at_fields(fields);

	if (event.interned.at && sequence->build)
		index_build_interned(
			sequence->build, sequence->id, event.interned.at,
			(size_t)(event.interned.end - event.interned.at));
	if (!event.stamped || event.track == sequence->track)
		stop_indexing(sequence);
	else if (is_absolute(&event))
		take_absolute(sequence, &event);
	else
		step(sequence, event.stamp);
	if (sequence->given_up)
		return;
	/* Checkpoints already list open slices. */
	if (event.track || !is_absolute(&event) ||
	    event.type != TYPE_SLICE_BEGIN)
		tell_event(sequence, &event);
	if (event.track || is_absolute(&event))
		return;
	index_build_missing(sequence->build, event.lost, event.paused,
			    sequence->ns);
	if (event.type == TYPE_SLICE_BEGIN || event.type == TYPE_SLICE_END)
		index_slice(sequence, sequence->ns, &event);
}
