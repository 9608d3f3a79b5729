/* SPDX-License-Identifier: Apache-2.0
 *
 * record_ext - the records that are not spans: allocations, and extended
 * records of several cells.
 *
 * ALLOC and FREE are one cell each. Numbers that do not fit are in EXT_ALLOC
 * and EXT_FREE instead.
 *
 *   63                      19 18         4 3    0
 *  +--------------------------+------------+------+
 *  | address / 8 (45 bits)    | size       | kind |  word, size 0 in FREE
 *  +--------------------------+------------+------+
 *
 * The cells of an EXT record's data follow its first cell:
 *
 *   63             34 33          22 21     16 15        4 3    0
 *  +-----------------+--------------+---------+-----------+------+
 *  | value (30 bits) | cells behind | what    | sp hint   | kind |  word
 *  +-----------------+--------------+---------+-----------+------+
 *  | clock                                                       |
 *  +-------------------------------------------------------------+
 *
 * A record never wraps: an EXT_PAD fills the cells up to the end of the ring if
 * they are too few. One store to head publishes a record together with its
 * prefixes (EXT_ARGS to EXT_WORDS), so no other record comes between them.
 * Only the clock of the last one counts.
 *
 * The program may change a record at any time, so the reader copies the data
 * before it parses them. It checks every length in the data against the number
 * of cells.
 */
#ifndef PERFREC_SHARED_RECORD_EXT_H
#define PERFREC_SHARED_RECORD_EXT_H

#include <stdbool.h>
#include <stdint.h>

#include "shared/record.h"

/* --- blocks of memory ---------------------------------------------------- */

#define RECORD_SIZE_BITS 15
#define RECORD_SIZE_LIMIT (1ULL << RECORD_SIZE_BITS)

/* Returns true if @address and @size fit into an ALLOC. */
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

/* --- extended records ---------------------------------------------------- */

#define EXT_CELLS_MAX 4095
#define EXT_VALUE_MAX ((1u << 30) - 1)

/* "Cells" are cells of data, behind the cell with the word. */
enum record_ext {
	EXT_PAD = 0, /* no meaning; any number of cells */

	/* Memory. Value: 0, or the site of a heap of the program's own. */
	EXT_ALLOC = 1, /* one cell: address, size */
	EXT_FREE = 2, /* one cell: address, 0 */
	EXT_REALLOC = 3, /* two cells: the old address and the clock before the
			  * call; the new address and its size. The old block
			  * ended after that clock, the new one existed before
			  * the record's clock */
	EXT_ALLOC_SAMPLE = 4, /* struct record_sample, then the stack. With
			       * exact recording it describes the last block
			       * that this thread recorded */
	EXT_CPU_SAMPLE = 5, /* struct record_sample, then the stack */
	EXT_ALLOC_LOSS = 6, /* one cell: allocations and frees that were dropped
			     * since the last EXT_ALLOC_LOSS */

	/* Annotations: prefixes of the record that follows. */
	EXT_ARGS = 16, /* value: count; struct note_arg and texts */
	EXT_NAME = 17, /* value: bytes; a name instead of the site's */
	EXT_FLOWS = 18, /* value: count; a cell for each: id, and 1 if the flow
			 * ends here */
	EXT_CORRELATION = 19, /* one cell: id, 0 */
	EXT_AT = 20, /* one cell: CLOCK_BOOTTIME in ns, 0; instead of the
		      * record's clock */
	EXT_REQUEST = 21, /* struct trace_ids, padded to whole cells: the
			   * request in the thread's record of OTEP 4947 */
	EXT_WORDS = 22, /* value: number of a layout; words and texts of a call,
			 * in front of its BEGIN or END (struct word_text) */

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
	EXT_ASYNC_ENTER = 32, /* one cell: track, handle of a slice, perhaps of
			       * another thread: this thread starts to work on
			       * it */
	EXT_ASYNC_LEAVE = 33, /* one cell: track, handle: it stops */

	/* The request that the thread works on from now on. No site. */
	EXT_TRACE_ID = 34, /* value: 0; struct trace_ids, padded to whole cells;
			    * all zero: none */
	EXT_TRACEPARENT = 35, /* value: bytes; a text of at most
			       * TRACEPARENT_BYTES, as W3C has it */

	/* Contended calls of locks. No site. One cell: address of the object,
	 * and a number. A thread that leaves a wait by cancellation or a jump
	 * has no WAITED. */
	EXT_SYNC_WAIT = 36, /* value: enum sync_kind; the thread begins to wait;
			     * number: id of the owner seen, 0: none */
	EXT_SYNC_WAITED = 37, /* value: enum sync_result; it no longer waits;
			       * number: id of the owner seen, if it did not
			       * get the object, 0: none */
	EXT_SYNC_RELEASE = 38, /* value: enum sync_kind; stamped before the call
				* that lets a waiter go on; number: 0, or the
				* clock before that call, if it is over */
};

enum sync_kind {
	SYNC_MUTEX = 1,
	SYNC_CONDITION = 2, /* RELEASE: a signal or a broadcast */
	SYNC_SEMAPHORE = 3, /* RELEASE: a post */
	/* A lock for readers and writers. Number of a WAIT: the writer. */
	SYNC_READ = 4, /* RELEASE: by the last reader */
	SYNC_WRITE = 5,
	SYNC_BARRIER = 6, /* RELEASE: the last thread comes */
	/* The object is a pthread_t, the number its id. RELEASE: that thread
	 * ends. */
	SYNC_THREAD = 7,
	SYNC_ONCE = 8, /* RELEASE: it has run; waiters may be awake already */
	SYNC_FUTEX = 9, /* by syscall(); RELEASE: it woke a thread */
	/* No WAIT. RELEASE: data, or the end, from a descriptor of page.awaited.
	 * The object is its inode, or SYNC_NUMBERED with its number; the
	 * number is 1 if it may only be the end. */
	SYNC_DESCRIPTOR = 10,
	SYNC_KINDS, /* not a kind */
};

