/* SPDX-License-Identifier: Apache-2.0
 *
 * code_pieces - the text of a file in pieces that are decoded from their begin:
 * what each entry of .eh_frame describes, and what symbols add to that. A
 * function is a piece, and so is each .cold part of one. The file is hostile,
 * as in code_file.h.
 */
#ifndef PERFREC_COLLECTOR_CODE_CODE_PIECES_H
#define PERFREC_COLLECTOR_CODE_CODE_PIECES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct code_file;

struct elf_functions;

struct code_piece {
	uint64_t start; /* all its bytes are in one executable segment */
	uint64_t lsda; /* where exceptions land, 0: none */
	uint32_t bytes; /* at least 1 */
	/* Something calls it or has its address: it begins with any state. Else
	 * it is a part of the functions that jump to it. */
	bool is_entry;
	bool is_done; /* code that reaches it was followed */
	uint8_t returns; /* for code_returns: enum code_returns */
	uint8_t r11; /* for code_r11: enum code_r11 */
};

struct code_pieces {
	struct code_piece *list; /* by start, no two overlap */
	size_t count, room;
};

/* Finds the pieces of @file. @functions: what its symbol tables say; may be
 * empty. 0 or -ENOMEM. */
int code_pieces_find(struct code_pieces *pieces, struct code_file *file,
		     const struct elf_functions *functions);
void code_pieces_release(struct code_pieces *pieces);

/* The piece with the byte at @vaddr, or NULL. */
struct code_piece *code_pieces_at(const struct code_pieces *pieces,
				  uint64_t vaddr);

struct code_landing { /* what is thrown by calls in a range lands there */
	uint64_t start, end; /* of the range */
	uint64_t landing;
};

struct code_landings {
	struct code_landing *list; /* by start */
	size_t count, room;
};

/* Appends those of @piece. What makes no sense ends the table. 0 or -ENOMEM. */
int code_piece_landings(const struct code_piece *piece, struct code_file *file,
			struct code_landings *landings);

#endif
