/* SPDX-License-Identifier: Apache-2.0
 *
 * encode - the rare cases: the start of a sequence, and values of any size.
 */
#include "collector/trace/encode.h"

#include "collector/base/protobuf.h"
#include "collector/trace/compact.h"
#include "collector/trace/fields.h"

static uint8_t *put_name_iids(uint8_t *out, uint32_t name_iid)
{
	uint32_t iid = name_iid & ENCODE_IID_MASK;

	if (name_iid & ENCODE_CATEGORY)
		out = wire_put(out, TAG_TRACK_EVENT_CATEGORY_IIDS, iid);
	if (iid && !(name_iid & ENCODE_NAMELESS))
		out = wire_put(out, TAG_TRACK_EVENT_NAME_IID, iid);
	if (name_iid & ENCODE_LOCATION)
		out = wire_put(out, TAG_TRACK_EVENT_SOURCE_LOCATION_IID, iid);
	return out;
}

static uint8_t *put_slice_event(uint8_t *out, uint32_t name_iid)
{
	uint8_t *event = out + 2;

	out[0] = TAG_TRACE_PACKET_TRACK_EVENT;
	event[0] = TAG_TRACK_EVENT_TYPE;
	event[1] = name_iid ? TYPE_SLICE_BEGIN : TYPE_SLICE_END;
	out = put_name_iids(event + 2, name_iid);
	event[-1] = (uint8_t)(out - event);
	return out;
}

/* Makes the event and the tag of the timestamp behind the head. @name_iid 0: an
 * end. */
static struct encode_template make_template(uint32_t sequence,
					    uint32_t name_iid)
{
	struct encode_template template = { .name_iid = name_iid };
	uint8_t bytes[ENCODE_EVENT_BYTES] = { 0 }, *event, *out;

	bytes[0] = TAG_TRACE_PACKET;
	bytes[2] = TAG_TRACE_PACKET_TRUSTED_PACKET_SEQUENCE_ID;
	event = varint_put(bytes + 3, sequence);
	out = put_slice_event(event, name_iid);
	*out++ = TAG_TRACE_PACKET_TIMESTAMP;
	bytes[1] = (uint8_t)(out - bytes - 1);
	if (name_iid < ENCODE_IID_LIMIT)
		template.limit = ENCODE_DELTA_LIMIT;
	else
		out = event;
	template.bytes = (uint16_t)(out - bytes);
	memcpy(&template.low, bytes, sizeof(template.low));
	memcpy(&template.high, bytes + 8, sizeof(template.high));
	template.low = le64toh(template.low);
	template.high = le64toh(template.high);
	return template;
}

/* Makes the part of encode_put_compact() behind the time. @name_iid 0: an
 * end. */
static struct encode_template make_compact_template(uint32_t name_iid)
{
	struct encode_template template = { .name_iid = name_iid,
					    .limit = ENCODE_DELTA_LIMIT,
					    .high = name_iid != 0 };
	uint8_t bytes[VARINT_BYTES_MAX + 8] = { 0 }, *end = bytes;

	if (name_iid)
		end = varint_put(bytes, (uint64_t)name_iid + COMPACT_NAMES);
	template.bytes = (uint16_t)(end - bytes);
	memcpy(&template.low, bytes, sizeof(template.low));
	template.low = le64toh(template.low);
	return template;
}

struct encode_template encode_template(const struct encoder *encoder,
				       uint32_t name_iid)
{
	return encoder->compact ? make_compact_template(name_iid)
				: make_template(encoder->sequence, name_iid);
}

void encoder_init(struct encoder *encoder, uint32_t sequence, uint64_t start_ns)
{
	*encoder = (struct encoder){ .last_ns = start_ns,
				     .sequence = sequence,
				     .end = make_template(sequence, 0) };
}

void encoder_init_compact(struct encoder *encoder, uint32_t sequence,
			  uint64_t start_ns)
{
	*encoder = (struct encoder){ .last_ns = start_ns,
				     .sequence = sequence,
				     .compact = true,
				     .end = make_compact_template(0) };
}

void encode_packet_done(struct encoder *encoder, uint64_t ns, size_t bytes)
{
	const uint8_t *packet = encode_packet_at(encoder);
	uint8_t *out = encoder->out;

	if (encoder->compact) {
		out = varint_put(out, (ns - encoder->last_ns) << 1 | 1);
		out = varint_put(out, COMPACT_PACKET);
		out = varint_put(out, bytes);
		memmove(out, packet, bytes);
	}
	encoder->out = out + bytes;
	encoder->last_ns = ns;
}

