/* SPDX-License-Identifier: Apache-2.0
 *
 * compact - the flight recorder's form of the events of one sequence: 3 to 6
 * bytes a span, where packets take 22. An encoder writes it (encode.h), this
 * module reads it, and compact_unpack.h converts it to packets.
 *
 *   end      2 * D
 *   other    2 * D + 1, N, and then for
 *     N = 0    a whole Trace.packet: its length and its bytes
 *     N = 1    a restart point: the time of the last event in ns of
 *              CLOCK_BOOTTIME, the number of open slices, and for each slice,
 *              outermost first, its name and a number. The number is 2 * (its
 *              start minus the start of the slice around it), + 1 if its BEGIN
 *              has more than a name
 *     N > 1    the BEGIN of a slice with the name N - 1, with the flags of
 *              encode.h
 *
 * All numbers are varints. D is ns since the last event, and 0 for a packet
 * with an absolute time. Pure; any thread.
 */
#ifndef PERFREC_COLLECTOR_TRACE_COMPACT_H
#define PERFREC_COLLECTOR_TRACE_COMPACT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define COMPACT_PACKET 0u
#define COMPACT_RESTART 1u
#define COMPACT_NAMES 1u /* added to names */

/* Limit of bytes of a restart point with @open slices. */
#define COMPACT_RESTART_BYTES(open) (32 + 20 * (size_t)(open))

enum compact_kind {
	COMPACT_IS_NONE, /* the end of the bytes, or malformed bytes */
	COMPACT_IS_END,
	COMPACT_IS_BEGIN,
	COMPACT_IS_PACKET,
	COMPACT_IS_RESTART,
};

struct compact {
	const uint8_t *at, *end;
	uint64_t ns;
};

struct compact_event {
	enum compact_kind kind;
	uint64_t delta_ns; /* ns since the event before */
	uint32_t name_iid;
	const uint8_t *packet; /* with its tag and length */
	size_t packet_bytes;
	uint32_t open; /* of a restart point: number of compact_open() calls to
			* follow */
};

/* Returns the next event. The caller must have read all slices of an earlier
 * restart point. */
struct compact_event compact_next(struct compact *from);

struct compact_slice {
	uint32_t name_iid;
	uint64_t begin_ns;
	bool noted; /* its BEGIN has more than a name */
};

/* Returns the next slice of a restart point. *@begin_ns is 0 for the first
 * call; each call sets it to the start of its slice. Returns false if
 * malformed. */
bool compact_open(struct compact *from, uint64_t *begin_ns,
		  struct compact_slice *out);

/* Write a restart point to @out, and then its slices. Return the end. */
uint8_t *compact_put_restart(uint8_t *out, uint64_t last_ns, uint32_t open);
uint8_t *compact_put_open(uint8_t *out, uint64_t *begin_ns,
			  const struct compact_slice *slice);

#endif
