/* SPDX-License-Identifier: Apache-2.0
 *
 * thread_notes - prefixes are kept until the next record, which they belong to.
 * Replay writes begins and ends together with their prefixes, if at all. Other
 * extended records:
 *
 *   instants, values of counters,    are written on the thread's sequence, with
 *   states, marks                    the uuid of their track; the reader sorts
 *                                    them by time
 *   asynchronous slices and their    need all threads' records in order: they
 *   threads; steps of a counter      go to async_slices.c
 *   of the process
 *
 * Steps of a thread's counter (SITE_INCREMENTAL) are added up here, and the
 * sums are written, because a reader would add up only the steps of one
 * sequence.
 *
 * Damaged records are dropped and counted. Only a record of an unknown kind
 * ends a recording.
 */
#include "collector/drain/thread_notes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/clock.h"
#include "collector/base/grow.h"
#include "collector/base/pool.h"
#include "collector/drain/async_slices.h"
#include "collector/drain/note.h"
#include "collector/drain/seq_names.h"
#include "collector/drain/traceparent.h"
#include "collector/names/call_layout.h"
#include "collector/names/sites.h"
#include "collector/names/symbol_name.h"
#include "collector/record/arena.h"
#include "collector/record/collector.h"
#include "collector/record/process.h"
#include "collector/record/recording.h"
#include "collector/record/thread_state.h"
#include "collector/record/tracks.h"
#include "collector/record/triggers.h"
#include "collector/replay/cct.h"
#include "collector/replay/clock_sync.h"
#include "collector/replay/order.h"
#include "collector/trace/encode.h"
#include "collector/trace/fields.h"
#include "shared/atomic.h"
#include "shared/wire.h"

#define INSTANT_NAME_BYTES 256 /* part of a name that triggers compare */
#define TRACK_TEXT_BYTES 1024 /* of a name or description */

struct counter {
	const struct site *site;

	uint64_t track; /* uuid; 0: no room */
	uint32_t set;
	uint64_t sum; /* of the thread's own steps */
};

struct sequence_names {
	const struct replay *replay;
	struct seq_names names;
};

struct thread_notes {
	struct replay_note hook; /* first member: describe_span() */
	struct thread *thread;
	struct replay *pending; /* note is for its next record; or NULL */
	struct note note;
	struct note_match match; /* of triggers, with the current event */
	struct bytes fields, interned; /* of the current event */
	struct sequence_names *sequences;
	uint32_t sequence_count, sequence_room;
	uint32_t last; /* of sequences; the latest in use */
	struct pool counters; /* struct counter */
	struct async_feed *async; /* NULL: none yet */
	uint64_t told_dropped; /* part of slot->dropped_notes already
			        * reported */
	struct note_counts counts;
	uint64_t odd_events; /* with an invalid site or track */
	uint64_t moved_times; /* times outside of the recording */
	uint64_t paused; /* events dropped in a pause */
	uint64_t withheld; /* without memory */
};

static struct recording *recording_of_notes(const struct thread *thread)
{
	return thread->setup->arena_setup->recording;
}

static struct triggers *triggers_of(const struct thread_notes *notes)
{
	return recording_setup(recording_of_notes(notes->thread))->triggers;
}

/* --- names --------------------------------------------------------------- */

static struct seq_names *note_names_of(struct thread_notes *notes,
				       struct replay *replay)
{
	uint32_t i;

	if (notes->last < notes->sequence_count &&
	    notes->sequences[notes->last].replay == replay)
		return &notes->sequences[notes->last].names;
	for (i = 0; i < notes->sequence_count; i++)
		if (notes->sequences[i].replay == replay)
			break;
	if (i == notes->sequence_count) {
		if (grow_array(notes->sequences, notes->sequence_room, i + 1))
			return NULL;
		notes->sequences[i].replay = replay;
		seq_names_init(&notes->sequences[i].names,
			       replay_tree(replay)->budget,
			       replay_next_iid(replay));
		notes->sequence_count++;
	}
	notes->last = i;
	return &notes->sequences[i].names;
}

