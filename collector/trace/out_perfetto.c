/* SPDX-License-Identifier: Apache-2.0
 *
 * out_perfetto - the rare packets of a trace.
 *
 * Every packet is a protobuf-c message on the stack, packed into the caller's
 * buffer behind its Trace.packet tag. A cursor remembers whether a packet did
 * not fit, so a function of several packets checks once, at its end. The caller
 * discards the contents of a buffer that is too small.
 *
 * Strings come from programs. Decoders other than trace_processor reject a file
 * for one malformed string. So clean_text() returns each string itself if it is
 * clean (nearly always), else a repaired copy, which the cursor owns.
 */
#include "collector/trace/out_perfetto.h"

#include <assert.h>
#include <endian.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "collector/base/utf8.h"
#include "collector/trace/fields.h"
#include "collector/trace/packet.h"
#include "shared/compiler.h"

#define NAMES_PER_PACKET 64
#define CMDLINE_ARGUMENTS 256

/* protobuf-c prefixes all names with the package. */
typedef Perfetto__Protos__ClockSnapshot pb_snapshot;
typedef Perfetto__Protos__ClockSnapshot__Clock pb_clock;
typedef Perfetto__Protos__TrackDescriptor pb_track;
typedef Perfetto__Protos__TrackEvent pb_event;
typedef Perfetto__Protos__DebugAnnotation pb_annotation;
typedef Perfetto__Protos__TraceAttributes__Attribute pb_attribute;
typedef Perfetto__Protos__EventName pb_event_name;
typedef Perfetto__Protos__TraceStats__WriterStats pb_writer_stats;

#define TRACK_INIT PERFETTO__PROTOS__TRACK_DESCRIPTOR__INIT

struct copy { /* a repaired string */
	struct copy *next;
	char text[];
};

struct cursor {
	uint8_t *start, *out, *end;
	bool full;
	struct copy *copies;
};

static struct cursor cursor_init(uint8_t *buffer, size_t size)
{
	return (struct cursor){ buffer, buffer, buffer + size, false, NULL };
}

/* Frees the copies. Returns the bytes of all packets, or 0. */
static size_t cursor_finish(struct cursor *cursor)
{
	for (struct copy *copy = cursor->copies, *next; copy; copy = next) {
		next = copy->next;
		free(copy);
	}
	return cursor->full ? 0 : (size_t)(cursor->out - cursor->start);
}

static void put_packet(struct cursor *cursor, const pb_packet *packet)
{
	size_t bytes = 0;

	if (!cursor->full)
		bytes = packet_pack(cursor->out,
				    (size_t)(cursor->end - cursor->out),
				    packet);
	cursor->full |= !bytes;
	cursor->out += bytes;
}

/* Copies @from with '?' for bytes that are not UTF-8, cut at the last character
 * within OUT_TEXT_BYTES. */
static void repair_text(char *to, const char *from)
{
	size_t left = strnlen(from, OUT_TEXT_BYTES + UTF8_BYTES_MAX);
	size_t at = 0, length;

	for (; at < left; at += length) {
		length = utf8_length(from + at, left - at);
		if (!length)
			length = 1;
		if (at + length > OUT_TEXT_BYTES)
			break;
	}
	utf8_copy(to, from, at);
	to[at] = '\0';
}

/* Returns @s, or a repaired copy that lives until cursor_finish(). protobuf-c
 * takes a char * but only reads the text. */
static char *clean_text(struct cursor *cursor, const char *s)
{
	struct copy *copy;
	size_t count = strnlen(s, OUT_TEXT_BYTES + 1);

	if (count <= OUT_TEXT_BYTES && utf8_valid_bytes(s, count) == count)
		return (char *)s;
	copy = malloc(sizeof(*copy) + OUT_TEXT_BYTES + 1);
	if (!copy)
		return "?"; /* out of memory: better than no name */
	repair_text(copy->text, s);
	copy->next = cursor->copies;
	cursor->copies = copy;
	return copy->text;
}

/* --- the start of a file --- */

static void put_snapshot(struct cursor *cursor, pb_packet *packet,
			 pb_clock *clocks, size_t count, int primary)
{
	pb_snapshot snapshot = PERFETTO__PROTOS__CLOCK_SNAPSHOT__INIT;
	pb_clock *pointers[8];

	assert(count <= ARRAY_SIZE(pointers));
	for (size_t i = 0; i < count; i++)
		pointers[i] = &clocks[i];
	snapshot.clocks = pointers;
	snapshot.n_clocks = count;
	if (primary)
		SET(&snapshot, primary_trace_clock,
		    (Perfetto__Protos__BuiltinClock)primary);
	packet->clock_snapshot = &snapshot;
	put_packet(cursor, packet);
	packet->clock_snapshot = NULL;
}

