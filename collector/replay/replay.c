/* SPDX-License-Identifier: Apache-2.0
 *
 * replay - the begins and ends that a thread recorded are not a tree. longjmp
 * and some exceptions leave functions without an end; dropped spans, filters
 * and pauses leave ends without a beginning. A trace must be a tree, so each
 * stack of a thread has a shadow stack here (contexts have stacks of their own:
 * fibers.c). All rules keep two promises: a slice that began ends once, inside
 * its parent; a span that began is counted once.
 *
 * Normally an end belongs to the frame on top. The stack pointer of the hook
 * (12 bits, record.h) tells calls of one function apart. It is only a hint: a
 * function that calls its exit hook as a tail call, or that calls alloca, ends
 * with another stack pointer than it began with. Such a function is called
 * "shifted".
 *
 *   END, function on top      ends the frame on top. But if a frame of the
 *                             same function with exactly this hint is further
 *                             down, longjmp went to a recursive caller
 *   END, function below       ends all frames above it ("repaired")
 *   END, function nowhere     is withheld and counted as an orphan. But in a
 *                             forked child where nothing is open, it ends a
 *                             span that the parent began
 *   BEGIN, not deeper on the  if a frame of the same function has the same
 *   stack than the top        hint, this frame and all above it are dead:
 *                             longjmp came back to its caller. Without such a
 *                             frame the hint proves nothing: a frame of more
 *                             than 32 KiB, or another stack, looks the same
 *   BEGIN, exactly as deep    is an inlined function. When that happens too
 *                             often in a row to be true, the rule above holds
 *
 * A slice that one of these rules ends has a mark, perfrec.repaired. If a
 * record reports a jump (fibers.c), the time of the end is known, and the mark
 * says "longjmp", "exception" or "context". Otherwise it says "guess": the span
 * was over by then, perhaps for long.
 *
 * If depth has a limit, spans that are too deep are on the shadow stack and
 * follow the rules, but are neither written nor counted. Only the code here
 * decides whether a span is too deep. The shim leaves out spans that certainly
 * are (preload/ring/depth.c), and records all others.
 *
 * While recording is paused (pause.h), a BEGIN becomes a phantom, as a dropped
 * span does. The clock's segment ends where a pause begins or ends, so that the
 * fast loop need not check for pauses.
 *
 * Functions whose state changes (function_log.h) and entry builds have rules of
 * their own: docs/TRACE.md. The segment also ends at a change. A function
 * that is off has nodes without iid, and a detached frame has no number in
 * "same": both send run_fast() the long way.
 *
 * There are two loops. run_fast() keeps its state in registers, and handles
 * begins and ends that need none of these rules. replay_take() handles any one
 * record.
 *
 * No I/O, no locks: records come in and packets go out, so this can be fuzzed.
 * All input is hostile. Depth and memory have limits. The work for one record
 * has a limit on average: search_credit.
 */
#include "collector/replay/replay_inner.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/budget.h"
#include "collector/base/grow.h"
#include "collector/names/sites.h"
#include "collector/replay/function_log.h"
#include "collector/replay/heap_feed.h"
#include "collector/replay/histograms.h"
#include "collector/replay/index_build.h"
#include "collector/replay/pause.h"
#include "collector/trace/compact.h"
#include "collector/trace/fields.h"
#include "collector/trace/index_items.h"
#include "collector/trace/out_perfetto.h"
#include "collector/trace/trace_file.h"
#include "shared/atomic.h"
#include "shared/ring_shm.h"

#define FRAMES_MIN 64u
#define FRAMES_MAX (1u << 20)
/* A search that may find nothing visits this many frames, and more on the
 * credit that records bring. */
#define SEARCH_FRAMES 64
#define SEARCH_CREDIT_PER_RECORD 4
#define SEARCH_CREDIT_MAX (1u << 20)
/* If a landing pad is nearer to the unwinder than this, its place is certain
 * among places 64 KiB apart. */
#define LANDING_BYTES_SURE 32768
#define PACKET_BYTES 512
/* The most bytes of compact events between two restart points. */
#define RESTART_BYTES 8192
#define MARK_BYTES 32
/* The most slices that run_fast() opens with an index. */
#define INDEX_FRAMES 32
/* Room for packets and names of a replay that takes turns. */
#define STAGE_BYTES 16384
#define STAGE_NAMES 64

_Static_assert(REPLAY_SLICES_MAX <= TRACE_OPEN_MAX, "can all be ended");

#define SITES_MIN 16u

struct replay_site {
	uint32_t id;
	uint32_t iid; /* with its flags; 0: excluded */
	bool excluded;
};

struct replay_stage {
	uint8_t data[STAGE_BYTES];
	struct trace_name names[STAGE_NAMES];
};

static inline bool same_function(uint64_t a, uint64_t b)
{
	return record_payload(a) == record_payload(b);
}

/* --- output -------------------------------------------------------------- */

static struct index_now index_now(const struct replay *replay)
{
	return (struct index_now){
		.last_ns = replay->encoder.last_ns,
		.spans = replay->counts.spans - replay->counts.short_spans,
		.trace_bytes = replay->sink.position(replay->sink.context),
		.overflowed = replay->cct.overflowed,
		.stack = replay->stack,
		.stack_end = replay->stack + replay->capacity,
		.written = replay->written,
		.last = replay->finished,
		.mid_call = replay->mid_call,
	};
}

static void index_end_block(struct replay *replay, struct trace_block *block)
{
	const struct index_now now = index_now(replay);
	const void *items;
	size_t bytes = index_build_end(replay->index, &now, &items);

	block->index = bytes ? malloc(bytes) : NULL;
	block->index_bytes = block->index ? bytes : 0;
	if (bytes && !block->index)
		index_build_stop(replay->index);
	if (block->index)
		memcpy(block->index, items, bytes);
}

static void write_restart(struct replay *replay)
{
	const struct replay_frame *frame = replay->stack;
	uint32_t left = replay->written;
	uint64_t begin_ns = 0;
	uint8_t *out = compact_put_restart(replay->encoder.out,
					   replay->encoder.last_ns, left);

	/* The frame of an end that is being written lies above the top. */
	while (left) {
		frame++;
		if (!frame->written)
			continue;
		out = compact_put_open(
			out, &begin_ns,
			&(struct compact_slice){
				frame->node->function->begin.name_iid,
				frame->begin_ns, frame->noted });
		left--;
	}
	replay->encoder.out = out;
	replay->restart =
		(struct replay_restart){ .begun = true, .ns = replay->now_ns };
}

static void output_take(struct replay *replay)
{
	struct replay_stage *stage = replay->stage;
	struct trace_block *block;

	if (stage) {
		replay->output = (struct replay_output){
			.start = stage->data,
			.end = stage->data + STAGE_BYTES,
			.names = stage->names,
			.name_room = STAGE_NAMES,
		};
	} else {
		block = replay->sink.take(replay->sink.context);
		replay->block = block;
		replay->output = (struct replay_output){
			.start = block->data,
			.end = block->data + TRACE_BLOCK_BYTES,
			.names = block->names,
			.name_room = TRACE_BLOCK_NAMES,
		};
	}
	replay->encoder.out = replay->output.start;
	replay->output.first_ns = replay->encoder.last_ns;
	if (replay->sink.restart_ns &&
	    (!replay->restart.begun || replay->restart.bytes >= RESTART_BYTES ||
	     replay->now_ns - replay->restart.ns >= replay->sink.restart_ns))
		write_restart(replay);
	if (replay->index) {
		const struct index_now now = index_now(replay);

		index_build_begin(replay->index, &now);
	}
}

static void output_give(struct replay *replay)
{
	const struct replay_output *output = &replay->output;
	size_t bytes = (size_t)(replay->encoder.out - output->start);
	struct trace_block *block = replay->block;

	if (!output->start)
		return;
	if (!block) {
		block = replay->sink.take(replay->sink.context);
		memcpy(block->data, output->start, bytes);
		memcpy(block->names, output->names,
		       output->name_count * sizeof(*block->names));
	}
	block->sequence = replay->encoder.sequence;
	block->name_count = output->name_count;
	block->bytes = block->own_bytes = (uint32_t)bytes;
	block->first_ns = output->first_ns;
	block->last_ns = MAX(output->last_ns, replay->encoder.last_ns);
	block->compact = replay->encoder.compact;
	block->packets = output->packets;
	block->ended = replay->finished;
	replay->restart.bytes += bytes;
	if (replay->index)
		index_end_block(replay, block);
	replay->finished = false;
	block->opened = (int32_t)(replay->written - replay->given);
	replay->given = replay->written;
	replay->block = NULL;
	replay->output.start = NULL;
	replay->sink.give(replay->sink.context, block);
}

