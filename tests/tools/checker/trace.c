/* SPDX-License-Identifier: Apache-2.0
 *
 * Every packet goes through two steps. schema_check() looks at the bytes
 * alone. Then the packet's parts are applied in the importer's order: loss
 * mark, CLEARED, defaults, clocks, names, and the payload last. A rule that is
 * broken is noted and reading goes on as well as it can: one fault should
 * give one line, and a test of one rule must not depend on another.
 *
 * Memory grows with threads, names and switches, never with events.
 */
#include "tests/tools/checker/trace.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "tests/tools/checker/pbread.h"
#include "tests/tools/checker/schema.h"
#include "tests/tools/checker/text.h"

#define BUNDLE_LIMIT (512u * 1024)
#define DEPTH_LIMIT 512
#define IID_LIMIT (1u << 24)
#define ABSURD_NS (10ULL * 365 * 86400 * 1000000000)
#define SEQUENCE_CLOCK 64
#define SEQUENCE_GLOBAL 1

enum clocks { CLOCK_ID_BOOTTIME = 6 };
enum sequence_flags { FLAG_CLEARED = 1, FLAG_NEEDS = 2 };
enum event_type { EVENT_BEGIN = 1, EVENT_END = 2, EVENT_INSTANT = 3 };

/* Parts of a packet that are messages, by their field numbers. */
enum part {
	PART_SCHED = 1,
	PART_SNAPSHOT = 6,
	PART_EVENT = 11,
	PART_INTERNED = 12,
	PART_STATS = 35,
	PART_HEAP = 37,
	PART_BUNDLE = 50,
	PART_DEFAULTS = 59,
	PART_TRACK = 60,
	PART_SAMPLE, /* in the place of */
	FIELD_SAMPLE = 66,
	PART_ATTRIBUTES = PART_SAMPLE + 1, /* in the place of */
	FIELD_ATTRIBUTES = 126,
	PART_LIMIT,
};

struct packet {
	struct sequence *sequence; /* NULL: none named */
	bool has_time;
	uint64_t time, clock, flags, dropped;
	uint64_t present; /* a bit for each part that is there */
	struct pb parts[PART_LIMIT];
};

