/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/ring/vector.h"

#if defined(__x86_64__)
#include <cpuid.h>

/* C changes nothing else. */
#define XSAVE_ALL (XSAVE_SSE | XSAVE_AVX | XSAVE_OPMASK | XSAVE_ZMM)
/* CPUID 0xd, 1: xgetbv with 1. */
#define TELLS_IN_USE (1u << 2)

struct vector_state g_vector_state;

void vector_find(void)
{
	uint32_t a, b, c = 0, d, enabled;

	if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE))
		return;
	__asm__ volatile("xgetbv" : "=a"(enabled), "=d"(d) : "c"(0));
	g_vector_state.mask = enabled & XSAVE_ALL;
	__cpuid_count(0xd, 1, a, b, c, d);
	g_vector_state.tells = (a & TELLS_IN_USE) != 0;
}
#else
void vector_find(void)
{
}
#endif
