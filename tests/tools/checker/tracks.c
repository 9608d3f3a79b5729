/* SPDX-License-Identifier: Apache-2.0
 *
 * tracks - the parts of annotations: tracks of no thread, and interned texts
 * other than names. Sequences are in no order, so only the end shows whether a
 * track has a description, and where it lies.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/tools/checker/pbread.h"
#include "tests/tools/checker/text.h"
#include "tests/tools/checker/trace.h"

#define BREAK(trace, rule, ...) \
	verdict_break(&(trace)->verdict, RULE_##rule, __VA_ARGS__)

#define DEPTH_LIMIT 512
#define CYCLE_LIMIT 1000
#define WAITS_NAME "perfrec: waits"
#define SUSPENDED_NAME "perfrec: suspended"
#define LOCKS_NAME "perfrec: locks"

enum { EVENT_BEGIN = 1, EVENT_END, EVENT_INSTANT, EVENT_COUNTER, EVENT_STATE };

/* Fields of InternedData. */
enum { CATEGORY = 1, NAME = 2, KEY = 3, PLACE = 4 };

static struct own_track *own_track(struct trace *trace, uint64_t uuid)
{
	uint64_t *index = table_at(&trace->track_by_uuid, uuid);

	if (!*index) {
		if (trace->track_count == trace->track_room) {
			trace->track_room = trace->track_room * 2 + 16;
			trace->tracks =
				table_grow(trace->tracks, trace->track_room,
					   sizeof(*trace->tracks));
		}
		trace->tracks[trace->track_count] =
			(struct own_track){ .uuid = uuid };
		*index = ++trace->track_count;
	}
	return &trace->tracks[*index - 1];
}

static void say_counter(struct pb counter, char *out, size_t room)
{
	static const char *const units[] = { "", "ns", "count", "bytes" };
	struct pb_field field;
	size_t used;

	while (pb_next(&counter, &field) > 0) {
		used = strlen(out);
		if (field.number == 3)
			snprintf(out + used, room - used, " in %s",
				 units[field.value & 3]);
		else if (field.number == 4)
			snprintf(out + used, room - used, " times %" PRId64,
				 (int64_t)field.value);
		else
			snprintf(out + used, room - used, " in %.*s",
				 (int)pb_left(&field.bytes),
				 (const char *)field.bytes.at);
	}
}

/* Prints another field of a descriptor. Ignores the key that merges tracks,
 * which means nothing outside its recording. */
static void say_detail(const struct pb_field *field, char *out, size_t room)
{
	static const char *const orders[] = { "", "by name", "by time",
					      "by rank" };
	size_t used = strlen(out);

	if (field->number == 11)
		snprintf(out + used, room - used, " (below: %s)",
			 orders[field->value & 3]);
	else if (field->number == 12)
		snprintf(out + used, room - used, " (rank %d)",
			 (int)field->value);
	else if (field->number == 14)
		snprintf(out + used, room - used, " (%.*s)",
			 (int)pb_left(&field->bytes),
			 (const char *)field->bytes.at);
	else if (field->number == 17)
		snprintf(out + used, room - used, " (not merged)");
}

void tracks_describe(struct trace *trace, struct pb track)
{
	struct own_track told = { 0 }, *own;
	const char *name;
	char details[256] = "";
	struct pb_field field;

	while (pb_next(&track, &field) > 0) {
		if (field.number == 1) {
			told.uuid = field.value;
		} else if (field.number == 2) {
			told.name = strings_add(&trace->names, field.bytes.at,
						pb_left(&field.bytes)) +
				    1;
		} else if (field.number == 5) {
			told.parent = field.value;
			told.has_parent = true;
		} else if (field.number == 8) {
			told.kind = OWN_COUNTER;
			say_counter(field.bytes, details, sizeof(details));
		} else if (field.number > 10 && field.number < 18) {
			say_detail(&field, details, sizeof(details));
		} else if (field.number == 18) {
			told.kind = OWN_STATES;
		}
	}
	if (!told.uuid || table_find(&trace->uuids, told.uuid))
		BREAK(trace, UUID_UNIQUE, "track %" PRIu64 " is another's",
		      told.uuid);
	if (!told.name)
		BREAK(trace, NAME_EMPTY, "track %" PRIu64, told.uuid);
	own = own_track(trace, told.uuid);
	own->details = strings_add(&trace->names, details, strlen(details)) + 1;
	own->described = true;
	own->parent = told.parent;
	own->has_parent = told.has_parent;
	own->name = told.name;
	own->kind = told.kind;
	if (!told.name || told.kind != OWN_SLICES)
		return;
	name = trace->names.texts[told.name - 1];
	own->suspended = strcmp(name, SUSPENDED_NAME) == 0;
	own->holds = strcmp(name, LOCKS_NAME) == 0;
	own->waits =
		own->suspended || own->holds || strcmp(name, WAITS_NAME) == 0;
}

