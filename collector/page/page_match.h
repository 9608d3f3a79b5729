/* SPDX-License-Identifier: Apache-2.0
 *
 * page_match - matches functions by name alone, for two recordings of programs
 * with different names. One thread at a time.
 */
#ifndef PERFREC_COLLECTOR_PAGE_PAGE_MATCH_H
#define PERFREC_COLLECTOR_PAGE_PAGE_MATCH_H

#include <stdint.h>

struct page_data;

/*
 * Maps each function of only the base to the function of only the recording
 * with the same name, in sums and tree. Skips names of several functions. Call
 * it after all data was added. Returns the number of matched functions; 0
 * without memory, noted in @data.
 */
uint32_t page_match_names(struct page_data *data);

#endif
