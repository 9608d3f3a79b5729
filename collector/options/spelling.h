/* SPDX-License-Identifier: Apache-2.0
 *
 * spelling - the word that a person may have meant.
 */
#ifndef PERFREC_COLLECTOR_OPTIONS_SPELLING_H
#define PERFREC_COLLECTOR_OPTIONS_SPELLING_H

#include <stddef.h>

/*
 * The one of @count @words that is nearest to the first @length bytes of @text:
 * at most two letters, and at most a third of them, are changed, missing, too
 * many or exchanged with their neighbour. NULL if there is none, or if two are
 * equally near. Words that are NULL are passed over. Pure.
 */
const char *spelling_nearest(const char *text, size_t length,
			     const char *const *words, size_t count);

#endif