/* --- events -------------------------------------------------------------- */

static void slice_event(struct trace *trace, struct own_track *own,
			const struct event *event)
{
	own->has_slices = true;
	if (event->ns < own->now_ns)
		BREAK(trace, TIME_BACKWARDS, "track %" PRIu64, own->uuid);
	own->now_ns = event->ns;
	if (event->type == EVENT_BEGIN) {
		trace->totals.begins++;
		if (++own->depth > DEPTH_LIMIT)
			BREAK(trace, DEPTH, "track %" PRIu64, own->uuid);
		return;
	}
	trace->totals.ends++;
	if (event->iid || event->name.at)
		BREAK(trace, END_NAMED, "track %" PRIu64, own->uuid);
	if (own->depth)
		own->depth--;
	else
		BREAK(trace, END_WITHOUT_BEGIN, "track %" PRIu64, own->uuid);
}

bool tracks_event(struct trace *trace, struct sequence *sequence,
		  const struct event *event, uint32_t name)
{
	struct own_track *own = own_track(trace, event->track);

	if (own->waits) {
		waits_event(trace, own, event, name);
		return false;
	}
	if (trace->wants_text)
		text_event(trace, sequence, own, event, name,
			   own->depth - (event->type == EVENT_END &&
					 own->depth > 0));
	switch (event->type) {
	case EVENT_BEGIN:
	case EVENT_END:
		slice_event(trace, own, event);
		break;
	case EVENT_INSTANT:
		trace->totals.instants++;
		break;
	case EVENT_COUNTER:
		own->has_values = true;
		if (event->values != 1 || event->iid || event->name.at)
			BREAK(trace, COUNTER_VALUE,
			      "sequence %u: %u numbers, or a name",
			      sequence->id, event->values);
		break;
	case EVENT_STATE:
		own->has_states = true;
		break;
	default:
		BREAK(trace, EVENT_TYPE, "sequence %u: type %" PRIu64,
		      sequence->id, event->type);
	}
	if (trace->dump)
		fprintf(trace->dump, "%c %s %" PRIu64 " %u %s\n",
			"?BEICS"[event->type < 6 ? event->type : 0], "track",
			event->ns, own->depth,
			name ? trace->names.texts[name - 1] : "-");
	return true;
}

/* --- interned entries ---------------------------------------------------- */

uint64_t tracks_interned_key(const struct trace *trace,
			     const struct sequence *sequence, uint32_t kind,
			     uint64_t iid)
{
	return (uint64_t)(sequence - trace->sequences) << 40 |
	       (uint64_t)kind << 32 | (uint32_t)iid;
}

/* "file.c:12", without folders. */
static uint32_t place(struct trace *trace, uint32_t file, uint64_t line)
{
	const char *path = file ? trace->names.texts[file - 1] : "";
	const char *slash = strrchr(path, '/');
	char text[300];
	int length = snprintf(text, sizeof(text), "%.255s:%" PRIu64,
			      slash ? slash + 1 : path, line);

	return strings_add(&trace->names, text, (size_t)length) + 1;
}

