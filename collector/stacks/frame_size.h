/* SPDX-License-Identifier: Apache-2.0
 *
 * frame_size - how far a function with a frame pointer has moved its stack
 * pointer from it. Pure; any thread. The code is hostile.
 */
#ifndef PERFREC_COLLECTOR_STACKS_FRAME_SIZE_H
#define PERFREC_COLLECTOR_STACKS_FRAME_SIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FRAME_SIZE_CODE_MAX 4096u

/* Follows the first @bytes of the code of a function at @vaddr, at most
 * FRAME_SIZE_CODE_MAX. Sets *@size to how far below its frame pointer (rbp) its
 * stack pointer is behind them. False: it has no frame pointer there, or the
 * stack pointer depends on more than the code. */
bool frame_size(const uint8_t *code, size_t bytes, uint64_t vaddr,
		uint64_t *size);

#endif