static bool put_event_note(struct thread_notes *notes, struct replay *replay,
			   const struct site *site)
{
	struct seq_names *names = note_names_of(notes, replay);
	bool named = false;

	if (!names || note_is_empty(&notes->note))
		return false;
	named = note_name(&notes->note, names, &notes->fields,
			  &notes->interned);
	note_encode(&notes->note, site, names, &notes->fields, &notes->interned,
		    &notes->match, &notes->counts);
	return named;
}

static void take_note_fields(const struct thread_notes *notes,
			     struct encode_event *event)
{
	if (notes->fields.failed || notes->interned.failed)
		return;
	event->fields = notes->fields.at;
	event->field_bytes = notes->fields.count;
	event->interned = notes->interned.at;
	event->interned_bytes = notes->interned.count;
}

/* Adds the arguments or the result of a call of @function. */
static void describe_call(struct thread_notes *notes, struct replay *replay,
			  uint64_t function, struct encode_event *event)
{
	const struct call_layout *layout = call_layouts_find(
		notes->thread->setup->arena_setup->layouts, notes->note.layout);
	struct seq_names *names = note_names_of(notes, replay);

	if (!layout || layout->function != function) {
		notes->counts.odd_prefixes++;
		return;
	}
	if (!names)
		return;
	bytes_clear(&notes->fields);
	bytes_clear(&notes->interned);
	note_encode_words(&notes->note, layout, !event->name_iid, names,
			  &notes->fields, &notes->interned, &notes->match,
			  &notes->counts);
	take_note_fields(notes, event);
}

/* replay_note.describe: adds the prefixes of one begin or end, and returns the
 * conditions of triggers that they fulfil. */
static uint8_t describe_span(struct replay_note *note, struct replay *replay,
			     uint64_t function, struct encode_event *event)
{
	/* The hook is the first member. */
	struct thread_notes *notes = (struct thread_notes *)note;
	const struct site *site =
		function && function < SITES_MAX && replay_sites(replay)
			? sites_find(replay_sites(replay), (uint32_t)function)
			: NULL;
	bool is_end = !event->name_iid;

	notes->match.held = 0;
	if (notes->note.has_words && !site) {
		describe_call(notes, replay, function, event);
		return notes->match.held;
	}
	if (!site || notes->note.has_words || notes->note.has_at ||
	    (is_end && notes->note.has_name))
		notes->counts.odd_prefixes++;
	if (!site)
		return 0;
	if (is_end)
		notes->note.has_name = false;
	bytes_clear(&notes->fields);
	bytes_clear(&notes->interned);
	if (put_event_note(notes, replay, site))
		event->name_iid |= ENCODE_NAMELESS;
	take_note_fields(notes, event);
	return notes->match.held;
}

/* --- one event ----------------------------------------------------------- */

struct event {
	struct thread_notes *notes;
	struct replay *replay;
	const struct record *cells;
	const struct site *site;
	uint32_t iid; /* of its name, on the replay's sequence */
	uint64_t ns;
};

/* Sets *@out to the time that the program gave, clamped to the recording and
 * counted if clamped; otherwise to the time of the record. Returns true if the
 * program gave one. */
static bool event_time(const struct event *event, uint64_t *out)
{
	struct thread_notes *notes = event->notes;
	uint64_t ns = notes->note.at_ns, first, last;

	*out = event->ns;
	if (!notes->note.has_at)
		return false;
	first = recording_setup(recording_of_notes(notes->thread))->start_ns;
	last = clock_boottime_ns();
	/* A negative time is before everything. */
	*out = (int64_t)ns < 0 || ns < first ? first : MIN(ns, last);
	notes->moved_times += *out != ns;
	return true;
}

static struct trigger_place place_of_event(const struct event *event,
					   uint64_t ns)
{
	const struct thread *thread = event->notes->thread;

	return (struct trigger_place){ .ns = ns,
				       .pid = thread->setup->pid,
				       .tid = thread->entry.tid };
}