void replay_flush(struct replay *replay)
{
	replay_write_old(replay, replay->last_ns);
	output_give(replay);
}

int replay_take_turns(struct replay *replay)
{
	struct budget *budget = replay->cct.budget;

	if (!budget_take(budget, sizeof(*replay->stage)))
		return -ENOMEM;
	output_give(replay);
	replay->stage = malloc(sizeof(*replay->stage));
	if (replay->stage)
		return 0;
	budget_give(budget, sizeof(*replay->stage));
	return -ENOMEM;
}

static size_t output_room(const struct replay *replay)
{
	return (size_t)(replay->output.end - replay->encoder.out);
}

static void output_reserve(struct replay *replay, size_t bytes)
{
	if (replay->output.start && output_room(replay) < bytes)
		output_give(replay);
	if (!replay->output.start)
		output_take(replay);
}

/* --- pending begins ------------------------------------------------------ */

void replay_write_pending(struct replay *replay, uint64_t until_ns)
{
	struct replay_frame *frame = replay->stack + replay->pending_from;

	/* Times do not go back up the stack. */
	for (; replay->pending; frame++) {
		if (!frame->written)
			continue;
		if (frame->begin_ns > until_ns)
			break;
		output_reserve(replay, ENCODE_EVENT_BYTES);
		encode_begin(&replay->encoder, frame->begin_ns,
			     &frame->node->function->begin);
		replay->counts.events++;
		replay->written++;
		replay->pending--;
	}
	replay->pending_from = (uint32_t)(frame - replay->stack);
}

void replay_write_old(struct replay *replay, uint64_t ns)
{
	if (replay->pending && ns >= replay->min_ns)
		replay_write_pending(replay, ns - replay->min_ns);
}

/* Must come before any event other than a BEGIN or END of a call, because
 * pending ones are earlier. */
static void write_all_pending(struct replay *replay)
{
	if (unlikely(replay->pending))
		replay_write_pending(replay, UINT64_MAX);
}

/* --- events -------------------------------------------------------------- */

static void write_event(struct replay *replay, uint64_t ns,
			struct out_event *event)
{
	struct encoder *encoder = &replay->encoder;

	write_all_pending(replay);
	output_reserve(replay, PACKET_BYTES);
	event->sequence = encoder->sequence;
	event->delta_ns = ns - encoder->last_ns;
	encode_packet_done(encoder, ns,
			   out_perfetto_event(encode_packet_at(encoder),
					      PACKET_BYTES - ENCODE_PACKET_HEAD,
					      event));
	replay->output.packets = true;
	replay->counts.events++;
}

static void write_encoded(struct replay *replay, uint64_t ns,
			  const struct encode_event *event)
{
	struct replay_output *output = &replay->output;
	bool flush;
	size_t bytes;
	struct replay_stage *stage;

	write_all_pending(replay);
	bytes = encode_event_bytes(event);
	stage = replay->stage;
	if (!stage || bytes <= STAGE_BYTES) {
		output_reserve(replay, bytes);
		flush = false;
	} else {
		output_give(replay);
		replay->stage = NULL;
		output_take(replay);
		replay->stage = stage;
		flush = true;
	}
	encode_event(&replay->encoder, ns, event);
	output->packets = true;
	if (replay->index && event->interned_bytes)
		index_build_interned(replay->index, replay->encoder.sequence,
				     event->interned, event->interned_bytes);
	if (replay->index)
		index_build_event(replay->index, ns, event);
	if (event->absolute) {
		output->first_ns = MIN(output->first_ns, ns);
		output->last_ns = MAX(output->last_ns, ns);
	}
	replay->counts.events++;
	/* Must come before output_give(), and after the event. */
	replay->written += event->type == OUT_BEGIN;
	replay->written -= event->type == OUT_END;
	/* This event ends a call that is not counted yet. */
	replay->mid_call = flush;
	if (flush)
		output_give(replay);
	replay->mid_call = false;
}

/* Writes a BEGIN or END of @frame with its note. */
static void write_noted(struct replay *replay, uint64_t ns,
			struct replay_frame *frame, struct encode_event event)
{
	struct replay_note *note = replay->note;

	frame->held |= note->describe(note, replay, record_payload(frame->word),
				      &event);
	write_encoded(replay, ns, &event);
}

/* Writes @text, which is shorter than 128 bytes. Returns its end. */
static uint8_t *put_tagged_text(uint8_t *out, enum trace_tag tag,
				const char *text)
{
	size_t bytes = strlen(text);

	*out++ = (uint8_t)tag;
	*out++ = (uint8_t)bytes;
	memcpy(out, text, bytes);
	return out + bytes;
}

static size_t put_mark(uint8_t *out, enum replay_cause cause)
{
	static const char *const text[] = {
		[REPLAY_GUESS] = "guess",	  [REPLAY_LONGJMP] = "longjmp",
		[REPLAY_EXCEPTION] = "exception", [REPLAY_CONTEXT] = "context",
		[REPLAY_EXIT] = "exit",		  [REPLAY_OFF] = "off",
	};
	uint8_t *end;

	out[0] = TAG_TRACK_EVENT_DEBUG_ANNOTATIONS;
	out[2] = TAG_DEBUG_ANNOTATION_NAME_IID;
	out[3] = ENCODE_KEY_REPAIRED;
	end = put_tagged_text(out + 4, TAG_DEBUG_ANNOTATION_STRING_VALUE,
			      text[cause]);
	out[1] = (uint8_t)(end - out - 2);
	return (size_t)(end - out);
}

static void write_repair(struct replay *replay, uint64_t ns, uint64_t waited_ns,
			 enum replay_cause cause)
{
	uint8_t key[MARK_BYTES], mark[MARK_BYTES];
	struct encode_event event = { .type = OUT_END,
				      .waited_ns = waited_ns,
				      .fields = mark,
				      .field_bytes = put_mark(mark, cause) };

	if (!replay->has_mark_key) {
		uint8_t *end;

		event.interned = key;
		key[0] = TAG_INTERNED_DATA_DEBUG_ANNOTATION_NAMES;
		key[2] = TAG_DEBUG_ANNOTATION_NAME_IID;
		key[3] = ENCODE_KEY_REPAIRED;
		end = put_tagged_text(key + 4, TAG_DEBUG_ANNOTATION_NAME_NAME,
				      "perfrec.repaired");
		key[1] = (uint8_t)(end - key - 2);
		event.interned_bytes = (size_t)(end - key);
		replay->has_mark_key = true;
	}
	write_encoded(replay, ns, &event);
}

void replay_write_end(struct replay *replay, uint64_t ns)
{
	output_reserve(replay, ENCODE_EVENT_BYTES);
	encode_end(&replay->encoder, ns);
	replay->counts.events++;
	replay->written--;
}

static void write_end(struct replay *replay, uint64_t ns, uint64_t waited_ns,
		      enum replay_cause cause)
{
	const struct encode_event event = { .type = OUT_END,
					    .waited_ns = waited_ns };

	if (cause != REPLAY_ENDED)
		write_repair(replay, ns, waited_ns, cause);
	else if (replay->note)
		write_noted(replay, ns, replay->top + 1, event);
	else if (waited_ns)
		write_encoded(replay, ns, &event);
	else
		replay_write_end(replay, ns);
}

/* The begin of the slice may be pending. Returns true if the slice is in the
 * trace; with a note on its end, it always is. */
static bool end_slice(struct replay *replay, const struct index_slice_end *end,
		      enum replay_cause cause)
{
	bool noted = replay->note && cause == REPLAY_ENDED;

	if (replay->pending && !noted &&
	    end->end_ns - end->begin_ns - end->waited_ns < replay->min_ns) {
		replay->pending--;
		replay->counts.short_spans++;
		return false;
	}
	write_all_pending(replay);
	write_end(replay, end->end_ns, end->waited_ns, cause);
	return true;
}