static pb_clock make_clock(uint32_t id, uint64_t ns)
{
	pb_clock clock = PERFETTO__PROTOS__CLOCK_SNAPSHOT__CLOCK__INIT;

	SET(&clock, clock_id, id);
	SET(&clock, timestamp, ns);
	return clock;
}

static void put_clocks(struct cursor *cursor, const struct out_clocks *clocks)
{
	pb_packet packet = PACKET_INIT;
	pb_clock all[] = {
		make_clock(BUILTIN_CLOCK(BOOTTIME), clocks->boottime),
		make_clock(BUILTIN_CLOCK(MONOTONIC), clocks->monotonic),
		make_clock(BUILTIN_CLOCK(REALTIME), clocks->realtime),
		make_clock(BUILTIN_CLOCK(MONOTONIC_COARSE),
			   clocks->monotonic_coarse),
		make_clock(BUILTIN_CLOCK(MONOTONIC_RAW), clocks->monotonic_raw),
	};

	SET(&packet, trusted_packet_sequence_id, OUT_SEQUENCE_GLOBAL);
	put_snapshot(cursor, &packet, all, ARRAY_SIZE(all),
		     BUILTIN_CLOCK(BOOTTIME));
}

static void put_uuid(struct cursor *cursor, const uint8_t uuid[16])
{
	pb_packet packet = PACKET_INIT;
	Perfetto__Protos__TraceUuid message =
		PERFETTO__PROTOS__TRACE_UUID__INIT;
	uint64_t half[2];

	memcpy(half, uuid, sizeof(half));
	SET(&message, msb, (int64_t)be64toh(half[0]));
	SET(&message, lsb, (int64_t)be64toh(half[1]));
	packet.trace_uuid = &message;
	SET(&packet, trusted_packet_sequence_id, OUT_SEQUENCE_GLOBAL);
	put_packet(cursor, &packet);
}

static void put_system(struct cursor *cursor)
{
	pb_packet packet = PACKET_INIT;
	Perfetto__Protos__SystemInfo system =
		PERFETTO__PROTOS__SYSTEM_INFO__INIT;
	Perfetto__Protos__Utsname message = PERFETTO__PROTOS__UTSNAME__INIT;
	struct utsname names;

	if (uname(&names) == 0) {
		message.sysname = clean_text(cursor, names.sysname);
		message.version = clean_text(cursor, names.version);
		message.release = clean_text(cursor, names.release);
		message.machine = clean_text(cursor, names.machine);
		system.utsname = &message;
	}
	SET(&system, page_size, (uint32_t)sysconf(_SC_PAGESIZE));
	SET(&system, num_cpus, (uint32_t)sysconf(_SC_NPROCESSORS_CONF));
	packet.system_info = &system;
	SET(&packet, trusted_packet_sequence_id, OUT_SEQUENCE_GLOBAL);
	put_packet(cursor, &packet);
}

static void put_attributes(struct cursor *cursor,
			   const struct out_attribute *attributes, size_t count)
{
	pb_packet packet = PACKET_INIT;
	Perfetto__Protos__TraceAttributes message =
		PERFETTO__PROTOS__TRACE_ATTRIBUTES__INIT;
	pb_attribute all[OUT_ATTRIBUTES], *pointers[OUT_ATTRIBUTES];

	assert(count <= OUT_ATTRIBUTES);
	for (size_t i = 0; i < count; i++) {
		perfetto__protos__trace_attributes__attribute__init(&all[i]);
		all[i].key = clean_text(cursor, attributes[i].key);
		if (attributes[i].text)
			all[i].string_value =
				clean_text(cursor, attributes[i].text);
		else
			SET(&all[i], long_value, attributes[i].number);
		pointers[i] = &all[i];
	}
	message.attribute = pointers;
	message.n_attribute = count;
	packet.trace_attributes = &message;
	SET(&packet, trusted_packet_sequence_id, OUT_SEQUENCE_GLOBAL);
	put_packet(cursor, &packet);
}

bool out_perfetto_is_waits(const void *name, size_t bytes)
{
	static const char *const names[] = { OUT_TRACK_WAITS,
					     OUT_TRACK_SUSPENDED,
					     OUT_TRACK_LOCKS };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (bytes == strlen(names[i]) &&
		    memcmp(name, names[i], bytes) == 0)
			return true;
	return false;
}

