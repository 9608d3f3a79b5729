/* SPDX-License-Identifier: Apache-2.0
 *
 * trace_index - a packet with an event or a sample has an absolute time, or one
 * that is a step from the packet before; the latter are of threads, whose
 * blocks are told of by replay, but for marks that come last in a trace. Then
 * the time is not known here, and the packet may be of any time.
 */
#include "collector/trace/trace_index.h"

#include <stdbool.h>
#include <string.h>

#include "collector/index/index_file.h"
#include "collector/trace/fields.h"
#include "collector/trace/trace_file_inner.h"
#include "shared/compiler.h"

#define CLOCK_BOOTTIME_ID 6
#define CLOCK_SEQUENCE_FIRST 64

struct field {
	uint64_t tag, value; /* value: of bytes, how many there are */
	const uint8_t *bytes; /* NULL: a number */
};

/* Takes the next field off @from. False: there are no more. */
static bool next_field(struct index_get *from, struct field *out)
{
	if (from->bad || from->at == from->end)
		return false;
	*out = (struct field){ .tag = index_get_number(from) };
	switch (out->tag & 7) {
	case TRACE_WIRE_VARINT:
		out->value = index_get_number(from);
		return !from->bad;
	case TRACE_WIRE_FIXED64:
		from->bad |= from->end - from->at < 8;
		from->at += from->bad ? 0 : 8;
		return !from->bad;
	case TRACE_WIRE_BYTES:
		out->value = index_get_number(from);
		from->bad |= out->value > (uint64_t)(from->end - from->at);
		out->bytes = from->at;
		from->at += from->bad ? 0 : out->value;
		return !from->bad;
	default:
		from->bad = true;
		return false;
	}
}

static struct index_get part(const struct field *field)
{
	/* One that is hostile may be a number. */
	return (struct index_get){ .at = field->bytes,
				   .end = field->bytes
						  ? field->bytes + field->value
						  : NULL };
}

/* What is in a packet. */
struct packet {
	uint32_t sequence;
	bool event; /* or a sample */
	bool stamped; /* with an absolute time */
	uint64_t first_ns, last_ns;
	struct index_get ftrace, interned; /* at NULL: none */
	bool more; /* something else */
};

/* The times in a packed list: one, and then steps. */
static void take_times(struct index_get list, struct packet *packet)
{
	uint64_t ns = 0;

	while (!list.bad && list.at != list.end) {
		ns += index_get_number(&list);
		if (!packet->stamped)
			packet->first_ns = ns;
		packet->stamped = true;
		packet->last_ns = MAX(packet->last_ns, ns);
	}
}

/* The times of an FtraceEventBundle. */
static void take_ftrace(struct packet *packet)
{
	struct index_get fields = packet->ftrace;
	struct field field;

	packet->event = true;
	while (next_field(&fields, &field)) {
		struct index_get sched = part(&field);

		if (field.tag != TAG_FTRACE_EVENT_BUNDLE_COMPACT_SCHED)
			continue;
		while (next_field(&sched, &field))
			if (field.tag ==
			    TAG_FTRACE_EVENT_BUNDLE_COMPACT_SCHED_SWITCH_TIMESTAMP)
				take_times(part(&field), packet);
	}
}

static void take_packet(struct index_get fields, struct packet *packet)
{
	uint64_t clock = CLOCK_BOOTTIME_ID;
	struct field field;

	*packet = (struct packet){ 0 };
	while (next_field(&fields, &field))
		switch (field.tag) {
		case TAG_TRACE_PACKET_TRUSTED_PACKET_SEQUENCE_ID:
			packet->sequence = (uint32_t)field.value;
			break;
		case TAG_TRACE_PACKET_TIMESTAMP:
			packet->first_ns = packet->last_ns = field.value;
			packet->stamped = true;
			break;
		case TAG_TRACE_PACKET_TIMESTAMP_CLOCK_ID:
			clock = field.value;
			break;
		case TAG_TRACE_PACKET_TRACK_EVENT:
		case TAG_TRACE_PACKET_PERF_SAMPLE:
			packet->event = true;
			break;
		case TAG_TRACE_PACKET_FTRACE_EVENTS:
			packet->ftrace = part(&field);
			break;
		case TAG_TRACE_PACKET_INTERNED_DATA:
			packet->interned = part(&field);
			break;
		default:
			packet->more = true;
		}
	if (packet->ftrace.at)
		take_ftrace(packet);
	packet->stamped &= clock < CLOCK_SEQUENCE_FIRST;
}