static uint64_t not_before_last(struct replay *replay, uint64_t ns)
{
	replay->last_ns = MAX(replay->last_ns, ns);
	return replay->last_ns;
}

void replay_event(struct replay *replay, uint64_t ns,
		  const struct encode_event *event)
{
	if (!event->absolute)
		ns = not_before_last(replay, ns);
	write_encoded(replay, ns, event);
}

void replay_instant(struct replay *replay, uint64_t ns, const char *name,
		    uint64_t flow, bool flow_ends)
{
	struct out_event event = { .type = OUT_INSTANT,
				   .name = name,
				   .flow = flow,
				   .flow_ends = flow_ends };

	write_event(replay, not_before_last(replay, ns), &event);
}

static void write_count(struct replay *replay, const char *key,
			const char *format, uint64_t spans)
{
	struct out_attribute count = { .key = key, .number = (int64_t)spans };
	char name[80];
	struct out_event event = { .type = OUT_INSTANT,
				   .name = name,
				   .arguments = &count,
				   .argument_count = 1 };

	snprintf(name, sizeof(name), format, (unsigned long long)spans);
	write_event(replay, replay->last_ns, &event);
}

void replay_loss(struct replay *replay, uint64_t spans)
{
	write_count(replay, "perfrec.lost_spans", "%llu spans lost", spans);
	if (replay->index)
		index_build_missing(replay->index, spans, 0, replay->last_ns);
	replay->counts.lost_spans += spans;
}

static void write_pause(struct replay *replay)
{
	write_count(replay, "perfrec.paused_spans",
		    "recording paused: %llu spans not recorded",
		    replay->untold_paused);
	if (replay->index)
		index_build_missing(replay->index, 0, replay->untold_paused,
				    replay->last_ns);
	replay->untold_paused = 0;
}

void replay_paused(struct replay *replay, uint64_t spans)
{
	replay->counts.paused_spans += spans;
	replay->counts.paused_told += spans;
	replay->untold_paused += spans;
	if (!replay->paused)
		write_pause(replay);
}

/* --- the stack ----------------------------------------------------------- */

static struct replay_frame *stack_end(const struct replay *replay)
{
	return replay->stack + replay->capacity;
}

static bool stack_grow(struct replay *replay)
{
	uint32_t before = replay->capacity;
	size_t depth = (size_t)(replay->top - replay->stack);

	if (2 * before > FRAMES_MAX ||
	    grow_array_from(replay->cct.budget, replay->stack, replay->capacity,
			    2 * before))
		return false;
	memset(replay->stack + before, 0, before * sizeof(*replay->stack));
	replay->top = replay->stack + depth;
	return true;
}

static bool is_stack_empty(const struct replay *replay)
{
	return replay->top == replay->stack;
}

static bool is_frame_withheld(const struct replay_frame *frame)
{
	return replay_is_phantom(frame) || frame->cut;
}

static bool is_too_deep(const struct replay *replay)
{
	return replay->limit && (uint64_t)(replay->top - replay->stack) +
						replay->over - replay->flat >=
					replay->limit;
}

static void pop_frame(struct replay *replay, uint64_t ns,
		      enum replay_cause cause)
{
	struct replay_frame *frame = replay->top--;
	struct index_slice_end end = {
		.begin_ns = frame->begin_ns,
		.end_ns = ns,
		.waited_ns = replay->counts.wait_ns - frame->waited_ns,
	};
	uint64_t took_ns = ns - frame->begin_ns - end.waited_ns;
	bool written;

	if (is_frame_withheld(frame)) {
		replay->flat -= frame->flat;
		frame->cut = frame->flat = false;
		return;
	}
	/* First, so that a block which ends here ends before the call. */
	written = frame->written && end_slice(replay, &end, cause);
	/* Before the call is counted. */
	if (replay->index) {
		struct cct_node *node = frame->node;

		end.depth = replay->written;
		if (written)
			index_build_slice(replay->index, node, &end);
		else
			index_build_skip(replay->index, node,
					 end.end_ns - end.begin_ns);
	}
	replay_count_call(frame, replay->cells, ns, took_ns);
	replay_tell_slow(replay, frame, ns, took_ns);
	frame->node->dropped += cause != REPLAY_ENDED;
	if (cause == REPLAY_OFF)
		replay->counts.off_slices++;
	else if (cause != REPLAY_ENDED)
		replay->counts.repaired_slices++;
}

static bool is_detached(const struct replay_frame *frame)
{
	return frame->same == REPLAY_DETACHED;
}

/* Ends the frame on top without its end, for @cause. A detached frame always
 * gets REPLAY_OFF, because the time of its end is unknown. */
static void drop_frame(struct replay *replay, uint64_t ns,
		       enum replay_cause cause)
{
	pop_frame(replay, ns, is_detached(replay->top) ? REPLAY_OFF : cause);
}

static void pop_frames_above(struct replay *replay, struct replay_frame *frame,
			     uint64_t ns, enum replay_cause cause)
{
	while (replay->top > frame)
		drop_frame(replay, ns, cause);
}

/* The caller pays with search_pay() for a search in vain. */
static size_t search_range(const struct replay *replay,
			   const struct replay_frame *frame)
{
	return MIN((uint64_t)(frame - replay->stack),
		   SEARCH_FRAMES + replay->search_credit);
}

static void search_pay(struct replay *replay, size_t looked)
{
	replay->search_credit -= MIN(looked, replay->search_credit);
}

static struct replay_frame *find_exact_frame(struct replay *replay,
					     struct replay_frame *from,
					     uint64_t word)
{
	struct replay_frame *frame = from;
	struct replay_frame *stop = from - search_range(replay, from);

	while (frame > stop && (frame->word ^ word) & ~RECORD_KIND_MASK)
		frame--;
	search_pay(replay, (size_t)(from - frame));
	return frame > stop ? frame : NULL;
}

static struct replay_frame *find_function_frame(struct replay *replay,
						uint64_t word)
{
	struct replay_frame *frame = replay->top;
	struct replay_frame *stop = frame - search_range(replay, frame);

	while (frame > stop && !same_function(frame->word, word))
		frame--;
	search_pay(replay, (size_t)(replay->top - frame));
	return frame > stop ? frame : NULL;
}

/* --- functions whose state changes --------------------------------------- */

static struct function_then state_at(const struct replay *replay, uint64_t word,
				     uint64_t ns)
{
	if (!replay->log_count)
		return (struct function_then){ 0 };
	return function_log_state(replay->log, record_payload(word), ns);
}

static struct function_then state_of(const struct replay *replay, uint64_t word)
{
	return state_at(replay, word, replay->last_ns);
}

/* Returns true if the hint of @frame is the stack pointer at the first
 * instruction of its function. */
static bool is_entry_frame(const struct replay *replay,
			   const struct replay_frame *frame)
{
	if (!replay->log_count)
		return false;
	if (is_frame_withheld(frame))
		return state_of(replay, frame->word).entry_build;
	return frame->node->function->entry_build;
}

static void set_state(struct replay *replay, struct cct_function *function,
		      const struct function_then *state)
{
	/* No thunk has counted the calls so far. */
	if (function->asked && state->connected && !function->connected) {
		struct replay_frame *frame = replay->top;
		struct replay_frame *stop = frame - search_range(replay, frame);
		uint64_t calls = 0;

		for (; frame > stop; frame--)
			calls += !is_frame_withheld(frame) &&
				 frame->node->function == function;
		search_pay(replay, (size_t)(replay->top - frame));
		for (const struct cct_node *node = function->nodes; node;
		     node = node->of_function)
			calls += node->calls;
		function->calls_before = calls;
	}
	function->asked = true;
	function->connected = state->connected;
	function->entry_build = state->entry_build;
	function->off = state->off;
	function->off_ns = state->off_ns;
	function->connect_ns = state->connect_ns;
	/* Its calls go the long way. */
	if (function->off)
		for (struct cct_node *node = function->nodes; node;
		     node = node->of_function)
			node->stamp &= ~CCT_PLAIN;
}

