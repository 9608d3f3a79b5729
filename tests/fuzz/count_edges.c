/* SPDX-License-Identifier: Apache-2.0
 *
 * count_edges - coverage for clang's libFuzzer in a collector compiled by gcc
 * (-fsanitize-coverage=trace-pc), so the build of `make check-asan` serves for
 * fuzzing as well. gcc calls a function in each block of code. Its hashed
 * address selects a counter; few of some 20,000 blocks share one.
 */
#include <stdint.h>

#define COUNTER_BITS 16
#define COUNTERS (1u << COUNTER_BITS)

/* Defined by libFuzzer; elsewhere the sanitizer's does nothing. */
void __sanitizer_cov_8bit_counters_init(uint8_t *start, uint8_t *stop);
void __sanitizer_cov_trace_pc(void);

/* Threads count without a lock; a lost count does no harm. */
static uint8_t g_counters[COUNTERS];

void __sanitizer_cov_trace_pc(void)
{
	uint64_t place = (uintptr_t)__builtin_return_address(0);

	g_counters[place * 0x9e3779b97f4a7c15 >> (64 - COUNTER_BITS)]++;
}

__attribute__((constructor)) static void announce_counters(void)
{
	__sanitizer_cov_8bit_counters_init(g_counters, g_counters + COUNTERS);
}
