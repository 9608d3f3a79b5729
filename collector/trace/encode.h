/* SPDX-License-Identifier: Apache-2.0
 *
 * encode - the hot packets of one thread's sequence: begin and end of a slice,
 * each a whole Trace.packet.
 *
 *   begin  0a LL  50 S  5a MM 48 01 50 N  40 D     12 to 14 bytes, mostly
 *   end    0a LL  50 S  5a 02 48 02       40 D     10 to 11
 *          packet sequence  track event   timestamp
 *
 * S, N (the interned name) and D (ns since the last event) are varints in their
 * shortest form. Protobuf allows any order of fields. With the timestamp last,
 * all bytes before D are the same for every begin of a function, and for every
 * end; only LL depends on D. These bytes are a template of at most 16 bytes,
 * made once; a packet is a copy of it and a store of D. No branch depends on
 * whether D has one byte or two, because that is unpredictable.
 *
 * The alternative is one 16-byte store with every value padded to its widest.
 * tests/tools/bench_encode.c, on an EPYC, gaps of 20 ns (and around 150 ns):
 *
 *   shortest  2.6 (2.6) ns/span  22.1 (23.4) bytes/span
 *   padded    2.6 (2.6) ns/span  27.0 (27.0) bytes/span
 *
 * Padding saves nothing, and copying longer packets to the page cache takes 0.2
 * to 0.4 ns a byte.
 */
#ifndef PERFREC_COLLECTOR_TRACE_ENCODE_H
#define PERFREC_COLLECTOR_TRACE_ENCODE_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "shared/compiler.h"

/* Most bytes that an event may write or overwrite past encoder->out. */
#define ENCODE_EVENT_BYTES 64

/* The bytes of a packet before D. */
struct encode_template {
	uint64_t low, high; /* little-endian; LL for D of one byte */
	uint16_t bytes;
	uint16_t limit; /* larger D go to encode_slow(); 0: all D do */
	uint32_t name_iid;
};

/* The state of one sequence. One thread at a time. */
struct encoder {
	uint8_t *out; /* next byte to write; the caller may change it */
	uint64_t last_ns; /* of the last event; the caller may change it */
	uint32_t sequence;
	bool compact; /* use the form of compact.h */
	struct encode_template end;
};

/*
 * Starts @sequence (> 0) at @start_ns, which its descriptor packet also
 * declares (out_perfetto_thread). The caller sets out before the first event.
 */
void encoder_init(struct encoder *encoder, uint32_t sequence,
		  uint64_t start_ns);
/* As encoder_init(), for the form of compact.h. */
void encoder_init_compact(struct encoder *encoder, uint32_t sequence,
			  uint64_t start_ns);

/* Returns the template for begins of slices with the name @name_iid, which
 * counts from 1 and may have the ENCODE_ flags below. */
struct encode_template encode_template(const struct encoder *encoder,
				       uint32_t name_iid);

/*
 * Write one event to encoder->out, which needs room for ENCODE_EVENT_BYTES, and
 * advance it. @ns must not be less than last_ns (the caller clamps it). @begin
 * must belong to the same sequence.
 */
static inline void encode_begin(struct encoder *encoder, uint64_t ns,
				const struct encode_template *begin);
static inline void encode_end(struct encoder *encoder, uint64_t ns);

/* Writes an event to @out, @delta_ns after the event before. Returns the
 * end. */
static inline uint8_t *encode_put(uint8_t *out,
				  const struct encode_template *event,
				  uint64_t delta_ns);

/* As encode_put(), for a template of a compact encoder. */
static inline uint8_t *encode_put_compact(uint8_t *out,
					  const struct encode_template *event,
					  uint64_t delta_ns);

uint8_t *encode_slow(uint8_t *out, const struct encode_template *event,
		     uint64_t delta_ns);
uint8_t *encode_slow_compact(uint8_t *out, const struct encode_template *event,
			     uint64_t delta_ns);

/*
 * For a packet that the caller writes. encode_packet_at() returns its place;
 * the packet with ENCODE_PACKET_HEAD must fit into the room.
 * encode_packet_done() ends it with @bytes at @ns. The caller has made its time
 * a step from last_ns; @ns is last_ns if its time is absolute.
 */
static inline uint8_t *encode_packet_at(const struct encoder *encoder);
void encode_packet_done(struct encoder *encoder, uint64_t ns, size_t bytes);
/* Most bytes of the compact form in front of a packet. */
#define ENCODE_PACKET_HEAD 24

