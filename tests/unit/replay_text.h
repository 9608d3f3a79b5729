/* SPDX-License-Identifier: Apache-2.0
 *
 * replay_text - runs the records of a thread through replay and prints its
 * events as a line of text. "(7" begins a slice of the function at address 7,
 * "<text" a slice with its own name. ")" ends a slice: "?)" at a guessed time,
 * "longjmp)" for a reason that replay knows, "waited=N)" after waits of N ns.
 * "*text" is an instant. "N:" precedes events on the track of context N. If
 * times is set, "@" and ns since the start precede each event.
 */
#ifndef PERFREC_TESTS_UNIT_REPLAY_TEXT_H
#define PERFREC_TESTS_UNIT_REPLAY_TEXT_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/budget.h"
#include "collector/base/bytes.h"
#include "collector/replay/fibers.h"
#include "collector/replay/function_log.h"
#include "collector/replay/pause.h"
#include "collector/replay/replay_inner.h"
#include "collector/trace/compact_unpack.h"
#include "collector/trace/trace_file.h"
#include "proto/perfetto_trace.pb-c.h"
#include "shared/ring_shm.h"
#include "tests/index_check.h"

#define REPLAY_TEXT_BYTES (1 << 20)
#define REPLAY_NAMES_MAX 4096
#define REPLAY_START_NS 1000000
#define REPLAY_SEQUENCE 2 /* context N has REPLAY_SEQUENCE + N */

struct replay_track {
	uint64_t ns;
	uint32_t open;
	struct index_check *index; /* NULL until the track's first packet */
	struct replay_text_slice {
		uint64_t ns, iid;
		bool noted;
	} slices[REPLAY_SLICES_MAX];
	struct compact_unpack unpack;
	bool unpacks;
	uint64_t restarts;
	size_t mark_keys; /* packets that define the key of marks */
};

struct replay_text {
	struct replay replay;
	struct fibers fibers;
	struct pause_list pauses;
	struct function_log *log;
	struct budget budget;
	uint64_t position; /* see replay_position() */
	uint64_t excluded; /* address of an excluded function, or 0 */
	struct address_range unloaded; /* by the MAP records; 0, 0: nothing */
	size_t unloaded_count; /* 0, 1, or more than the caller's room */
	/* address by iid, of the thread's track */
	uint64_t name[REPLAY_NAMES_MAX];
	uint32_t generation[REPLAY_NAMES_MAX];
	uint64_t context_name[FIBERS_MAX + 1][16]; /* same, by context */
	struct replay_track track[FIBERS_MAX + 1];
	uint32_t open_most, open;
	uint32_t contexts;
	bool times;
	/* Replaces fibers_sink.extended(). NULL ignores extended records. */
	void (*extended)(struct replay_text *text, struct replay *replay,
			 const struct record *cells);
	size_t length;
	char text[REPLAY_TEXT_BYTES];
};

static inline void replay_say(struct replay_text *to, const char *text)
{
	size_t more = strlen(text);

	if (to->length + more + 1 < sizeof(to->text)) {
		memcpy(to->text + to->length, text, more + 1);
		to->length += more;
	}
}

static inline uint64_t *replay_name(struct replay_text *to, uint32_t context,
				    uint64_t iid)
{
	return context ? &to->context_name[context][iid % 16]
		       : &to->name[iid % REPLAY_NAMES_MAX];
}

static inline void replay_text_must(bool right, const char *what)
{
	if (right)
		return;
	fprintf(stderr, "compact form: %s\n", what);
	abort();
}

/* The open slices must match the packets before it. */
static inline void replay_check_restart(struct replay_track *track,
					struct compact *from, uint32_t open)
{
	struct compact_slice slice;
	uint64_t begin_ns = 0;

	track->restarts++;
	replay_text_must(from->ns == track->ns, "time of a restart point");
	replay_text_must(open == track->open, "slices of a restart point");
	for (uint32_t i = 0; i < open; i++) {
		const struct replay_text_slice *is = &track->slices[i];

		replay_text_must(
			compact_open(from, &begin_ns, &slice) &&
				slice.begin_ns == is->ns &&
				slice.noted == is->noted &&
				(slice.noted ||
				 (slice.name_iid & ENCODE_IID_MASK) == is->iid),
			"a slice of a restart point");
	}
}

static inline void replay_say_begin(struct replay_text *to, uint32_t context,
				    const Perfetto__Protos__TrackEvent *event)
{
	struct replay_track *track = &to->track[context];
	char text[160];

	track->slices[track->open % REPLAY_SLICES_MAX] =
		(struct replay_text_slice){
			track->ns,
			event->name_iid,
			event->n_debug_annotations || event->name,
		};
	track->open++;
	if (++to->open > to->open_most)
		to->open_most = to->open;
	if (event->name)
		snprintf(text, sizeof(text), "<%s", event->name);
	else
		snprintf(text, sizeof(text), "(%llu",
			 (unsigned long long)*replay_name(to, context,
							  event->name_iid));
	replay_say(to, text);
}

