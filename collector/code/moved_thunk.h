/* SPDX-License-Identifier: Apache-2.0
 *
 * moved_thunk - makes the thunk of a moved function (code_moves.h), or of a
 * function that is called through a slot, with its frame descriptions
 * (shared/function_shm.h). Pure; any thread.
 */
#ifndef PERFREC_COLLECTOR_CODE_MOVED_THUNK_H
#define PERFREC_COLLECTOR_CODE_MOVED_THUNK_H

#include <stdbool.h>
#include <stdint.h>

#include "shared/function_shm.h"

struct code_move;
struct code_moves;

struct moved_thunk {
	const struct thunk_shim *shim;
	const struct code_moves *moves;
	/* For a called function, only its arguments and alignment. */
	const struct code_move *move;
	uint64_t called; /* address of the called function; 0: it is moved */
	uint32_t number, functions; /* of the area, all of its numbers */
	uint64_t map; /* address of the area that the function will reach */
	uint64_t bias; /* of the function's module */
	struct thunk_words words; /* to record of each call */
};

/* Writes the thunk to @out, counting nothing and recording nothing, and its frame
 * descriptions to @frames. Sets *@frame for struct thunk_mode. Returns false if
 * the body cannot reach its targets from @map. */
bool moved_thunk_make(const struct moved_thunk *moved, uint8_t out[THUNK_BYTES],
		      uint8_t frames[THUNK_FRAME_BYTES], uint32_t *frame);

/* The bytes that decide, and their values. */
#define MOVED_FLIP 0u /* off: straight to the body */
#define MOVED_FLIP_OFF 0xeb
#define MOVED_FLIP_ON 0xa8
#define MOVED_RECORDS 51u /* also record the call */
#define MOVED_RECORDS_OFF 0xa8
#define MOVED_RECORDS_ON 0xeb

/* Write the frame descriptions of number 0, and of a number that is no moved
 * function, in an area of @functions numbers. */
void moved_thunk_common(uint8_t out[THUNK_FRAME_BYTES]);
void moved_thunk_nothing(uint32_t functions, uint32_t number,
			 uint8_t out[THUNK_FRAME_BYTES]);
/* Writes the head of the table in THUNK_FRAMES, which is empty. */
void moved_thunk_table(uint32_t functions, uint8_t out[THUNK_FRAMES_HEAD]);
/* Entries of the table, relative to THUNK_FRAMES. */
struct moved_frame {
	int32_t code, description;
};
#define MOVED_FRAME_BODY 1u /* the entry of the body */
/* Writes the entries of @number. @moved: it is a moved function; others have
 * descriptions of nothing. */
void moved_thunk_frames(uint32_t functions, uint32_t number, bool moved,
			struct moved_frame out[THUNK_FRAMES_OF]);

#endif
