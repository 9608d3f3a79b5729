/* SPDX-License-Identifier: Apache-2.0
 *
 * text_store - keeps texts, and other constant bytes, for as long as the store
 * lives. Equal ones are kept once, and have one address. A store has a limit:
 * what comes after that is not kept. Any thread may call these; the store has a
 * lock of its own, inside which no other lock is taken.
 */
#ifndef PERFREC_COLLECTOR_NAMES_TEXT_STORE_H
#define PERFREC_COLLECTOR_NAMES_TEXT_STORE_H

#include <stddef.h>
#include <stdint.h>

struct text_store;

/* A store that takes @bytes_max at most. 0 or -ENOMEM. The caller owns *@out
 * and ends it by text_store_free(). */
int text_store_new(uint64_t bytes_max, struct text_store **out);
/* Frees *@store, which may be NULL, with all that it keeps, and clears it. */
void text_store_free(struct text_store **store);

/* The kept copy of @text, the same one for equal texts. NULL: errno is ENOSPC
 * where the store is full, or ENOMEM. */
const char *text_store_text(struct text_store *store, const char *text);
/* The same for a text that a program told of itself. NULL also: the store takes
 * half of its limit already. So what programs make up leaves room for what
 * their files say. */
const char *text_store_told(struct text_store *store, const char *text);
/* The same for @size bytes of anything; the copy is aligned for anything. */
const void *text_store_copy(struct text_store *store, const void *bytes,
			    size_t size);

/* How many bytes the store takes by now. */
uint64_t text_store_bytes(struct text_store *store);

#endif