static void ask_state(struct replay *replay, struct cct_function *function,
		      uint64_t ns)
{
	struct function_then state = { 0 };

	if (replay->log)
		state = function_log_state(replay->log, function->address, ns);
	set_state(replay, function, &state);
}

/* Applies @change to @function. The log itself knows only the last changes of a
 * function. */
static void follow_change(struct replay *replay, struct cct_function *function,
			  const struct function_change *change)
{
	struct function_then state = {
		.connected = change->kind != FUNCTION_LOG_UNLOADED,
		.entry_build = function->entry_build,
		.off = change->kind == FUNCTION_LOG_OFF ||
		       (function->off &&
			change->kind == FUNCTION_LOG_CONNECTED),
		.off_ns = change->kind == FUNCTION_LOG_OFF ? change->ns
							   : function->off_ns,
		.connect_ns = change->kind == FUNCTION_LOG_CONNECTED
				      ? change->ns
				      : function->connect_ns,
	};

	if (change->kind == FUNCTION_LOG_CONNECTED)
		state.entry_build =
			function_log_state(replay->log, function->address,
					   change->ns)
				.entry_build;
	set_state(replay, function, &state);
}

/* Also true for a frame that began while the function was off, because the log
 * was late. */
static bool has_gone_off(const struct replay *replay,
			 const struct replay_frame *frame, uint64_t ns)
{
	const struct cct_function *function;
	struct function_then state;

	if (is_frame_withheld(frame)) {
		state = state_at(replay, frame->word, ns);
		return state.off || state.off_ns > frame->begin_ns;
	}
	function = frame->node->function;
	return function->off || function->off_ns > frame->begin_ns;
}

static void detach_frames(struct replay *replay, uint64_t ns)
{
	struct replay_frame *frame = replay->top;
	struct replay_frame *stop = frame - search_range(replay, frame);

	for (; frame > stop; frame--)
		if (has_gone_off(replay, frame, ns))
			frame->same = REPLAY_DETACHED;
	search_pay(replay, (size_t)(replay->top - frame));
}

/* For a replay that was away so long that the log lost changes. Asks for all
 * its functions, and then follows the last changes once more. */
static void ask_all_states(struct replay *replay, uint64_t ns)
{
	/* More changes may have come since the segment was cut. */
	replay->log_count = function_log_changes(replay->log);
	for (struct cct_function *function = replay->cct.live; function;
	     function = function->next_live)
		ask_state(replay, function, ns);
	replay->log_done = replay->log_count - FUNCTION_LOG_CHANGES / 2;
}

/* Returns the time of the next change. */
static uint64_t follow_log(struct replay *replay, uint64_t ns)
{
	uint64_t due_ns = UINT64_MAX;
	bool off = false;

	while (replay->log_done != replay->log_count) {
		struct cct_function *function;
		struct function_change change;

		if (!function_log_change(replay->log, replay->log_done,
					 &change)) {
			ask_all_states(replay, ns);
			off = true;
			continue;
		}
		if (change.ns > ns) {
			due_ns = change.ns;
			break;
		}
		replay->log_done++;
		off |= change.kind == FUNCTION_LOG_OFF;
		function = cct_find_function(&replay->cct, change.function);
		if (function && function->asked)
			follow_change(replay, function, &change);
	}
	if (off)
		detach_frames(replay, ns);
	return due_ns;
}

/* A begin that is not deeper shows that a detached frame is over. */
static void drop_detached_frames(struct replay *replay, uint64_t word,
				 uint64_t ns)
{
	while (!is_stack_empty(replay) && is_detached(replay->top) &&
	       replay_sp_below(replay->top->word, word) <= 0)
		drop_frame(replay, ns, REPLAY_OFF);
}

/* Returns how far the stack pointer of @above is above that of @word, modulo 64
 * KiB. */
static uint64_t sp_gap(uint64_t above, uint64_t word)
{
	return ((above & RECORD_SP_MASK) - (word & RECORD_SP_MASK)) &
	       RECORD_SP_MASK;
}

/* Returns the frame of an entry build with the stack pointer of @word, a BEGIN
 * that is less deep than the top, or NULL. Two such frames have two stack
 * pointers. But a frame and its direct callee are 8 bytes apart, so their hints
 * may be equal: then the innermost is over. */
static struct replay_frame *find_entry_frame(struct replay *replay,
					     uint64_t word)
{
	struct replay_frame *top = replay->top, *frame = top;
	struct replay_frame *stop = top - search_range(replay, top);
	int up = -replay_sp_below(top->word, word), at = 0;

	if (!state_of(replay, word).entry_build)
		return NULL;
	while (frame > stop && at < up) {
		frame--;
		at += (int)sp_gap(frame->word, frame[1].word);
	}
	search_pay(replay, (size_t)(top - frame));
	return frame > stop && at == up && is_entry_frame(replay, frame) ? frame
									 : NULL;
}

/* --- records ------------------------------------------------------------- */

static uint32_t new_name(struct replay *replay, uint64_t address,
			 uint32_t generation)
{
	struct replay_output *output = &replay->output;

	if (output->start && output->name_count == output->name_room)
		output_give(replay);
	output_reserve(replay, ENCODE_EVENT_BYTES);
	output->names[output->name_count++] =
		(struct trace_name){ ++replay->next_iid, generation, address };
	return replay->next_iid;
}

static uint32_t site_flags(const struct replay *replay, uint32_t id)
{
	const struct site *site =
		replay->sites ? sites_find(replay->sites, id) : NULL;

	return (site && site->category[0] ? ENCODE_CATEGORY : 0) |
	       (site && site->file[0] ? ENCODE_LOCATION : 0);
}

static uint64_t sites_bytes(uint32_t entries)
{
	return (uint64_t)entries * sizeof(struct replay_site);
}

static struct replay_site *site_entry(const struct replay_sites *sites,
				      uint32_t id)
{
	uint32_t at = id * 0x9e3779b9u >> 8;

	while (sites->entry[at & sites->mask].id &&
	       sites->entry[at & sites->mask].id != id)
		at++;
	return &sites->entry[at & sites->mask];
}

static bool sites_reserve(struct replay *replay)
{
	struct replay_sites *old = &replay->named;
	uint32_t entries = old->entry ? 2 * (old->mask + 1) : SITES_MIN;
	struct replay_sites more = { .mask = entries - 1, .count = old->count };

	if (old->entry && 2 * old->count <= old->mask)
		return true;
	if (!budget_take(replay->cct.budget, sites_bytes(entries)))
		return false;
	more.entry = calloc(entries, sizeof(*more.entry));
	if (!more.entry) {
		budget_give(replay->cct.budget, sites_bytes(entries));
		return false;
	}
	for (uint32_t i = 0; old->entry && i <= old->mask; i++)
		if (old->entry[i].id)
			*site_entry(&more, old->entry[i].id) = old->entry[i];
	if (old->entry)
		budget_give(replay->cct.budget, sites_bytes(old->mask + 1));
	free(old->entry);
	*old = more;
	return true;
}

bool replay_site(struct replay *replay, uint32_t id, uint32_t *iid)
{
	struct replay_site *entry;

	*iid = 0;
	if (!sites_reserve(replay))
		return !replay->sink.excludes(replay->sink.context, id);
	entry = site_entry(&replay->named, id);
	if (!entry->id) {
		entry->id = id;
		replay->named.count++;
		entry->excluded =
			replay->sink.excludes(replay->sink.context, id);
		if (!entry->excluded)
			entry->iid =
				new_name(replay, id, replay->cct.generation) |
				site_flags(replay, id);
	}
	*iid = entry->iid;
	return !entry->excluded;
}

static void introduce_function(struct replay *replay,
			       struct cct_function *function)
{
	uint64_t address = function->address;
	uint32_t iid = 0;

	if (!function->asked)
		ask_state(replay, function, replay->last_ns);
	if (replay->sites && address && address < SITES_MAX) {
		function->excluded =
			!replay_site(replay, (uint32_t)address, &iid);
	} else {
		function->excluded =
			replay->sink.excludes(replay->sink.context, address);
	}
	if (function->excluded)
		return;
	if (!iid)
		iid = new_name(replay, address, function->generation);
	function->begin = encode_template(&replay->encoder, iid);
	function->slow_ns =
		replay->sink.slow_ns
			? replay->sink.slow_ns(replay->sink.context, address)
			: UINT64_MAX;
	if (replay->histograms)
		function->histogram = histograms_find(
			replay->histograms, address, function->generation);
}