size_t out_perfetto_preamble(uint8_t *buffer, size_t size,
			     const struct out_clocks *clocks,
			     const uint8_t uuid[16],
			     const struct out_attribute *attributes,
			     size_t attribute_count)
{
	struct cursor cursor = cursor_init(buffer, size);

	put_clocks(&cursor, clocks);
	put_uuid(&cursor, uuid);
	put_system(&cursor);
	put_attributes(&cursor, attributes, attribute_count);
	return cursor_finish(&cursor);
}

size_t out_perfetto_attributes(uint8_t *buffer, size_t size,
			       const struct out_attribute *attributes,
			       size_t attribute_count)
{
	struct cursor cursor = cursor_init(buffer, size);

	put_attributes(&cursor, attributes, attribute_count);
	return cursor_finish(&cursor);
}

/* --- processes and threads --- */

/* Fills @out with the arguments of @cmdline that fit into @room. Returns their
 * number. */
static size_t cut_cmdline(struct cursor *cursor, char *const *cmdline,
			  char **out, size_t room)
{
	size_t count = 0;

	for (; count < CMDLINE_ARGUMENTS - 1 && cmdline[count]; count++) {
		size_t bytes = strlen(cmdline[count]) + 4; /* tag, length */

		if (bytes > room)
			break;
		room -= bytes;
		out[count] = clean_text(cursor, cmdline[count]);
	}
	if (cmdline[count])
		out[count++] = "...";
	return count;
}

size_t out_perfetto_process(uint8_t *buffer, size_t size,
			    const struct out_process *process)
{
	struct cursor cursor = cursor_init(buffer, size);
	pb_packet packet = PACKET_INIT;
	pb_track track = TRACK_INIT;
	Perfetto__Protos__ProcessDescriptor message =
		PERFETTO__PROTOS__PROCESS_DESCRIPTOR__INIT;
	char *cmdline[CMDLINE_ARGUMENTS];
	char *labels[CMDLINE_ARGUMENTS];
	size_t count = 0;

	SET(&message, pid, process->pid);
	message.process_name = clean_text(&cursor, process->name);
	if (process->cmdline) {
		message.cmdline = cmdline;
		message.n_cmdline = cut_cmdline(&cursor, process->cmdline,
						cmdline, size / 2);
	}
	if (process->labels) {
		message.process_labels = labels;
		while (count < ARRAY_SIZE(labels) && process->labels[count]) {
			labels[count] =
				clean_text(&cursor, process->labels[count]);
			count++;
		}
		message.n_process_labels = count;
	}
	if (process->start_ns)
		SET(&message, start_timestamp_ns, (int64_t)process->start_ns);
	SET(&track, uuid, process->uuid);
	track.process = &message;
	packet.track_descriptor = &track;
	SET(&packet, trusted_packet_sequence_id, OUT_SEQUENCE_GLOBAL);
	put_packet(&cursor, &packet);
	return cursor_finish(&cursor);
}

static void put_thread(struct cursor *cursor, const struct out_thread *thread)
{
	pb_packet packet = PACKET_INIT;
	pb_track track = TRACK_INIT;
	Perfetto__Protos__ThreadDescriptor message =
		PERFETTO__PROTOS__THREAD_DESCRIPTOR__INIT;

	SET(&message, pid, thread->pid);
	SET(&message, tid, thread->tid);
	if (thread->name && *thread->name)
		message.thread_name = clean_text(cursor, thread->name);
	SET(&track, uuid, thread->uuid);
	track.thread = &message;
	packet.track_descriptor = &track;
	SET(&packet, trusted_packet_sequence_id, thread->sequence);
	put_packet(cursor, &packet);
}

#define MERGE_NONE \
	PERFETTO__PROTOS__TRACK_DESCRIPTOR__SIBLING_MERGE_BEHAVIOR__SIBLING_MERGE_BEHAVIOR_NONE

/* From here on timestamps of @sequence are steps of its own clock, and its
 * events are on track @uuid. */
