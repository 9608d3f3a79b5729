/* SPDX-License-Identifier: Apache-2.0
 *
 * trace_index - a packet with an event or a sample has an absolute time, or a
 * step from the packet before. Packets with steps belong to threads, whose
 * blocks replay describes, except the marks at the end of a trace. The time of
 * such a mark is unknown here, so it may be any time.
 */
#include "collector/trace/trace_index.h"

#include <stdbool.h>
#include <string.h>

#include "collector/trace/index_file.h"
#include "collector/trace/index_tracks.h"
#include "collector/trace/packet_look.h"
#include "collector/trace/trace_file_inner.h"
#include "shared/compiler.h"

/* --- input of the index --------------------------------------------------- */

static void put_name(struct index_file *index, uint32_t sequence,
		     struct wire fields)
{
	const uint8_t *text = NULL;
	size_t bytes = 0;
	uint64_t iid = 0;
	struct wire_field field;

	while (wire_next(&fields, &field))
		if (field.tag == TAG_EVENT_NAME_IID) {
			iid = field.value;
		} else if (field.tag == TAG_EVENT_NAME_NAME) {
			text = field.bytes;
			bytes = field.value;
		}
	if (text && iid && iid <= UINT32_MAX)
		index_file_name(index, sequence, (uint32_t)iid, text, bytes);
}

/* Passes names of slices as texts, once each, and all other fields
 * unchanged. */
static void put_interned(struct index_file *index, uint32_t sequence,
			 struct wire fields)
{
	const uint8_t *from = fields.at;
	struct wire_field field;

	while (wire_next(&fields, &field)) {
		if (field.tag == TAG_INTERNED_DATA_EVENT_NAMES)
			put_name(index, sequence, wire_of(&field));
		else
			index_file_packet(index, INDEX_INTERNED, sequence, from,
					  (size_t)(fields.at - from));
		from = fields.at;
	}
}

/* Passes an event, a sample or switches. The packet is the @count bytes at
 * @bytes. */
static void put_event(const struct trace_index_to *to, struct index_place place,
		      const struct packet_look *packet, const uint8_t *bytes,
		      size_t count)
{
	/* A wait may lie after the last event of the recording; INDEX_REST has
	 * its time. */
	bool timed = packet->stamped &&
		     !index_tracks_is_wait(to->tracks, packet->event);

	place.first_ns = timed ? packet->first_ns : 0;
	place.last_ns = timed ? packet->last_ns : 0;
	place.untimed = !packet->stamped;
	place.sched = packet->ftrace.at;
	/* Packets of a thread that replay does not describe have no absolute
	 * time. */
	place.apart = packet->stamped || place.sched;
	index_file_block(to->file, &place, NULL, 0);
	if (place.sched)
		index_tracks_switches(to->tracks, packet->sequence,
				      packet->ftrace);
	else if (packet->stamped && packet->event.at)
		index_tracks_event(to->tracks, packet->first_ns, packet->event,
				   bytes, count);
	else if (packet->stamped)
		index_tracks_sample(to->tracks, packet->first_ns);
}

void trace_index_packet(const struct trace_index_to *to, uint64_t offset,
			uint64_t inner, const uint8_t *bytes, size_t count)
{
	const struct wire fields = { .at = bytes, .end = bytes + count };
	struct index_place place = { .offset = offset, .inner = inner };
	struct packet_look packet;
	bool event;

	packet_look(fields, &packet);
	event = packet_is_event(&packet);
	place.sequence = packet.sequence;
	if (event)
		put_event(to, place, &packet, bytes, count);
	if (packet.descriptor.at)
		index_tracks_describe(to->tracks, packet.descriptor);
	if (packet.interned.at && (event || !packet.more))
		put_interned(to->file, packet.sequence, packet.interned);
	else if (!event)
		index_file_packet(to->file, INDEX_PACKET, packet.sequence,
				  bytes, count);
}

void trace_index_packets(const struct trace_index_to *to, uint64_t offset,
			 uint64_t inner, const uint8_t *packets, size_t bytes)
{
	struct wire left = { .at = packets, .end = packets + bytes };
	struct wire_field field;

	for (; wire_next(&left, &field) && field.bytes; packets = left.at) {
		trace_index_packet(to, offset, inner, field.bytes, field.value);
		if (inner)
			inner += (uint64_t)(left.at - packets);
		else
			offset += (uint64_t)(left.at - packets);
	}
}

int trace_index_open(int dir_fd, const char *name, struct trace_index_to *to)
{
	int err;

	*to = (struct trace_index_to){ 0 };
	err = index_tracks_new(&to->tracks);
	if (!err)
		err = index_file_open(dir_fd, name, &to->file);
	if (err)
		index_tracks_free(&to->tracks);
	else
		index_file_set_more(to->file, index_tracks_put, to->tracks);
	return err;
}

int trace_index_close(struct trace_index_to *to, bool whole)
{
	int err;

	if (to->file)
		index_tracks_end(to->tracks, to->file);
	err = index_file_close(&to->file, whole);
	index_tracks_free(&to->tracks);
	return err;
}

/* --- appended data -------------------------------------------------------- */

/* Passes the @bytes at @packets, which were at @at in pending. */
static void tell_packets(const struct writer *writer, uint64_t offset,
			 size_t at, const uint8_t *packets, size_t bytes)
{
	bool bundle = writer->compress;

	trace_index_packets(&writer->file->index, bundle ? offset : offset + at,
			    bundle ? at + 1 : 0, packets, bytes);
}

void trace_index_pending(const struct writer *writer, uint64_t offset)
{
	size_t done = 0;

	for (unsigned int i = 0; i < writer->block_count; i++) {
		const struct pending_block *block = &writer->blocks[i];
		struct index_place place;

		tell_packets(writer, offset, done, writer->pending + done,
			     block->at - done);
		place = (struct index_place){
			.sequence = block->sequence,
			.offset =
				writer->compress ? offset : offset + block->at,
			.inner = writer->compress ? block->at + 1 : 0,
			.first_ns = block->first_ns,
			.last_ns = block->last_ns,
		};
		if (block->own_bytes || block->index_bytes)
			index_file_block(writer->file->index.file, &place,
					 block->index, block->index_bytes);
		tell_packets(writer, offset, block->at + block->own_bytes,
			     block->data + block->own_bytes,
			     block->bytes - block->own_bytes);
		done = block->at + block->bytes;
	}
	if (done < writer->pending_bytes)
		tell_packets(writer, offset, done, writer->pending + done,
			     writer->pending_bytes - done);
	index_file_advance(writer->file->index.file);
}
