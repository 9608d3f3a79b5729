/* SPDX-License-Identifier: Apache-2.0
 *
 * window_run - reads plain begins and ends of slices, nearly all of a flight
 * recorder's memory, without a packet between, but with the effect of
 * packet_window_take().
 *
 * Begins and ends, and the lengths of numbers, cannot be predicted. So nothing
 * branches on them: an end is name 0 and has a template as names have, and a
 * number is read from eight bytes at once.
 */
#include <endian.h>
#include <string.h>

#include "collector/cut/packet_window_inner.h"
#include "collector/trace/compact.h"
#include "collector/trace/encode.h"

#define KIND_NAME (TAG_INTERNED_DATA_EVENT_NAMES >> 3)
/* Two numbers of four bytes; all eight bytes are read. */
#define EVENT_BYTES_MOST 8
/* The bytes to make before checking if they must be written. */
#define PIECE_BYTES (64u << 10)

void window_forget_templates(struct packet_window *window)
{
	window->templates_of = NULL;
}

static void begin_templates(struct packet_window *window,
			    const struct wsequence *sequence)
{
	struct encoder encoder;

	encoder_init(&encoder, (uint32_t)sequence->id, 0);
	for (uint32_t i = 0; i < WINDOW_TEMPLATES; i++)
		window->templates[i].name_iid = UINT32_MAX;
	window->templates[0] = encoder.end;
	window->templates_of = sequence;
}

/* Makes the template of name @iid. Returns false if the cut lacks the name, if
 * it is a site's, or 0. */
static bool make_run_template(struct packet_window *window,
			      const struct wsequence *sequence, uint64_t iid)
{
	const struct encoder like = { .sequence = (uint32_t)sequence->id };

	if (!iid || iid > ENCODE_IID_MASK || iid % WINDOW_TEMPLATES == 0 ||
	    !cut_names_ready(&sequence->names, KIND_NAME, iid))
		return false;
	window->templates[iid % WINDOW_TEMPLATES] =
		encode_template(&like, (uint32_t)iid);
	return true;
}

/* Reads a number of at most four bytes from the low bytes of @word. Returns the
 * number of its bytes, or 0 if it is longer. */
static inline unsigned int get_short(uint64_t word, uint64_t *out)
{
	uint32_t stops = ~(uint32_t)word & 0x80808080u;
	unsigned int bits;

	if (unlikely(!stops))
		return 0;
	bits = (unsigned int)__builtin_ctz(stops) + 1;
	word &= (UINT64_C(1) << bits) - 1;
	*out = (word & 0x7f) | (word >> 1 & 0x3f80) | (word >> 2 & 0x1fc000) |
	       (word >> 3 & 0xfe00000);
	return bits / 8;
}

/* An event: iid is the name of a BEGIN, or 0 of an END. */
struct plain {
	uint64_t delta_ns, iid;
	bool begins;
};

/* Reads the event in the EVENT_BYTES_MOST bytes at @at. Returns the number of
 * its bytes, or 0 if it is not plain. */
static inline unsigned int get_plain(const uint8_t *at, struct plain *out)
{
	uint64_t word, head = 0, name = 0;
	unsigned int first, second;

	memcpy(&word, at, sizeof(word));
	word = le64toh(word);
	first = get_short(word, &head);
	second = get_short(word >> 8 * first, &name);
	out->begins = head & 1;
	out->delta_ns = head >> 1;
	if (unlikely(!first || (out->begins && (!second || name < 2))))
		return 0;
	out->iid = out->begins ? name - COMPACT_NAMES : 0;
	return first + (out->begins ? second : 0);
}

/* The state of a run, in registers. */
struct run {
	struct wsequence *sequence;
	struct wtrack *track;
	uint64_t ns, out_ns;
	uint64_t end_ns;
	uint64_t events, begins;
	uint8_t *out;
};

static void keep_run(struct packet_window *window, const struct run *run)
{
	struct packet_window_totals *totals = &window->totals;

	run->sequence->clock_ns = run->ns;
	run->sequence->out_ns = run->out_ns;
	run->track->now_ns = run->ns;
	run->track->has_slices |= run->begins > 0;
	totals->packets += run->events;
	totals->slices += run->begins;
	totals->last_ns = MAX(totals->last_ns, run->ns);
}

static void run_piece(struct packet_window *window, struct run *run,
		      const uint8_t **at, const uint8_t *end,
		      const uint8_t *out_end)
{
	struct wslice *slices = run->track->slices;
	uint32_t open = run->track->slice_count;
	const uint32_t room = run->track->slice_room;
	const struct encode_template *template;
	struct wslice *slice;
	struct plain event;
	unsigned int bytes;

	while (end - *at >= EVENT_BYTES_MOST && run->out < out_end &&
	       (bytes = get_plain(*at, &event))) {
		uint64_t ns = run->ns + event.delta_ns;

		template = &window->templates[event.iid % WINDOW_TEMPLATES];
		if (unlikely(ns >= run->end_ns || open + event.begins > room ||
			     open + event.begins == 0 ||
			     (template->name_iid != event.iid &&
			      !make_run_template(window, run->sequence,
						 event.iid))))
			break;
		/* An end overwrites the slice that it ends. */
		slice = &slices[open - !event.begins];
		slice->sequence = run->sequence;
		slice->begin_ns = ns;
		slice->name_iid = event.iid;
		slice->fields.count = 0;
		open += event.begins ? 1 : -1u;
		run->out = encode_put(run->out, template, ns - run->out_ns);
		run->ns = run->out_ns = ns;
		run->events++;
		run->begins += event.begins;
		*at += bytes;
	}
	run->track->slice_count = open;
}

/* Returns true if events of @sequence after @ns can go straight to the file:
 * they are in a range, and everything they need is written. */
static bool may_run(const struct packet_window *window,
		    const struct wsequence *sequence, uint64_t ns)
{
	const struct wtrack *track = sequence->track;

	return sequence->started && track && track->inside &&
	       track->described && !track->is_waits && !track->deeper &&
	       !window->threads && track->now_ns <= ns &&
	       sequence->out_ns <= ns && sequence->clock_ns <= ns &&
	       is_clock_of_sequence(sequence->clock_id) &&
	       window->totals.first_ns && window->totals.first_ns <= ns &&
	       sequence->id <= UINT32_MAX;
}

uint64_t packet_window_run(struct packet_window *window, uint32_t id,
			   struct compact *from)
{
	struct wsequence *sequence = window->last_sequence;
	struct bytes *pending = &window->file->pending;
	struct run run;

	if (!sequence || sequence->id != id ||
	    !may_run(window, sequence, from->ns))
		return 0;
	if (window->templates_of != sequence)
		begin_templates(window, sequence);
	run = (struct run){
		.sequence = sequence,
		.track = sequence->track,
		.ns = from->ns,
		.out_ns = sequence->out_ns,
		.end_ns = window->ranges->at[sequence->track->range].to,
	};
	for (;;) {
		uint64_t before = run.events;

		run.out = bytes_add(pending, PIECE_BYTES);
		if (!run.out)
			break;
		run_piece(window, &run, &from->at, from->end,
			  run.out + PIECE_BYTES - ENCODE_EVENT_BYTES);
		pending->count = (size_t)(run.out - pending->at);
		cut_file_check(window->file);
		if (run.events == before)
			break;
	}
	if (run.events)
		keep_run(window, &run);
	from->ns = run.ns;
	return run.events;
}
