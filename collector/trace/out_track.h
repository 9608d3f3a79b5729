/* SPDX-License-Identifier: Apache-2.0
 *
 * out_track - packets of tracks outside of threads and contexts: tracks of
 * counters, of asynchronous slices, and of states. As in out_perfetto.h, each
 * function writes a whole packet to the @size bytes at @buffer and returns its
 * bytes, or 0 if it does not fit. Pure, any thread.
 */
#ifndef PERFREC_COLLECTOR_TRACE_OUT_TRACK_H
#define PERFREC_COLLECTOR_TRACE_OUT_TRACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/site_shm.h"

/* Enough room for each of these packets. */
#define OUT_TRACK_BYTES 16384

struct out_counter {
	uint64_t uuid;
	uint64_t parent; /* uuid of a process or thread */
	const char *name, *description; /* NULL or "": none */
	enum site_unit unit;
	const char *unit_name; /* of UNIT_CUSTOM */
	int64_t multiplier; /* 1: none */
};
/* The descriptor of a counter's track. Values are absolute, not steps. */
size_t out_track_counter(uint8_t *buffer, size_t size,
			 const struct out_counter *counter);

struct out_track {
	uint64_t uuid;
	uint64_t parent; /* 0: none */
	const char *name, *description; /* NULL or "": none */
	enum track_order order; /* of its child tracks */
	bool ranked; /* rank is valid */
	int32_t rank;
	uint64_t merge_key; /* tracks with the same key are merged; 0: by
			     * name */
	bool states;
};
size_t out_track_track(uint8_t *buffer, size_t size,
		       const struct out_track *track);

/* The counter of track @uuid has @value at @ns (CLOCK_BOOTTIME). @sequence is
 * one of out_track_sequence(). */
size_t out_track_value(uint8_t *buffer, size_t size, uint32_t sequence,
		       uint64_t uuid, uint64_t ns, int64_t value);
/* An instant @name on track @uuid at @ns. @sequence as for
 * out_track_value(). */
size_t out_track_instant(uint8_t *buffer, size_t size, uint32_t sequence,
			 uint64_t uuid, uint64_t ns, const char *name);

/* The first packet of a sequence whose events name their tracks and have times
 * in ns of CLOCK_BOOTTIME. */
size_t out_track_sequence(uint8_t *buffer, size_t size, uint32_t sequence);

#endif
