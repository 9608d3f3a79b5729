/* SPDX-License-Identifier: Apache-2.0
 *
 * record_ext - the records that are not spans: allocations, and extended
 * records of several cells.
 *
 * ALLOC and FREE are one cell each, as long as the numbers fit; if not, they
 * are EXT_ALLOC and EXT_FREE.
 *
 *   63                      19 18         4 3    0
 *  +--------------------------+------------+------+
 *  | address / 8 (45 bits)    | size       | kind |  word, size 0 in FREE
 *  +--------------------------+------------+------+
 *
 * EXT has cells of data behind it, which are part of the record:
 *
 *   63             34 33          22 21     16 15        4 3    0
 *  +-----------------+--------------+---------+-----------+------+
 *  | value (30 bits) | cells behind | what    | sp hint   | kind |  word
 *  +-----------------+--------------+---------+-----------+------+
 *  | clock                                                       |
 *  +-------------------------------------------------------------+
 *
 * A record never wraps: where too few cells are left up to the end of the ring,
 * an EXT_PAD takes them. A record and the prefixes in front of it (EXT_ARGS to
 * EXT_AT) are published together, by one store to head, so nothing comes in
 * between. Only the clock of the last one counts.
 *
 * The reader copies the data of a record before it looks at it, as the program
 * may write to it at any time. It checks every length in the data against the
 * cells that there are.
 */
#ifndef PERFREC_SHARED_RECORD_EXT_H
#define PERFREC_SHARED_RECORD_EXT_H

#include <stdbool.h>
#include <stdint.h>

#include "shared/record.h"

/* --- blocks of memory -------------------------------------------------------
 */

#define RECORD_SIZE_BITS 15
#define RECORD_SIZE_LIMIT (1ULL << RECORD_SIZE_BITS)

/* Whether an ALLOC has room for @address and @size. */
static inline bool record_alloc_fits(uint64_t address, uint64_t size)
{
	return !(address & 7) && address >> 48 == 0 && size < RECORD_SIZE_LIMIT;
}

static inline uint64_t record_alloc_word(enum record_kind kind,
					 uint64_t address, uint64_t size)
{
	return address << 16 | size << 4 | (uint64_t)kind;
}

static inline uint64_t record_alloc_address(uint64_t word)
{
	return word >> 19 << 3;
}

static inline uint64_t record_alloc_size(uint64_t word)
{
	return word >> 4 & (RECORD_SIZE_LIMIT - 1);
}

/* --- extended records -------------------------------------------------------
 */

#define EXT_CELLS_MAX 4095
#define EXT_VALUE_MAX ((1u << 30) - 1)

/* "Cells" are those behind the one with the word. */
enum record_ext {
	EXT_PAD = 0, /* nothing; any number of cells */

	/* Memory. Value: 0, or the site of a heap of the program's own. */
	EXT_ALLOC = 1, /* one cell: address, size */
	EXT_FREE = 2, /* one cell: address, 0 */
	EXT_REALLOC = 3, /* two cells: the old address, and the clock before
			  * the call; the new address, and its size. The old
			  * block went after that clock, the new one came
			  * before the record's */
	EXT_ALLOC_SAMPLE = 4, /* struct record_sample, then the stack. Where
			       * blocks are recorded exactly, it belongs to
			       * the block that this thread recorded last */
	EXT_CPU_SAMPLE = 5, /* struct record_sample, then the stack */
	EXT_ALLOC_LOSS = 6, /* one cell: how many allocations, and frees, were
			     * dropped since the last EXT_ALLOC_LOSS */

	/* Annotations: prefixes of the record that follows. */
	EXT_ARGS = 16, /* value: how many; struct note_arg and texts */
	EXT_NAME = 17, /* value: bytes; a name instead of the site's */
	EXT_FLOWS = 18, /* value: how many; a cell for each: id, and 1 if it
			 * ends here */
	EXT_CORRELATION = 19, /* one cell: id, 0 */
	EXT_AT = 20, /* one cell: CLOCK_BOOTTIME in ns, 0; instead of the
		      * record's clock */

	/* Events. Value: the site. */
	EXT_INSTANT = 24, /* on the thread; no cell */
	EXT_COUNTER = 25, /* one cell: the value (int64_t or double, as the
			   * site says), 0 */
	EXT_ASYNC_BEGIN = 26, /* one cell: track, handle (any number; the END
			       * has the same) */
	EXT_ASYNC_END = 27, /* one cell: track, handle */
	EXT_ASYNC_INSTANT = 28, /* one cell: track, unused */
	EXT_STATE = 29, /* one cell: track, 0; or, if the state ends without a
			 * new one: track, 1 */
	EXT_TRACK = 30, /* struct note_track and its texts: a track made at
			 * run time */
	EXT_MARK = 31, /* an interesting interval begins; no cell */
	EXT_ASYNC_ENTER = 32, /* one cell: track, handle of a slice that another
			       * thread may have begun: this thread works on
			       * it from now on */
	EXT_ASYNC_LEAVE = 33, /* one cell: track, handle; and no more */
};

