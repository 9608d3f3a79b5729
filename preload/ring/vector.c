/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/ring/vector.h"

#if defined(__x86_64__)
#include <cpuid.h>

#define FXSAVE_BYTES 512
/* With AVX, and with all of AVX-512 where its parts lie farthest apart. */
#define XSAVE_AVX_BYTES 832
#define XSAVE_ALL_BYTES 2688
/* Components: x87, SSE, AVX; the three of AVX-512. C changes no others. */
#define XSAVE_AVX 0x07u
#define XSAVE_ALL 0xe7u

struct vector_state g_vector_state = { .bytes = FXSAVE_BYTES };

void vector_find(void)
{
	uint32_t a, b, c = 0, d, enabled;

	if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE))
		return;
	__asm__ volatile("xgetbv" : "=a"(enabled), "=d"(d) : "c"(0));
	g_vector_state.mask = enabled & XSAVE_ALL;
	g_vector_state.bytes = g_vector_state.mask & ~XSAVE_AVX
				       ? XSAVE_ALL_BYTES
				       : XSAVE_AVX_BYTES;
}
#else
void vector_find(void)
{
}
#endif