/* An instant may fire triggers. */
static void fire_instant(const struct event *event, uint64_t ns)
{
	struct triggers *triggers = triggers_of(event->notes);
	const struct note *note = &event->notes->note;
	const struct trigger_place place = place_of_event(event, ns);
	char name[INSTANT_NAME_BYTES];

	if (!triggers)
		return;
	if (note->has_name)
		snprintf(name, sizeof(name), "%.*s", (int)note->name.count,
			 (const char *)note->name.at);
	else
		snprintf(name, sizeof(name), "%s", event->site->name);
	triggers_annotation(triggers, &place, name,
			    event->site->flags & SITE_TRIGGER);
}

static void write_note_event(const struct event *event,
			     enum trace_event_type type, bool nameless)
{
	struct thread_notes *notes = event->notes;
	struct encode_event out = { .type = type, .name_iid = event->iid };
	uint64_t ns;

	out.absolute = event_time(event, &ns);
	if (type == TYPE_INSTANT)
		fire_instant(event, ns);
	if (nameless) {
		notes->note.has_name = false;
		out.name_iid = 0;
	}
	if (put_event_note(notes, event->replay, event->site) && !nameless)
		out.name_iid |= ENCODE_NAMELESS;
	else if (!out.name_iid && !nameless)
		bytes_text(&notes->fields, TAG_TRACK_EVENT_NAME,
			   event->site->name, strlen(event->site->name));
	take_note_fields(notes, &out);
	if (out.field_bytes || !notes->fields.count)
		replay_event(event->replay, ns, &out);
	else
		notes->withheld++;
}

static void write_event_on(const struct event *event,
			   enum trace_event_type type, uint64_t uuid,
			   bool nameless)
{
	bytes_field(&event->notes->fields, TAG_TRACK_EVENT_TRACK_UUID, uuid);
	write_note_event(event, type, nameless);
}

/* --- counters ------------------------------------------------------------ */

/* Returns the counter of @event; NULL: no room. The next call may move it. */
static struct counter *note_counter_of(const struct event *event)
{
	struct thread_notes *notes = event->notes;
	struct thread *thread = notes->thread;
	const struct counter new = { .site = event->site };
	struct counter *counter;
	uint32_t number;
	int added = pool_intern(&notes->counters, &new, &number);

	if (added < 0)
		return NULL;
	counter = (struct counter *)notes->counters.items + number;
	if (added) {
		counter->track = tracks_counter(thread->setup->tracks,
						thread->uuid, event->site);
		counter->set = triggers_of_counter(triggers_of(notes),
						   event->site->name);
	}
	return counter->track ? counter : NULL;
}

/* --- asynchronous -------------------------------------------------------- */

static struct async_cpu cpu_at(struct thread *thread, uint64_t ns)
{
	struct async_cpu cpu = { .on_ns = ASYNC_CPU_UNKNOWN };

	if (!thread->on_cpu ||
	    !thread->on_cpu(thread, ns, &cpu.on_ns, &cpu.unknown_ns))
		cpu.on_ns = ASYNC_CPU_UNKNOWN;
	return cpu;
}

/* Returns the slices of the process, and makes them if necessary; NULL: no
 * memory. */
static struct async_slices *slices_of(struct thread *thread)
{
	struct process_parts *parts = process_parts(thread->process);
	struct arena *arena = thread->setup->arena;
	struct async_slices *slices;

	arena_lock(arena);
	if (!parts->slices &&
	    async_slices_new(thread->setup->arena_setup->recording,
			     thread->setup->tracks, thread->setup->pid,
			     &parts->slices) == 0)
		/* Without memory for it, the end releases all events. */
		(void)orders_add(thread->setup->arena_setup->orders,
				 async_slices_order(parts->slices));
	slices = parts->slices;
	arena_unlock(arena);
	return slices;
}

