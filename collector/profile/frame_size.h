/* SPDX-License-Identifier: Apache-2.0
 *
 * frame_size - computes the distance of the stack pointer from the frame
 * pointer by the code of a function. Pure; any thread. The code is hostile.
 */
#ifndef PERFREC_COLLECTOR_PROFILE_FRAME_SIZE_H
#define PERFREC_COLLECTOR_PROFILE_FRAME_SIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FRAME_SIZE_CODE_MAX 4096u

/* Follows the first @bytes of a function's code at @vaddr, at most
 * FRAME_SIZE_CODE_MAX. Sets *@size to the distance from the frame pointer (rbp)
 * down to the stack pointer after these bytes. Returns false if the function
 * has no frame pointer there, or if the stack pointer does not follow from the
 * code alone. */
bool frame_size(const uint8_t *code, size_t bytes, uint64_t vaddr,
		uint64_t *size);

#endif
