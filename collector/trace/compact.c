/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/trace/compact.h"

#include "collector/base/bytes.h"
#include "collector/base/varint.h"
#include "collector/trace/fields.h"
#include "collector/trace/packet_fields.h"

/* False: the bytes have ended, or are no number. */
static bool get_number(struct compact *from, uint64_t *out)
{
	uint64_t value = 0;

	for (unsigned int shift = 0; from->at < from->end && shift < 64;
	     shift += 7) {
		uint8_t byte = *from->at++;

		value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80) {
			*out = value;
			return true;
		}
	}
	from->at = from->end;
	return false;
}

static void get_packet(struct compact *from, struct compact_event *event)
{
	uint64_t bytes;

	if (!get_number(from, &bytes) ||
	    bytes > (uint64_t)(from->end - from->at))
		return;
	event->packet = from->at;
	event->packet_bytes = bytes;
	from->at += bytes;
	event->kind = COMPACT_IS_PACKET;
}

static void get_restart(struct compact *from, struct compact_event *event)
{
	uint64_t last_ns, open;

	if (!get_number(from, &last_ns) || !get_number(from, &open) ||
	    open > UINT32_MAX)
		return;
	from->ns = last_ns;
	event->open = (uint32_t)open;
	event->kind = COMPACT_IS_RESTART;
}

struct compact_event compact_next(struct compact *from)
{
	struct compact_event event = { .kind = COMPACT_IS_NONE };
	uint64_t head, name;

	if (!get_number(from, &head))
		return event;
	event.delta_ns = head >> 1;
	from->ns += event.delta_ns;
	if (!(head & 1)) {
		event.kind = COMPACT_IS_END;
		return event;
	}
	if (!get_number(from, &name))
		return event;
	if (name == COMPACT_PACKET) {
		get_packet(from, &event);
	} else if (name == COMPACT_RESTART) {
		get_restart(from, &event);
	} else if (name - COMPACT_NAMES <= UINT32_MAX) {
		event.kind = COMPACT_IS_BEGIN;
		event.name_iid = (uint32_t)(name - COMPACT_NAMES);
	}
	return event;
}

bool compact_open(struct compact *from, uint64_t *begin_ns,
		  struct compact_slice *out)
{
	uint64_t name, step;

	if (!get_number(from, &name) || name > UINT32_MAX ||
	    !get_number(from, &step))
		return false;
	*begin_ns += step >> 1;
	*out = (struct compact_slice){ .name_iid = (uint32_t)name,
				       .begin_ns = *begin_ns,
				       .noted = step & 1 };
	return true;
}

uint8_t *compact_put_restart(uint8_t *out, uint64_t last_ns, uint32_t open)
{
	*out++ = 1; /* no time has passed */
	*out++ = COMPACT_RESTART;
	out = varint_put(out, last_ns);
	return varint_put(out, open);
}

uint8_t *compact_put_open(uint8_t *out, uint64_t *begin_ns,
			  const struct compact_slice *slice)
{
	uint64_t step = slice->begin_ns - *begin_ns;

	*begin_ns = slice->begin_ns;
	out = varint_put(out, slice->name_iid);
	return varint_put(out, step << 1 | slice->noted);
}

/* --- packets again ----------------------------------------------------------
 */

void compact_unpack_init(struct compact_unpack *unpack, uint32_t sequence,
			 uint64_t start_ns)
{
	encoder_init(&unpack->encoder, sequence, start_ns);
}

/* Copies the fields of a packet but for its time, of which *@step becomes
 * whether it is one. */
static void copy_without_step(struct index_get fields, bool *step,
			      struct bytes *out)
{
	struct packet_field field;
	const uint8_t *from = fields.at;

	*step = true;
	while (packet_field_next(&fields, &field)) {
		if (field.tag == TAG_TRACE_PACKET_TIMESTAMP_CLOCK_ID)
			*step = false;
		if (field.tag != TAG_TRACE_PACKET_TIMESTAMP)
			bytes_put(out, from, (size_t)(fields.at - from));
		from = fields.at;
	}
}

/* Appends a packet whose step is to be @delta_ns, if it has one. Returns
 * whether it does. */
static bool put_with_step(const struct compact_event *event, uint64_t delta_ns,
			  struct bytes *out)
{
	struct index_get whole = { .at = event->packet,
				   .end = event->packet + event->packet_bytes };
	struct bytes fields = { 0 };
	struct packet_field packet;
	bool step = false;

	if (packet_field_next(&whole, &packet))
		copy_without_step(packet_field_part(&packet), &step, &fields);
	if (step) {
		bytes_field(&fields, TAG_TRACE_PACKET_TIMESTAMP, delta_ns);
		out->failed |= fields.failed;
		bytes_field(out, TAG_TRACE_PACKET, fields.count);
		bytes_put(out, fields.at, fields.count);
	} else {
		bytes_put(out, event->packet, event->packet_bytes);
	}
	bytes_release(&fields);
	return step;
}

static void unpack_packet(struct encoder *encoder, uint64_t ns,
			  const struct compact_event *event, struct bytes *out)
{
	if (ns - encoder->last_ns == event->delta_ns) {
		bytes_put(out, event->packet, event->packet_bytes);
		encoder->last_ns = ns;
	} else if (put_with_step(event, ns - encoder->last_ns, out)) {
		encoder->last_ns = ns;
	}
}

void compact_unpack_event(struct compact_unpack *unpack, uint64_t ns,
			  const struct compact_event *event, struct bytes *out)
{
	struct encoder *encoder = &unpack->encoder;
	struct encode_template begin;

	if (event->kind == COMPACT_IS_PACKET) {
		unpack_packet(encoder, ns, event, out);
		return;
	}
	encoder->out = bytes_add(out, ENCODE_EVENT_BYTES);
	if (!encoder->out)
		return;
	if (event->kind == COMPACT_IS_BEGIN) {
		begin = encode_template(encoder, event->name_iid);
		encode_begin(encoder, ns, &begin);
	} else {
		encode_end(encoder, ns);
	}
	out->count = (size_t)(encoder->out - out->at);
}
