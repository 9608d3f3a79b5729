/* SPDX-License-Identifier: Apache-2.0
 *
 * text_store - interns texts and other constant bytes until the store is freed.
 * Equal contents have one address. A full store keeps nothing new. Any thread;
 * its own lock is the innermost.
 */
#ifndef PERFREC_COLLECTOR_NAMES_TEXT_STORE_H
#define PERFREC_COLLECTOR_NAMES_TEXT_STORE_H

#include <stddef.h>
#include <stdint.h>

struct text_store;

/* Creates a store of @bytes_max at most. Returns 0 or -ENOMEM. */
int text_store_new(uint64_t bytes_max, struct text_store **out);
void text_store_free(struct text_store **store);

/* Returns NULL if the store is full (ENOSPC) or out of memory (ENOMEM). */
const char *text_store_text(struct text_store *store, const char *text);
/* As text_store_text() for texts from programs. Also NULL if the store is half
 * full, which leaves room for texts from files. */
const char *text_store_told(struct text_store *store, const char *text);
/* As text_store_text() for any bytes; aligned for any type. */
const void *text_store_copy(struct text_store *store, const void *bytes,
			    size_t size);

uint64_t text_store_bytes(struct text_store *store);

#endif