/* Flags of a site's name: its category or its place in the source has the same
 * number (out_perfetto_names()) and is also written. */
#define ENCODE_CATEGORY (1u << 31)
#define ENCODE_LOCATION (1u << 30)
#define ENCODE_NAMELESS (1u << 29) /* without the name itself */
#define ENCODE_IID_MASK (ENCODE_NAMELESS - 1)

/* Any event, with fields that are already encoded. */
struct encode_event {
	uint32_t type;
	uint32_t name_iid; /* as for encode_template(); 0: none */
	bool absolute; /* ns is BOOTTIME, not a step; last_ns stays */
	/* For ends only: the program's wait for the collector during the slice,
	 * for the argument ENCODE_WAITED. 0: no argument. */
	uint64_t waited_ns;
	const uint8_t *fields; /* further fields of TrackEvent; NULL: none */
	size_t field_bytes;
	const uint8_t *interned; /* fields of InternedData, written first */
	size_t interned_bytes;
};

/* An argument of ends in ns: time that is not time of the call
 * (docs/OVERHEAD.md). */
#define ENCODE_WAITED "perfrec.waited_ns"
#define ENCODE_WAITED_BYTES 34 /* limit as a field of TrackEvent */

/* Returns the room that encode_event() needs. */
static inline size_t encode_event_bytes(const struct encode_event *event)
{
	return ENCODE_EVENT_BYTES + ENCODE_PACKET_HEAD + ENCODE_WAITED_BYTES +
	       event->field_bytes + event->interned_bytes;
}

/* Writes @event to encoder->out, which needs room for encode_event_bytes(), and
 * advances it. @ns is not less than last_ns, unless event->absolute. */
void encode_event(struct encoder *encoder, uint64_t ns,
		  const struct encode_event *event);

/* Writes the TrackEvent fields of @event to @out, which has room for
 * encode_event_bytes(). Returns their length. */
size_t encode_fields(uint8_t *out, const struct encode_event *event);

/* Keys of arguments with fixed iids, before those of seq_names.h. */
#define ENCODE_KEY_REPAIRED 1 /* "perfrec.repaired" */
#define ENCODE_KEYS 1

#define ENCODE_DELTA_LIMIT (1u << 14) /* 16 us: a varint of 2 bytes */
#define ENCODE_IID_LIMIT (1u << 14) /* also a varint of 2 bytes */

static inline void encode_store(uint8_t *out, uint64_t word)
{
	word = htole64(word);
	memcpy(out, &word, sizeof(word));
}

static inline uint8_t *encode_put(uint8_t *out,
				  const struct encode_template *event,
				  uint64_t delta_ns)
{
	uint64_t two = delta_ns >= 1u << 7;

	if (unlikely(delta_ns >= event->limit))
		return encode_slow(out, event, delta_ns);
	encode_store(out, event->low + (two << 8));
	encode_store(out + 8, event->high);
	out += event->bytes;
	/* Moves the upper seven bits one up and sets the bit that they
	 * follow. */
	encode_store(out, delta_ns + (delta_ns & 0x3f80) + (two << 7));
	return out + 1 + two;
}

static inline uint8_t *encode_put_compact(uint8_t *out,
					  const struct encode_template *event,
					  uint64_t delta_ns)
{
	/* low and high of an END are 0; high of a BEGIN is 1. */
	uint64_t head = delta_ns << 1 | event->high, two = head >= 1u << 7;

	if (unlikely(head >= event->limit))
		return encode_slow_compact(out, event, delta_ns);
	encode_store(out, head + (head & 0x3f80) + (two << 7));
	out += 1 + two;
	encode_store(out, event->low);
	return out + event->bytes;
}

static inline void encode_begin(struct encoder *encoder, uint64_t ns,
				const struct encode_template *begin)
{
	uint64_t delta_ns = ns - encoder->last_ns;

	encoder->out =
		encoder->compact
			? encode_put_compact(encoder->out, begin, delta_ns)
			: encode_put(encoder->out, begin, delta_ns);
	encoder->last_ns = ns;
}

static inline uint8_t *encode_packet_at(const struct encoder *encoder)
{
	return encoder->out + (encoder->compact ? ENCODE_PACKET_HEAD : 0);
}

static inline void encode_end(struct encoder *encoder, uint64_t ns)
{
	encode_begin(encoder, ns, &encoder->end);
}

#endif
