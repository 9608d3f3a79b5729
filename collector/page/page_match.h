/* SPDX-License-Identifier: Apache-2.0
 *
 * page_match - two recordings of programs with different names: their functions
 * are the same by name alone. One thread at a time.
 */
#ifndef PERFREC_COLLECTOR_PAGE_PAGE_MATCH_H
#define PERFREC_COLLECTOR_PAGE_PAGE_MATCH_H

#include <stdint.h>

struct page_data;

/* What a function that only the base has is given to the one of the same name
 * that only the recording has, in sums and in the tree. Names that several of
 * either have are left alone. Call it when all is taken. Returns how many
 * functions it matched; without memory none, which is noted in @data. */
uint32_t page_match_names(struct page_data *data);

#endif
