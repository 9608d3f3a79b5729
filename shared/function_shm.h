/* SPDX-License-Identifier: Apache-2.0
 *
 * function_shm - states of functions: the memory that thunks, shim and
 * collector share (docs/OVERHEAD.md).
 *
 * The collector gives each function whose state it wants to change a *function
 * number*: 1, 2 and so on. Numbers belong to the arena, so a forked child has
 * the numbers of its parent. Each number has two thunks: the function calls one
 * at its entry and one at its exit. The path of a thunk says how it handles a
 * call.
 *
 * Thunks lie in the *thunk area*: a memfd that the program makes, maps to read
 * and to execute, and passes with the hello. The collector writes the thunks.
 * A call reaches 2 GiB, so the program maps the area once near each group of
 * modules. Only the pointers for calls through memory depend on the address of
 * the mapping.
 *
 *   offset 0          the head of an ELF file, which the area is for unwinders of
 *                     other processes
 *   THUNK_PAGE        struct thunk_page     addresses in the shim, for thunks
 *   THUNK_MODES       struct thunk_mode[FUNCTIONS_MAX]
 *   THUNK_POINTERS    uint64_t[THUNK_MAPS][FUNCTIONS_USUAL][2]: the addresses
 *                     of the two thunks of a function in that mapping
 *   THUNK_FRAMES      for unwinders, an .eh_frame_hdr: three frame descriptions
 *                     of each number
 *   THUNK_CODE        THUNK_BYTES for each number of the arena: at 0 the thunk
 *                     of entries, at THUNK_EXIT that of exits; for entry builds
 *                     two more; or the one thunk of a moved function
 *   thunk_files()     for debuggers, an ELF file for each mapping: each has a
 *                     page with headers and a symbol, and its section .eh_frame
 *                     is the next part
 *   thunk_frame()     an .eh_frame: THUNK_FRAME_BYTES for each number. Number 0
 *                     has the CIE of all; the others have the frame descriptions
 *                     of a moved function, or none
 *
 * A *moved* function has no hooks: its first bytes were replaced by a jump to its
 * thunk, which calls the body, the displaced instructions and a jump to the rest
 * (collector/code/code_moves.h). So the function returns to its thunk, whose
 * frame on the stack says that the call is recorded, and has the number of the
 * function:
 *
 *   THUNK_MOVED_BODY      the body
 *   THUNK_MOVED_RECORD    calls entry hook, body and exit hook; functions only
 *                         return to here
 *   THUNK_MOVED_WORDS     struct thunk_words, all 0 if no arguments are wanted
 *
 * A *called* function (--calls-to) is not changed: slots of other files lead to
 * such a thunk, whose body jumps to the function. Each file has its own number
 * for the function. All else is as for a moved function.
 *
 * The ring of each slot is followed by a struct count_cell for each function
 * number. Each thread counts in its own cells, and the counts survive when the
 * program is killed.
 */
#ifndef PERFREC_SHARED_FUNCTION_SHM_H
#define PERFREC_SHARED_FUNCTION_SHM_H

#include <stdint.h>

/* Numbers are 1 to FUNCTIONS_MAX - 1, and below wire_hello.functions of the
 * arena. 0 is no function. */
#define FUNCTIONS_MAX (1u << 18)
/* The limit of function_numbers(). Only numbers below have pointers for calls
 * through memory. */
#define FUNCTIONS_USUAL 32768u

/*
 * Written by the owning thread. The collector clears cells that no thread uses:
 * those in a slot without owner, and the cells of functions that are off.
 */
struct count_cell {
	uint64_t calls; /* entries through the thunk since the slot's claim */
	/* A bit for each open call whose entry took a path other than
	 * THUNK_COUNT; the innermost call has the lowest bit. 1: the entry was
	 * recorded, so the exit must be recorded. An entry shifts left, an exit
	 * shifts right (arithmetically: beyond 64 calls the oldest bit
	 * repeats). A word of 0 need not be shifted. */
	uint64_t recorded;
};

_Static_assert(sizeof(struct count_cell) == 16, "the thunks rely on it");

/* Returns the usual count of function numbers in an arena with rings of
 * @ring_cells cells: a small ring has few. */
static inline uint32_t function_numbers(uint32_t ring_cells)
{
	uint32_t numbers = ring_cells / 8;

	return numbers < FUNCTIONS_USUAL ? numbers : FUNCTIONS_USUAL;
}

