/* SPDX-License-Identifier: Apache-2.0
 *
 * trap_flag - stop single-stepping by this thread's own trap flag for a few
 * lines: a SIGTRAP cannot be blocked. Any context.
 */
#ifndef PERFREC_PRELOAD_TRAP_FLAG_H
#define PERFREC_PRELOAD_TRAP_FLAG_H

#include <stdint.h>

#if defined(__x86_64__)
#define TRAP_FLAG 0x100UL

/* Returns what trap_flag_set() gives back. */
static inline uint64_t trap_flag_clear(void)
{
	uint64_t flags;

	__asm__ volatile("lea -128(%%rsp), %%rsp\n\t" /* the red zone */
			 "pushfq\n\t"
			 "movq (%%rsp), %0\n\t"
			 "andq $~0x100, (%%rsp)\n\t"
			 "popfq\n\t"
			 "lea 128(%%rsp), %%rsp"
			 : "=&r"(flags)
			 :
			 : "memory", "cc");
	return flags & TRAP_FLAG;
}

static inline void trap_flag_set(uint64_t flag)
{
	__asm__ volatile("lea -128(%%rsp), %%rsp\n\t"
			 "pushfq\n\t"
			 "orq %0, (%%rsp)\n\t"
			 "popfq\n\t"
			 "lea 128(%%rsp), %%rsp"
			 :
			 : "r"(flag)
			 : "memory", "cc");
}
#else
static inline uint64_t trap_flag_clear(void)
{
	return 0;
}

static inline void trap_flag_set(uint64_t flag)
{
	(void)flag;
}
#endif

#endif
