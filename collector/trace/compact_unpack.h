/* SPDX-License-Identifier: Apache-2.0
 *
 * compact_unpack - makes packets of events in the compact form (compact.h).
 * Pure; any thread, each with its own.
 */
#ifndef PERFREC_COLLECTOR_TRACE_COMPACT_UNPACK_H
#define PERFREC_COLLECTOR_TRACE_COMPACT_UNPACK_H

#include <stdint.h>

#include "collector/trace/compact.h"
#include "collector/trace/encode.h"

struct bytes;

struct compact_unpack {
	struct encoder encoder; /* its last_ns is that of the last packet */
};

/* Begins with the sequence @sequence, of which the packet that describes it has
 * said that its clock starts at @start_ns. */
void compact_unpack_init(struct compact_unpack *unpack, uint32_t sequence,
			 uint64_t start_ns);
/* Appends the packet of @event, which is at @ns: of an end, a begin or a
 * packet. A packet whose time is a step gets another step, if the packets
 * between are missing. */
void compact_unpack_event(struct compact_unpack *unpack, uint64_t ns,
			  const struct compact_event *event, struct bytes *out);

#endif
