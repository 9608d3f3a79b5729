/* SPDX-License-Identifier: Apache-2.0
 *
 * spelling - the word that a person may have meant.
 */
#ifndef PERFREC_COLLECTOR_OPTIONS_SPELLING_H
#define PERFREC_COLLECTOR_OPTIONS_SPELLING_H

#include <stddef.h>

/*
 * Returns the word of @words, @count of them, that is most similar to the first
 * @length bytes of @text: at most two letters, and at most a third of them, are
 * changed, missing, added or swapped with their neighbour. NULL if there is
 * none, or if two are equally similar. Skips words that are NULL. Pure.
 */
const char *spelling_nearest(const char *text, size_t length,
			     const char *const *words, size_t count);

#endif
