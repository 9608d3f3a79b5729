/* SPDX-License-Identifier: Apache-2.0
 *
 * search - binary search in a sorted array, and search for a text in a list.
 */
#ifndef PERFREC_COLLECTOR_BASE_SEARCH_H
#define PERFREC_COLLECTOR_BASE_SEARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Returns true if one of the @count texts in @list equals @text. */
static inline bool search_text(const char *text, const char *const *list,
			       size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(list[i], text) == 0)
			return true;
	return false;
}

/* Returns the first index below @count for which @holds is true, or @count.
 * @holds is an expression of @i, which the macro declares. It must be true for
 * all indexes behind the first one. */
#define search_first(i, count, holds)                                        \
	({                                                                   \
		__typeof__((count) + 0) search_low = 0;                      \
		__typeof__((count) + 0) search_high = (count);               \
		while (search_low < search_high) {                           \
			__typeof__(search_low) i =                           \
				search_low + (search_high - search_low) / 2; \
                                                                             \
			if (holds)                                           \
				search_high = i;                             \
			else                                                 \
				search_low = i + 1;                          \
		}                                                            \
		search_low;                                                  \
	})

#endif