static void push_phantom(struct replay *replay, uint64_t word, uint64_t ns)
{
	struct cct_node *node = replay->top->node;

	*++replay->top = (struct replay_frame){
		.word = (word & ~RECORD_KIND_MASK) | RECORD_PHANTOM,
		.begin_ns = ns,
		.waited_ns = replay->counts.wait_ns,
		.node = node,
	};
}

static uint32_t count_same_sp(const struct replay_frame *below, uint64_t word)
{
	if (replay_is_phantom(below) || is_detached(below) ||
	    replay_sp_below(below->word, word))
		return 0;
	return below->same + 1;
}

static void push_deep_span(struct replay *replay, uint64_t word, uint64_t ns)
{
	struct replay_frame *below = replay->top;

	*++replay->top = (struct replay_frame){
		.word = word,
		.begin_ns = ns,
		.waited_ns = replay->counts.wait_ns,
		.node = below->node,
		.same = count_same_sp(below, word),
		.cut = true,
	};
}

static void push_span(struct replay *replay, uint64_t word, uint64_t ns)
{
	struct cct_node *node = cct_child(&replay->cct, replay->top->node,
					  record_payload(word));
	struct replay_frame *below = replay->top;

	if (!(node->stamp & CCT_PLAIN)) {
		if (!node->function->begin.name_iid &&
		    !node->function->excluded)
			introduce_function(replay, node->function);
		if (node->function->excluded) {
			replay->counts.filtered_spans++;
			push_phantom(replay, word, ns);
			replay->top->flat = true;
			replay->flat++;
			if (node->function->off)
				replay->top->same = REPLAY_DETACHED;
			return;
		}
		if (node->function->off) {
			replay->counts.late_begins++;
			if (node->function->off_ns ==
			    node->function->connect_ns)
				node->function->calls_before++;
			else
				node->function->late_calls++;
			push_phantom(replay, word, ns);
			replay->top->same = REPLAY_DETACHED;
			return;
		}
		node->stamp |= CCT_PLAIN;
	}
	replay->counts.spans++;
	*++replay->top =
		(struct replay_frame){ .word = word,
				       .begin_ns = ns,
				       .waited_ns = replay->counts.wait_ns,
				       .cell = replay->cells,
				       .node = node,
				       .same = count_same_sp(below, word) };
	if (replay->written + replay->pending == REPLAY_SLICES_MAX) {
		replay->counts.folded_spans++;
		return;
	}
	replay->top->written = true;
	if (replay->note) {
		replay->top->noted = true;
		write_noted(replay, ns, replay->top,
			    (struct encode_event){
				    .type = OUT_BEGIN,
				    .name_iid = node->function->begin.name_iid,
			    });
		replay->pending_from = UINT32_MAX;
		return;
	}
	if (replay->min_ns) {
		uint32_t depth = (uint32_t)(replay->top - replay->stack);

		replay->pending_from = MIN(replay->pending_from, depth);
		replay->pending++;
		return;
	}
	output_reserve(replay, ENCODE_EVENT_BYTES);
	encode_begin(&replay->encoder, ns, &node->function->begin);
	replay->written++;
	replay->counts.events++;
}

/* Returns the word of stack[0]: any call after @word is deeper. */
static uint64_t outermost_word(uint64_t word)
{
	return ((word & RECORD_SP_MASK) + 0x1000) & RECORD_SP_MASK;
}

/* Ends frames that a longjmp has left behind, as the next begin shows. */
static void repair_before_begin(struct replay *replay, uint64_t word,
				uint64_t ns)
{
	struct replay_frame *top = replay->top, *dead = NULL;
	int depth = replay_sp_below(top->word, word);

	if (depth < 0) {
		dead = find_exact_frame(replay, top, word)
			       ?: find_entry_frame(replay, word);
	} else if (depth == 0 && top->same >= SAME_FRAMES_MAX) {
		for (dead = top - top->same; dead < top; dead++)
			if (same_function(dead->word, word))
				break;
	}
	if (dead && !replay_is_phantom(dead))
		pop_frames_above(replay, dead - 1, ns, REPLAY_GUESS);
}

static void count_folded(struct replay *replay, struct cct_node *caller,
			 uint64_t word)
{
	struct cct_node *node =
		cct_child(&replay->cct, caller, record_payload(word));

	if (replay->index)
		index_build_skip(replay->index, node, 0);
	cct_count(node, caller, 0);
}

static void take_begin(struct replay *replay, uint64_t word, uint64_t ns)
{
	/* Beyond the deepest frame, the place of a BEGIN is unknown. */
	if (!replay->over)
		drop_detached_frames(replay, word, ns);
	if (!is_stack_empty(replay) && !replay->over)
		repair_before_begin(replay, word, ns);
	if (is_stack_empty(replay))
		replay->top->word = outermost_word(word);
	if (!replay->outer_word)
		replay->outer_word = word;
	if (replay->top + 1 == stack_end(replay) && !stack_grow(replay)) {
		struct cct_node *caller = replay->top->node;
		bool cut = is_too_deep(replay);

		replay->over++;
		if (cut)
			return;
		replay->counts.spans++;
		replay->counts.folded_spans++;
		count_folded(replay, caller, word);
		return;
	}
	if (is_too_deep(replay))
		push_deep_span(replay, word, ns);
	else
		push_span(replay, word, ns);
}

static void take_phantom(struct replay *replay, uint64_t word, uint64_t ns)
{
	if (!replay->over)
		drop_detached_frames(replay, word, ns);
	if (replay->top + 1 == stack_end(replay) && !stack_grow(replay)) {
		replay->over++;
		return;
	}
	push_phantom(replay, word, ns);
	if (state_of(replay, word).off)
		replay->top->same = REPLAY_DETACHED;
}

static void take_paused_begin(struct replay *replay, uint64_t word, uint64_t ns)
{
	bool counts = !is_too_deep(replay);

	replay->counts.paused_spans += counts;
	replay->untold_paused += counts;
	take_phantom(replay, word, ns);
}

/* The END @word has the function of @top, but another hint. Returns the frame
 * that it ends, or NULL; all frames above that are over. */
static struct replay_frame *find_shifted_end(struct replay *replay,
					     struct replay_frame *top,
					     uint64_t word)
{
	struct cct_function *function = top->node->function;
	bool ended = top->node->calls > top->node->dropped;
	bool deeper = replay_sp_below(top->word, word) > 0;
	struct replay_frame *exact;

	if (is_entry_frame(replay, top)) {
		exact = find_exact_frame(replay, top - 1, word);
		if (exact || deeper)
			return exact;
		return top;
	}
	if (is_frame_withheld(top))
		return top;
	/* Its calls ended with the hint of their BEGIN until now, so this END
	 * belongs to a call that was only counted. */
	if (function->connected && !function->shifted && ended && deeper)
		return NULL;
	exact = function->shifted ? NULL
				  : find_exact_frame(replay, top - 1, word);
	/* A tail-called exit hook has the hint of the caller's begin, and so
	 * have all frames into which the caller is inlined. A match of its own
	 * function among these proves nothing, unless this call path ended
	 * before, with the hint of its BEGIN. */
	if (exact && ((top[-1].word ^ word) & RECORD_SP_MASK || ended))
		return exact;
	function->shifted = true;
	return top;
}

/* Returns the frame below the top that the end @word ends, or NULL. */
static struct replay_frame *find_end_below(struct replay *replay, uint64_t word)
{
	struct replay_frame *frame = find_function_frame(replay, word), *exact;

	if (!frame)
		return NULL;
	exact = find_exact_frame(replay, frame, word);
	if (exact)
		frame = exact;
	/* The end of a call without a frame must not end another call: such an
	 * end lies above everything that the other call has called. */
	else if (is_entry_frame(replay, frame) ||
		 (replay_sp_below(replay->top->word, word) >= 0 &&
		  state_of(replay, word).connected))
		return NULL;
	/* An unexpected end must not close a detached frame below a live
	 * one. */
	return is_detached(frame) && !is_detached(replay->top) ? NULL : frame;
}