static inline uint64_t record_ext_word(enum record_ext ext, uint32_t cells,
				       uint32_t value, uintptr_t sp)
{
	return (uint64_t)value << 34 | (uint64_t)cells << 22 |
	       (uint64_t)ext << 16 | (sp & RECORD_SP_MASK) | RECORD_EXT;
}

static inline enum record_ext record_ext(uint64_t word)
{
	return (enum record_ext)(word >> 16 & 63);
}

static inline uint32_t record_ext_cells(uint64_t word)
{
	return word >> 22 & EXT_CELLS_MAX;
}

static inline uint32_t record_ext_value(uint64_t word)
{
	return (uint32_t)(word >> 34);
}

/* How many cells a run may have at most in a ring of @ring_cells. */
static inline uint32_t record_run_max(uint32_t ring_cells)
{
	uint32_t cells = ring_cells / 16;

	return cells < EXT_CELLS_MAX + 1 ? cells : EXT_CELLS_MAX + 1;
}

/* Registers by their DWARF numbers: x86-64 psABI 3.6.2 (0 rax, 1 rdx, 2 rcx,
 * 3 rbx, 4 rsi, 5 rdi, 6 rbp, 7 rsp, 8-15 r8-r15, 16 rip); AADWARF64 (0-30
 * x0-x30, 31 sp), 32 here the pc. */
#if defined(__x86_64__)
#define RECORD_REGS 17
#define RECORD_REG_FP 6
#define RECORD_REG_SP 7
#define RECORD_REG_IP 16
#else
#define RECORD_REGS 33
#define RECORD_REG_FP 29
#define RECORD_REG_SP 31
#define RECORD_REG_IP 32
#endif

enum record_sample_flags {
	SAMPLE_STACK_CUT = 1 << 0, /* more of the stack was there */
	SAMPLE_NO_STACK = 1 << 1, /* the stack was not known, or not there */
	SAMPLE_LIVE = 1 << 2, /* ALLOC: an EXT_FREE or FREE will tell its end */
};

struct record_sample {
	uint64_t weight; /* CPU: 1 + overruns of the timer; ALLOC: by how much
			  * the mean distance between samples was divided, a
			  * power of two */
	uint64_t address, size; /* ALLOC: the block, bytes asked for */
	uint32_t stack_bytes; /* that follow, from the stack pointer up */
	uint32_t flags; /* enum record_sample_flags */
	uint64_t reg[RECORD_REGS];
	uint64_t pad[(RECORD_REGS + 4) % 2]; /* whole cells */
};

_Static_assert(sizeof(struct record_sample) % 16 == 0, "whole cells");

/* --- annotations ------------------------------------------------------------
 */

/* A begin or end of a slice is a plain BEGIN or END whose payload is the site
 * (below SITES_MAX: no function lies there); its arguments are an EXT_ARGS in
 * front of it. */

enum note_type {
	NOTE_BOOL = 1,
	NOTE_INT = 2, /* int64_t */
	NOTE_UINT = 3, /* uint64_t */
	NOTE_DOUBLE = 4,
	NOTE_POINTER = 5,
	NOTE_STRING = 6, /* any bytes */
};

#define NOTE_ARGS_MAX 64
#define NOTE_STRING_MAX 4096 /* bytes kept of a string */
#define NOTE_KEY_MAX 255

/*
 * One argument. A scalar is one cell. The text of a string follows in cells of
 * its own, and before it that of the key if the site does not name it (then
 * key_bytes is not 0); each is padded to a whole cell. Argument i of a site
 * that names its arguments is called by its i-th key.
 */
struct note_arg {
	uint8_t type; /* enum note_type */
	uint8_t cut; /* 1: the string was longer */
	uint16_t key_bytes; /* 0: as the site says */
	uint32_t text_bytes; /* of the string that follows; 0 for others */
	uint64_t value; /* bits of the scalar; of a string its whole length */
};

_Static_assert(sizeof(struct note_arg) == 16, "one cell");

/* EXT_TRACK; site_shm.h says what the fields are. Then the name and the
 * description, each padded to a whole cell. */
struct note_track {
	uint64_t track, parent;
	uint8_t order, merge, kind, pad;
	int32_t rank;
	uint16_t name_bytes, description_bytes;
	uint32_t pad2;
};

_Static_assert(sizeof(struct note_track) == 32, "two cells");

#endif
