/* SPDX-License-Identifier: Apache-2.0
 *
 * trap_flag - stops single-stepping by a thread's own trap flag for a few
 * lines, because SIGTRAP cannot be blocked. Callable from any context.
 */
#ifndef PERFREC_PRELOAD_CORE_TRAP_FLAG_H
#define PERFREC_PRELOAD_CORE_TRAP_FLAG_H

#include <stdint.h>

#if defined(__x86_64__)
/* Returns the flag, for trap_flag_set(). In assembly, because C has no means to
 * describe unwinding where inline assembly moves the stack pointer. */
uint64_t trap_flag_clear(void);
void trap_flag_set(uint64_t flag);
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