/* --- what goes into the index -----------------------------------------------
 */

/* Tells the name in an EventName. */
static void put_name(struct index_file *index, uint32_t sequence,
		     struct index_get fields)
{
	const uint8_t *text = NULL;
	size_t bytes = 0;
	uint64_t iid = 0;
	struct field field;

	while (next_field(&fields, &field))
		if (field.tag == TAG_EVENT_NAME_IID) {
			iid = field.value;
		} else if (field.tag == TAG_EVENT_NAME_NAME) {
			text = field.bytes;
			bytes = field.value;
		}
	if (text && iid && iid <= UINT32_MAX)
		index_file_name(index, sequence, (uint32_t)iid, text, bytes);
}

/* Names of slices go with their texts, once each; all else as it is. */
static void put_interned(struct index_file *index, uint32_t sequence,
			 struct index_get fields)
{
	const uint8_t *from = fields.at;
	struct field field;

	while (next_field(&fields, &field)) {
		if (field.tag == TAG_INTERNED_DATA_EVENT_NAMES)
			put_name(index, sequence, part(&field));
		else
			index_file_packet(index, INDEX_INTERNED, sequence, from,
					  (size_t)(fields.at - from));
		from = fields.at;
	}
}

void trace_index_packet(struct index_file *index, uint64_t offset,
			uint64_t inner, const uint8_t *bytes, size_t count)
{
	const struct index_get fields = { .at = bytes, .end = bytes + count };
	struct index_place place = { .offset = offset, .inner = inner };
	struct packet packet;

	take_packet(fields, &packet);
	place.sequence = packet.sequence;
	if (packet.event) {
		place.first_ns = packet.stamped ? packet.first_ns : 0;
		place.last_ns = packet.stamped ? packet.last_ns : 0;
		place.untimed = !packet.stamped;
		place.sched = packet.ftrace.at;
		index_file_block(index, &place, NULL, 0);
	}
	if (packet.interned.at && (packet.event || !packet.more))
		put_interned(index, packet.sequence, packet.interned);
	else if (!packet.event)
		index_file_packet(index, INDEX_PACKET, packet.sequence, bytes,
				  count);
}

void trace_index_packets(struct index_file *index, uint64_t offset,
			 uint64_t inner, const uint8_t *packets, size_t bytes)
{
	struct index_get left = { .at = packets, .end = packets + bytes };

	while (left.at != left.end && !left.bad) {
		const uint8_t *start = left.at;
		struct field field;

		if (!next_field(&left, &field) || !field.bytes)
			return;
		trace_index_packet(index, offset, inner, field.bytes,
				   field.value);
		if (inner)
			inner += (uint64_t)(left.at - start);
		else
			offset += (uint64_t)(left.at - start);
	}
}

/* --- what a writer has appended ---------------------------------------------
 */

/* The @bytes at @packets, which are at @at of what was pending. */
static void tell_packets(const struct writer *writer, uint64_t offset,
			 size_t at, const uint8_t *packets, size_t bytes)
{
	bool bundle = writer->compress;

	trace_index_packets(writer->file->index, bundle ? offset : offset + at,
			    bundle ? at + 1 : 0, packets, bytes);
}

static void tell_block(const struct writer *writer, uint64_t offset,
		       const struct pending_block *block)
{
	const struct index_place place = {
		.sequence = block->sequence,
		.offset = writer->compress ? offset : offset + block->at,
		.inner = writer->compress ? block->at + 1 : 0,
		.first_ns = block->first_ns,
		.last_ns = block->last_ns,
	};

	if (block->own_bytes || block->index_bytes)
		index_file_block(writer->file->index, &place, block->index,
				 block->index_bytes);
	tell_packets(writer, offset, block->at + block->own_bytes,
		     block->data + block->own_bytes,
		     block->bytes - block->own_bytes);
}

void trace_index_pending(const struct writer *writer, uint64_t offset)
{
	size_t done = 0;

	for (unsigned int i = 0; i < writer->block_count; i++) {
		const struct pending_block *block = &writer->blocks[i];

		tell_packets(writer, offset, done, writer->pending + done,
			     block->at - done);
		tell_block(writer, offset, block);
		done = block->at + block->bytes;
	}
	if (done < writer->pending_bytes)
		tell_packets(writer, offset, done, writer->pending + done,
			     writer->pending_bytes - done);
	index_file_advance(writer->file->index);
}