static void put_sequence_start(struct cursor *cursor, uint32_t sequence,
			       uint64_t uuid, uint64_t start_ns)
{
	pb_packet packet = PACKET_INIT;
	Perfetto__Protos__TracePacketDefaults defaults =
		PERFETTO__PROTOS__TRACE_PACKET_DEFAULTS__INIT;
	Perfetto__Protos__TrackEventDefaults event_defaults =
		PERFETTO__PROTOS__TRACK_EVENT_DEFAULTS__INIT;
	pb_clock clocks[] = {
		make_clock(CLOCK_SEQUENCE_FIRST, start_ns),
		make_clock(BUILTIN_CLOCK(BOOTTIME), start_ns),
	};

	SET(&clocks[0], is_incremental, 1);
	SET(&event_defaults, track_uuid, uuid);
	defaults.track_event_defaults = &event_defaults;
	SET(&defaults, timestamp_clock_id, CLOCK_SEQUENCE_FIRST);
	packet.trace_packet_defaults = &defaults;
	SET(&packet, sequence_flags,
	    SEQUENCE_FLAG(INCREMENTAL_STATE_CLEARED) |
		    SEQUENCE_FLAG(NEEDS_INCREMENTAL_STATE));
	SET(&packet, first_packet_on_sequence, 1);
	SET(&packet, trusted_packet_sequence_id, sequence);
	put_snapshot(cursor, &packet, clocks, ARRAY_SIZE(clocks), 0);
}

size_t out_perfetto_thread(uint8_t *buffer, size_t size,
			   const struct out_thread *thread)
{
	struct cursor cursor = cursor_init(buffer, size);

	put_thread(&cursor, thread);
	put_sequence_start(&cursor, thread->sequence, thread->uuid,
			   thread->start_ns);
	return cursor_finish(&cursor);
}

size_t out_perfetto_context(uint8_t *buffer, size_t size,
			    const struct out_context *context)
{
	struct cursor cursor = cursor_init(buffer, size);
	pb_packet packet = PACKET_INIT;
	pb_track track = TRACK_INIT;

	SET(&track, uuid, context->uuid);
	SET(&track, parent_uuid, context->thread_uuid);
	track.name = clean_text(&cursor, context->name);
	/* Otherwise the importer makes the contexts of all threads siblings. */
	SET(&track, sibling_merge_behavior, MERGE_NONE);
	packet.track_descriptor = &track;
	SET(&packet, trusted_packet_sequence_id, context->sequence);
	put_packet(&cursor, &packet);
	put_sequence_start(&cursor, context->sequence, context->uuid,
			   context->start_ns);
	return cursor_finish(&cursor);
}

size_t out_perfetto_thread_name(uint8_t *buffer, size_t size,
				const struct out_thread *thread)
{
	struct cursor cursor = cursor_init(buffer, size);

	put_thread(&cursor, thread);
	return cursor_finish(&cursor);
}

/* --- names, events, losses --- */

static void put_names(struct cursor *cursor, uint32_t sequence,
		      const struct out_name *names, size_t count)
{
	pb_packet packet = PACKET_INIT;
	Perfetto__Protos__InternedData interned =
		PERFETTO__PROTOS__INTERNED_DATA__INIT;
	pb_event_name all[NAMES_PER_PACKET], *pointers[NAMES_PER_PACKET];

	for (size_t i = 0; i < count; i++) {
		perfetto__protos__event_name__init(&all[i]);
		SET(&all[i], iid, names[i].iid);
		all[i].name = clean_text(cursor, names[i].name);
		pointers[i] = &all[i];
	}
	interned.event_names = pointers;
	interned.n_event_names = count;
	packet.interned_data = &interned;
	SET(&packet, trusted_packet_sequence_id, sequence);
	put_packet(cursor, &packet);
}

size_t out_perfetto_names(uint8_t *buffer, size_t size, uint32_t sequence,
			  const struct out_name *names, size_t count)
{
	struct cursor cursor = cursor_init(buffer, size);

	while (count && !cursor.full) {
		size_t part = MIN(count, (size_t)NAMES_PER_PACKET);

		put_names(&cursor, sequence, names, part);
		names += part;
		count -= part;
	}
	return cursor_finish(&cursor);
}

size_t out_perfetto_site(uint8_t *buffer, size_t size, uint32_t sequence,
			 const struct out_site *site)
{
	struct cursor cursor = cursor_init(buffer, size);
	pb_packet packet = PACKET_INIT;
	Perfetto__Protos__InternedData interned =
		PERFETTO__PROTOS__INTERNED_DATA__INIT;
	Perfetto__Protos__EventCategory category =
		PERFETTO__PROTOS__EVENT_CATEGORY__INIT;
	Perfetto__Protos__EventCategory *categories = &category;
	Perfetto__Protos__SourceLocation location =
		PERFETTO__PROTOS__SOURCE_LOCATION__INIT;
	Perfetto__Protos__SourceLocation *locations = &location;

	SET(&category, iid, site->iid);
	category.name = clean_text(&cursor, site->category);
	interned.event_categories = &categories;
	interned.n_event_categories = *site->category != '\0';
	SET(&location, iid, site->iid);
	location.file_name = clean_text(&cursor, site->file);
	if (*site->function)
		location.function_name = clean_text(&cursor, site->function);
	SET(&location, line_number, site->line);
	interned.source_locations = &locations;
	interned.n_source_locations = *site->file != '\0';
	packet.interned_data = &interned;
	SET(&packet, trusted_packet_sequence_id, sequence);
	put_packet(&cursor, &packet);
	return cursor_finish(&cursor);
}