static void feed_async(const struct event *event, struct async_event *async)
{
	struct thread_notes *notes = event->notes;

	if (!notes->async) {
		struct async_slices *slices = slices_of(notes->thread);

		if (slices)
			notes->async = async_slices_open(slices);
	}
	if (!notes->async) {
		notes->withheld++;
		return;
	}
	async->ns = event->ns;
	async->site = event->site;
	if (!note_is_empty(&notes->note))
		async->note = note_copy(&notes->note);
	async_slices_feed(notes->async, event->cells[0].clock, async);
}

static void take_counter_value(const struct event *event)
{
	struct thread_notes *notes = event->notes;
	const struct site *site = event->site;
	uint64_t bits = event->cells[1].word, ns;
	struct async_event async = { .type = ASYNC_STEP, .step = bits };
	struct counter *counter;
	bool has_at;
	struct trigger_place place;

	if (site->kind != SITE_COUNTER || !(counter = note_counter_of(event))) {
		notes->odd_events++;
		return;
	}
	/* A value of a counter can have a time, but nothing else. */
	has_at = notes->note.has_at;
	notes->note.has_at = false;
	notes->counts.odd_prefixes += !note_is_empty(&notes->note);
	note_clear(&notes->note);
	notes->note.has_at = has_at;
	if ((site->flags & SITE_INCREMENTAL) &&
	    !(site->flags & SITE_OF_THREAD)) {
		async.track = counter->track;
		if (event_time(event, &ns))
			async.at_ns = ns;
		note_clear(&notes->note);
		feed_async(event, &async);
		return;
	}
	if (site->flags & SITE_INCREMENTAL)
		bits = counter->sum =
			site_counter_add(site, counter->sum, bits);
	place = place_of_event(event, event->ns);
	if (counter->set)
		triggers_counter(triggers_of(event->notes), counter->set,
				 counter->track, &place, event->site->name,
				 site_counter_value(event->site, bits));
	if (site->flags & SITE_DOUBLE)
		bytes_fixed64(&notes->fields,
			      TAG_TRACK_EVENT_DOUBLE_COUNTER_VALUE, bits);
	else
		bytes_field(&notes->fields, TAG_TRACK_EVENT_COUNTER_VALUE,
			    bits);
	write_event_on(event, TYPE_COUNTER, counter->track, true);
}

static uint64_t track_of_event(const struct event *event, enum track_kind kind)
{
	struct thread *thread = event->notes->thread;

	return tracks_find(thread->setup->tracks, thread->uuid,
			   event->cells[1].word, event->site, kind);
}

static void take_note_slice(const struct event *event, enum async_type type)
{
	struct thread_notes *notes = event->notes;
	struct thread *thread = notes->thread;
	uint64_t number = event->cells[1].word;
	struct async_event async = {
		.type = type,
		/* Not the uuid: an end may have another name. */
		.key = number == TRACK_THREAD ? thread->uuid : number,
		.handle = event->cells[1].clock,
	};
	bool is_named = type == ASYNC_BEGIN || type == ASYNC_ENTER;

	if (notes->note.has_at || (!is_named && notes->note.has_name))
		notes->counts.odd_prefixes++;
	if (type == ASYNC_BEGIN) {
		async.track = track_of_event(event, TRACK_SLICES);
		if (!async.track)
			return;
	} else {
		async.cpu = cpu_at(thread, event->ns);
	}
	if (type == ASYNC_ENTER) {
		memcpy(async.name, thread->entry.name, sizeof(async.name));
		symbol_name_clean(async.name);
	}
	feed_async(event, &async);
}

/* --- tracks -------------------------------------------------------------- */

static const char *copy_cell_text(const uint8_t *at, size_t bytes,
				  char out[TRACK_TEXT_BYTES + 1])
{
	bytes = MIN(bytes, (size_t)TRACK_TEXT_BYTES);
	memcpy(out, at, bytes);
	out[bytes] = '\0';
	symbol_name_clean(out);
	return out;
}

