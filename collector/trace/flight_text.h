/* SPDX-License-Identifier: Apache-2.0
 *
 * flight_text - bytes of the flight recorder's memory, in parts. All calls need
 * the lock of that memory, but flight_cut_next(): what was appended neither
 * moves nor changes.
 */
#ifndef PERFREC_COLLECTOR_TRACE_FLIGHT_TEXT_H
#define PERFREC_COLLECTOR_TRACE_FLIGHT_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct flight_part {
	struct flight_part *next;
	uint32_t bytes, room;
	uint8_t at[];
};

struct flight_text {
	uint32_t holders; /* it is freed with the last one */
	struct flight_part *first, *last;
	uint64_t memory; /* bytes that it takes */
};

/* What a text had at some moment. */
struct flight_cut {
	struct flight_text *text;
	struct flight_part *last; /* NULL: nothing */
	uint32_t last_bytes; /* of that part */
};

/* An empty text with one holder; NULL: no memory. */
struct flight_text *flight_text_new(void);
/* One holder less; @text may be NULL. */
void flight_text_drop(struct flight_text *text);
/* Appends @bytes at @from; they lie in one part. False: no memory. */
bool flight_text_put(struct flight_text *text, const void *from, size_t bytes);
/* Nothing more will be appended to @text: gives the room that is left back,
 * unless somebody has a cut of it. */
void flight_text_trim(struct flight_text *text);
/* What @text has now. The cut is one more holder. */
struct flight_cut flight_text_cut(struct flight_text *text);

/* The next part of @cut: *@part is NULL at first. Sets how many bytes of it
 * belong to the cut. False: there are no more. */
bool flight_cut_next(const struct flight_cut *cut, struct flight_part **part,
		     uint32_t *bytes);

#endif