void tracks_intern(struct trace *trace, const struct sequence *sequence,
		   uint32_t kind, struct pb entry)
{
	struct pb_field field;
	uint64_t iid = 0, line = 0;
	uint32_t text = 0;

	while (pb_next(&entry, &field) > 0) {
		if (field.number == 1)
			iid = field.value;
		else if (field.number == 2)
			text = strings_add(&trace->names, field.bytes.at,
					   pb_left(&field.bytes)) +
			       1;
		else if (field.number == 4)
			line = field.value;
	}
	if (!iid || iid >> 32)
		BREAK(trace, NAME_IID, "sequence %u interns iid %" PRIu64,
		      sequence->id, iid);
	if (!text)
		BREAK(trace, NAME_EMPTY, "sequence %u: an interned nothing",
		      sequence->id);
	if (kind == PLACE)
		text = place(trace, text, line);
	*table_at(&trace->interned,
		  tracks_interned_key(trace, sequence, kind, iid)) = text;
}

static void check_iid(struct trace *trace, const struct sequence *sequence,
		      uint32_t kind, uint64_t iid)
{
	if (!table_find(&trace->interned,
			tracks_interned_key(trace, sequence, kind, iid)))
		BREAK(trace, IID_UNKNOWN,
		      "sequence %u: iid %" PRIu64 " of InternedData.%u",
		      sequence->id, iid, kind);
}

static void check_argument(struct trace *trace, const struct sequence *sequence,
			   struct pb argument)
{
	unsigned int names = 0, values = 0;
	struct pb_field field;

	while (pb_next(&argument, &field) > 0) {
		if (field.number == 1)
			check_iid(trace, sequence, KEY, field.value);
		if (field.number == 1 || field.number == 10)
			names++;
		else
			values++;
	}
	if (names != 1 || values != 1)
		BREAK(trace, ARGUMENT, "sequence %u: %u names, %u values",
		      sequence->id, names, values);
}

void tracks_fields(struct trace *trace, const struct sequence *sequence,
		   const struct event *event)
{
	struct pb pb = event->all;
	struct pb_field field;

	while (pb_next(&pb, &field) > 0) {
		if (field.number == 3)
			check_iid(trace, sequence, CATEGORY, field.value);
		else if (field.number == 34)
			check_iid(trace, sequence, PLACE, field.value);
		else if (field.number == 4)
			check_argument(trace, sequence, field.bytes);
	}
}

/* --- the end ------------------------------------------------------------- */

static const struct own_track *find_track(const struct trace *trace,
					  uint64_t uuid)
{
	const uint64_t *index = table_find(&trace->track_by_uuid, uuid);

	return index ? &trace->tracks[*index - 1] : NULL;
}

static void check_parent(struct trace *trace, const struct own_track *own)
{
	const struct own_track *at = own;
	unsigned int steps = 0;

	while (at && at->has_parent && at->described && steps++ < CYCLE_LIMIT) {
		uint64_t parent = at->parent;

		if (table_find(&trace->uuids, parent))
			return;
		at = find_track(trace, parent);
		if (!at || !at->described) {
			BREAK(trace, TRACK_PARENT,
			      "track %" PRIu64 " lies below %" PRIu64
			      ", which is none",
			      own->uuid, parent);
			return;
		}
	}
	if (steps >= CYCLE_LIMIT)
		BREAK(trace, TRACK_PARENT, "track %" PRIu64 " below itself",
		      own->uuid);
}

void tracks_end(struct trace *trace, bool may_be_open, bool cut)
{
	for (uint32_t i = 0; i < trace->track_count; i++) {
		const struct own_track *own = &trace->tracks[i];

		if (own->depth && !may_be_open)
			BREAK(trace, OPEN_AT_END,
			      "track %" PRIu64 " has %u open slices", own->uuid,
			      own->depth);
		if (cut)
			continue;
		/* An instant on a process' or thread's, of another sequence. */
		if (!own->described && table_find(&trace->uuids, own->uuid) &&
		    !own->has_slices && !own->has_values && !own->has_states)
			continue;
		if (!own->described) {
			BREAK(trace, TRACK_UNDESCRIBED, "track %" PRIu64,
			      own->uuid);
			continue;
		}
		if ((own->has_values && own->kind != OWN_COUNTER) ||
		    (own->has_states && own->kind != OWN_STATES) ||
		    (own->has_slices && own->kind != OWN_SLICES))
			BREAK(trace, TRACK_KIND,
			      "track %" PRIu64 " holds other things",
			      own->uuid);
		check_parent(trace, own);
	}
	free(trace->tracks);
	table_release(&trace->track_by_uuid);
	table_release(&trace->interned);
}