static void define_track(struct thread_notes *notes, const struct record *cells,
			 size_t count)
{
	const uint8_t *at = (const uint8_t *)(cells + 1);
	size_t left = (count - 1) * sizeof(*cells), name;
	char text[2][TRACK_TEXT_BYTES + 1];
	struct note_track told;

	if (left < sizeof(told)) {
		notes->odd_events++;
		return;
	}
	memcpy(&told, at, sizeof(told));
	at += sizeof(told);
	left -= sizeof(told);
	name = ALIGN_UP((size_t)told.name_bytes, sizeof(*cells));
	if (name > left || told.description_bytes > left - name ||
	    told.track == TRACK_PROCESS || told.track >= TRACK_THREAD) {
		notes->odd_events++;
		return;
	}
	tracks_define(
		notes->thread->setup->tracks, notes->thread->uuid, &told,
		copy_cell_text(at, told.name_bytes, text[0]),
		copy_cell_text(at + name, told.description_bytes, text[1]));
}

/* --- records ------------------------------------------------------------- */

static struct thread_notes *notes_of(struct thread *thread)
{
	struct thread_notes *notes = thread->notes;

	if (notes)
		return notes;
	notes = calloc(1, sizeof(*notes));
	if (notes) {
		notes->hook.describe = describe_span;
		notes->thread = thread;
		notes->match.count = triggers_conditions(triggers_of(notes),
							 &notes->match.list);
		pool_init(&notes->counters,
			  recording_setup(recording_of_notes(thread))->budget,
			  sizeof(struct counter),
			  offsetof(struct counter, track));
		thread->notes = notes;
	}
	return notes;
}

/* Drops the note of the previous record. */
static void settle_note(struct thread_notes *notes)
{
	if (!notes->pending)
		return;
	/* Otherwise the note was used, or dropped with its record. */
	notes->counts.odd_prefixes += replay_note(notes->pending) != NULL;
	replay_set_note(notes->pending, NULL);
	notes->pending = NULL;
	note_clear(&notes->note);
}

static void dispatch_event(const struct event *event, enum record_ext ext)
{
	switch (ext) {
	case EXT_INSTANT:
		write_note_event(event, TYPE_INSTANT, false);
		break;
	case EXT_COUNTER:
		take_counter_value(event);
		break;
	case EXT_ASYNC_BEGIN:
		take_note_slice(event, ASYNC_BEGIN);
		break;
	case EXT_ASYNC_END:
		take_note_slice(event, ASYNC_END);
		break;
	case EXT_ASYNC_ENTER:
		take_note_slice(event, ASYNC_ENTER);
		break;
	case EXT_ASYNC_LEAVE:
		take_note_slice(event, ASYNC_LEAVE);
		break;
	case EXT_ASYNC_INSTANT: {
		uint64_t track = track_of_event(event, TRACK_SLICES);

		if (track)
			write_event_on(event, TYPE_INSTANT, track, false);
		break;
	}
	case EXT_STATE: {
		uint64_t states = track_of_event(event, TRACK_STATES);

		if (states)
			write_event_on(event, TYPE_STATE, states,
				       event->cells[1].clock & 1);
		break;
	}
	default:
		write_event_on(
			event, TYPE_INSTANT,
			tracks_marks(event->notes->thread->setup->tracks),
			false);
		break;
	}
}

static void take_note_event(struct thread_notes *notes, struct replay *replay,
			    const struct record *cells, size_t count)
{
	enum record_ext ext = record_ext(cells[0].word);
	uint32_t id = record_ext_value(cells[0].word);
	bool has_data = ext != EXT_INSTANT && ext != EXT_MARK;
	struct event event = {
		.notes = notes,
		.replay = replay,
		.cells = cells,
		.site = sites_find(notes->thread->setup->arena_setup->sites,
				   id),
		.ns = replay_ns(replay, cells[0].clock,
				notes->thread->fibers.now_ns),
	};

	bytes_clear(&notes->fields);
	bytes_clear(&notes->interned);
	if ((has_data && count < 2) || !id || id >= SITES_MAX)
		notes->odd_events++;
	else if (replay_is_paused(replay) && ext != EXT_ASYNC_END &&
		 ext != EXT_ASYNC_LEAVE)
		notes->paused++;
	else if (replay_site(replay, id, &event.iid))
		dispatch_event(&event, ext);
}

