/* SPDX-License-Identifier: Apache-2.0
 *
 * thunks_asm - the holes in templates of thunks (thunks_x86_64.S).
 */
#ifndef PERFREC_COLLECTOR_CODE_THUNKS_ASM_H
#define PERFREC_COLLECTOR_CODE_THUNKS_ASM_H

/* Holes of four bytes, except HOLE_COUNT_EPOCH: eight. */
#define HOLE_END 0
#define HOLE_EPOCH 1 /* offset from the thread pointer */
#define HOLE_COUNTS 2 /* the same */
#define HOLE_COUNT_EPOCH 3 /* address */
#define HOLE_CALLS 4 /* offset from the counts */
#define HOLE_RECORDED 5 /* the same */
#define HOLE_NUMBER 6
/* One byte: THUNK_PATH_COUNT or THUNK_PATH_REST. */
#define HOLE_PATH 7
/* Relative to the next instruction, which HOLE_MODE follows by one byte. */
#define HOLE_MODE 8
#define HOLE_FUNCTION 9
/* The words of struct thunk_page, in order. */
#define HOLE_PAGE 10
#define HOLE_ENTER (HOLE_PAGE + 0)
#define HOLE_EXIT (HOLE_PAGE + 1)
#define HOLE_ENTER_GENERAL (HOLE_PAGE + 2)
#define HOLE_ENTRY_ENTER (HOLE_PAGE + 3)
#define HOLE_ENTRY_EXIT (HOLE_PAGE + 4)
#define HOLE_ENTRY_ENTER_GENERAL (HOLE_PAGE + 5)
#define HOLE_ENTRY_EXIT_PUSHED (HOLE_PAGE + 6)

#define THUNK_TEMPLATE_BYTES 512 /* THUNK_BYTES */

/* ret; jmp rel8, whose second byte stays behind the ret. */
#define THUNK_PATH_COUNT 0xc3
#define THUNK_PATH_REST 0xeb

#ifndef __ASSEMBLER__

#include <stdint.h>

struct thunk_hole {
	uint16_t kind, offset;
};

/* From @offset on, @pushed bytes lie below the return address. */
struct thunk_frame {
	uint16_t offset, pushed;
};

/* Frames of entry builds by offset. Calls builds push nothing. The last entry
 * is at the end of the template. */
extern const struct thunk_frame thunk_frames[];

/* Templates have THUNK_TEMPLATE_BYTES; holes end with HOLE_END. */
extern const uint8_t thunk_template_calls[], thunk_template_entry[];
extern const struct thunk_hole thunk_holes_calls[], thunk_holes_entry[];

#endif
#endif
