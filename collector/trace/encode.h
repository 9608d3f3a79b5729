/* SPDX-License-Identifier: Apache-2.0
 *
 * encode - the hot packets of one thread's sequence: begin and end of a slice,
 * each a whole Trace.packet.
 *
 *   begin  0a LL  50 S  5a MM 48 01 50 N  40 D     12 to 14 bytes, mostly
 *   end    0a LL  50 S  5a 02 48 02       40 D     10 to 11
 *          packet sequence  track event   timestamp
 *
 * S, N (the interned name) and D (ns since the last event) are varints of their
 * shortest form. Protobuf lets fields come in any order: with the timestamp
 * last, all that precedes D is the same for every begin of a function, and for
 * every end, but for LL, which counts D, too. It is made once, a template of at
 * most 16 bytes; a packet is a copy of it and a store of D. Nothing branches on
 * whether D has one byte or two, because that cannot be predicted.
 *
 * The other form is one 16-byte store with every value padded to its widest.
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

/* The most one event may take, or scribble on, past encoder->out. */
#define ENCODE_EVENT_BYTES 64

/* All of a packet that precedes D. */
struct encode_template {
	uint64_t low, high; /* its bytes, little-endian; LL as if D had one */
	uint16_t bytes;
	uint16_t limit; /* larger D are encode_slow()'s; 0: all of them */
	uint32_t name_iid; /* 0: an end */
};

/* One sequence. One thread at a time. */
struct encoder {
	uint8_t *out; /* next byte to write; the caller may move it */
	uint64_t last_ns; /* of the last event; the caller may move it */
	uint32_t sequence;
	bool compact; /* events get the form of compact.h, not of packets */
	struct encode_template end; /* of slices */
};

/*
 * Starts @sequence (> 0) at @start_ns, which its descriptor packet says too
 * (out_perfetto_thread). The caller sets out before the first event.
 */
void encoder_init(struct encoder *encoder, uint32_t sequence,
		  uint64_t start_ns);
/* The same for events in the form of compact.h. */
void encoder_init_compact(struct encoder *encoder, uint32_t sequence,
			  uint64_t start_ns);

/* The begin of slices with the name @name_iid on the sequence of @encoder.
 * @name_iid counts from 1, and may have the flags of a site's. */
struct encode_template encode_template(const struct encoder *encoder,
				       uint32_t name_iid);

/*
 * Write one event at encoder->out and move it on. There must be room for
 * ENCODE_EVENT_BYTES. @ns must not be less than last_ns (the caller clamps);
 * @begin is of the same sequence.
 */
static inline void encode_begin(struct encoder *encoder, uint64_t ns,
				const struct encode_template *begin);
static inline void encode_end(struct encoder *encoder, uint64_t ns);

/* The same at @out, @delta_ns after the event before. Returns where the packet
 * ends. */
static inline uint8_t *encode_put(uint8_t *out,
				  const struct encode_template *event,
				  uint64_t delta_ns);

/* The same in the form of compact.h, for a template of an encoder that has it.
 */
static inline uint8_t *encode_put_compact(uint8_t *out,
					  const struct encode_template *event,
					  uint64_t delta_ns);

/* The same for values beyond the template; for encode_put() and
 * encode_put_compact() only. */
uint8_t *encode_slow(uint8_t *out, const struct encode_template *event,
		     uint64_t delta_ns);
uint8_t *encode_slow_compact(uint8_t *out, const struct encode_template *event,
			     uint64_t delta_ns);

/*
 * Stand around a packet that the caller writes himself: where it goes, of at
 * most @room bytes with ENCODE_PACKET_HEAD; and that it was written there, with
 * @bytes bytes, at @ns. The caller has counted its time from last_ns. @ns is
 * last_ns if its time is no step.
 */
static inline uint8_t *encode_packet_at(const struct encoder *encoder);
void encode_packet_done(struct encoder *encoder, uint64_t ns, size_t bytes);
/* What the compact form has in front of a packet, at most. */
#define ENCODE_PACKET_HEAD 24

/* A name that is a site's: its category or its place in the source has the same
 * number (out_perfetto_names()), and is written with it. */
#define ENCODE_CATEGORY (1u << 31)
#define ENCODE_LOCATION (1u << 30)
#define ENCODE_NAMELESS (1u << 29) /* the name itself is not */
#define ENCODE_IID_MASK (ENCODE_NAMELESS - 1)

/* Any event, with fields that were encoded before. */
struct encode_event {
	uint32_t type; /* TrackEvent.Type */
	uint32_t name_iid; /* as encode_template(); 0: none */
	bool absolute; /* ns is BOOTTIME, not a step: last_ns stays */
	/* Only ends: how long the program waited for the collector in the
	 * slice, for the argument ENCODE_WAITED. 0: no argument. */
	uint64_t waited_ns;
	const uint8_t *fields; /* more of TrackEvent; NULL: none */
	size_t field_bytes;
	const uint8_t *interned; /* of InternedData, which come first */
	size_t interned_bytes;
};

/* An argument of ends, in ns: not time of the call (docs/OVERHEAD.md). */
#define ENCODE_WAITED "perfrec.waited_ns"
#define ENCODE_WAITED_BYTES 34 /* as a field of a TrackEvent, at most */

/* Room that encode_event() needs. */
static inline size_t encode_event_bytes(const struct encode_event *event)
{
	return ENCODE_EVENT_BYTES + ENCODE_PACKET_HEAD + ENCODE_WAITED_BYTES +
	       event->field_bytes + event->interned_bytes;
}

/* Writes @event at encoder->out and moves that on. There must be room for
 * encode_event_bytes(). @ns is not less than last_ns, unless event->absolute.
 */
void encode_event(struct encoder *encoder, uint64_t ns,
		  const struct encode_event *event);

/* Writes the fields of the TrackEvent that encode_event() makes of @event, at
 * @out, which has room for encode_event_bytes(). Returns how many bytes they
 * are. */
size_t encode_fields(uint8_t *out, const struct encode_event *event);

/* Keys of arguments with fixed iids: those of seq_names.h come after them. */
#define ENCODE_KEY_REPAIRED 1 /* "perfrec.repaired" */
#define ENCODE_KEYS 1

#define ENCODE_DELTA_LIMIT (1u << 14) /* 16 us: a varint of 2 bytes */
#define ENCODE_IID_LIMIT (1u << 14) /* the same */

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
	/* Moves the upper seven bits one up, and says that they follow. */
	encode_store(out, delta_ns + (delta_ns & 0x3f80) + (two << 7));
	return out + 1 + two;
}

static inline uint8_t *encode_put_compact(uint8_t *out,
					  const struct encode_template *event,
					  uint64_t delta_ns)
{
	/* Of an end, low and high are 0; of a begin, high is 1. */
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