/* A descriptor without an inode of its own, such as an eventfd. */
#define SYNC_NUMBERED (1ULL << 47)

enum sync_result {
	SYNC_GOT = 0,
	SYNC_TIMED_OUT = 1,
	SYNC_FAILED = 2, /* any other error */
	SYNC_RESULTS, /* not a result */
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

/* Returns the most cells that a record and its prefixes may have together in a
 * ring of @ring_cells. */
static inline uint32_t record_run_max(uint32_t ring_cells)
{
	uint32_t cells = ring_cells / 16;

	return cells < EXT_CELLS_MAX + 1 ? cells : EXT_CELLS_MAX + 1;
}

/* A request in W3C's Trace Context and OpenTelemetry. */
struct trace_ids {
	uint8_t trace[16], span[8]; /* all zero: none */
};

/* Returns true if @ids names a request. */
static inline bool trace_ids_are_set(const struct trace_ids *ids)
{
	uint8_t any = 0;

	for (uint32_t i = 0; i < sizeof(ids->trace); i++)
		any |= ids->trace[i];
	return any;
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
	SAMPLE_STACK_CUT = 1 << 0, /* the stack was larger than the copy */
	SAMPLE_NO_STACK = 1 << 1, /* the stack was unknown or not mapped */
	SAMPLE_LIVE = 1 << 2, /* ALLOC: an EXT_FREE or FREE reports its end */
};

struct record_sample {
	uint64_t weight; /* CPU: 1 + overruns of the timer; ALLOC: divisor of
			  * the mean distance between samples, a power of
			  * two */
	uint64_t address, size; /* ALLOC: the block, bytes asked for */
	uint32_t stack_bytes; /* bytes that follow, from the stack pointer up */
	uint32_t flags; /* enum record_sample_flags */
	uint64_t reg[RECORD_REGS];
	struct trace_ids request; /* from the thread's record of OTEP 4947; all
				   * zero: none */
};

_Static_assert(sizeof(struct record_sample) % 16 == 0, "whole cells");

/* --- annotations --------------------------------------------------------- */

/* A slice begins with a plain BEGIN and ends with a plain END, whose payload is
 * the site. Sites are below SITES_MAX, where no function lies. The arguments
 * are an EXT_ARGS in front. */

enum note_type {
	NOTE_BOOL = 1,
	NOTE_INT = 2, /* int64_t */
	NOTE_UINT = 3, /* uint64_t */
	NOTE_DOUBLE = 4,
	NOTE_POINTER = 5,
	NOTE_STRING = 6, /* any bytes */
};

#define TRACEPARENT_BYTES 64 /* a longer text is cut, and may still be valid */

#define NOTE_ARGS_MAX 64
#define NOTE_STRING_MAX 4096 /* bytes kept of a string */
#define NOTE_KEY_MAX 255

/*
 * One argument. A scalar is one cell. The text of the key follows if the site
 * does not name the argument (key_bytes is not 0), then the text of a string;
 * each is padded to whole cells. Argument i of a site with keys has its i-th
 * key.
 */
struct note_arg {
	uint8_t type; /* enum note_type */
	uint8_t cut; /* 1: the string was longer */
	uint16_t key_bytes; /* 0: the site has the key */
	uint32_t text_bytes; /* of the string that follows; 0 for scalars */
	uint64_t value; /* bits of the scalar, or length of the uncut string */
};

_Static_assert(sizeof(struct note_arg) == 16, "one cell");

/* --- arguments of functions ---------------------------------------------- */

/*
 * The data of EXT_WORDS: registers and words of the stack as they were, two to a
 * cell, then texts. Only the collector knows how many words there are and their
 * types: it has given the layout its number. Layouts without texts have a fixed
 * count of cells.
 */
#define WORDS_MAX 32 /* of a call */
#define WORD_TEXT_MAX 64 /* bytes kept of a text */

enum word_text_state {
	WORD_TEXT_WHOLE = 0,
	WORD_TEXT_CUT = 1, /* it goes on */
	WORD_TEXT_BAD = 2, /* a part of it could not be read; no bytes follow */
	WORD_TEXT_NULL = 3, /* the pointer is 0; no bytes follow */
	WORD_TEXT_UNREAD = 4, /* the program may not read its memory by the
			       * kernel; no bytes follow */
};

/* The text that a word points to. Its bytes follow, padded to whole cells; they
 * may be any bytes. Texts come in the order of their words. */
struct word_text {
	uint8_t word; /* index of the word */
	uint8_t state; /* enum word_text_state */
	uint16_t bytes; /* that follow, at most WORD_TEXT_MAX */
	uint32_t pad;
	uint64_t length; /* of the uncut text; 0 if unknown */
};

_Static_assert(sizeof(struct word_text) == 16, "one cell");

/* The data of EXT_TRACK; site_shm.h describes the fields. The name and the
 * description follow, each padded to whole cells. */
struct note_track {
	uint64_t track, parent;
	uint8_t order, merge, kind, pad;
	int32_t rank;
	uint16_t name_bytes, description_bytes;
	uint32_t pad2;
};

_Static_assert(sizeof(struct note_track) == 32, "two cells");

#endif
