/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/trace/packet.h"

#include <string.h>

#include "collector/base/varint.h"
#include "collector/trace/fields.h"

#define HEAD_BYTES_MAX (1 + VARINT_BYTES_MAX) /* a tag, and how long it is */

size_t packet_pack(uint8_t *buffer, size_t size, const pb_packet *packet)
{
	size_t bytes = perfetto__protos__trace_packet__get_packed_size(packet);
	uint8_t head[HEAD_BYTES_MAX] = { TAG_TRACE_PACKET };
	size_t head_bytes = (size_t)(varint_put(head + 1, bytes) - head);

	if (head_bytes + bytes > size)
		return 0;
	memcpy(buffer, head, head_bytes);
	perfetto__protos__trace_packet__pack(packet, buffer + head_bytes);
	return head_bytes + bytes;
}
