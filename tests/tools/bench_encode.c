/* SPDX-License-Identifier: Apache-2.0
 *
 * bench_encode - the cost of writing a start and an end, in ns and in bytes:
 * collector/trace/encode.h beside the form with every delta padded to 3 bytes
 * and every name to 2, one 16-byte store. Prints a line for each form and each
 * spread of gaps.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "collector/trace/encode.h"

#define SPANS (1u << 14)
#define ROUNDS 400
#define FUNCTIONS 500
#define SEQUENCE 5

static uint16_t g_gap_ns[2 * SPANS];
static uint16_t g_name[SPANS];
static uint8_t g_buffer[SPANS * 2 * ENCODE_EVENT_BYTES];

static struct encode_template g_begin[FUNCTIONS + 1];

static inline void template_begin(struct encoder *encoder, uint64_t ns,
				  uint32_t iid)
{
	encode_begin(encoder, ns, &g_begin[iid]);
}

static inline void padded_store(struct encoder *encoder, uint64_t low,
				uint64_t high, unsigned int bytes)
{
	encode_store(encoder->out, low);
	encode_store(encoder->out + 8, high);
	encoder->out += bytes;
}

static inline uint64_t padded_delta(struct encoder *encoder, uint64_t ns)
{
	uint64_t delta = ns - encoder->last_ns;

	if (unlikely(delta >= 1 << 21))
		abort();
	encoder->last_ns = ns;
	return (delta & 0x7f) | (delta & 0x3f80) << 1 |
	       (delta & 0x1fc000) << 2 | 0x8080;
}

static inline void padded_begin(struct encoder *encoder, uint64_t ns,
				uint32_t iid)
{
	uint64_t name = (iid & 0x7f) | (iid & 0x3f80) << 1 | 0x80;

	padded_store(encoder,
		     0x400d0a | padded_delta(encoder, ns) << 24 |
			     0x055aULL << 48,
		     0x500148 | name << 24 | 0x50ULL << 40 |
			     (uint64_t)encoder->sequence << 48,
		     15);
}

static inline void padded_end(struct encoder *encoder, uint64_t ns)
{
	padded_store(encoder,
		     0x025a000000400a0a | padded_delta(encoder, ns) << 24,
		     0x500248 | (uint64_t)encoder->sequence << 24, 12);
}

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* One writer over the same events, again and again; the best round counts. */
#define BENCH(label, spread, begin, end)                                  \
	do {                                                              \
		double best_ns = 1e9;                                     \
		size_t bytes = 0;                                         \
                                                                          \
		for (int round = 0; round < ROUNDS; round++) {            \
			struct encoder encoder;                           \
			uint64_t ns = 0;                                  \
			double start;                                     \
                                                                          \
			encoder_init(&encoder, SEQUENCE, 0);              \
			encoder.out = g_buffer;                           \
			start = now_ns();                                 \
			for (unsigned int i = 0; i < SPANS; i++) {        \
				begin(&encoder, ns += g_gap_ns[2 * i],    \
				      g_name[i]);                         \
				end(&encoder, ns += g_gap_ns[2 * i + 1]); \
			}                                                 \
			best_ns = MIN(best_ns, now_ns() - start);         \
			bytes = (size_t)(encoder.out - g_buffer);         \
		}                                                         \
		printf("%-10s %-10s %5.2f ns/span  %5.2f bytes/span\n",   \
		       (label), (spread), best_ns / SPANS,                \
		       (double)bytes / SPANS);                            \
	} while (0)

/*
 * Gaps around @median_ns, up to 2^@spread times shorter or longer; names from
 * few hot functions and many cold ones.
 */
static void make_events(unsigned int median_ns, unsigned int spread)
{
	srand(1);
	for (unsigned int i = 0; i < 2 * SPANS; i++) {
		unsigned int longer = rand() % (spread + 1);
		unsigned int shorter = rand() % (spread + 1);

		g_gap_ns[i] = (uint16_t)((median_ns << longer) >> shorter);
	}
	for (unsigned int i = 0; i < SPANS; i++)
		g_name[i] = (uint16_t)(1 + rand() % (FUNCTIONS >> rand() % 9));
}

/* Makes the templates of the sequence that BENCH() writes. */
static void make_templates(void)
{
	struct encoder encoder;

	encoder_init(&encoder, SEQUENCE, 0);
	for (uint32_t i = 1; i <= FUNCTIONS; i++)
		g_begin[i] = encode_template(&encoder, i);
}

int main(void)
{
	make_templates();
	make_events(20, 0);
	BENCH("shortest", "20 ns", template_begin, encode_end);
	BENCH("padded", "20 ns", padded_begin, padded_end);
	make_events(150, 4);
	BENCH("shortest", "150 ns +-", template_begin, encode_end);
	BENCH("padded", "150 ns +-", padded_begin, padded_end);
	return 0;
}
