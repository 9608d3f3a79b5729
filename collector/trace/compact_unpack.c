/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/trace/compact_unpack.h"

#include "collector/base/bytes.h"
#include "collector/base/protobuf.h"
#include "collector/trace/fields.h"

void compact_unpack_init(struct compact_unpack *unpack, uint32_t sequence,
			 uint64_t start_ns)
{
	encoder_init(&unpack->encoder, sequence, start_ns);
}

/* Copies the fields of a packet except the time. Sets *@step to true if the
 * time is a step. */
static void copy_without_step(struct wire fields, bool *step, struct bytes *out)
{
	struct wire_field field;
	const uint8_t *from = fields.at;

	*step = true;
	while (wire_next(&fields, &field)) {
		if (field.tag == TAG_TRACE_PACKET_TIMESTAMP_CLOCK_ID)
			*step = false;
		if (field.tag != TAG_TRACE_PACKET_TIMESTAMP)
			bytes_put(out, from, (size_t)(fields.at - from));
		from = fields.at;
	}
}

/* Appends a packet, with @delta_ns as its step if it has one. Returns true if
 * it has. */
static bool put_with_step(const struct compact_event *event, uint64_t delta_ns,
			  struct bytes *out)
{
	struct wire whole = { .at = event->packet,
			      .end = event->packet + event->packet_bytes };
	struct bytes fields = { 0 };
	struct wire_field packet;
	bool step = false;

	if (wire_next(&whole, &packet))
		copy_without_step(wire_of(&packet), &step, &fields);
	if (step) {
		bytes_field(&fields, TAG_TRACE_PACKET_TIMESTAMP, delta_ns);
		out->failed |= fields.failed;
		bytes_part(out, TAG_TRACE_PACKET, fields.at, fields.count);
	} else {
		bytes_put(out, event->packet, event->packet_bytes);
	}
	bytes_release(&fields);
	return step;
}

void compact_unpack_event(struct compact_unpack *unpack, uint64_t ns,
			  const struct compact_event *event, struct bytes *out)
{
	struct encoder *encoder = &unpack->encoder;
	struct encode_template begin;

	if (event->kind == COMPACT_IS_PACKET) {
		if (ns - encoder->last_ns == event->delta_ns) {
			bytes_put(out, event->packet, event->packet_bytes);
			encoder->last_ns = ns;
		} else if (put_with_step(event, ns - encoder->last_ns, out)) {
			encoder->last_ns = ns;
		}
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
