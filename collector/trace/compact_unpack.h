/* SPDX-License-Identifier: Apache-2.0
 *
 * compact_unpack - converts events in the compact form (compact.h) to packets.
 * Pure; any thread, each with its own struct.
 */
#ifndef PERFREC_COLLECTOR_TRACE_COMPACT_UNPACK_H
#define PERFREC_COLLECTOR_TRACE_COMPACT_UNPACK_H

#include <stdint.h>

#include "collector/trace/compact.h"
#include "collector/trace/encode.h"

struct bytes;

struct compact_unpack {
	struct encoder encoder; /* last_ns is that of the last packet */
};

/* Starts sequence @sequence, whose first packet declares @start_ns as the start
 * of its clock. */
void compact_unpack_init(struct compact_unpack *unpack, uint32_t sequence,
			 uint64_t start_ns);
/* Appends the packet of @event at @ns: a BEGIN, an END or a packet. If packets
 * in between are missing, a packet whose time is a step gets a new step. */
void compact_unpack_event(struct compact_unpack *unpack, uint64_t ns,
			  const struct compact_event *event, struct bytes *out);

#endif