/* --- requests ------------------------------------------------------------ */

static void write_trace_ids(struct thread_notes *notes, struct replay *replay,
			    uint64_t ns)
{
	struct encode_event event = { .type = TYPE_INSTANT };
	const struct trace_ids *ids = &notes->thread->request;
	const char *name = trace_ids_are_set(ids) ? "request" : "no request";
	struct seq_names *names = note_names_of(notes, replay);

	if (!names)
		return;
	bytes_clear(&notes->fields);
	bytes_clear(&notes->interned);
	bytes_text(&notes->fields, TAG_TRACK_EVENT_NAME, name, strlen(name));
	if (trace_ids_are_set(ids))
		note_trace_ids(ids, names, &notes->fields, &notes->interned);
	take_note_fields(notes, &event);
	if (event.field_bytes)
		replay_event(replay, ns, &event);
	else
		notes->withheld++;
}

static void take_prefix(struct thread_notes *notes, struct replay *replay,
			const struct record *cells, size_t count)
{
	if (!replay_note(replay) || notes->pending != replay)
		settle_note(notes);
	/* The program's own word has precedence. */
	if (record_ext(cells[0].word) == EXT_REQUEST &&
	    trace_ids_are_set(&notes->thread->request))
		return;
	note_take(&notes->note, cells, count, &notes->counts);
	notes->pending = replay;
	replay_set_note(replay, &notes->hook);
}

/* EXT_TRACE_ID, EXT_TRACEPARENT. */
static void take_note_request(struct thread_notes *notes, struct replay *replay,
			      const struct record *cells, size_t count)
{
	const char *data = (const char *)(cells + 1);
	size_t bytes = record_ext_value(cells[0].word),
	       room = (count - 1) * sizeof(*cells);
	struct trace_ids ids = { 0 };

	if (record_ext(cells[0].word) == EXT_TRACE_ID) {
		if (room < sizeof(ids))
			notes->odd_events++;
		else
			memcpy(&ids, data, sizeof(ids));
	} else if (!traceparent_parse(data, MIN(bytes, room), &ids)) {
		notes->counts.odd_traceparents++;
	}
	if (!trace_ids_are_set(&ids))
		ids = (struct trace_ids){ 0 };
	if (!memcmp(&ids, &notes->thread->request, sizeof(ids)))
		return;
	notes->thread->request = ids;
	/* Also in a pause: the records after it belong to this request. */
	write_trace_ids(notes, replay,
			replay_ns(replay, cells[0].clock,
				  notes->thread->fibers.now_ns));
}

int thread_note(struct thread *thread, struct replay *replay,
		const struct record *cells, size_t count)
{
	struct thread_notes *notes = notes_of(thread);
	enum record_ext ext = record_ext(cells[0].word);

	if (!notes)
		return 0;
	if (ext >= EXT_ARGS && ext <= EXT_WORDS) {
		take_prefix(notes, replay, cells, count);
		return 0;
	}
	if (ext < EXT_INSTANT || ext > EXT_TRACEPARENT) {
		settle_note(notes);
		return -EBADMSG;
	}
	/* Pending prefixes belong to this record, if they fit. */
	if (notes->pending &&
	    (!replay_note(replay) || notes->pending != replay))
		settle_note(notes);
	replay_set_note(replay, NULL);
	notes->pending = NULL;
	if (ext >= EXT_TRACE_ID)
		take_note_request(notes, replay, cells, count);
	else if (ext == EXT_TRACK)
		define_track(notes, cells, count);
	else
		take_note_event(notes, replay, cells, count);
	note_clear(&notes->note);
	return 0;
}

/* --- life ---------------------------------------------------------------- */

