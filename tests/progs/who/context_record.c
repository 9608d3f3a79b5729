/* SPDX-License-Identifier: Apache-2.0
 *
 * context_record - a thread's record for profilers (OTEP 4947), as an SDK of
 * OpenTelemetry writes it: part of a program, or a library of its own.
 */
#include <stdint.h>
#include <string.h>

struct __attribute__((packed, aligned(2))) context_record {
	uint8_t trace_id[16], span_id[8];
	uint8_t valid, trace_flags;
	uint16_t attrs_data_size;
};

_Static_assert(sizeof(struct context_record) == 28, "OTEP 4947");

extern __thread void *otel_thread_ctx_v1;
__thread void *otel_thread_ctx_v1;

static __thread struct context_record t_record;

void context_set(const uint8_t trace[16], const uint8_t span[8], int valid);
void context_detach(void);

/* As for a reader that interrupts it. */
void context_set(const uint8_t trace[16], const uint8_t span[8], int valid)
{
	t_record.valid = 0;
	__asm__ volatile("" ::: "memory");
	memcpy(t_record.trace_id, trace, 16);
	memcpy(t_record.span_id, span, 8);
	__asm__ volatile("" ::: "memory");
	t_record.valid = (uint8_t)valid;
	__asm__ volatile("" ::: "memory");
	otel_thread_ctx_v1 = &t_record;
}

void context_detach(void)
{
	otel_thread_ctx_v1 = NULL;
}
