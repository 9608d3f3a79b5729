/* SPDX-License-Identifier: Apache-2.0
 *
 * out_track - descriptors of tracks that belong to no thread or context: those
 * of counters, of asynchronous slices, and of states. As out_perfetto.h: whole
 * packets, 0 when they do not fit, pure.
 */
#ifndef PERFREC_COLLECTOR_TRACE_OUT_TRACK_H
#define PERFREC_COLLECTOR_TRACE_OUT_TRACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/site_shm.h"

/* Room for any one of these. */
#define OUT_TRACK_BYTES 16384

struct out_counter {
	uint64_t uuid;
	uint64_t parent; /* a process' or thread's uuid */
	const char *name, *description; /* NULL or "": none */
	enum site_unit unit;
	const char *unit_name; /* of UNIT_CUSTOM */
	int64_t multiplier; /* 1: none */
};
/* Values are absolute: never steps. */
size_t out_track_counter(uint8_t *buffer, size_t size,
			 const struct out_counter *counter);

struct out_track {
	uint64_t uuid;
	uint64_t parent; /* 0: none */
	const char *name, *description; /* NULL or "": none */
	enum track_order order; /* of the tracks below it */
	bool ranked; /* rank counts */
	int32_t rank;
	uint64_t merge_key; /* tracks with the same are one; 0: by name */
	bool states;
};
size_t out_track_track(uint8_t *buffer, size_t size,
		       const struct out_track *track);

/* The value of a counter at @ns, on a sequence such as out_track_sequence()
 * begins. */
size_t out_track_value(uint8_t *buffer, size_t size, uint32_t sequence,
		       uint64_t uuid, uint64_t ns, int64_t value);
/* An instant on the track @uuid, of whatever thread. */
size_t out_track_instant(uint8_t *buffer, size_t size, uint32_t sequence,
			 uint64_t uuid, uint64_t ns, const char *name);

/* What a sequence starts with whose events name their tracks themselves, on
 * the clock of the trace. */
size_t out_track_sequence(uint8_t *buffer, size_t size, uint32_t sequence);

#endif
