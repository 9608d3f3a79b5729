/* SPDX-License-Identifier: Apache-2.0
 *
 * packet - one message of protoc-c's as a whole entry of a trace, and short
 * forms for filling such messages in. Pure, any thread.
 */
#ifndef PERFREC_COLLECTOR_TRACE_PACKET_H
#define PERFREC_COLLECTOR_TRACE_PACKET_H

#include <stddef.h>
#include <stdint.h>

#include "proto/perfetto_trace.pb-c.h"

/* protoc-c puts the package in front of all that it generates. */
typedef Perfetto__Protos__TracePacket pb_packet;
#define PACKET_INIT PERFETTO__PROTOS__TRACE_PACKET__INIT

/* Flags of TracePacket.sequence_flags. */
#define SEQUENCE_FLAG(flag) \
	PERFETTO__PROTOS__TRACE_PACKET__SEQUENCE_FLAGS__SEQ_##flag

/* An enumerator of BuiltinClock. */
#define BUILTIN_CLOCK(clock) \
	PERFETTO__PROTOS__BUILTIN_CLOCK__BUILTIN_CLOCK_##clock

/* Sets optional scalar @field of message @m. */
#define SET(m, field, value) ((m)->has_##field = 1, (m)->field = (value))
/* Makes @one, a pointer to a message, the only one of repeated @field of
 * message @m. @one has to live until the message is packed. */
#define ONE(m, field, one) ((m)->n_##field = 1, (m)->field = &(one))

/*
 * Writes @packet into the @size bytes at @buffer, behind the tag and the
 * length with which it is an entry of a trace. Returns the bytes it takes; 0:
 * they do not fit, and nothing was written.
 */
size_t packet_pack(uint8_t *buffer, size_t size, const pb_packet *packet);

#endif