/* Returns the innermost frame that is not detached, because detached frames may
 * be over; or a detached frame of the function of @word. */
static struct replay_frame *top_live_frame(const struct replay *replay,
					   uint64_t word)
{
	struct replay_frame *frame = replay->top;

	for (int i = 0; i < SEARCH_FRAMES && frame > replay->stack; i++) {
		if (!is_detached(frame) || same_function(frame->word, word))
			return frame;
		frame--;
	}
	return replay->top;
}

static void take_end(struct replay *replay, uint64_t word, uint64_t ns)
{
	struct replay_frame *frame = top_live_frame(replay, word);

	if (replay->over) {
		replay->over--;
		return;
	}
	if (is_stack_empty(replay) || !same_function(frame->word, word))
		frame = find_end_below(replay, word);
	else if ((frame->word ^ word) & RECORD_SP_MASK)
		frame = find_shifted_end(replay, frame, word);
	if (!frame) {
		if (!replay->inherits || !is_stack_empty(replay)) {
			if (state_of(replay, word).connected)
				replay->counts.off_ends++;
			else
				replay->counts.orphan_ends++;
		}
		return;
	}
	pop_frames_above(replay, frame, ns, REPLAY_GUESS);
	pop_frame(replay, ns, REPLAY_ENDED);
}

static void truncate_open_spans(struct replay *replay, uint64_t count,
				uint64_t ns)
{
	uint64_t gone = MIN(count, replay->over);

	replay->counts.truncated_ends += count;
	replay->over -= (uint32_t)gone;
	for (count -= gone; count && !is_stack_empty(replay); count--)
		drop_frame(replay, ns, REPLAY_ENDED);
}

/* --- time ---------------------------------------------------------------- */

/* Cuts the segment, which holds @clock, where a pause or the state of a
 * function changes. */
static void cut_segment(struct replay *replay, uint64_t clock)
{
	struct clock_segment *segment = &replay->segment;
	uint64_t from_ns, to_ns, scale = segment->ns_per_tick;
	uint64_t ns = clock_segment_ns(segment, clock);
	unsigned __int128 ticks;

	replay->paused = pause_at(replay->pauses, ns, &from_ns, &to_ns);
	to_ns = MIN(to_ns, follow_log(replay, MAX(ns, replay->last_ns)));
	if (to_ns > segment->ns_end || !scale)
		return;
	ticks = (unsigned __int128)(to_ns - segment->ns) << 32;
	ticks = (ticks + scale - 1) / scale;
	segment->ticks = (uint64_t)MIN(ticks, segment->ticks);
}

static uint64_t clock_to_ns(struct replay *replay, uint64_t clock)
{
	if (!clock_segment_has(&replay->segment, clock)) {
		if (replay->sync)
			clock_sync_segment(replay->sync, clock,
					   &replay->segment);
		else
			replay->segment =
				clock_segment_identity(replay->now_ns);
		cut_segment(replay, clock);
	}
	return clock_segment_ns(&replay->segment, clock);
}

/* Drops the segment of an earlier visit if it may be wrong by now. */
static void look_at_clock(struct replay *replay, uint64_t now_ns)
{
	uint32_t changes = pause_changes(replay->pauses);
	uint32_t log_count =
		replay->log ? function_log_changes(replay->log) : 0;

	if (changes == replay->pause_changes &&
	    log_count == replay->log_count && now_ns == replay->now_ns)
		return;
	replay->pause_changes = changes;
	replay->log_count = log_count;
	replay->now_ns = now_ns;
	replay->segment.ticks = 0;
}

uint64_t replay_ns(struct replay *replay, uint64_t clock, uint64_t now_ns)
{
	look_at_clock(replay, now_ns);
	return not_before_last(replay, clock_to_ns(replay, clock));
}

/* --- every record -------------------------------------------------------- */

static void write_wait(struct replay *replay, uint64_t ns, uint64_t end_ns)
{
	struct out_event event = { .type = OUT_BEGIN, .name = INDEX_WAIT_NAME };
	struct index_slice_end end;

	/* No open call ends before the wait. */
	end_ns = not_before_last(replay, MAX(ns, end_ns));
	replay->counts.waits++;
	replay->counts.wait_ns += end_ns - ns;
	replay->top->node->wait_ns += end_ns - ns;
	if (replay->written + replay->pending == REPLAY_SLICES_MAX)
		return;
	write_all_pending(replay);
	/* Both in one block, because no stack has this slice. */
	output_reserve(replay, 2 * PACKET_BYTES);
	write_event(replay, ns, &event);
	replay->written++;
	write_end(replay, end_ns, 0, REPLAY_ENDED);
	if (replay->index) {
		end = (struct index_slice_end){ .depth = replay->written,
						.begin_ns = ns,
						.end_ns = end_ns };
		index_build_wait(replay->index, replay->top->node, &end);
	}
}

static int take_record(struct replay *replay, uint64_t word, uint64_t clock)
{
	uint64_t ns = not_before_last(replay, clock_to_ns(replay, clock));

	if (replay->untold_paused && !replay->paused)
		write_pause(replay);
	switch (record_kind(word)) {
	case RECORD_BEGIN:
		if (replay->paused)
			take_paused_begin(replay, word, ns);
		else
			take_begin(replay, word, ns);
		return 0;
	case RECORD_END:
		take_end(replay, word, ns);
		return 0;
	case RECORD_PHANTOM:
		take_phantom(replay, word, ns);
		return 0;
	case RECORD_LOSS:
		replay_loss(replay, record_payload(word));
		return 0;
	case RECORD_TRUNC:
		truncate_open_spans(replay, record_payload(word), ns);
		return 0;
	case RECORD_WAIT:
		write_wait(replay, ns,
			   clock_to_ns(replay, clock + record_payload(word)));
		return 0;
	case RECORD_PAUSED:
		replay_paused(replay, record_payload(word));
		return 0;
	default:
		return -EBADMSG;
	}
}

int replay_take(struct replay *replay, uint64_t word, uint64_t clock)
{
	int err;

	if (record_kind(word) != RECORD_BEGIN &&
	    record_kind(word) != RECORD_END)
		replay->note = NULL;
	err = take_record(replay, word, clock);
	replay->note = NULL;
	replay->cells++;
	return err;
}

static bool is_for_caller(const struct replay *replay, uint64_t word)
{
	switch (record_kind(word)) {
	case RECORD_FLOW:
	case RECORD_MAP:
	case RECORD_FORK:
	case RECORD_FORKING:
	case RECORD_EXT:
	case RECORD_ALLOC:
	case RECORD_FREE:
		return true;
	default:
		return unlikely(replay_has_left(replay));
	}
}

/* Counts @events begins and ends, all written, that have led to @top. */
static void count_fast(struct replay *replay, struct replay_frame *top,
		       size_t events)
{
	int64_t opened = top - replay->top;

	replay->top = top;
	replay->written += (uint32_t)opened;
	replay->counts.spans += (events + (uint64_t)opened) / 2;
	replay->counts.events += events;
}

static ATTR_ALWAYS_INLINE uint8_t *put_event(
	uint8_t *out, const struct encode_template *event, uint64_t delta_ns,
	bool compact)
{
	return compact ? encode_put_compact(out, event, delta_ns)
		       : encode_put(out, event, delta_ns);
}

/* As replay_last_fast_frame(), but at most INDEX_FRAMES above the top if there
 * is an index. */
static struct replay_frame *last_indexed_frame(const struct replay *replay)
{
	struct replay_frame *last = replay_last_fast_frame(replay);

	return replay->index ? MIN(last, replay->top + INDEX_FRAMES) : last;
}

/* Returns the frame of the outermost slice if all frames up to the top are
 * slices, as are all frames that run_fast() pops. */
static const struct replay_frame *lowest_written(const struct replay *replay)
{
	return replay->top + 1 - replay->written;
}

/*
 * Runs the records from @cells on, up to the first that is not a plain begin or
 * end, and not a block at a known site. Returns the number of records. There
 * must be room for the packets of @count events. All frames that it pushes or
 * pops are written. @compact is a constant: two loops, each without the
 * branches of the other. Only the compact loop reports slow calls. Both stop at
 * the end of a call with a wait for the collector.
 */