#define BREAK(trace, rule, ...) \
	verdict_break(&(trace)->verdict, RULE_##rule, __VA_ARGS__)

static bool has_part(const struct packet *packet, enum part part)
{
	return packet->present >> part & 1;
}

/* --- sequences ------------------------------------------------------------ */

static struct sequence *sequence_at(struct trace *trace, uint32_t id)
{
	uint64_t *index;

	if (trace->last && trace->last->id == id)
		return trace->last;
	index = table_at(&trace->by_id, id);
	if (!*index) {
		if (trace->sequence_count == trace->sequence_room) {
			trace->sequence_room = trace->sequence_room * 2 + 16;
			trace->sequences = table_grow(
				trace->sequences, trace->sequence_room,
				sizeof(*trace->sequences));
		}
		trace->sequences[trace->sequence_count] =
			(struct sequence){ .id = id };
		*index = ++trace->sequence_count;
	}
	trace->last = &trace->sequences[*index - 1];
	return trace->last;
}

static bool needs_sequence(struct trace *trace, const struct packet *packet,
			   const char *what)
{
	if (packet->sequence)
		return true;
	BREAK(trace, SEQUENCE_ZERO, "%s without a sequence", what);
	return false;
}

static void sequence_loss(struct trace *trace, const struct packet *packet)
{
	struct sequence *sequence = packet->sequence;

	if (!needs_sequence(trace, packet, "previous_packet_dropped"))
		return;
	if (sequence->packets == 1)
		BREAK(trace, DROPPED_FIRST,
		      "sequence %u starts with a loss, which nobody counts",
		      sequence->id);
	sequence->lost = true;
	sequence->state_valid = false;
	trace->totals.losses++;
}

/* Adds the calls that were counted by iid to the name, before the iid changes.
 */
static void keep_calls(struct trace *trace, struct sequence *sequence,
		       uint32_t iid, uint32_t name)
{
	uint64_t index = (uint64_t)(sequence - trace->sequences);

	*table_at(&trace->inline_calls, index << 32 | name) +=
		sequence->calls[iid];
	sequence->calls[iid] = 0;
}

static void forget_names(struct trace *trace, struct sequence *sequence)
{
	for (uint32_t iid = 0; iid < sequence->iid_room; iid++) {
		if (sequence->names[iid])
			keep_calls(trace, sequence, iid,
				   sequence->names[iid] - 1);
		sequence->names[iid] = 0;
	}
}

static void sequence_state(struct trace *trace, const struct packet *packet)
{
	struct sequence *sequence = packet->sequence;

	if (!packet->flags || !needs_sequence(trace, packet, "sequence_flags"))
		return;
	if (packet->flags & FLAG_CLEARED) {
		sequence->cleared = sequence->state_valid = true;
		forget_names(trace, sequence);
	}
	if (packet->flags & FLAG_NEEDS && !sequence->state_valid)
		BREAK(trace, NEEDS_STATE,
		      "sequence %u needs a state that was never set or was "
		      "lost",
		      sequence->id);
}

static void sequence_defaults(struct trace *trace, const struct packet *packet)
{
	struct pb defaults = packet->parts[PART_DEFAULTS];
	struct pb_field field, inner;

	if (!needs_sequence(trace, packet, "trace_packet_defaults"))
		return;
	packet->sequence->default_uuid = packet->sequence->default_clock = 0;
	while (pb_next(&defaults, &field) > 0) {
		if (field.number == 58)
			packet->sequence->default_clock = field.value;
		else if (field.number == 11)
			while (pb_next(&field.bytes, &inner) > 0)
				packet->sequence->default_uuid = inner.value;
	}
}

/* --- clocks --------------------------------------------------------------- */

struct snapshot {
	uint64_t boottime, own, primary;
	bool has_boottime, has_own, own_is_incremental, other_is_incremental;
	unsigned int clocks;
};

static void read_clock(struct pb pb, struct snapshot *snapshot)
{
	uint64_t id = 0, time = 0, incremental = 0;
	struct pb_field field;

	while (pb_next(&pb, &field) > 0)
		*(field.number == 1   ? &id
		  : field.number == 2 ? &time
				      : &incremental) = field.value;
	snapshot->clocks++;
	if (id >= 64 && id < 128) {
		snapshot->has_own = true;
		snapshot->own = time;
		snapshot->own_is_incremental =
			incremental && id == SEQUENCE_CLOCK;
	} else {
		snapshot->other_is_incremental |= incremental != 0;
	}
	if (id == CLOCK_ID_BOOTTIME) {
		snapshot->has_boottime = true;
		snapshot->boottime = time;
	}
}

static void check_absurd(struct trace *trace, uint64_t ns)
{
	uint64_t apart = ns > trace->origin_ns ? ns - trace->origin_ns
					       : trace->origin_ns - ns;

	if (trace->snapshot_seen && apart > ABSURD_NS)
		BREAK(trace, TIME_ABSURD,
		      "%" PRIu64 " ns, %" PRIu64 " from the first snapshot", ns,
		      apart);
}

static void global_snapshot(struct trace *trace,
			    const struct snapshot *snapshot)
{
	if (!trace->snapshot_seen) {
		if (snapshot->primary != CLOCK_ID_BOOTTIME)
			BREAK(trace, SNAPSHOT_FIRST,
			      "the primary clock is %" PRIu64 ", not BOOTTIME",
			      snapshot->primary);
		trace->snapshot_seen = true;
		trace->origin_ns = snapshot->boottime;
	}
	if (snapshot->boottime < trace->snapshot_ns)
		BREAK(trace, SNAPSHOT_BACKWARDS,
		      "%" PRIu64 " ns after %" PRIu64, snapshot->boottime,
		      trace->snapshot_ns);
	trace->snapshot_ns = snapshot->boottime;
}

static void sequence_snapshot(struct trace *trace, const struct packet *packet,
			      const struct snapshot *snapshot)
{
	struct sequence *sequence = packet->sequence;

	if (!needs_sequence(trace, packet, "a sequence's clock"))
		return;
	if (!trace->snapshot_seen)
		BREAK(trace, SNAPSHOT_FIRST,
		      "sequence %u has a clock before any snapshot",
		      sequence->id);
	if (!snapshot->own_is_incremental || snapshot->clocks != 2)
		BREAK(trace, CLOCK_PROPERTIES,
		      "sequence %u: another number, not incremental, or %u "
		      "clocks",
		      sequence->id, snapshot->clocks);
	if (snapshot->boottime < sequence->snapshot_ns)
		BREAK(trace, SNAPSHOT_BACKWARDS,
		      "sequence %u: %" PRIu64 " ns after %" PRIu64,
		      sequence->id, snapshot->boottime, sequence->snapshot_ns);
	if (sequence->clock_set && snapshot->boottime < sequence->now_ns)
		BREAK(trace, TIME_BACKWARDS,
		      "sequence %u is set back by a snapshot", sequence->id);
	check_absurd(trace, snapshot->boottime);
	sequence->clock_set = true;
	sequence->now_ns = sequence->snapshot_ns = snapshot->boottime;
}

static void clock_snapshot(struct trace *trace, const struct packet *packet)
{
	struct snapshot snapshot = { 0 };
	struct pb pb = packet->parts[PART_SNAPSHOT];
	struct pb_field field;

	while (pb_next(&pb, &field) > 0) {
		if (field.number == 1)
			read_clock(field.bytes, &snapshot);
		else
			snapshot.primary = field.value;
	}
	if (!snapshot.has_boottime || snapshot.other_is_incremental)
		BREAK(trace, CLOCK_PROPERTIES,
		      "a snapshot without BOOTTIME, or it is incremental");
	if (snapshot.has_own)
		sequence_snapshot(trace, packet, &snapshot);
	else
		global_snapshot(trace, &snapshot);
}

/* --- names ---------------------------------------------------------------- */

static void room_for_iid(struct sequence *sequence, uint32_t iid)
{
	uint32_t room = sequence->iid_room;

	if (iid < room)
		return;
	sequence->iid_room = MAX(iid + 1, room * 2);
	sequence->names = table_grow(sequence->names, sequence->iid_room,
				     sizeof(*sequence->names));
	sequence->calls = table_grow(sequence->calls, sequence->iid_room,
				     sizeof(*sequence->calls));
	memset(&sequence->names[room], 0,
	       (sequence->iid_room - room) * sizeof(*sequence->names));
	memset(&sequence->calls[room], 0,
	       (sequence->iid_room - room) * sizeof(*sequence->calls));
}

static void intern_name(struct trace *trace, struct sequence *sequence,
			struct pb pb)
{
	struct pb text = { NULL, NULL };
	struct pb_field field;
	uint64_t iid = 0;
	uint32_t number;

	while (pb_next(&pb, &field) > 0) {
		if (field.number == 1)
			iid = field.value;
		else
			text = field.bytes;
	}
	if (!iid || iid >= IID_LIMIT) {
		BREAK(trace, NAME_IID, "sequence %u interns iid %" PRIu64,
		      sequence->id, iid);
		return;
	}
	if (!pb_left(&text))
		BREAK(trace, NAME_EMPTY,
		      "sequence %u: iid %" PRIu64 " is empty", sequence->id,
		      iid);
	room_for_iid(sequence, (uint32_t)iid);
	number = strings_add(&trace->names, text.at, pb_left(&text)) + 1;
	if (sequence->names[iid] && sequence->names[iid] != number) {
		BREAK(trace, NAME_CHANGED,
		      "sequence %u: iid %" PRIu64 " was %s, is %s",
		      sequence->id, iid,
		      trace->names.texts[sequence->names[iid] - 1],
		      trace->names.texts[number - 1]);
		keep_calls(trace, sequence, (uint32_t)iid,
			   sequence->names[iid] - 1);
	}
	sequence->names[iid] = number;
}

static void intern_names(struct trace *trace, const struct packet *packet)
{
	struct pb pb = packet->parts[PART_INTERNED];
	struct pb_field field;

	if (!needs_sequence(trace, packet, "interned_data"))
		return;
	if (!packet->sequence->cleared)
		BREAK(trace, NOT_CLEARED, "sequence %u interns names",
		      packet->sequence->id);
	while (pb_next(&pb, &field) > 0) {
		if (field.number == 2)
			intern_name(trace, packet->sequence, field.bytes);
		else if (!stacks_intern(trace, packet->sequence, field.number,
					field.bytes))
			tracks_intern(trace, packet->sequence, field.number,
				      field.bytes);
	}
}

/* --- tracks --------------------------------------------------------------- */

static void claim_uuid(struct trace *trace, uint64_t uuid, uint64_t owner)
{
	uint64_t *known = table_at(&trace->uuids, uuid);

	if (!uuid || (*known && *known != owner))
		BREAK(trace, UUID_UNIQUE, "uuid %" PRIu64 " %s", uuid,
		      uuid ? "has two owners" : "is the global track");
	*known = owner;
}

/* As the importer does: of a process that is described again the first start is
 * kept, and the last name. */
static void describe_process(struct trace *trace, const struct process *told)
{
	uint64_t *known = table_at(&trace->pids, (uint32_t)told->pid);
	struct process *process;

	if (!*known) {
		if (trace->process_count == trace->process_room) {
			trace->process_room = trace->process_room * 2 + 64;
			trace->processes = table_grow(
				trace->processes, trace->process_room,
				sizeof(*trace->processes));
		}
		trace->processes[trace->process_count++] = *told;
		*known = trace->process_count;
		return;
	}
	process = &trace->processes[*known - 1];
	if (!process->start_ns)
		process->start_ns = told->start_ns;
	if (told->name)
		process->name = told->name;
}

static void process_track(struct trace *trace, uint64_t uuid, struct pb pb)
{
	struct process process = { 0 };
	struct pb_field field;

	while (pb_next(&pb, &field) > 0) {
		if (field.number == 1)
			process.pid = (int32_t)field.value;
		else if (field.number == 6)
			process.name =
				strings_add(&trace->names, field.bytes.at,
					    pb_left(&field.bytes)) +
				1;
		else if (field.number == 7)
			process.start_ns = field.value;
	}
	if (process.pid <= 0)
		BREAK(trace, IDS, "a process with pid %d", process.pid);
	claim_uuid(trace, uuid, 1ULL << 32 | (uint32_t)process.pid);
	describe_process(trace, &process);
}

static void thread_track(struct trace *trace, const struct packet *packet,
			 uint64_t uuid, struct pb pb)
{
	struct sequence *sequence = packet->sequence;
	struct pb_field field;
	int32_t pid = 0;
	int64_t tid = 0;

	while (pb_next(&pb, &field) > 0) {
		if (field.number == 1)
			pid = (int32_t)field.value;
		else if (field.number == 2)
			tid = (int64_t)field.value;
		else if (sequence)
			sequence->thread_name =
				strings_add(&trace->names, field.bytes.at,
					    pb_left(&field.bytes)) +
				1;
	}
	if (pid <= 0 || tid <= 0)
		BREAK(trace, IDS, "thread %" PRId64 " of process %d", tid, pid);
	if (!needs_sequence(trace, packet, "a thread"))
		return;
	claim_uuid(trace, uuid, sequence->id);
	if (!sequence->uuid)
		trace->totals.threads++;
	else if (sequence->uuid != uuid || sequence->pid != pid ||
		 sequence->tid != tid)
		BREAK(trace, SEQUENCE_REUSED,
		      "sequence %u: %d/%" PRId64 " after %d/%" PRId64,
		      sequence->id, pid, tid, sequence->pid, sequence->tid);
	sequence->uuid = uuid;
	sequence->pid = pid;
	sequence->tid = tid;
}

const struct sequence *trace_thread(const struct trace *trace,
				    const struct sequence *sequence)
{
	const uint64_t *id, *index;

	if (!sequence->context)
		return sequence;
	id = table_find(&trace->uuids, sequence->parent_uuid);
	index = id ? table_find(&trace->by_id, *id) : NULL;
	return index ? &trace->sequences[*index - 1] : NULL;
}

/* N of "context N of ..."; 0 when it is called otherwise. */
static uint32_t context_number(struct pb name)
{
	static const char before[] = "context ", behind[] = " of ";
	uint32_t number = 0;

	if (pb_left(&name) < sizeof(before) ||
	    memcmp(name.at, before, sizeof(before) - 1))
		return 0;
	name.at += sizeof(before) - 1;
	for (; name.at < name.end && *name.at >= '0' && *name.at <= '9';
	     name.at++)
		number = number * 10 + (uint32_t)(*name.at - '0');
	if (pb_left(&name) < sizeof(behind) - 1 ||
	    memcmp(name.at, behind, sizeof(behind) - 1))
		return 0;
	return number;
}

/* Whether its parent is a thread can be judged at the end only. */
static void context_track(struct trace *trace, const struct packet *packet,
			  uint64_t uuid, uint64_t parent_uuid, struct pb name)
{
	struct sequence *sequence = packet->sequence;
	uint32_t number = context_number(name);

	if (!needs_sequence(trace, packet, "a context"))
		return;
	if (!number)
		BREAK(trace, CONTEXT_PARENT, "sequence %u: a nameless track",
		      sequence->id);
	claim_uuid(trace, uuid, sequence->id);
	if (sequence->uuid)
		BREAK(trace, SEQUENCE_REUSED, "sequence %u: context %u",
		      sequence->id, number);
	sequence->uuid = uuid;
	sequence->parent_uuid = parent_uuid;
	sequence->context = MAX(number, 1); /* not a thread, in any case */
}

static void track_descriptor(struct trace *trace, const struct packet *packet)
{
	struct pb pb = packet->parts[PART_TRACK], process = { 0 },
		  thread = { 0 }, name = { 0 };
	struct pb_field field;
	uint64_t uuid = 0, parent_uuid = 0;

	while (pb_next(&pb, &field) > 0) {
		if (field.number == 1)
			uuid = field.value;
		else if (field.number == 2)
			name = field.bytes;
		else if (field.number == 3)
			process = field.bytes;
		else if (field.number == 4)
			thread = field.bytes;
		else if (field.number == 5)
			parent_uuid = field.value;
	}
	if (process.at)
		process_track(trace, uuid, process);
	if (thread.at)
		thread_track(trace, packet, uuid, thread);
	if (!process.at && !thread.at && packet->sequence &&
	    packet->sequence->id == SEQUENCE_GLOBAL)
		tracks_describe(trace, packet->parts[PART_TRACK]);
	else if (!process.at && !thread.at)
		context_track(trace, packet, uuid, parent_uuid, name);
}

/* --- events --------------------------------------------------------------- */

#define NO_NAME UINT32_MAX

/* Returns the number of the event's name; counts a call if it is a start. */
static uint32_t event_name(struct trace *trace, struct sequence *sequence,
			   const struct event *event)
{
	uint64_t index = (uint64_t)(sequence - trace->sequences);
	uint32_t name;

	if (event->iid) {
		if (event->iid >= sequence->iid_room ||
		    !sequence->names[event->iid]) {
			BREAK(trace, NAME_UNKNOWN,
			      "sequence %u uses iid %" PRIu64, sequence->id,
			      event->iid);
			return NO_NAME;
		}
		sequence->calls[event->iid] += event->type == EVENT_BEGIN;
		return sequence->names[event->iid] - 1;
	}
	if (!pb_left(&event->name)) {
		BREAK(trace, NAME_EMPTY, "sequence %u: an event without a name",
		      sequence->id);
		return NO_NAME;
	}
	name = strings_add(&trace->names, event->name.at,
			   pb_left(&event->name));
	if (event->type == EVENT_BEGIN)
		++*table_at(&trace->inline_calls, index << 32 | name);
	return name;
}

static void dump_event(struct trace *trace, const struct sequence *sequence,
		       const struct event *event, uint32_t name)
{
	static const char letters[] = { '?', 'B', 'E', 'I' };
	const struct sequence *thread = trace_thread(trace, sequence);

	fprintf(trace->dump, "%c %d %" PRId64, letters[event->type & 3],
		thread ? thread->pid : 0, thread ? thread->tid : 0);
	if (sequence->context)
		fprintf(trace->dump, "/%u", sequence->context);
	fprintf(trace->dump, " %" PRIu64 " %u %s\n", sequence->now_ns,
		sequence->depth,
		name == NO_NAME ? "?" : trace->names.texts[name]);
}

static void tell(struct trace *trace, const struct sequence *sequence,
		 const struct event *event, uint32_t name)
{
	if (trace->wants_text)
		text_event(trace, sequence, NULL, event,
			   name == NO_NAME ? 0 : name + 1, sequence->depth);
}

/* The time since the last begin or end is of the innermost slice. */
static void count_time(struct trace *trace, struct sequence *sequence)
{
	const struct sequence *thread = trace_thread(trace, sequence);
	uint32_t room = trace->times_room, name = NO_NAME;

	if (!trace->known)
		return;
	if (sequence->depth)
		name = sequence->open[sequence->depth - 1];
	if (thread && name != NO_NAME) {
		if (name >= room) {
			trace->times_room = name * 2 + 64;
			trace->times =
				table_grow(trace->times, trace->times_room,
					   sizeof(*trace->times));
			memset(&trace->times[room], 0,
			       (trace->times_room - room) *
				       sizeof(*trace->times));
		}
		sched_between(trace->known, (int32_t)thread->tid,
			      sequence->counted_ns, sequence->now_ns,
			      &trace->times[name]);
	}
	sequence->counted_ns = sequence->now_ns;
}

static void begin_slice(struct trace *trace, struct sequence *sequence,
			const struct event *event)
{
	uint32_t name = event_name(trace, sequence, event);

	count_time(trace, sequence);
	if (trace->dump)
		dump_event(trace, sequence, event, name);
	tell(trace, sequence, event, name);
	if (sequence->depth == sequence->open_room) {
		sequence->open_room = sequence->open_room * 2 + 64;
		sequence->open = table_grow(sequence->open, sequence->open_room,
					    sizeof(*sequence->open));
	}
	sequence->open[sequence->depth++] = name;
	if (sequence->depth > DEPTH_LIMIT)
		BREAK(trace, DEPTH, "sequence %u has %u open slices",
		      sequence->id, sequence->depth);
	trace->totals.max_depth = MAX(trace->totals.max_depth, sequence->depth);
	trace->totals.begins++;
}

static void end_slice(struct trace *trace, struct sequence *sequence,
		      const struct event *event)
{
	trace->totals.ends++;
	count_time(trace, sequence);
	if (event->iid || event->name.at)
		BREAK(trace, END_NAMED, "sequence %u", sequence->id);
	if (!sequence->depth) {
		BREAK(trace, END_WITHOUT_BEGIN, "sequence %u", sequence->id);
		return;
	}
	sequence->depth--;
	if (trace->dump)
		dump_event(trace, sequence, event,
			   sequence->open[sequence->depth]);
	tell(trace, sequence, event, NO_NAME);
}

/* "perfrec: N spans lost" and the like: what a user sees of a loss where it
 * happened must also be in the statistics. */
static bool tells_loss(const char *name)
{
	return strstr(name, " lost") || strstr(name, " dropped");
}

static void instant(struct trace *trace, struct sequence *sequence,
		    const struct event *event)
{
	uint32_t name = event_name(trace, sequence, event);

	trace->totals.instants++;
	if (trace->dump)
		dump_event(trace, sequence, event, name);
	tell(trace, sequence, event, name);
	if (name != NO_NAME && tells_loss(trace->names.texts[name]))
		sequence->lost = true;
}

/* A sequence of events that name their tracks and are on the trace's clock. */
static bool is_shared(const struct sequence *sequence)
{
	return !sequence->uuid && sequence->default_clock == CLOCK_ID_BOOTTIME;
}

static void check_ready(struct trace *trace, const struct sequence *sequence)
{
	if (is_shared(sequence)) {
		if (!sequence->cleared)
			BREAK(trace, NOT_CLEARED, "sequence %u has events",
			      sequence->id);
		return;
	}
	if (!sequence->uuid)
		BREAK(trace, DESCRIPTOR_MISSING, "sequence %u", sequence->id);
	if (!sequence->default_uuid ||
	    sequence->default_clock != SEQUENCE_CLOCK ||
	    (sequence->uuid && sequence->uuid != sequence->default_uuid))
		BREAK(trace, DEFAULTS_MISSING,
		      "sequence %u: track %" PRIu64 " of %" PRIu64
		      ", clock %" PRIu64,
		      sequence->id, sequence->default_uuid, sequence->uuid,
		      sequence->default_clock);
	if (!sequence->cleared)
		BREAK(trace, NOT_CLEARED, "sequence %u has events",
		      sequence->id);
	if (!sequence->clock_set)
		BREAK(trace, CLOCK_UNDEFINED, "sequence %u has events",
		      sequence->id);
}

/* Returns when the event was. */
static uint64_t advance(struct trace *trace, const struct packet *packet)
{
	struct sequence *sequence = packet->sequence;
	uint64_t now = sequence->now_ns + packet->time;
	bool absolute = packet->clock || is_shared(sequence);

	if (packet->clock && packet->clock != CLOCK_ID_BOOTTIME)
		BREAK(trace, CLOCK_PROPERTIES, "an event has clock %" PRIu64,
		      packet->clock);
	if (!packet->has_time) {
		BREAK(trace, TIME_MISSING, "sequence %u", sequence->id);
	} else if (absolute) {
		check_absurd(trace, packet->time);
		return packet->time;
	} else if (packet->time >> 63 || now < sequence->now_ns) {
		BREAK(trace, TIME_BACKWARDS, "sequence %u: step of %" PRId64,
		      sequence->id, (int64_t)packet->time);
	} else {
		check_absurd(trace, now);
		sequence->now_ns = now;
		if (!sequence->first_ns)
			sequence->first_ns = now;
	}
	return sequence->now_ns;
}

static void note_time(struct totals *totals, uint64_t ns)
{
	if (!totals->last_ns || ns < totals->first_ns)
		totals->first_ns = ns;
	totals->last_ns = MAX(totals->last_ns, ns);
}

/* On a track that is not the sequence's: its slices are no calls. False: it is
 * a wait, which may be before the first call or after the last. */
static bool own_event(struct trace *trace, struct sequence *sequence,
		      const struct event *event)
{
	struct event uncounted = *event;
	uint32_t name = NO_NAME;

	uncounted.type = EVENT_INSTANT;
	if (event->type != EVENT_END &&
	    (event->iid || event->name.at || event->type <= EVENT_INSTANT))
		name = event_name(trace, sequence, &uncounted);
	return tracks_event(trace, sequence, event,
			    name == NO_NAME ? 0 : name + 1);
}

static void track_event(struct trace *trace, const struct packet *packet)
{
	struct sequence *sequence = packet->sequence;
	struct pb pb = packet->parts[PART_EVENT];
	struct event event = { .all = pb };
	struct pb_field field;

	if (!needs_sequence(trace, packet, "an event"))
		return;
	while (pb_next(&pb, &field) > 0) {
		if (field.number == 9)
			event.type = field.value;
		else if (field.number == 10)
			event.iid = field.value;
		else if (field.number == 11)
			event.track = field.value;
		else if (field.number == 23)
			event.name = field.bytes;
		else if (field.number == 30 || field.number == 44)
			event.values++;
	}
	check_ready(trace, sequence);
	event.ns = advance(trace, packet);
	tracks_fields(trace, sequence, &event);
	if (event.track && event.track != sequence->uuid) {
		if (own_event(trace, sequence, &event))
			note_time(&trace->totals, event.ns);
		return;
	}
	note_time(&trace->totals, event.ns);
	if (is_shared(sequence))
		BREAK(trace, DEFAULTS_MISSING,
		      "sequence %u: an event names no track", sequence->id);
	if (event.type == EVENT_BEGIN)
		begin_slice(trace, sequence, &event);
	else if (event.type == EVENT_END)
		end_slice(trace, sequence, &event);
	else if (event.type == EVENT_INSTANT)
		instant(trace, sequence, &event);
	else
		BREAK(trace, EVENT_TYPE, "sequence %u: type %" PRIu64,
		      sequence->id, event.type);
}

static void perf_sample(struct trace *trace, const struct packet *packet)
{
	if (!needs_sequence(trace, packet, "a sample"))
		return;
	if (!packet->sequence->cleared)
		BREAK(trace, NOT_CLEARED, "sequence %u has samples",
		      packet->sequence->id);
	if (!packet->has_time)
		BREAK(trace, TIME_MISSING, "sequence %u has a sample",
		      packet->sequence->id);
	else
		check_absurd(trace, packet->time);
	stacks_sample(trace, packet->sequence, packet->parts[PART_SAMPLE]);
}

static void switches(struct trace *trace, const struct packet *packet)
{
	uint64_t ns = sched_bundle(&trace->verdict, &trace->sched,
				   packet->parts[PART_SCHED]);

	if (!trace->snapshot_seen)
		BREAK(trace, SNAPSHOT_FIRST, "switches before any snapshot");
	if (ns)
		check_absurd(trace, ns);
}

/* --- statistics ----------------------------------------------------------- */

static void trace_stats(struct trace *trace, const struct packet *packet)
{
	struct pb pb = packet->parts[PART_STATS];
	struct pb_field field, inner;

	while (pb_next(&pb, &field) > 0) {
		uint64_t id = 0, index;

		if (field.number != 18)
			continue;
		while (pb_next(&field.bytes, &inner) > 0)
			if (inner.number == 1)
				id = inner.value;
		index = *table_at(&trace->by_id, id);
		if (index)
			trace->sequences[index - 1].lost = false;
		else
			BREAK(trace, STATS_SEQUENCE,
			      "sequence %" PRIu64 " is not in the trace", id);
	}
}

static void trace_attribute(struct trace *trace, struct pb pb)
{
	static const char key[] = "perfrec.cut_kept_from_ns";
	struct pb_field field;
	bool is_kept = false;
	uint64_t number = 0;

	while (pb_next(&pb, &field) > 0) {
		if (field.number == 1)
			is_kept = pb_left(&field.bytes) == strlen(key) &&
				  memcmp(field.bytes.at, key, strlen(key)) == 0;
		else if (field.number == 2)
			number = field.value;
	}
	if (is_kept)
		trace->kept_from_ns = number;
}

static void trace_attributes(struct trace *trace, struct pb pb)
{
	struct pb_field field;

	while (pb_next(&pb, &field) > 0)
		if (field.number == 1)
			trace_attribute(trace, field.bytes);
}

/* --- packets -------------------------------------------------------------- */

static void set_part(struct packet *packet, uint32_t part, struct pb bytes)
{
	packet->parts[part] = bytes;
	packet->present |= 1ULL << part;
}

static void read_parts(struct trace *trace, struct pb pb, struct packet *packet)
{
	struct pb_field field;

	/* The parts themselves count only where their bit is set. */
	packet->sequence = NULL;
	packet->has_time = false;
	packet->time = packet->flags = packet->dropped = packet->present = 0;
	packet->clock = 0;
	while (pb_next(&pb, &field) > 0) {
		switch (field.number) {
		case 8:
			packet->time = field.value;
			packet->has_time = true;
			break;
		case 10:
			if ((uint32_t)field.value)
				packet->sequence = sequence_at(
					trace, (uint32_t)field.value);
			break;
		case 13:
			packet->flags = field.value;
			break;
		case 58:
			packet->clock = field.value;
			break;
		case 42:
			packet->dropped = field.value;
			break;
		case FIELD_SAMPLE:
			set_part(packet, PART_SAMPLE, field.bytes);
			break;
		case FIELD_ATTRIBUTES:
			set_part(packet, PART_ATTRIBUTES, field.bytes);
			break;
		default:
			if (field.number < PART_SAMPLE)
				set_part(packet, field.number, field.bytes);
		}
	}
}

static void read_bundle(struct trace *trace, struct pb bundle);

static void apply_packet(struct trace *trace, const struct packet *packet)
{
	trace->totals.packets++;
	if (packet->sequence)
		packet->sequence->packets++;
	if (packet->dropped)
		sequence_loss(trace, packet);
	sequence_state(trace, packet);
	if (has_part(packet, PART_DEFAULTS))
		sequence_defaults(trace, packet);
	if (has_part(packet, PART_SNAPSHOT))
		clock_snapshot(trace, packet);
	if (packet->has_time && !trace->snapshot_seen)
		BREAK(trace, SNAPSHOT_FIRST, "a timestamp before any snapshot");
	if (has_part(packet, PART_INTERNED))
		intern_names(trace, packet);
	if (has_part(packet, PART_SCHED))
		switches(trace, packet);
	if (has_part(packet, PART_EVENT))
		track_event(trace, packet);
	if (has_part(packet, PART_SAMPLE))
		perf_sample(trace, packet);
	if (has_part(packet, PART_HEAP) &&
	    needs_sequence(trace, packet, "a heap dump"))
		stacks_heap(trace, packet->sequence, packet->parts[PART_HEAP]);
	if (has_part(packet, PART_TRACK))
		track_descriptor(trace, packet);
	if (has_part(packet, PART_STATS))
		trace_stats(trace, packet);
	if (has_part(packet, PART_ATTRIBUTES))
		trace_attributes(trace, packet->parts[PART_ATTRIBUTES]);
	if (has_part(packet, PART_BUNDLE))
		read_bundle(trace, packet->parts[PART_BUNDLE]);
}

/* Unpacks @bundle into @out. Returns the bytes, 0 after a breach. */
static size_t inflate_bundle(struct trace *trace, struct pb bundle,
			     uint8_t out[BUNDLE_LIMIT])
{
	z_stream stream = { .next_in = (Bytef *)(uintptr_t)bundle.at,
			    .avail_in = (uInt)pb_left(&bundle),
			    .next_out = out,
			    .avail_out = BUNDLE_LIMIT };
	int status;

	if (inflateInit(&stream) != Z_OK)
		return 0;
	status = inflate(&stream, Z_FINISH);
	inflateEnd(&stream);
	if (!stream.avail_out) {
		BREAK(trace, BUNDLE_SIZE, "more than %u bytes unpacked",
		      BUNDLE_LIMIT - 1);
		return 0;
	}
	if (status != Z_STREAM_END || stream.avail_in) {
		BREAK(trace, BUNDLE_INFLATE, "%s, %u bytes left",
		      stream.msg ? stream.msg : "cut or followed by more",
		      stream.avail_in);
		return 0;
	}
	return BUNDLE_LIMIT - stream.avail_out;
}

static void read_bundle(struct trace *trace, struct pb bundle)
{
	static uint8_t content[BUNDLE_LIMIT];
	size_t size;

	trace->totals.bundles++;
	if (trace->verdict.place.bundled) {
		BREAK(trace, BUNDLE_NESTED, "a bundle in a bundle");
		return;
	}
	if (pb_left(&bundle) >= BUNDLE_LIMIT) {
		BREAK(trace, BUNDLE_SIZE, "%zu bytes packed", pb_left(&bundle));
		return;
	}
	size = inflate_bundle(trace, bundle, content);
	trace->verdict.place.bundled = 1;
	if (trace_read(trace, content, size) != size)
		BREAK(trace, FRAMING, "a bundle ends inside a packet");
	trace->verdict.place.bundled = 0;
}

size_t trace_read(struct trace *trace, const void *data, size_t size)
{
	struct place *place = &trace->verdict.place;
	uint64_t *offset = place->bundled ? &place->inner : &place->offset;
	struct pb pb = pb_over(data, size);
	struct pb_field field;
	struct packet packet;

	for (;;) {
		const uint8_t *start = pb.at;
		int got = pb_next(&pb, &field);

		*offset = (uint64_t)(start - (const uint8_t *)data);
		if (got == 0 || got == -ENODATA)
			return *offset;
		if (got < 0 || field.number != 1 || field.type != PB_BYTES) {
			BREAK(trace, FRAMING, "no Trace.packet");
			return size;
		}
		if (!schema_check(&trace->verdict, TRACE_PACKET, field.bytes))
			continue;
		read_parts(trace, field.bytes, &packet);
		apply_packet(trace, &packet);
	}
}

/* --- the end -------------------------------------------------------------- */

static void sequence_end(struct trace *trace, const struct sequence *sequence,
			 enum trace_end_flags flags)
{
	const struct sequence *thread;

	if (sequence->depth && !(flags & TRACE_MAY_BE_OPEN)) {
		uint32_t name = sequence->open[sequence->depth - 1];

		BREAK(trace, OPEN_AT_END,
		      "sequence %u has %u open slices, %s the innermost",
		      sequence->id, sequence->depth,
		      name == NO_NAME ? "?" : trace->names.texts[name]);
	}
	if (flags & TRACE_IS_CUT)
		return;
	thread = trace_thread(trace, sequence);
	if (!thread || thread->context)
		BREAK(trace, CONTEXT_PARENT,
		      "sequence %u: track %" PRIu64 " is not a thread's",
		      sequence->id, sequence->parent_uuid);
	if (sequence->lost)
		BREAK(trace, LOSS_UNREPORTED, "sequence %u", sequence->id);
	if (sequence->uuid && !sequence->context &&
	    !*table_at(&trace->pids, (uint32_t)sequence->pid))
		BREAK(trace, PROCESS_MISSING,
		      "thread %" PRId64 " of process %d", sequence->tid,
		      sequence->pid);
}

void trace_end(struct trace *trace, enum trace_end_flags flags)
{
	if (!trace->snapshot_seen)
		BREAK(trace, EMPTY, "no clock snapshot");
	trace->totals.processes = trace->pids.count;
	for (uint32_t i = 0; i < trace->sequence_count; i++)
		sequence_end(trace, &trace->sequences[i], flags);
	tracks_end(trace, flags & TRACE_MAY_BE_OPEN, flags & TRACE_IS_CUT);
	sched_end(&trace->verdict, &trace->sched);
	waits_end(trace, flags & (TRACE_MAY_BE_OPEN | TRACE_IS_CUT));
}

void trace_release(struct trace *trace)
{
	for (uint32_t i = 0; i < trace->sequence_count; i++) {
		free(trace->sequences[i].names);
		free(trace->sequences[i].calls);
		free(trace->sequences[i].open);
	}
	free(trace->sequences);
	free(trace->processes);
	table_release(&trace->by_id);
	table_release(&trace->uuids);
	table_release(&trace->pids);
	table_release(&trace->inline_calls);
	strings_release(&trace->names);
	sched_release(&trace->sched);
	free(trace->waits);
	free(trace->times);
}
