/* SPDX-License-Identifier: Apache-2.0
 *
 * trace_names - texts of a trace, each once, by number; and what the numbers
 * that a sequence gives to its texts (iids) stand for. Memory is bounded by a
 * budget. One thread at a time.
 */
#ifndef PERFREC_COLLECTOR_READ_TRACE_NAMES_H
#define PERFREC_COLLECTOR_READ_TRACE_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include "collector/base/pool.h"

struct budget;
struct text_store;

/* Number 0 is no text. */
struct trace_texts {
	struct text_store *store;
	struct pool pool; /* of const char *: number N is item N - 1 */
	uint64_t refused; /* texts for which there was no room */
};

/* 0 or -ENOMEM. */
int trace_texts_init(struct trace_texts *texts, struct budget *budget);
/* Frees all texts. @texts may be all zero. */
void trace_texts_release(struct trace_texts *texts);

/* Returns the number of the @count bytes at @bytes, up to the first NUL. Bytes
 * that are no UTF-8 become '?'; a text that perfrec would not write is cut off.
 * 0: it is empty, or there is no room. */
uint32_t trace_texts_number(struct trace_texts *texts, const uint8_t *bytes,
			    size_t count);
/* The text with @number, which lives as long as @texts. "": no text. */
const char *trace_texts_get(const struct trace_texts *texts, uint32_t number);

/* A table from iid to number. All zero: empty. */
struct trace_iids {
	uint32_t *number; /* by iid; 0: not known */
	uint32_t room;
};

/* Sets what @iid stands for. Returns 0, or -ENOMEM: no room, or @iid is larger
 * than any that perfrec writes. */
int trace_iids_set(struct trace_iids *iids, struct budget *budget, uint64_t iid,
		   uint32_t number);
/* Forgets all, and gives the memory back to @budget. */
void trace_iids_clear(struct trace_iids *iids, struct budget *budget);

/* What @iid stands for; 0: not known. */
static inline uint32_t trace_iids_get(const struct trace_iids *iids,
				      uint64_t iid)
{
	return iid < iids->room ? iids->number[iid] : 0;
}

#endif
