/* SPDX-License-Identifier: Apache-2.0
 *
 * code_pieces - splits text into pieces that can be decoded from their start:
 * entries of .eh_frame, and functions of the symbol tables that lack one. A
 * .cold part is a piece of its own. The file is hostile, as in code_file.h.
 */
#ifndef PERFREC_COLLECTOR_CODE_CODE_PIECES_H
#define PERFREC_COLLECTOR_CODE_CODE_PIECES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct code_file;

struct elf_functions;

#define CODE_ENTERED_BYTES 32u

struct code_piece {
	uint64_t start; /* in one executable segment */
	uint64_t lsda; /* its landing pads; 0: none */
	uint64_t frame; /* its entry in .eh_frame; 0: none */
	uint32_t bytes;
	/* Called, or its address is used. If not, other pieces jump here. */
	bool is_entry;
	bool is_cold; /* its name says that it is a part */
	bool has_hooks; /* a function of an entry build */
	/* Bit N, from 1 to CODE_ENTERED_BYTES - 1: a symbol leads to its byte
	 * N. */
	uint32_t entered;
	bool is_done;
	uint8_t returns; /* enum code_returns */
	uint8_t r11; /* enum code_r11 */
};

struct code_pieces {
	struct code_piece *list;
	size_t count, room;
};

/* @functions may be empty. Returns 0 or -ENOMEM. */
int code_pieces_find(struct code_pieces *pieces, struct code_file *file,
		     const struct elf_functions *functions);
void code_pieces_release(struct code_pieces *pieces);

struct code_piece *code_pieces_at(const struct code_pieces *pieces,
				  uint64_t vaddr);

struct code_landing {
	uint64_t start, end;
	uint64_t landing;
};

struct code_landings {
	struct code_landing *list; /* sorted by start */
	size_t count, room;
};

/* Stops at the first malformed entry. Returns 0 or -ENOMEM. */
int code_piece_landings(const struct code_piece *piece, struct code_file *file,
			struct code_landings *landings);

#endif
