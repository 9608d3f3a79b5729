/* SPDX-License-Identifier: Apache-2.0
 *
 * encode - the rare half: starting a sequence, and values of any size.
 */
#include "collector/encode.h"

#define TAG_PACKET 0x0a /* Trace.packet, bytes */
#define TAG_TIMESTAMP 0x40 /* TracePacket.timestamp, varint */
#define TAG_SEQUENCE 0x50 /* .trusted_packet_sequence_id, varint */
#define TAG_TRACK_EVENT 0x5a /* .track_event, bytes */
#define TAG_TYPE 0x48 /* TrackEvent.type, varint */
#define TAG_NAME_IID 0x50 /* .name_iid, varint */
#define TYPE_SLICE_BEGIN 1
#define TYPE_SLICE_END 2

uint8_t *encode_put_varint(uint8_t *out, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		*out++ = (uint8_t)(value | 0x80);
	*out++ = (uint8_t)value;
	return out;
}

void encoder_init(struct encoder *encoder, uint32_t sequence, uint64_t start_ns)
{
	uint8_t head[8] = { TAG_PACKET, 0, TAG_SEQUENCE };
	uint8_t *end = encode_put_varint(head + 3, sequence);
	uint64_t word;

	memset(encoder, 0, sizeof(*encoder));
	encoder->last_ns = start_ns;
	encoder->sequence = sequence;
	encoder->head_bytes = (uint32_t)(end - head);
	head[1] = (uint8_t)(encoder->head_bytes - 2);
	memcpy(&word, head, sizeof(word));
	encoder->head = le64toh(word);
}

void ATTR_COLD encode_slow(struct encoder *encoder, uint64_t delta_ns,
			   uint32_t name_iid)
{
	uint8_t *start = encoder->out;
	uint8_t *out = start, *event;

	encode_store(out, encoder->head);
	out += encoder->head_bytes;
	*out++ = TAG_TRACK_EVENT;
	event = ++out;
	*out++ = TAG_TYPE;
	*out++ = name_iid ? TYPE_SLICE_BEGIN : TYPE_SLICE_END;
	if (name_iid) {
		*out++ = TAG_NAME_IID;
		out = encode_put_varint(out, name_iid);
	}
	event[-1] = (uint8_t)(out - event);
	*out++ = TAG_TIMESTAMP;
	out = encode_put_varint(out, delta_ns);
	start[1] = (uint8_t)(out - start - 2);
	encoder->out = out;
	encoder->last_ns += delta_ns;
}
