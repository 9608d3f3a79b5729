/* SPDX-License-Identifier: Apache-2.0
 *
 * thunk_file - the beginning of an ELF file by which gdb knows the thunks of one
 * mapping (function_shm.h). Pure; any thread.
 */
#ifndef PERFREC_COLLECTOR_CODE_THUNK_FILE_H
#define PERFREC_COLLECTOR_CODE_THUNK_FILE_H

#include <stdint.h>

#include "shared/function_shm.h"

/* Writes the page with index @i for the mapping at @map of an area with @functions
 * numbers, the first @frames of which have frame descriptions. @map is 0: none. */
void thunk_file_make(uint8_t out[THUNK_FILE_BYTES], uint32_t i, uint64_t map,
		     uint32_t functions, uint32_t frames);

#endif
