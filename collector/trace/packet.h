/* SPDX-License-Identifier: Apache-2.0
 *
 * packet - packs a message of protoc-c as a whole entry of a trace, with macros
 * to fill in such messages. Pure, any thread.
 */
#ifndef PERFREC_COLLECTOR_TRACE_PACKET_H
#define PERFREC_COLLECTOR_TRACE_PACKET_H

#include <stddef.h>
#include <stdint.h>

#include "collector/base/protobuf.h"

#include "proto/perfetto_trace.pb-c.h"

/* protoc-c prefixes all names with the package. */
typedef Perfetto__Protos__TracePacket pb_packet;
#define PACKET_INIT PERFETTO__PROTOS__TRACE_PACKET__INIT

/* Flags of TracePacket.sequence_flags. */
#define SEQUENCE_FLAG(flag) \
	PERFETTO__PROTOS__TRACE_PACKET__SEQUENCE_FLAGS__SEQ_##flag

#define BUILTIN_CLOCK(clock) \
	PERFETTO__PROTOS__BUILTIN_CLOCK__BUILTIN_CLOCK_##clock

/* Sets optional scalar @field of message @m. */
#define SET(m, field, value) ((m)->has_##field = 1, (m)->field = (value))
/* Makes @one, a pointer to a message, the only element of repeated @field of
 * message @m. @one must live until the message is packed. */
#define ONE(m, field, one) ((m)->n_##field = 1, (m)->field = &(one))

/*
 * Writes @packet with the tag and length of a trace entry to the @size bytes at
 * @buffer. Returns its bytes, or 0 if it does not fit, and then writes nothing.
 */
size_t packet_pack(uint8_t *buffer, size_t size, const pb_packet *packet);

#define PACKET_BUNDLE_HEAD_MAX (2 * WIRE_FIELD_MAX)

/* Writes the start of a packet that holds @bytes of compressed packets, which
 * follow. Returns the end; @out has room for PACKET_BUNDLE_HEAD_MAX bytes. */
uint8_t *packet_put_bundle_head(uint8_t *out, size_t bytes);

#endif
