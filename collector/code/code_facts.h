/* SPDX-License-Identifier: Apache-2.0
 *
 * code_facts - reads all code of a file and finds, for each piece of text, what
 * it does with its stack and where control enters it. By these facts code_moves
 * decides which functions can be moved.
 *
 * A fact is set if it may hold: a file that is not understood has more facts,
 * and fewer functions can be moved. The file is hostile, as in code_file.h. One
 * thread at a time.
 */
#ifndef PERFREC_COLLECTOR_CODE_CODE_FACTS_H
#define PERFREC_COLLECTOR_CODE_CODE_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/code/code_pieces.h"

struct code_file;

/* Bits of code_fact.what. */
enum {
	/* Its frame description begins as that of a function. */
	FACT_BEGINS = 1 << 0,
	FACT_USED = 1 << 1, /* it is called, or its address is used */
	FACT_JUMPED_TO = 1 << 2, /* by another piece */
	FACT_LOOPS = 1 << 3, /* it jumps to its own start */
	FACT_NO_CALLER = 1 << 4, /* the outermost frame, or a signal frame */
	FACT_ODD_FRAME = 1 << 5, /* no frame description that is understood */
	FACT_UNDECODED = 1 << 6,
	/* It uses the address of its stack arguments, as with va_start(). */
	FACT_ADDRESSES_ARGUMENTS = 1 << 7,
	FACT_TESTS_AL = 1 << 8, /* as functions with variable arguments do */
	FACT_READS_RETURN = 1 << 9, /* or writes its return address */
	FACT_SWITCHES_STACK = 1 << 10,
	FACT_REALIGNS = 1 << 11, /* through a register with the old stack */
	/* It ends in a jump to a function that is not known. */
	FACT_TAIL_UNKNOWN = 1 << 12,
	FACT_CALLS = 1 << 13,
	/* A call proves that its stack is aligned to 16 bytes and no more. */
	FACT_ALIGNS_16 = 1 << 14,
	FACT_WIDE = 1 << 15, /* has instructions on 32 bytes or more */
	/* The piece, or a function that it jumps to, may rely on a stack aligned
	 * to more than 16 bytes. */
	FACT_ALIGNED = 1 << 16,
	FACT_POINTED_TO = 1 << 17, /* data has the address of its start */
	/* It jumps to an address from an array, which may be of its labels. */
	FACT_GOES_TO = 1 << 18,
};

struct code_fact {
	uint32_t what;
	/* Bit N: something leads to its byte N. For byte 0 see FACT_*. */
	uint32_t entered;
	/* Bytes of stack arguments that it, a part of it, or a function that it
	 * jumps to reads. */
	uint16_t arguments;
};

struct code_edge {
	uint32_t from, to; /* indexes of pieces */
};

struct code_row { /* of a frame description */
	uint64_t at; /* the first code that it holds for */
	int64_t offset; /* the return address ends at @base + @offset */
	uint8_t base; /* DWARF's number of a register; 255: an expression */
};

struct code_facts {
	struct code_file *file;
	const struct code_pieces *pieces;
	struct code_fact *list; /* by index of the piece */
	struct code_edge *edges;
	size_t edge_count, edge_room;
	size_t next; /* the piece to read next */
	unsigned int round; /* of passing facts on along edges */
	bool done; /* all facts are known */
	/* Of the piece that is being read: */
	struct code_row *rows;
	size_t row_count, row_room;
	uint64_t *tables; /* addresses of possible jump tables */
	size_t table_count, table_room;
	size_t entry_count; /* read from its tables */
	int err;
};

/* Reads about @bytes of code. @facts has file and pieces, which must stay, and
 * is zero otherwise. Returns 1 if there is more, 0 when all facts are known, or
 * -ENOMEM. */
int code_facts_step(struct code_facts *facts, uint64_t bytes);
void code_facts_release(struct code_facts *facts);

/* Returns true if @target can be the stub of an entry build, which returns at
 * once. Other files may count the calls of such a function. */
bool code_facts_is_stub(const struct code_facts *facts, uint64_t target);
/* Returns true if the piece at @index is a function, not a part of one. */
bool code_facts_is_function(const struct code_facts *facts, size_t index);
/* Returns true if the piece may be a function or a part of one: it has no name,
 * only jumps lead to it, and it is aligned as compilers align functions. */
bool code_facts_is_nameless(const struct code_facts *facts, size_t index);

#endif