static ATTR_ALWAYS_INLINE size_t run_fast_in(struct replay *replay,
					     const struct record *cells,
					     size_t count, bool compact)
{
	const struct clock_segment segment = replay->segment;
	struct replay_frame *const last_frame = last_indexed_frame(replay);
	struct replay_frame *top = replay->top;
	uint64_t last_ns = replay->last_ns, put_ns = replay->encoder.last_ns;
	struct index_build *const index = index_build_reserve(
		replay->index, replay->written + INDEX_FRAMES);
	const struct replay_frame *const lowest = lowest_written(replay);
	const uint64_t waited_ns = replay->counts.wait_ns;
	const uint64_t before = replay->cells;
	const struct record *cell = cells, *const end = cells + count;
	uint8_t *out = replay->encoder.out;
	size_t blocks = 0;

	for (; cell < end; cell++) {
		/* relaxed: below head, so whole; once, as programs may write */
		uint64_t word = atom_load_rlx(&cell->word);
		uint64_t clock = atom_load_rlx(&cell->clock);
		uint64_t at = before + (size_t)(cell - cells);
		uint64_t ns, change = top->word ^ word;
		struct cct_node *node;
		int depth;

		if (unlikely(!clock_segment_has(&segment, clock)))
			break;
		ns = MAX(clock_segment_ns(&segment, clock), last_ns);
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
			replay_set_frame(top + 1, word, ns, waited_ns, at, node,
					 depth ? 0 : top->same + 1);
			top++;
			out = put_event(out, &node->function->begin,
					ns - put_ns, compact);
		} else if (unlikely((change & ~RECORD_SP_MASK) !=
					    BEGIN_XOR_END ||
				    !top->written)) {
			if (!replay_feed_block(replay->feed, top->node, word,
					       clock))
				break;
			blocks++;
			continue;
		} else {
			node = top->node;
			if (unlikely(change & RECORD_SP_MASK &&
				     !node->function->shifted) ||
			    unlikely(top->waited_ns != waited_ns))
				break;
			if (compact)
				replay_tell_slow(replay, top, ns,
						 ns - top->begin_ns);
			else if (likely(index))
				index_build_call(index, node,
						 index->cells.columns +
							 (top - lowest),
						 top->begin_ns, ns);
			replay_count_call(top, at, ns, ns - top->begin_ns);
			top--;
			out = put_event(out, &replay->encoder.end, ns - put_ns,
					compact);
		}
		last_ns = put_ns = ns;
	}
	replay->encoder.out = out;
	replay->encoder.last_ns = put_ns;
	replay->last_ns = last_ns;
	replay->cells += (size_t)(cell - cells);
	count_fast(replay, top, (size_t)(cell - cells) - blocks);
	return (size_t)(cell - cells);
}

static size_t run_fast(struct replay *replay, const struct record *cells,
		       size_t count)
{
	return run_fast_in(replay, cells, count, false);
}

static size_t run_fast_compact(struct replay *replay,
			       const struct record *cells, size_t count)
{
	return run_fast_in(replay, cells, count, true);
}

int replay_run(struct replay *replay, const struct record *cells, size_t count,
	       uint64_t now_ns, size_t *taken)
{
	size_t done = 0;
	int result = 0;

	look_at_clock(replay, now_ns);
	while (done < count && !result) {
		size_t piece = count - done, fast;
		bool plain = !replay->over && !replay->paused && !replay->note;
		uint64_t word;

		if (!replay->min_ns) {
			output_reserve(replay, 16 * ENCODE_EVENT_BYTES);
			piece = MIN(piece,
				    output_room(replay) / ENCODE_EVENT_BYTES);
		}
		if (unlikely(!plain))
			fast = 0;
		else if (replay->min_ns)
			fast = replay_run_lazy(replay, cells + done, piece);
		else if (replay->encoder.compact)
			fast = run_fast_compact(replay, cells + done, piece);
		else
			fast = run_fast(replay, cells + done, piece);
		done += fast;
		/* The same credit, whatever the pieces. */
		replay->search_credit = MIN(
			replay->search_credit + SEARCH_CREDIT_PER_RECORD *
							(fast + (fast < piece)),
			SEARCH_CREDIT_MAX);
		if (fast == piece)
			continue;
		/* relaxed: as in run_fast() */
		word = atom_load_rlx(&cells[done].word);
		/* A function that went off by now may have left the stack. */
		if (unlikely(replay->linked))
			clock_to_ns(replay,
				    /* relaxed: as in run_fast() */
				    atom_load_rlx(&cells[done].clock));
		result = is_for_caller(replay, word);
		if (!result)
			/* relaxed: as in run_fast() */
			result = replay_take(replay, word,
					     atom_load_rlx(&cells[done].clock));
		done += !result;
	}
	*taken = done;
	return result;
}

void replay_limit(struct replay *replay, uint32_t depth)
{
	replay->limit = depth;
}

void replay_set_min_duration(struct replay *replay, uint64_t min_ns)
{
	replay->min_ns = min_ns;
	if (replay->index)
		index_build_count_apart(replay->index, min_ns != 0);
}

/* --- flow ---------------------------------------------------------------- */

void replay_link(struct replay *replay, bool linked)
{
	replay->linked = linked;
	/* Sends run_fast() the long way for a BEGIN on an empty stack. */
	replay->stack->same = linked ? SAME_FRAMES_MAX : 0;
}

void replay_inherit(struct replay *replay)
{
	replay->inherits = true;
}

/* Returns true if only frames are open that may be over. */
static bool is_maybe_empty(const struct replay *replay)
{
	const struct replay_frame *frame = replay->top;

	for (int i = 0; i < SEARCH_FRAMES && frame > replay->stack; i++)
		if (!is_detached(frame--))
			return false;
	return frame == replay->stack;
}

bool replay_has_left(const struct replay *replay)
{
	return replay->linked && replay->outer_word && is_maybe_empty(replay);
}

void replay_settle(struct replay *replay, uint64_t word, uint64_t ns)
{
	while (!replay->over && !is_stack_empty(replay) &&
	       is_detached(replay->top)) {
		int below = replay_sp_below(replay->top->word, word);

		if (is_entry_frame(replay, replay->top) ? below > 0
							: below >= 0)
			return;
		drop_frame(replay, ns, REPLAY_OFF);
	}
}

struct replay_mark replay_mark(const struct replay *replay)
{
	return (struct replay_mark){
		.word = replay->top->word,
		.begin_ns = replay->top->begin_ns,
		.depth = (uint32_t)(replay->top - replay->stack),
		.over = replay->over,
	};
}

bool replay_unwind(struct replay *replay, const struct replay_mark *mark,
		   uint64_t ns, enum replay_cause cause)
{
	struct replay_frame *frame = replay->stack + mark->depth;

	if (frame > replay->top || mark->over > replay->over)
		return false;
	if (frame > replay->stack &&
	    (frame->word != mark->word || frame->begin_ns != mark->begin_ns))
		return false;
	replay->over = mark->over;
	pop_frames_above(replay, frame, ns, cause);
	return true;
}

/* Returns the innermost frame with the stack pointer of @word, or NULL. A frame
 * of an entry build begins at the return address and has its body below it: the
 * stack pointer is in the innermost such frame that begins above it. */
static struct replay_frame *find_frame_at_sp(struct replay *replay,
					     uint64_t word)
{
	struct replay_frame *frame = replay->top;
	struct replay_frame *stop = frame - search_range(replay, frame);

	for (; frame > stop; frame--) {
		int below = replay_sp_below(frame->word, word);

		if (below > 0 ? is_entry_frame(replay, frame)
			      : !below && !is_entry_frame(replay, frame))
			break;
	}
	search_pay(replay, (size_t)(replay->top - frame));
	return frame > stop ? frame : NULL;
}

bool replay_unwind_hint(struct replay *replay, uint64_t word, uint64_t ns,
			enum replay_cause cause)
{
	struct replay_frame *frame;

	if (replay->over)
		return false;
	frame = find_frame_at_sp(replay, word);
	if (frame) {
		pop_frames_above(replay, frame, ns, cause);
		return true;
	}
	while (!is_stack_empty(replay) && is_entry_frame(replay, replay->top) &&
	       replay_sp_below(replay->top->word, word) <= 0)
		drop_frame(replay, ns, cause);
	return false;
}