/*
 * How the entry thunk handles a call. One byte of its code decides: `ret` is
 * THUNK_COUNT. For other paths the byte begins a short jump to the rest of the
 * thunk, which reads the mode.
 */
enum thunk_path {
	/* Counts the call. The exits of the function are off or find no open
	 * call, because the collector chooses this path while
	 * count_cell.recorded is 0. */
	THUNK_COUNT,
	/* Counts the call, and notes that its entry was not recorded. */
	THUNK_DRAIN,
	/* Counts and records the call. */
	THUNK_RECORD,
};

/* The mode of a function. Written by the collector, read by thunks and
 * hooks. */
struct thunk_mode {
	uint32_t path; /* enum thunk_path */
	/* For a moved function: how many bytes of its thunk's frame lie between
	 * the return address of the body and the number; and
	 * THUNK_FRAME_BITS. */
	uint32_t frame;
	uint64_t function; /* address */
};

_Static_assert(sizeof(struct thunk_mode) == 16, "layout");

/* Bit of thunk_mode.frame: the thunk copies THUNK_UNKNOWN_BYTES above the return
 * address, but the function may have fewer arguments, and the stack may end
 * there. The entry hook looks. */
#define THUNK_UNKNOWN (1u << 31)
#define THUNK_UNKNOWN_BYTES 128u
/* Likewise, with THUNK_UNKNOWN: the thunk copies THUNK_MANY_BYTES. ISO C permits
 * a call 127 arguments. */
#define THUNK_MANY (1u << 30)
#define THUNK_MANY_BYTES 1024u
#define THUNK_FRAME_BITS (THUNK_UNKNOWN | THUNK_MANY)

/* Targets of the thunks' jumps. The collector copies them once, from page_shm.
 * The first three are 0 if the hooks of another library must see all calls;
 * then only functions of entry builds may have thunks. */
struct thunk_page {
	uint64_t enter; /* __cyg_profile_func_enter */
	uint64_t exit;
	/* For a thread that has no counts of this process yet. rdi and rsi are
	 * as in a hook, r11 is the function number. */
	uint64_t enter_general;
	/* For entry builds: all registers but r11 are live, the flags are not.
	 * r11 is the address of the function, for *_general its number. The
	 * target returns to the address at (rsp); the function's return address
	 * is at rsp + 8. */
	uint64_t entry_enter, entry_exit, entry_enter_general;
	/* As entry_exit, but r11 is live and was pushed, so everything else
	 * lies 8 bytes higher. Ends with "pop %r11; ret". */
	uint64_t entry_exit_pushed;
	/* For moved functions: all registers are live, the flags are not. They
	 * return with the carry flag set if the call is not to be recorded.
	 * moved_count: for a thread without counts; r11 is the number.
	 * moved_enter: the number is at 8(%rsp), the function's return address
	 * at 16(%rsp). moved_exit: the same. */
	uint64_t moved_count, moved_enter, moved_exit;
	/* As the latter two, for functions with wanted arguments (struct
	 * thunk_words): with 2 or 6 registers, or all 14; other arguments, and
	 * texts; results; results that are texts. */
	uint64_t moved_enter_2, moved_enter_6, moved_enter_14, moved_enter_any,
		moved_exit_words, moved_exit_any;
};

_Static_assert(sizeof(struct thunk_page) == 128, "layout");

/*
 * The hooks of a moved function store words of a call as EXT_WORDS
 * (record_ext.h). Words 0 to 5 of an entry are rdi, rsi, rdx, rcx, r8 and r9; 6
 * to 13 the lower halves of xmm0 to xmm7; from 14 on the words above the return
 * address. Words of an exit: rax and xmm0.
 */
struct thunk_words {
	/* The words of the EXT_WORDS of an entry and of an exit, for calls
	 * without texts; 0: none. The values are the numbers of their
	 * layouts. */
	uint64_t entry, exit;
	/* Bits 0 to 4: how many words an entry has. Bits 6 and 7: enum
	 * thunk_text of the result. From bit 8 on two bits for each word. */
	uint64_t texts;
};

_Static_assert(sizeof(struct thunk_words) == 24, "layout");

enum thunk_text {
	THUNK_TEXT_NONE,
	THUNK_TEXT_CHARS, /* char *, ends with a NUL */
	THUNK_TEXT_STRING, /* std::string *: the address, then the length */
	THUNK_TEXT_VIEW, /* std::string_view: the length; the next word, or of
			  * a result rdx, is the address */
};

