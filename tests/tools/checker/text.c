/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/tools/checker/text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define SHOWN_BYTES 48 /* of a text */
#define LABEL_BYTES 512
#define FLOW_MARK '\1' /* a flow's id in hex and a space follow in a line */

enum { EVENT_BEGIN = 1, EVENT_END, EVENT_INSTANT, EVENT_COUNTER, EVENT_STATE };
enum { CATEGORY = 1, KEY = 3, PLACE = 4 };

struct line {
	uint64_t ns, first_ns;
	size_t number; /* in the file */
	uint64_t track; /* uuid */
	char *text, *label;
};

struct text {
	struct line *line;
	size_t count, room;
};

/* --- one line ------------------------------------------------------------ */

struct writer {
	char *at;
	size_t length, room;
};

static void __attribute__((format(printf, 2, 3)))
say(struct writer *writer, const char *format, ...)
{
	char piece[512];
	va_list list;
	int length;

	va_start(list, format);
	length = vsnprintf(piece, sizeof(piece), format, list);
	va_end(list);
	if (length < 0 || (size_t)length >= sizeof(piece))
		length = sizeof(piece) - 1;
	if (writer->room - writer->length <= (size_t)length) {
		writer->room = 2 * writer->room + (size_t)length + 64;
		writer->at = table_grow(writer->at, writer->room, 1);
	}
	memcpy(writer->at + writer->length, piece, (size_t)length + 1);
	writer->length += (size_t)length;
}

static void say_text(struct writer *writer, struct pb text)
{
	size_t bytes = pb_left(&text), i;

	say(writer, "\"");
	for (i = 0; i < bytes && i < SHOWN_BYTES; i++) {
		if (text.at[i] < ' ' || text.at[i] == '"' || text.at[i] == '\\')
			say(writer, "\\x%02x", text.at[i]);
		else
			say(writer, "%c", text.at[i]);
	}
	say(writer, i < bytes ? "\"... (%zu bytes)" : "\"", bytes);
}

static const char *interned(const struct trace *trace,
			    const struct sequence *sequence, uint32_t kind,
			    uint64_t iid)
{
	const uint64_t *text =
		table_find(&trace->interned,
			   tracks_interned_key(trace, sequence, kind, iid));

	return text && *text ? trace->names.texts[*text - 1] : "?";
}

static void say_argument(struct writer *writer, const struct trace *trace,
			 const struct sequence *sequence, struct pb pb)
{
	struct pb_field field, value = { 0 };
	double number;

	while (pb_next(&pb, &field) > 0) {
		if (field.number == 1)
			say(writer, " %s=",
			    interned(trace, sequence, KEY, field.value));
		else if (field.number == 10)
			say(writer, " %.*s=", (int)pb_left(&field.bytes),
			    (const char *)field.bytes.at);
		else
			value = field;
	}
	if (value.number == 2) {
		say(writer, "%s", value.value ? "true" : "false");
	} else if (value.number == 3) {
		say(writer, "%" PRIu64 "u", value.value);
	} else if (value.number == 4) {
		say(writer, "%" PRId64, (int64_t)value.value);
	} else if (value.number == 5) {
		memcpy(&number, &value.value, sizeof(number));
		say(writer, "%.17g%s", number,
		    number == (double)(int)number ? ".0" : "");
	} else if (value.number == 6) {
		say_text(writer, value.bytes);
	} else if (value.number == 7) {
		say(writer, "0x%" PRIx64, value.value);
	}
}

/* Prints the fields beside the name, in the order of their numbers. */
static void say_fields(struct writer *writer, const struct trace *trace,
		       const struct sequence *sequence,
		       const struct event *event)
{
	struct pb pb = event->all;
	struct pb_field field;
	double number;

	while (pb_next(&pb, &field) > 0) {
		switch (field.number) {
		case 3:
			say(writer, " [%s]",
			    interned(trace, sequence, CATEGORY, field.value));
			break;
		case 4:
			say_argument(writer, trace, sequence, field.bytes);
			break;
		case 30:
			say(writer, " %" PRId64, (int64_t)field.value);
			break;
		case 34:
			say(writer, " @%s",
			    interned(trace, sequence, PLACE, field.value));
			break;
		case 44:
			memcpy(&number, &field.value, sizeof(number));
			say(writer, " %.17g%s", number,
			    number == (double)(int)number ? ".0" : "");
			break;
		case 47:
			say(writer, " flow %c%" PRIx64 " ", FLOW_MARK,
			    field.value);
			break;
		case 48:
			say(writer, " flow ends %c%" PRIx64 " ", FLOW_MARK,
			    field.value);
			break;
		case 52:
			say(writer, " correlation=%" PRIu64, field.value);
			break;
		default:
			break;
		}
	}
}

/* --- tracks -------------------------------------------------------------- */

static const struct own_track *find_own(const struct trace *trace,
					uint64_t uuid)
{
	const uint64_t *index = table_find(&trace->track_by_uuid, uuid);

	return index ? &trace->tracks[*index - 1] : NULL;
}

