/* SPDX-License-Identifier: Apache-2.0
 *
 * compact - the events of one sequence in the form that the flight recorder
 * keeps them in: 3 to 6 bytes a span, where packets take 22. An encoder writes
 * them (encode.h); here they are read. compact_unpack.h makes packets of them.
 *
 *   end      2 * D
 *   other    2 * D + 1, N, and then for
 *     N = 0    a whole Trace.packet: how many bytes it has, and these
 *     N = 1    a restart point: the time of the last event in ns of
 *              CLOCK_BOOTTIME, how many slices are open, and for each of them,
 *              outermost first, the name of its begin; its begin minus that of
 *              the slice around it, * 2, + 1 if its begin has more than a name
 *     N > 1    the begin of a slice with the name N - 1, with the flags of
 *              encode.h
 *
 * All numbers are varints; D is ns since the last event, and 0 for a packet
 * whose time is no step. Pure; any thread.
 */
#ifndef PERFREC_COLLECTOR_TRACE_COMPACT_H
#define PERFREC_COLLECTOR_TRACE_COMPACT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define COMPACT_PACKET 0u
#define COMPACT_RESTART 1u
#define COMPACT_NAMES 1u /* what is added to the name of a begin */

/* The most bytes of a restart point with @open slices. */
#define COMPACT_RESTART_BYTES(open) (32 + 20 * (size_t)(open))

enum compact_kind {
	COMPACT_IS_NONE, /* the bytes have ended, or are no events */
	COMPACT_IS_END,
	COMPACT_IS_BEGIN,
	COMPACT_IS_PACKET,
	COMPACT_IS_RESTART,
};

/* Bytes that have not been read yet. */
struct compact {
	const uint8_t *at, *end;
	uint64_t ns; /* of the last event; a restart point sets it */
};

struct compact_event {
	enum compact_kind kind;
	uint64_t delta_ns; /* the event before it was so long ago */
	uint32_t name_iid; /* of a begin */
	const uint8_t *packet; /* with its tag and length */
	size_t packet_bytes;
	uint32_t open; /* of a restart point: so many compact_open() follow */
};

/* The next event. The slices of a restart point that came last were read. */
struct compact_event compact_next(struct compact *from);

struct compact_slice {
	uint32_t name_iid;
	uint64_t begin_ns;
	bool noted; /* its begin has more than a name */
};

/* The next slice of a restart point, whose begin is counted from *@begin_ns, 0
 * for the first. False: the bytes are none. */
bool compact_open(struct compact *from, uint64_t *begin_ns,
		  struct compact_slice *out);

/* Write a restart point at @out, and then its slices. Return the end. */
uint8_t *compact_put_restart(uint8_t *out, uint64_t last_ns, uint32_t open);
uint8_t *compact_put_open(uint8_t *out, uint64_t *begin_ns,
			  const struct compact_slice *slice);

#endif