static inline void replay_say_end(struct replay_text *to, uint32_t context,
				  const Perfetto__Protos__TrackEvent *event)
{
	char text[40];

	if (!to->track[context].open--)
		abort();
	to->open--;
	for (size_t i = 0; i < event->n_debug_annotations; i++) {
		const Perfetto__Protos__DebugAnnotation *one =
			event->debug_annotations[i];
		const char *why = one->string_value;

		/* Notes carry their key as text. */
		if (one->name_iid && to->track[context].mark_keys != 1)
			abort(); /* the key of marks must be defined first */
		if (one->name && !strcmp(one->name, "perfrec.waited_ns")) {
			snprintf(text, sizeof(text), "waited=%lld",
				 (long long)one->int_value);
			why = text;
		}
		replay_say(to, strcmp(why, "guess") ? why : "?");
	}
	replay_say(to, ")");
}

static inline void replay_say_event(struct replay_text *to, uint32_t context,
				    const Perfetto__Protos__TracePacket *packet)
{
	const Perfetto__Protos__TrackEvent *event = packet->track_event;
	struct replay_track *track = &to->track[context];
	char text[64];

	track->ns += packet->timestamp;
	if (packet->interned_data)
		track->mark_keys +=
			packet->interned_data->n_debug_annotation_names;
	if (to->length)
		replay_say(to, " ");
	if (context) {
		snprintf(text, sizeof(text), "%u:", context);
		replay_say(to, text);
	}
	if (to->times) {
		snprintf(text, sizeof(text), "@%llu",
			 (unsigned long long)(track->ns - REPLAY_START_NS));
		replay_say(to, text);
	}
	switch (event->type) {
	case PERFETTO__PROTOS__TRACK_EVENT__TYPE__TYPE_SLICE_BEGIN:
		replay_say_begin(to, context, event);
		break;
	case PERFETTO__PROTOS__TRACK_EVENT__TYPE__TYPE_SLICE_END:
		replay_say_end(to, context, event);
		break;
	default:
		replay_say(to, "*");
		replay_say(to, event->name);
	}
}

static inline struct trace_block *replay_take_block(void *context)
{
	struct trace_block *block = malloc(sizeof(*block));

	(void)context;
	if (!block)
		abort();
	block->name_count = 0;
	block->index = NULL;
	block->index_bytes = 0;
	return block;
}

static inline struct index_check *replay_index_check(struct replay_text *to,
						     uint32_t number)
{
	struct replay_track *track = &to->track[number];

	if (!track->index)
		track->index = index_check_new(track->ns);
	return track->index;
}

static inline Perfetto__Protos__Trace *replay_unpack(struct bytes *packets)
{
	Perfetto__Protos__Trace *trace = perfetto__protos__trace__unpack(
		NULL, packets->count, packets->at);

	replay_text_must(trace && !packets->failed, "no valid packets");
	bytes_release(packets);
	return trace;
}

/* Prints the events of a block in compact form, and compares its restart point
 * with the events before it. */
static inline void replay_say_compact(struct replay_text *to, uint32_t number,
				      const struct trace_block *block)
{
	struct replay_track *track = &to->track[number];
	struct compact from = { block->data, block->data + block->bytes,
				track->ns };

	if (!track->unpacks)
		compact_unpack_init(&track->unpack, block->sequence, track->ns);
	track->unpacks = true;
	while (from.at != from.end) {
		struct compact_event event = compact_next(&from);
		struct bytes packets = { 0 };
		Perfetto__Protos__Trace *trace;

		replay_text_must(event.kind, "no events");
		if (event.kind == COMPACT_IS_RESTART) {
			replay_check_restart(track, &from, event.open);
			continue;
		}
		compact_unpack_event(&track->unpack, from.ns, &event, &packets);
		trace = replay_unpack(&packets);
		for (size_t i = 0; i < trace->n_packet; i++)
			replay_say_event(to, number, trace->packet[i]);
		perfetto__protos__trace__free_unpacked(trace, NULL);
	}
	replay_text_must(track->restarts, "no restart point");
}

static inline void replay_say_packets(struct replay_text *to, uint32_t number,
				      const struct trace_block *block)
{
	struct index_check *check = replay_index_check(to, number);
	Perfetto__Protos__Trace *trace = perfetto__protos__trace__unpack(
		NULL, block->bytes, block->data);

	if (!trace)
		abort();
	index_check_begin(check, block->index, block->index_bytes);
	for (size_t i = 0; i < trace->n_packet; i++) {
		replay_say_event(to, number, trace->packet[i]);
		index_check_event(check, trace->packet[i]);
	}
	index_check_end(check, block->index, block->index_bytes);
	perfetto__protos__trace__free_unpacked(trace, NULL);
}