static void tell_dropped(struct thread *thread)
{
	/* relaxed: the program's word; at worst the next visit reports it */
	uint64_t dropped = atom_load_rlx(&thread->slot->dropped_notes);
	struct thread_notes *notes;
	char text[64];

	if (!dropped)
		return;
	notes = notes_of(thread);
	if (!notes || dropped <= notes->told_dropped)
		return;
	snprintf(text, sizeof(text), "%llu annotations lost",
		 (unsigned long long)(dropped - notes->told_dropped));
	replay_instant(fibers_current(&thread->fibers), 0, text, 0, false);
	notes->told_dropped = dropped;
}

void thread_notes_flush(struct thread *thread)
{
	tell_dropped(thread);
	if (thread->notes && thread->notes->async)
		async_slices_flush(thread->notes->async);
}

void thread_notes_leave(struct thread *thread, uint64_t ns)
{
	struct thread_notes *notes = thread->notes;
	const struct process_setup *setup = thread->setup;
	uint64_t clock = ns;
	struct async_cpu cpu;

	if (!notes || !notes->async)
		return;
	if (setup->arena_setup->clock == WIRE_CLOCK_TSC)
		clock = clock_sync_tick(setup->collector->clock, ns);
	cpu = cpu_at(thread, ns);
	async_slices_close(&notes->async, clock, ns, &cpu);
}

void thread_notes_finish(struct thread *thread)
{
	tell_dropped(thread);
	if (thread->notes)
		settle_note(thread->notes);
}

void thread_notes_release(struct thread *thread, struct totals *totals)
{
	struct thread_notes *notes = thread->notes;

	if (!notes)
		return;
	totals->dropped_notes += notes->told_dropped;
	totals->odd_notes += notes->odd_events + notes->counts.odd_prefixes;
	totals->odd_traceparents += notes->counts.odd_traceparents;
	totals->cut_notes += notes->counts.cut_args + notes->counts.cut_flows;
	totals->moved_notes += notes->moved_times;
	totals->paused_notes += notes->paused;
	totals->withheld_notes += notes->withheld;
	if (notes->told_dropped)
		recording_list_loss(recording_of_notes(thread),
				    thread->sequence);
	for (uint32_t i = 0; i < notes->sequence_count; i++)
		seq_names_release(&notes->sequences[i].names);
	triggers_name_conditions(triggers_of(notes), notes->match.named);
	free(notes->sequences);
	pool_release(&notes->counters);
	note_release(&notes->note);
	bytes_release(&notes->fields);
	bytes_release(&notes->interned);
	free(notes);
	thread->notes = NULL;
}

void process_notes_finish(struct process *process)
{
	const struct process_setup *setup = process_setup(process);
	struct recording *recording = setup->arena_setup->recording;
	struct process_parts *parts = process_parts(process);
	const struct process_ending *ending = process_ending(process);
	struct async_counts counts = { 0 };
	struct tracks_counts tracks;
	struct totals *totals;

	if (parts->slices) {
		orders_remove(setup->arena_setup->orders,
			      async_slices_order(parts->slices));
		async_slices_finish(parts->slices, ending->ns);
		counts = async_slices_counts(parts->slices);
		async_slices_free(&parts->slices);
	}
	tracks_finish(setup->tracks);
	tracks = tracks_counts(setup->tracks);
	totals = recording_lock(recording);
	totals->orphan_async_ends += counts.orphan_ends;
	totals->odd_async_stays += counts.odd_stays;
	totals->unlisted_async += counts.unlisted;
	totals->unended_async += counts.unended;
	totals->withheld_notes += counts.withheld + tracks.overflowed;
	totals->odd_notes += counts.notes.odd_prefixes + tracks.odd_tracks +
			     tracks.unknown_tracks;
	totals->odd_traceparents += counts.notes.odd_traceparents;
	totals->cut_notes += counts.notes.cut_args + counts.notes.cut_flows;
	recording_unlock(recording);
}
