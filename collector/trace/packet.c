/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/trace/packet.h"

#include <string.h>

#include "collector/base/bytes.h"
#include "collector/trace/fields.h"

size_t packet_pack(uint8_t *buffer, size_t size, const pb_packet *packet)
{
	size_t bytes = perfetto__protos__trace_packet__get_packed_size(packet);
	uint8_t head[WIRE_FIELD_MAX];
	size_t head_bytes =
		(size_t)(wire_put(head, TAG_TRACE_PACKET, bytes) - head);

	if (head_bytes + bytes > size)
		return 0;
	memcpy(buffer, head, head_bytes);
	perfetto__protos__trace_packet__pack(packet, buffer + head_bytes);
	return head_bytes + bytes;
}

uint8_t *packet_put_bundle_head(uint8_t *out, size_t bytes)
{
	uint32_t inner = TAG_TRACE_PACKET_COMPRESSED_PACKETS;

	out = wire_put(out, TAG_TRACE_PACKET,
		       bytes_field_size(inner, bytes) + bytes);
	return wire_put(out, inner, bytes);
}