static inline void replay_give(void *context, struct trace_block *block)
{
	struct replay_text *to = context;
	uint32_t number = block->sequence - REPLAY_SEQUENCE, open;

	if (number > to->contexts)
		abort();
	for (uint32_t i = 0; i < block->name_count; i++) {
		const struct trace_name *name = &block->names[i];

		*replay_name(to, number, name->iid) = name->function;
		to->generation[name->iid % REPLAY_NAMES_MAX] = name->generation;
	}
	open = to->track[number].open;
	if (block->compact)
		replay_say_compact(to, number, block);
	else
		replay_say_packets(to, number, block);
	if (to->track[number].open != open + (uint32_t)block->opened)
		abort(); /* block->opened must match its events */
	free(block->index);
	free(block);
}

/* Pretends that the trace grows fast: each block gets a checkpoint, and every
 * fourth ends a chunk. */
static inline uint64_t replay_position(void *context)
{
	struct replay_text *to = context;

	return to->position += 5 << 20;
}

static inline bool replay_excludes(void *context, uint64_t function)
{
	struct replay_text *to = context;

	return to->excluded && function == to->excluded;
}

static inline uint32_t replay_open_track(void *context, uint32_t number,
					 uint64_t start_ns)
{
	struct replay_text *to = context;

	to->contexts = number;
	to->track[number].ns = start_ns;
	return REPLAY_SEQUENCE + number;
}

static inline size_t replay_unloaded(void *context, uint32_t after,
				     uint32_t upto, struct address_range *out,
				     size_t room)
{
	struct replay_text *to = context;

	(void)after;
	(void)upto;
	(void)room;
	if (to->unloaded_count)
		*out = to->unloaded;
	return to->unloaded_count;
}

static inline void replay_block(void *context, struct replay *replay,
				uint64_t word, uint64_t clock)
{
	(void)context;
	(void)replay;
	(void)word;
	(void)clock;
}

static inline int replay_extended(void *context, struct replay *replay,
				  const struct record *cells, size_t count)
{
	struct replay_text *to = context;

	(void)count;
	if (to->extended)
		to->extended(to, replay, cells);
	return 0;
}

static inline struct replay_text *replay_text_new(void)
{
	struct replay_text *to = calloc(1, sizeof(*to));
#ifdef REPLAY_TEXT_COMPACT
	/* Each block gets a restart point. */
	struct replay_sink sink = {
		.take = replay_take_block,
		.give = replay_give,
		.excludes = replay_excludes,
		.context = to,
		.restart_ns = 1,
	};
#else
	struct replay_sink sink = {
		.take = replay_take_block,
		.give = replay_give,
		.excludes = replay_excludes,
		.context = to,
		.position = replay_position,
	};
#endif
	struct fibers_sink fibers_sink = { replay_open_track,
					   replay_unloaded,
					   replay_block,
					   replay_extended,
					   to,
					   NULL };

	if (!to)
		abort();
	to->budget.left = 64 << 20;
	to->track[0].ns = REPLAY_START_NS;
	if (replay_init(&to->replay, &sink, REPLAY_SEQUENCE, REPLAY_START_NS,
			NULL, &to->pauses, &to->budget) ||
	    fibers_init(&to->fibers, &fibers_sink, &to->replay) ||
	    function_log_new(&to->log))
		abort();
	replay_set_function_log(&to->replay, to->log);
	return to;
}

static inline void replay_text_free(struct replay_text *to)
{
	fibers_release(&to->fibers);
	replay_release(&to->replay);
	function_log_free(&to->log);
	for (int i = 0; i <= FIBERS_MAX; i++)
		if (to->track[i].index)
			index_check_free(to->track[i].index);
	free(to);
}

static inline struct record rec(enum record_kind kind, uint64_t payload,
				unsigned int sp, uint64_t ns)
{
	return (struct record){ record_word(kind, payload, sp),
				REPLAY_START_NS + ns };
}

static inline struct record rec_flow(enum record_flow flow, uint64_t address,
				     unsigned int sp, uint64_t ns)
{
	return rec(RECORD_FLOW, record_flow_payload(flow, address), sp, ns);
}

/* A thread may change its track after a FLOW record, so a piece ends there. */
static inline size_t replay_piece(const struct replay_text *to,
				  const struct record *records, size_t count)
{
	size_t piece = 1;

	while (!to->contexts && piece < count &&
	       record_kind(records[piece - 1].word) != RECORD_FLOW)
		piece++;
	return piece;
}

/* Runs @count records and ends the thread. The text has the events of all
 * tracks in the order of the records. */
static inline const char *replay_text_of(struct replay_text *to,
					 const struct record *records,
					 size_t count)
{
	int err = 0;

	while (!err && count) {
		size_t piece = replay_piece(to, records, count);

		err = fibers_run(&to->fibers, records, piece, UINT64_MAX,
				 &piece);
		if (!piece)
			break;
		fibers_flush(&to->fibers);
		records += piece;
		count -= piece;
	}
	fibers_finish(&to->fibers, 0);
	fibers_flush(&to->fibers);
	return err ? "broken" : to->text;
}

#endif
