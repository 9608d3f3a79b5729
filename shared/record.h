/* SPDX-License-Identifier: Apache-2.0
 *
 * record - the bytes of one ring cell, as both processes see them.
 *
 *   63                    16 15         4 3    0
 *  +------------------------+------------+------+
 *  | payload (48 bits)      | sp hint    | kind |  word
 *  +------------------------+------------+------+
 *  | raw ticks of the recording's clock         |  clock
 *  +--------------------------------------------+
 *
 * payload: bits 0..47 of the function address for span records, a count
 * elsewhere (record.def). sp hint: bits 4..15 of the stack pointer at the
 * hook, so that "word" is (address << 16) | (sp & 0xfff0) | kind: three
 * instructions in the hook. Frames larger than 64 KiB alias, so replay never
 * closes a slice by the hint alone.
 */
#ifndef PERFREC_SHARED_RECORD_H
#define PERFREC_SHARED_RECORD_H

#include <stdint.h>

enum record_kind {
#define RECORD(name, number, text) RECORD_##name = (number),
#include "shared/record.def"
#undef RECORD
};

struct record {
	uint64_t word;
	uint64_t clock;
} __attribute__((aligned(16)));

_Static_assert(sizeof(struct record) == 16, "a record is one cell");

#define RECORD_KIND_MASK 0xfULL
#define RECORD_SP_MASK 0xfff0ULL
#define RECORD_PAYLOAD_SHIFT 16
#define RECORD_PAYLOAD_MAX ((1ULL << 48) - 1)

static inline uint64_t record_word(enum record_kind kind, uint64_t payload,
				   uintptr_t sp)
{
	return payload << RECORD_PAYLOAD_SHIFT | (sp & RECORD_SP_MASK) |
	       (uint64_t)kind;
}

static inline enum record_kind record_kind(uint64_t word)
{
	return (enum record_kind)(word & RECORD_KIND_MASK);
}

static inline uint64_t record_payload(uint64_t word)
{
	return word >> RECORD_PAYLOAD_SHIFT;
}

/* The sp hint of @word, in units of 16 bytes: 12 bits. */
static inline unsigned int record_sp(uint64_t word)
{
	return (unsigned int)(word & RECORD_SP_MASK) >> 4;
}

/*
 * Events that a FLOW record reports. Its payload is record_flow_payload(). Its
 * hint has the stack pointer that is named below ("sp"), as a hook there would
 * record it: it equals the hint in the BEGIN of the function with that place.
 */
enum record_flow {
	FLOW_SETJMP = 1, /* address of the jmp_buf; sp where it was called */
	FLOW_LONGJMP = 2, /* address of the jmp_buf; sp it goes back to */
	FLOW_CATCH = 3, /* the unwinder enters a function, to catch or to clean
			 * up: bytes from the unwinder's sp up to the
			 * function's, 0 if unknown; sp of that function */
	FLOW_CONTEXT_MAKE = 4, /* makecontext: the ucontext_t; sp unused */
	FLOW_CONTEXT_LINK = 5, /* follows MAKE when no END will report the end
				* of the context: its uc_link, or 0 */
	FLOW_CONTEXT_SAVE = 6, /* swapcontext, getcontext: where it is saved;
				* sp where it was called */
	FLOW_CONTEXT_SWITCH = 7, /* swapcontext, setcontext: what runs next;
				  * after SAVE in swapcontext */
	FLOW_THREAD_LEFT = 8, /* 0; the thread's function is over, by return,
			       * pthread_exit() or cancellation; sp unused */
	FLOW_CONTEXT_END = 9, /* the function of the context that runs has
			       * returned: its uc_link, which runs next, or 0:
			       * exit() does; sp unused */
};

#define FLOW_ADDRESS_SHIFT 3 /* the structs, and stacks, are aligned to 8 */
#define FLOW_KIND_BITS 4

static inline uint64_t record_flow_payload(enum record_flow flow,
					   uint64_t address)
{
	return (address >> FLOW_ADDRESS_SHIFT << FLOW_KIND_BITS |
		(uint64_t)flow) &
	       RECORD_PAYLOAD_MAX;
}

static inline enum record_flow record_flow(uint64_t payload)
{
	return (enum record_flow)(payload & ((1u << FLOW_KIND_BITS) - 1));
}

/* Returns the address of the struct: a name only, never dereferenced. */
static inline uint64_t record_flow_address(uint64_t payload)
{
	return payload >> FLOW_KIND_BITS << FLOW_ADDRESS_SHIFT;
}

#endif
