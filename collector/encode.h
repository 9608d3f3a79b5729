/* SPDX-License-Identifier: Apache-2.0
 *
 * encode - the hot packets of one thread's sequence: begin and end of a
 * slice, each a whole Trace.packet.
 *
 *   begin  0a LL  50 S  5a MM 48 01 50 N  40 D     12 to 14 bytes, mostly
 *   end    0a LL  50 S  5a 02 48 02       40 D     10 to 11
 *          packet sequence  track event   timestamp
 *
 * S, N (the interned name) and D (ns since the last event) are varints of
 * their shortest form. Protobuf lets fields come in any order: with the
 * timestamp last, a packet is three overlapping stores, each of a constant
 * with values added at fixed places. Nothing branches on the length of a
 * value, because the lengths of deltas cannot be predicted.
 *
 * The other form is one 16-byte store with every value padded to its widest.
 * tests/tools/bench_encode.c, on an EPYC, gaps of 20 ns (and around 150 ns):
 *
 *   shortest  5.3 (5.1) ns/span  22.1 (23.4) bytes/span
 *   padded    3.1 (3.1) ns/span  27.0 (27.0) bytes/span
 *
 * Most of what padding saves goes into copying the longer packets to the page
 * cache (0.25 to 0.4 ns a byte), and a sixth less disk is worth the rest.
 */
#ifndef PERFREC_COLLECTOR_ENCODE_H
#define PERFREC_COLLECTOR_ENCODE_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "shared/compiler.h"

/* The most one event may take, or scribble on, past encoder->out. */
#define ENCODE_EVENT_BYTES 64

/* One sequence. One thread at a time. */
struct encoder {
	uint8_t *out; /* next byte to write; the caller may move it */
	uint64_t last_ns; /* of the last event; the caller may move it */
	uint32_t sequence;
	uint32_t head_bytes; /* of "0a LL 50 S" */
	uint64_t head; /* the same as a little-endian word, LL being what
			* it is when nothing follows */
};

/*
 * Starts @sequence (> 0) at @start_ns, which its descriptor packet says too
 * (out_perfetto_thread). The caller sets out before the first event.
 */
void encoder_init(struct encoder *encoder, uint32_t sequence,
		  uint64_t start_ns);

/*
 * Write one event at encoder->out and move it on. There must be room for
 * ENCODE_EVENT_BYTES. @ns must not be less than last_ns (the caller clamps);
 * @name_iid counts from 1, and may have the flags of a site's.
 */
static inline void encode_begin(struct encoder *encoder, uint64_t ns,
				uint32_t name_iid);
static inline void encode_end(struct encoder *encoder, uint64_t ns);

/* The same for values beyond the templates; for encode_begin and encode_end
 * only. @name_iid 0: an end. */
void encode_slow(struct encoder *encoder, uint64_t delta_ns, uint32_t name_iid);

/* A name that is a site's: its category or its place in the source has the
 * same number (out_perfetto_names()), and is written with it. */
#define ENCODE_CATEGORY (1u << 31)
#define ENCODE_LOCATION (1u << 30)
#define ENCODE_NAMELESS (1u << 29) /* the name itself is not */
#define ENCODE_IID_MASK (ENCODE_NAMELESS - 1)

/* Any event, with fields that were encoded before. */
struct encode_event {
	uint32_t type; /* TrackEvent.Type */
	uint32_t name_iid; /* as encode_begin(); 0: none */
	bool absolute; /* ns is BOOTTIME, not a step: last_ns stays */
	const uint8_t *fields; /* more of TrackEvent; NULL: none */
	size_t field_bytes;
	const uint8_t *interned; /* of InternedData, which come first */
	size_t interned_bytes;
};

/* Room that encode_event() needs. */
static inline size_t encode_event_bytes(const struct encode_event *event)
{
	return ENCODE_EVENT_BYTES + event->field_bytes + event->interned_bytes;
}

/* Write it as encode_begin() does. */
void encode_event(struct encoder *encoder, uint64_t ns,
		  const struct encode_event *event);

/* Write at @ns once more what somebody packed with a time of 0 at its front:
 * "0a LL 40 00", and less than ENCODE_AGAIN_BYTES in all. There must be room
 * for 9 bytes more than it has. */
void encode_again(struct encoder *encoder, uint64_t ns, const uint8_t *packet,
		  size_t bytes);
#define ENCODE_AGAIN_BYTES 112

/* The shortest varint of @value, at most 10 bytes; returns where it ends. */
uint8_t *encode_put_varint(uint8_t *out, uint64_t value);

#define ENCODE_DELTA_LIMIT (1u << 21) /* 2 ms: a varint of 3 bytes */
#define ENCODE_IID_LIMIT (1u << 14) /* of 2 bytes */

static inline void encode_store(uint8_t *out, uint64_t word)
{
	word = htole64(word);
	memcpy(out, &word, sizeof(word));
}

/* The varint of @delta, below ENCODE_DELTA_LIMIT, as a little-endian word. */
static inline uint64_t encode_delta(uint32_t delta, uint32_t *length)
{
	uint32_t bytes = 1u + (delta >= 1u << 7) + (delta >= 1u << 14);
	uint32_t more = 0x8080u >> (24 - 8 * bytes);

	*length = bytes;
	return (delta & 0x7f) | (delta & 0x3f80) << 1 |
	       (delta & 0x1fc000) << 2 | more;
}

/* The same for @iid, below ENCODE_IID_LIMIT. */
static inline uint64_t encode_iid(uint32_t iid, uint32_t *length)
{
	*length = 1u + (iid >= 1u << 7);
	return iid < 1u << 7 ? iid : (iid & 0x7f) | (iid & 0x3f80) << 1 | 0x80;
}

static inline void encode_begin(struct encoder *encoder, uint64_t ns,
				uint32_t name_iid)
{
	uint64_t delta = ns - encoder->last_ns, name, time;
	uint32_t name_bytes, time_bytes;
	uint8_t *out = encoder->out;

	if (unlikely(delta >= ENCODE_DELTA_LIMIT ||
		     name_iid >= ENCODE_IID_LIMIT)) {
		encode_slow(encoder, delta, name_iid);
		return;
	}
	name = encode_iid(name_iid, &name_bytes);
	time = encode_delta((uint32_t)delta, &time_bytes);

	encode_store(out, encoder->head + ((6 + name_bytes + time_bytes) << 8));
	out += encoder->head_bytes;
	encode_store(out, 0x500148035a + (name_bytes << 8) + (name << 40));
	out += 5 + name_bytes;
	encode_store(out, 0x40 + (time << 8));
	encoder->out = out + 1 + time_bytes;
	encoder->last_ns = ns;
}

static inline void encode_end(struct encoder *encoder, uint64_t ns)
{
	uint64_t delta = ns - encoder->last_ns, time;
	uint32_t time_bytes;
	uint8_t *out = encoder->out;

	if (unlikely(delta >= ENCODE_DELTA_LIMIT)) {
		encode_slow(encoder, delta, 0);
		return;
	}
	time = encode_delta((uint32_t)delta, &time_bytes);

	encode_store(out, encoder->head + ((5 + time_bytes) << 8));
	out += encoder->head_bytes;
	encode_store(out, 0x400248025a + (time << 40));
	encoder->out = out + 5 + time_bytes;
	encoder->last_ns = ns;
}

#endif
