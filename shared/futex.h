/* SPDX-License-Identifier: Apache-2.0
 *
 * futex - the kernel's numbers and structs for waits on a 32-bit word in
 * memory that processes share. Never with FUTEX_PRIVATE_FLAG, because the two
 * sides have different mappings.
 */
#ifndef PERFREC_SHARED_FUTEX_H
#define PERFREC_SHARED_FUTEX_H

#include <stdint.h>
#include <time.h>

#define FUTEX_OP_WAIT 0
#define FUTEX_OP_WAKE 1
#define FUTEX_OP_REQUEUE 3
#define FUTEX2_SIZE_U32 2u
#define FUTEX_WAITV_MAX_WORDS 128

/* The kernel's struct futex_waitv (linux/futex.h, since 5.16). */
struct futex_word {
	uint64_t expected;
	uint64_t address;
	uint32_t flags;
	uint32_t reserved;
};

_Static_assert(sizeof(struct futex_word) == 24, "kernel ABI");

/* Returns the entry of futex_waitv(2) that waits while *@address is
 * @expected. */
static inline struct futex_word futex_word(const uint32_t *address,
					   uint32_t expected)
{
	return (struct futex_word){ expected, (uint64_t)(uintptr_t)address,
				    FUTEX2_SIZE_U32, 0 };
}

#endif
