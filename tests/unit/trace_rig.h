/* SPDX-License-Identifier: Apache-2.0
 *
 * trace_rig - a trace of one thread in memory, for tests of trace readers. It
 * uses the writers of collector/trace. A test writes the head of the trace,
 * initializes g_encoder, and then writes calls.
 */
#ifndef PERFREC_TESTS_UNIT_TRACE_RIG_H
#define PERFREC_TESTS_UNIT_TRACE_RIG_H

#include <stdint.h>

#include "collector/trace/encode.h"
#include "tests/suite.h"

#define START_NS 1000000000ULL
#define PROCESS 11 /* uuids of the tracks */
#define THREAD 22

static uint8_t g_trace[1 << 18];
static size_t g_bytes;
static struct encoder g_encoder;

/* Arguments of a writer: its buffer and size. */
#define ROOM g_trace + g_bytes, sizeof(g_trace) - g_bytes

/* A writer has written @bytes into ROOM; 0 is a failure. */
static inline void wrote(size_t bytes)
{
	ck_assert_uint_gt(bytes, 0);
	g_bytes += bytes;
}

static inline void write_begin(uint32_t iid, uint64_t ns)
{
	struct encode_template begin = encode_template(&g_encoder, iid);

	g_encoder.out = g_trace + g_bytes;
	encode_begin(&g_encoder, START_NS + ns, &begin);
	g_bytes = (size_t)(g_encoder.out - g_trace);
}

static inline void write_end(uint64_t ns)
{
	g_encoder.out = g_trace + g_bytes;
	encode_end(&g_encoder, START_NS + ns);
	g_bytes = (size_t)(g_encoder.out - g_trace);
}

#endif