static uint8_t *encode_bytes(uint8_t *out, const uint8_t *bytes, size_t count)
{
	if (count)
		memcpy(out, bytes, count);
	return out + count;
}

struct piece {
	uint8_t bytes[32 + ENCODE_WAITED_BYTES];
	size_t count;
};

static void piece_field(struct piece *piece, uint32_t tag, uint64_t value)
{
	uint8_t *at = piece->bytes + piece->count;

	piece->count = (size_t)(wire_put(at, tag, value) - piece->bytes);
}

static void piece_part(struct piece *piece, uint32_t tag, const void *bytes,
		       size_t count)
{
	uint8_t *at = piece->bytes + piece->count;

	piece->count =
		(size_t)(wire_put_bytes(at, tag, bytes, count) - piece->bytes);
}

static void make_own_fields(const struct encode_event *event, struct piece *out)
{
	piece_field(out, TAG_TRACK_EVENT_TYPE, event->type);
	out->count = (size_t)(put_name_iids(out->bytes + out->count,
					    event->name_iid) -
			      out->bytes);
	if (event->waited_ns) {
		static const char name[] = ENCODE_WAITED;
		struct piece argument = { .count = 0 };

		piece_field(&argument, TAG_DEBUG_ANNOTATION_INT_VALUE,
			    event->waited_ns);
		piece_part(&argument, TAG_DEBUG_ANNOTATION_NAME, name,
			   sizeof(name) - 1);
		piece_part(out, TAG_TRACK_EVENT_DEBUG_ANNOTATIONS,
			   argument.bytes, argument.count);
	}
}

size_t encode_fields(uint8_t *out, const struct encode_event *event)
{
	struct piece own = { .count = 0 };
	uint8_t *end;

	make_own_fields(event, &own);
	end = encode_bytes(out, own.bytes, own.count);
	return (size_t)(encode_bytes(end, event->fields, event->field_bytes) -
			out);
}

void encode_event(struct encoder *encoder, uint64_t ns,
		  const struct encode_event *event)
{
	struct piece head = { .count = 0 }, own = head, middle = head,
		     tail = head;
	uint8_t *const packet = encode_packet_at(encoder), *out = packet;
	uint64_t bytes;

	piece_field(&head, TAG_TRACE_PACKET_TRUSTED_PACKET_SEQUENCE_ID,
		    encoder->sequence);
	if (event->interned_bytes)
		piece_field(&head, TAG_TRACE_PACKET_INTERNED_DATA,
			    event->interned_bytes);
	piece_field(&tail, TAG_TRACE_PACKET_TIMESTAMP,
		    event->absolute ? ns : ns - encoder->last_ns);
	if (event->absolute)
		piece_field(&tail, TAG_TRACE_PACKET_TIMESTAMP_CLOCK_ID,
			    CLOCK_BOOTTIME_ID);
	make_own_fields(event, &own);
	bytes = own.count + event->field_bytes;
	piece_field(&middle, TAG_TRACE_PACKET_TRACK_EVENT, bytes);
	bytes += head.count + event->interned_bytes + middle.count + tail.count;

	out = wire_put(out, TAG_TRACE_PACKET, bytes);
	out = encode_bytes(out, head.bytes, head.count);
	out = encode_bytes(out, event->interned, event->interned_bytes);
	out = encode_bytes(out, middle.bytes, middle.count);
	out = encode_bytes(out, own.bytes, own.count);
	out = encode_bytes(out, event->fields, event->field_bytes);
	out = encode_bytes(out, tail.bytes, tail.count);
	encode_packet_done(encoder, event->absolute ? encoder->last_ns : ns,
			   (size_t)(out - packet));
}

uint8_t *ATTR_COLD encode_slow(uint8_t *out,
			       const struct encode_template *event,
			       uint64_t delta_ns)
{
	uint8_t *start = out;

	encode_store(out, event->low);
	encode_store(out + 8, event->high);
	out += event->bytes;
	if (!event->limit) {
		out = put_slice_event(out, event->name_iid);
		*out++ = TAG_TRACE_PACKET_TIMESTAMP;
	}
	out = varint_put(out, delta_ns);
	start[1] = (uint8_t)(out - start - 2);
	return out;
}

uint8_t *ATTR_COLD encode_slow_compact(uint8_t *out,
				       const struct encode_template *event,
				       uint64_t delta_ns)
{
	out = varint_put(out, delta_ns << 1 | event->high);
	encode_store(out, event->low);
	return out + event->bytes;
}
