/* SPDX-License-Identifier: Apache-2.0
 *
 * flight_text - bytes of the flight recorder's memory, in parts. All functions
 * except flight_cut_next() need the lock of that memory. Appended bytes never
 * move or change.
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
	uint32_t holders; /* the last one frees it */
	struct flight_part *first, *last;
	uint64_t memory;
};

struct flight_cut {
	struct flight_text *text;
	struct flight_part *last; /* NULL: empty */
	uint32_t last_bytes; /* of last */
};

/* Returns an empty text with one holder, or NULL without memory. */
struct flight_text *flight_text_new(void);
/* Removes one holder; @text may be NULL. */
void flight_text_drop(struct flight_text *text);
/* Appends @bytes at @from, in one part. Returns false without memory. */
bool flight_text_put(struct flight_text *text, const void *from, size_t bytes);
/* Frees the unused room at the end of @text, which is complete, unless a cut of
 * it exists. */
void flight_text_trim(struct flight_text *text);
/* Returns the present contents of @text. The cut is one more holder. */
struct flight_cut flight_text_cut(struct flight_text *text);

/* Moves *@part, NULL at first, to the next part of @cut. Sets *@bytes to its
 * bytes in the cut. Returns false at the end. */
bool flight_cut_next(const struct flight_cut *cut, struct flight_part **part,
		     uint32_t *bytes);

#endif