#define THUNK_WORDS_REGISTERS 6u
#define THUNK_WORDS_ALL 14u /* registers of both kinds */
#define THUNK_WORDS_MAX 28u /* even */
#define THUNK_WORDS_EXIT 2u
#define THUNK_TEXTS_MAX 6u /* of a call; the shim ignores more */

static inline uint32_t thunk_words_count(uint64_t texts)
{
	return texts & 31;
}

static inline enum thunk_text thunk_words_text(uint64_t texts, uint32_t word)
{
	return (enum thunk_text)(texts >> (8 + 2 * word) & 3);
}

static inline enum thunk_text thunk_words_result(uint64_t texts)
{
	return (enum thunk_text)(texts >> 6 & 3);
}

/* The name of the memfd, by which the collector finds the area in a map. */
#define THUNK_AREA_NAME "perfrec-thunks"

#define THUNK_MAPS 8u
#define THUNK_BYTES 512u
#define THUNK_EXIT 256u
/* For entry builds: the exit that replaces the function's ret by a jump, and
 * the exit that is called where r11 is live (before "jmp *%r11"). */
#define THUNK_EXIT_JUMP 192u
#define THUNK_EXIT_R11 336u
#define THUNK_MOVED_BODY 56u
#define THUNK_MOVED_RECORD 128u
#define THUNK_MOVED_ENTERED 139u /* the entry hook returns to here */
#define THUNK_MOVED_WORDS 488u
#define THUNK_PAGE ((uint64_t)4096)
#define THUNK_MODES ((uint64_t)65536)
#define THUNK_POINTERS (THUNK_MODES + FUNCTIONS_MAX * (uint64_t)16)
#define THUNK_FRAMES \
	(THUNK_POINTERS + THUNK_MAPS * FUNCTIONS_USUAL * (uint64_t)16)
#define THUNK_FRAMES_COUNT (THUNK_FRAMES + 8) /* uint32_t: how many entries */
#define THUNK_FRAMES_OF 3u /* entries of a number */
#define THUNK_FRAMES_HEAD 12u
#define THUNK_FRAMES_BYTES \
	(THUNK_FRAMES_HEAD + FUNCTIONS_MAX * (uint64_t)THUNK_FRAMES_OF * 8)
#define THUNK_CODE \
	((THUNK_FRAMES + THUNK_FRAMES_BYTES + 65535) & ~(uint64_t)65535)

#define THUNK_FILE_BYTES 4096u
#define THUNK_FRAME_BYTES 200u

/* Returns the offset of the first of THUNK_MAPS pages that begin ELF files, in
 * the area of an arena with @functions numbers. The entry point (e_entry) of each
 * is the address of its mapping; 0: none. */
static inline uint64_t thunk_files(uint32_t functions)
{
	return THUNK_CODE + functions * (uint64_t)THUNK_BYTES;
}

/* Returns the offset of the frame descriptions of @number. */
static inline uint64_t thunk_frame(uint32_t functions, uint32_t number)
{
	return thunk_files(functions) + THUNK_MAPS * THUNK_FILE_BYTES +
	       number * (uint64_t)THUNK_FRAME_BYTES;
}

/* Returns the bytes of the thunk area of an arena with @functions numbers. */
static inline uint64_t thunk_area_bytes(uint32_t functions)
{
	return (thunk_frame(functions, functions) + 65535) & ~(uint64_t)65535;
}

_Static_assert(THUNK_CODE % 65536 == 0, "starts on a page of any size");

/*
 * Addresses in the shim for thunks and collector, a part of page_shm. The
 * program writes them before the hello; all are 0 if it has no thunks. The
 * collector trusts them, because a program that lies harms only itself.
 */
struct thunk_shim {
	uint64_t map[THUNK_MAPS]; /* addresses of the area's mappings; 0: none.
				   * The program adds mappings when it loads
				   * modules */
	/* Offsets from the thread pointer (fs): of the lower half of a thread's
	 * epoch (uint32_t), and of its pointer to its count cells. */
	int64_t epoch, counts;
	uint64_t count_epoch; /* address of a uint32_t: the epoch of threads
			       * that have counts of this process; set to 0 in
			       * a forked child, and when recording ends */
	struct thunk_page page;
};

#endif
