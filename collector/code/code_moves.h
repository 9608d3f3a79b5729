/* SPDX-License-Identifier: Apache-2.0
 *
 * code_moves - decides which functions of a file without hooks can be entered
 * through a thunk, and prepares what the thunk needs.
 *
 * The first five bytes of the function become a jump to its thunk. The
 * instructions there, which the jump displaces, move into the thunk as its
 * *body*, followed by a jump to the rest of the function. The thunk calls the
 * body, so calls and returns stay paired, and exceptions pass through it
 * (thunks.h). Between the caller's frame and that of the body lies the frame of
 * the thunk, so
 *
 *  - a function that uses its return address, or its stack arguments by their
 *    address, is refused; other stack arguments are copied
 *  - nothing may lead to the bytes of the jump, except to the first
 *  - the stack stays as aligned as it was
 *
 * and so on: whatever cannot be proven is refused (docs/OVERHEAD.md, "Programs
 * as they are").
 */
#ifndef PERFREC_COLLECTOR_CODE_CODE_MOVES_H
#define PERFREC_COLLECTOR_CODE_CODE_MOVES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/code/code_site.h"

struct code_facts;
struct code_found;

/* The jump to the thunk. */
#define MOVE_JUMP_BYTES 5u
#define MOVE_DISPLACED_MAX 32u
#define MOVE_BODY_MAX 48u
#define MOVE_FRAME_MAX 40u
#define MOVE_ARGUMENTS_MAX 16u /* words */

/* A function that can be moved. Its bytes in struct code_moves, from @first on:
 * @displaced of the file, @body of the body, @frame instructions of the frame
 * description from the start of the body on, then @fixes entries. */
struct code_move {
	uint64_t address; /* in the file */
	uint32_t first;
	uint8_t before; /* bytes of endbr64 before the jump */
	uint8_t displaced, body, frame, fixes;
	uint8_t arguments; /* words on the stack to copy */
	uint8_t is_wide; /* 1: its stack may be aligned to 64 bytes */
	uint8_t is_unknown; /* 1: it may need fewer words of arguments */
};

/* An operand in a body that leads to an address of the file. */
struct code_fix {
	uint64_t target; /* in the file */
	uint8_t at,
		next; /* offsets of its 4 bytes and of the next instruction */
	uint8_t unused[6];
};

struct code_moves {
	struct code_move *list; /* sorted by address */
	size_t count, room;
	uint8_t *bytes;
	size_t byte_count, byte_room;
};

/* Decides about the piece at @index: adds a move, and a use to @found, or a
 * blame. Ignores parts of functions. Pieces come in order. @facts are complete.
 * Returns 0 or -ENOMEM. */
int code_moves_add(struct code_moves *moves, const struct code_facts *facts,
		   size_t index, struct code_found *found);
/* The same for a piece that is a function, but only sets *@refusal if it cannot
 * be moved: a function of an entry build also has other sites. The body has no call
 * of the stub. */
int code_moves_try(struct code_moves *moves, const struct code_facts *facts,
		   size_t index, struct code_found *found, uint8_t *refusal);
void code_moves_release(struct code_moves *moves);

/* Returns the move of the function at @address in the file, or NULL. */
const struct code_move *code_moves_find(const struct code_moves *moves,
					uint64_t address);
/* Returns the bytes of @move, see struct code_move. */
static inline const uint8_t *code_move_bytes(const struct code_moves *moves,
					     const struct code_move *move)
{
	return moves->bytes + move->first;
}
static inline size_t code_move_size(const struct code_move *move)
{
	return (size_t)move->displaced + move->body + move->frame +
	       move->fixes * sizeof(struct code_fix);
}
/* Returns true if the bytes of all moves are within the table, and their fixes
 * within their bodies. */
bool code_moves_hold(const struct code_moves *moves);

#endif
