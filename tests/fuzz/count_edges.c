/* SPDX-License-Identifier: Apache-2.0
 *
 * count_edges - shows libFuzzer, which comes with clang, what an input reaches
 * in a collector that gcc has compiled (-fsanitize-coverage=trace-pc). So the
 * build for `make check-asan` is one for fuzzing, too. gcc calls one function
 * in each block of code; its address, hashed, is the number of a counter. Few
 * blocks share one: there are some 20,000 in the collector.
 */
#include <stdint.h>

#define COUNTER_BITS 16
#define COUNTERS (1u << COUNTER_BITS)

/* Of libFuzzer; in other programs the sanitizer has one that does nothing. */
void __sanitizer_cov_8bit_counters_init(uint8_t *start, uint8_t *stop);
void __sanitizer_cov_trace_pc(void);

/* Threads count without a lock: one that is lost is no harm. */
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