/* Returns the frame with the stack pointer of @word that is furthest above the
 * top, but at most @bytes; the innermost of inlined ones; or NULL. */
static struct replay_frame *find_landing_frame(struct replay *replay,
					       uint64_t word, uint64_t bytes)
{
	struct replay_frame *frame = replay->top, *found = NULL;
	struct replay_frame *stop = frame - search_range(replay, frame);
	uint64_t up = 0, found_up = 0;

	while (frame > stop && up <= bytes) {
		if (!sp_gap(frame->word, word) && (!found || up > found_up) &&
		    !is_entry_frame(replay, frame)) {
			found = frame;
			found_up = up;
		}
		frame--;
		up += sp_gap(frame->word, frame[1].word);
	}
	search_pay(replay, (size_t)(replay->top - frame));
	return found;
}

/* The same in an entry build: returns the innermost frame that begins above the
 * stack pointer of @word. Returns NULL if the innermost frame that is not
 * deeper belongs to no entry build: such a frame must have exactly this stack
 * pointer. */
static struct replay_frame *find_entry_around(struct replay *replay,
					      uint64_t word, uint64_t bytes)
{
	struct replay_frame *frame = replay->top;
	struct replay_frame *stop = frame - search_range(replay, frame);
	/* The place of the landing pad above the top: of all places 64 KiB
	 * apart, the furthest that is at most @bytes away. */
	int64_t up = 0, gap = (int64_t)sp_gap(word, frame->word);
	int64_t landing = gap + (((int64_t)bytes - gap) & ~(int64_t)0xffff);
	bool entry = false;

	if (!replay->log_count)
		return NULL;
	for (; frame > stop; frame--) {
		entry = is_entry_frame(replay, frame);
		if (entry ? up > landing : up >= landing)
			break;
		up += (int64_t)sp_gap(frame[-1].word, frame->word);
	}
	search_pay(replay, (size_t)(replay->top - frame));
	return frame > stop && entry ? frame : NULL;
}

void replay_land(struct replay *replay, uint64_t word, uint64_t bytes,
		 uint64_t ns)
{
	struct replay_frame *frame;

	if (replay->over || is_stack_empty(replay))
		return;
	frame = find_entry_around(replay, word, bytes)
			?: find_landing_frame(replay, word, bytes);
	if (frame)
		pop_frames_above(replay, frame, ns, REPLAY_EXCEPTION);
	else if (bytes <= LANDING_BYTES_SURE) {
		int64_t left = (int64_t)sp_gap(word, replay->top->word);

		if (left > (int64_t)bytes)
			return;
		while (left > 0 && !is_stack_empty(replay)) {
			uint64_t ended = replay->top->word;

			pop_frame(replay, ns, REPLAY_GUESS);
			left -= (int64_t)sp_gap(replay->top->word, ended);
		}
	}
}

void replay_clear(struct replay *replay, uint64_t ns, enum replay_cause cause)
{
	replay->over = 0;
	pop_frames_above(replay, replay->stack, ns, cause);
	replay->outer_word = 0;
}

/* --- life ---------------------------------------------------------------- */

void replay_finish(struct replay *replay, uint64_t ns)
{
	ns = not_before_last(replay, ns);
	if (replay->untold_paused)
		write_pause(replay);
	replay_clear(replay, ns, REPLAY_ENDED);
	replay->finished = true;
	/* A last block reports the end to the index, or to a flight
	 * recorder. */
	if (replay->index || replay->encoder.compact || replay->sink.tells_end)
		output_reserve(replay, 0);
}

int replay_init(struct replay *replay, const struct replay_sink *sink,
		uint32_t sequence, uint64_t start_ns, struct clock_sync *sync,
		const struct pause_list *pauses, struct budget *budget)
{
	static const struct pause_list never_paused;

	*replay = (struct replay){
		.sink = *sink,
		.sync = sync,
		.pauses = pauses ? pauses : &never_paused,
		.capacity = FRAMES_MIN,
		.last_ns = start_ns,
	};
	replay->stack = calloc(FRAMES_MIN, sizeof(*replay->stack));
	if (!replay->stack)
		return -ENOMEM;
	if (cct_init(&replay->cct, budget) < 0) {
		free(replay->stack);
		return -ENOMEM;
	}
	/* Without memory there is no index, and readers do without. */
	if (sink->position)
		index_build_new(budget, &replay->index);
	if (sink->restart_ns)
		encoder_init_compact(&replay->encoder, sequence, start_ns);
	else
		encoder_init(&replay->encoder, sequence, start_ns);
	replay->top = replay->stack;
	replay->top->node = replay->cct.root;
	return 0;
}

void replay_release(struct replay *replay)
{
	if (replay->stack)
		budget_give(replay->cct.budget,
			    (replay->capacity - FRAMES_MIN) *
				    sizeof(*replay->stack));
	if (replay->stage)
		budget_give(replay->cct.budget, sizeof(*replay->stage));
	if (replay->named.entry)
		budget_give(replay->cct.budget,
			    sites_bytes(replay->named.mask + 1));
	index_build_free(&replay->index);
	free(replay->named.entry);
	free(replay->stage);
	free(replay->stack);
	cct_release(&replay->cct);
	*replay = (struct replay){ 0 };
}

int replay_new(const struct replay_sink *sink, uint32_t sequence,
	       uint64_t start_ns, struct clock_sync *sync,
	       const struct pause_list *pauses, struct budget *budget,
	       struct replay **out)
{
	struct replay *replay = malloc(sizeof(*replay));
	int err;

	if (!replay)
		return -ENOMEM;
	err = replay_init(replay, sink, sequence, start_ns, sync, pauses,
			  budget);
	if (err) {
		free(replay);
		return err;
	}
	*out = replay;
	return 0;
}

void replay_free(struct replay **replay)
{
	if (!*replay)
		return;
	replay_release(*replay);
	free(*replay);
	*replay = NULL;
}

void replay_each_open(const struct replay *replay, size_t most,
		      replay_open *visit, void *context)
{
	const struct replay_frame *frame = replay->stack;
	size_t depth = (size_t)(replay->top - frame);

	for (size_t i = MIN(depth, most); i; i--) {
		frame++;
		if (!is_frame_withheld(frame) && !is_detached(frame))
			visit(context, frame->node, frame->begin_ns,
			      replay->counts.wait_ns - frame->waited_ns,
			      frame->held);
	}
}

struct cct *replay_tree(struct replay *replay)
{
	return &replay->cct;
}

struct cct_node *replay_top_node(const struct replay *replay)
{
	return replay->top->node;
}

struct replay_place replay_place(const struct replay *replay)
{
	return (struct replay_place){ (size_t)(replay->top - replay->stack),
				      replay->top->cell };
}

bool replay_place_open(const struct replay *replay, struct replay_place place)
{
	return (size_t)(replay->top - replay->stack) >= place.depth &&
	       replay->stack[place.depth].cell == place.cell;
}

const struct replay_counts *replay_counts(const struct replay *replay)
{
	return &replay->counts;
}

uint32_t replay_sequence(const struct replay *replay)
{
	return replay->encoder.sequence;
}

uint32_t *replay_next_iid(struct replay *replay)
{
	return &replay->next_iid;
}

uint64_t replay_now_ns(const struct replay *replay)
{
	return replay->now_ns;
}

uint64_t replay_last_ns(const struct replay *replay)
{
	return replay->last_ns;
}

bool replay_is_paused(const struct replay *replay)
{
	return replay->paused;
}

void replay_set_sites(struct replay *replay, struct sites *sites)
{
	replay->sites = sites;
}

struct sites *replay_sites(const struct replay *replay)
{
	return replay->sites;
}

void replay_set_note(struct replay *replay, struct replay_note *note)
{
	replay->note = note;
}

struct replay_note *replay_note(const struct replay *replay)
{
	return replay->note;
}

void replay_set_function_log(struct replay *replay,
			     const struct function_log *log)
{
	replay->log = log;
}

void replay_set_histograms(struct replay *replay, struct histograms *histograms)
{
	replay->histograms = histograms;
}

void replay_set_feed(struct replay *replay, struct heap_feed *feed)
{
	replay->feed = feed;
}
