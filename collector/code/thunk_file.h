/* SPDX-License-Identifier: Apache-2.0
 *
 * thunk_file - makes the heads of ELF files that show thunks (function_shm.h): to
 * gdb those of one mapping, and to other unwinders the area, which is a file of
 * its own. Pure; any thread.
 */
#ifndef PERFREC_COLLECTOR_CODE_THUNK_FILE_H
#define PERFREC_COLLECTOR_CODE_THUNK_FILE_H

#include <stdint.h>

#include "shared/function_shm.h"

/* Writes page @i of the files of an area, for its mapping at @map. The area has
 * @functions numbers; the first @frames have frame descriptions. If @map is 0,
 * the page is all zero. */
void thunk_file_make(uint8_t out[THUNK_FILE_BYTES], uint32_t i, uint64_t map,
		     uint32_t functions, uint32_t frames);

/* Writes the page at the start of the area. */
void thunk_file_make_area(uint8_t out[THUNK_FILE_BYTES], uint32_t functions,
			  uint32_t frames);

#endif