static void put_track_event(struct cursor *cursor,
			    const struct out_event *event, pb_event *message)
{
	pb_packet packet = PACKET_INIT;
	pb_annotation all[OUT_ATTRIBUTES], *pointers[OUT_ATTRIBUTES];
	const struct out_attribute *argument = event->arguments;

	assert(event->argument_count <= OUT_ATTRIBUTES);
	for (size_t i = 0; i < event->argument_count; i++, argument++) {
		perfetto__protos__debug_annotation__init(&all[i]);
		all[i].name = clean_text(cursor, argument->key);
		if (argument->text)
			all[i].string_value =
				clean_text(cursor, argument->text);
		else
			SET(&all[i], int_value, argument->number);
		pointers[i] = &all[i];
	}
	message->debug_annotations = pointers;
	message->n_debug_annotations = event->argument_count;
	packet.track_event = message;
	SET(&packet, timestamp, event->delta_ns);
	SET(&packet, trusted_packet_sequence_id, event->sequence);
	put_packet(cursor, &packet);
}

size_t out_perfetto_event(uint8_t *buffer, size_t size,
			  const struct out_event *event)
{
	struct cursor cursor = cursor_init(buffer, size);
	pb_event message = PERFETTO__PROTOS__TRACK_EVENT__INIT;
	uint64_t flow = event->flow;

	/* enum out_event_type has the numbers of TrackEvent.Type. */
	SET(&message, type, (Perfetto__Protos__TrackEvent__Type)event->type);
	if (event->name)
		message.name = clean_text(&cursor, event->name);
	if (flow && event->flow_ends) {
		message.terminating_flow_ids = &flow;
		message.n_terminating_flow_ids = 1;
	} else if (flow) {
		message.flow_ids = &flow;
		message.n_flow_ids = 1;
	}
	put_track_event(&cursor, event, &message);
	return cursor_finish(&cursor);
}

static void put_stats(struct cursor *cursor, const uint32_t *sequences,
		      size_t count, uint64_t packets_lost)
{
	pb_packet packet = PACKET_INIT;
	Perfetto__Protos__TraceStats stats =
		PERFETTO__PROTOS__TRACE_STATS__INIT;
	Perfetto__Protos__TraceStats__BufferStats buffer =
		PERFETTO__PROTOS__TRACE_STATS__BUFFER_STATS__INIT;
	Perfetto__Protos__TraceStats__BufferStats *buffers = &buffer;
	pb_writer_stats *writers = calloc(count, sizeof(*writers));
	pb_writer_stats **pointers = calloc(count, sizeof(*pointers));

	if (count && (!writers || !pointers)) {
		cursor->full = true;
		goto out;
	}
	for (size_t i = 0; i < count; i++) {
		perfetto__protos__trace_stats__writer_stats__init(&writers[i]);
		SET(&writers[i], sequence_id, sequences[i]);
		SET(&writers[i], buffer, 0);
		pointers[i] = &writers[i];
	}
	SET(&buffer, trace_writer_packet_loss, packets_lost);
	stats.buffer_stats = &buffers;
	stats.n_buffer_stats = 1;
	stats.writer_stats = pointers;
	stats.n_writer_stats = count;
	packet.trace_stats = &stats;
	SET(&packet, trusted_packet_sequence_id, OUT_SEQUENCE_GLOBAL);
	put_packet(cursor, &packet);
out:
	free(pointers);
	free(writers);
}

size_t out_perfetto_losses(uint8_t *buffer, size_t size,
			   const uint32_t *sequences, size_t count,
			   uint64_t packets_lost)
{
	struct cursor cursor = cursor_init(buffer, size);

	for (size_t i = 0; i < count; i++) {
		pb_packet mark = PACKET_INIT;

		SET(&mark, previous_packet_dropped, 1);
		SET(&mark, trusted_packet_sequence_id, sequences[i]);
		put_packet(&cursor, &mark);
	}
	put_stats(&cursor, sequences, count, packets_lost);
	return cursor_finish(&cursor);
}
