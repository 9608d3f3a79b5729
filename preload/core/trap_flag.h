/* SPDX-License-Identifier: Apache-2.0
 *
 * trap_flag - hold off single-stepping for a few lines, where a thread steps
 * itself by its own trap flag: a SIGTRAP cannot be blocked. Any context.
 */
#ifndef PERFREC_PRELOAD_CORE_TRAP_FLAG_H
#define PERFREC_PRELOAD_CORE_TRAP_FLAG_H

#include <stdint.h>

#if defined(__x86_64__)
/* Returns what trap_flag_set() gives back. In trap_flag_x86_64.S: C cannot say
 * how to unwind from where assembly inside a function moves the stack. */
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