static void sequence_label(const struct trace *trace,
			   const struct sequence *sequence,
			   char label[LABEL_BYTES])
{
	const struct sequence *thread = trace_thread(trace, sequence);

	if (!thread)
		snprintf(label, LABEL_BYTES, "?");
	else if (thread->pid == thread->tid)
		snprintf(label, LABEL_BYTES, "main thread");
	else
		snprintf(label, LABEL_BYTES, "thread %s",
			 thread->thread_name
				 ? trace->names.texts[thread->thread_name - 1]
				 : "");
	if (sequence->context)
		snprintf(label + strlen(label), LABEL_BYTES - strlen(label),
			 " context %u", sequence->context);
}

static void own_label(const struct trace *trace, uint64_t uuid, int depth,
		      char label[LABEL_BYTES])
{
	const struct own_track *own = find_own(trace, uuid);
	const uint64_t *owner = table_find(&trace->uuids, uuid);
	char above[LABEL_BYTES] = "";
	const uint64_t *index;

	if (owner && *owner >> 32) {
		snprintf(label, LABEL_BYTES, "process");
		return;
	}
	if (owner) {
		index = table_find(&trace->by_id, *owner);
		if (index)
			sequence_label(trace, &trace->sequences[*index - 1],
				       label);
		return;
	}
	if (!own || depth > 32) {
		snprintf(label, LABEL_BYTES, "?");
		return;
	}
	if (own->has_parent)
		own_label(trace, own->parent, depth + 1, above);
	snprintf(label, LABEL_BYTES, "%.*s / %.*s%s", LABEL_BYTES / 2 - 60,
		 own->has_parent ? above : "global", LABEL_BYTES / 2 - 60,
		 own->name ? trace->names.texts[own->name - 1] : "?",
		 own->details ? trace->names.texts[own->details - 1] : "");
}

/* --- all of them --------------------------------------------------------- */

void text_event(struct trace *trace, const struct sequence *sequence,
		const struct own_track *own, const struct event *event,
		uint32_t name, uint32_t depth)
{
	static const char *const signs[] = { "?", "+", "-", "*", "=", ":" };
	struct text *text = trace->text;
	struct writer writer = { 0 };
	struct line *line;

	say(&writer, "%*s%s", 2 * (int)depth + 2, "",
	    signs[event->type < 6 ? event->type : 0]);
	if (name)
		say(&writer, " %.200s", trace->names.texts[name - 1]);
	else if (event->type == EVENT_STATE)
		say(&writer, " (none)");
	say_fields(&writer, trace, sequence, event);
	if (!text)
		text = trace->text = table_grow(NULL, 1, sizeof(*text)),
		*text = (struct text){ 0 };
	if (text->count == text->room) {
		text->room = 2 * text->room + 64;
		text->line =
			table_grow(text->line, text->room, sizeof(*text->line));
	}
	line = &text->line[text->count];
	*line = (struct line){ .ns = event->ns,
			       .number = text->count++,
			       .track = own ? own->uuid : sequence->uuid,
			       .text = writer.at };
}

static int by_track(const void *left, const void *right)
{
	const struct line *a = left, *b = right;

	if (a->track != b->track)
		return a->track < b->track ? -1 : 1;
	if (a->ns != b->ns)
		return a->ns < b->ns ? -1 : 1;
	return a->number < b->number ? -1 : 1;
}

static int by_label(const void *left, const void *right)
{
	const struct line *a = left, *b = right;
	int order = strcmp(a->label, b->label);

	if (order)
		return order;
	if (a->first_ns != b->first_ns)
		return a->first_ns < b->first_ns ? -1 : 1;
	return by_track(left, right);
}

/* Flows are numbered as they come. */
static void print_line(const char *text, struct table *flows, FILE *to)
{
	for (; *text; text++) {
		uint64_t *number;
		char *end;

		if (*text != FLOW_MARK) {
			putc(*text, to);
			continue;
		}
		number = table_at(flows, strtoull(text + 1, &end, 16));
		if (!*number)
			*number = flows->count;
		fprintf(to, "#%" PRIu64, *number);
		text = end;
	}
	putc('\n', to);
}

void text_print(struct trace *trace, FILE *to)
{
	struct text *text = trace->text;
	struct table flows = { 0 };
	char label[LABEL_BYTES];
	size_t i;

	if (!text)
		return;
	qsort(text->line, text->count, sizeof(*text->line), by_track);
	for (i = 0; i < text->count; i++) {
		struct line *line = &text->line[i], *before = line - 1;

		if (i && before->track == line->track) {
			line->label = before->label;
			line->first_ns = before->first_ns;
			continue;
		}
		own_label(trace, line->track, 0, label);
		line->label = strdup(label);
		line->first_ns = line->ns;
	}
	qsort(text->line, text->count, sizeof(*text->line), by_label);
	for (i = 0; i < text->count; i++) {
		const struct line *line = &text->line[i];

		if (!i || line[-1].track != line->track)
			fprintf(to, "%s\n", line->label);
		print_line(line->text, &flows, to);
	}
	for (i = 0; i < text->count; i++) {
		if (i + 1 == text->count ||
		    text->line[i + 1].label != text->line[i].label)
			free(text->line[i].label);
		free(text->line[i].text);
	}
	table_release(&flows);
	free(text->line);
	free(text);
	trace->text = NULL;
}
