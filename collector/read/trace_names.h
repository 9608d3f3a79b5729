/* SPDX-License-Identifier: Apache-2.0
 *
 * trace_names - numbers the texts of a trace, each once, and maps the iids of a
 * sequence to these numbers. A budget bounds the memory. One thread at a time.
 */
#ifndef PERFREC_COLLECTOR_READ_TRACE_NAMES_H
#define PERFREC_COLLECTOR_READ_TRACE_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include "collector/base/pool.h"

struct budget;
struct text_store;

/* Number 0 is "no text". */
struct trace_texts {
	struct text_store *store;
	struct pool pool; /* const char *: number N is item N - 1 */
	uint64_t refused; /* texts without room */
};

/* Returns 0 or -ENOMEM. */
int trace_texts_init(struct trace_texts *texts, struct budget *budget);
/* Frees all texts. @texts may be all zero. */
void trace_texts_release(struct trace_texts *texts);

/* Returns the number of the @count bytes at @bytes, up to the first NUL. Bytes
 * that are not UTF-8 become '?'; a text longer than perfrec's is cut. Returns 0
 * if it is empty, or without room. */
uint32_t trace_texts_number(struct trace_texts *texts, const uint8_t *bytes,
			    size_t count);
/* Returns the text with @number, valid until @texts is released; "" for number
 * 0. */
const char *trace_texts_get(const struct trace_texts *texts, uint32_t number);

/* A table from iid to number. All zero is empty. */
struct trace_iids {
	uint32_t *number; /* by iid; 0: unknown */
	uint32_t room;
};

/* Sets the number of @iid. Returns 0, or -ENOMEM: no room, or @iid is larger
 * than any iid of perfrec. */
int trace_iids_set(struct trace_iids *iids, struct budget *budget, uint64_t iid,
		   uint32_t number);
/* Clears the table, and returns the memory to @budget. */
void trace_iids_clear(struct trace_iids *iids, struct budget *budget);

/* Returns the number of @iid; 0: unknown. */
static inline uint32_t trace_iids_get(const struct trace_iids *iids,
				      uint64_t iid)
{
	return iid < iids->room ? iids->number[iid] : 0;
}

#endif
