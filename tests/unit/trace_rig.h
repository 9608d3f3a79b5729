/* SPDX-License-Identifier: Apache-2.0
 *
 * trace_rig - a trace of one thread, written into memory with the writers of
 * collector/trace, for tests of what reads it. A test writes the head of the
 * trace itself, starts g_encoder, and then writes calls.
 */
#ifndef PERFREC_TESTS_UNIT_TRACE_RIG_H
#define PERFREC_TESTS_UNIT_TRACE_RIG_H

#include <stdint.h>

#include "collector/trace/encode.h"
#include "tests/suite.h"

#define START_NS 1000000000ULL
#define PROCESS 11 /* the uuids of the tracks */
#define THREAD 22

static uint8_t g_trace[1 << 18];
static size_t g_bytes; /* written of it */
static struct encoder g_encoder;

/* Where a writer writes next, and how much room it has. */
#define ROOM g_trace + g_bytes, sizeof(g_trace) - g_bytes

/* A writer has written @bytes into ROOM; 0 is a failure. */
static inline void wrote(size_t bytes)
{
	ck_assert_uint_gt(bytes, 0);
	g_bytes += bytes;
}

/* A call of the function with name @iid begins @ns after START_NS. */
static inline void write_begin(uint32_t iid, uint64_t ns)
{
	struct encode_template begin = encode_template(&g_encoder, iid);

	g_encoder.out = g_trace + g_bytes;
	encode_begin(&g_encoder, START_NS + ns, &begin);
	g_bytes = (size_t)(g_encoder.out - g_trace);
}

/* The innermost call ends @ns after START_NS. */
static inline void write_end(uint64_t ns)
{
	g_encoder.out = g_trace + g_bytes;
	encode_end(&g_encoder, START_NS + ns);
	g_bytes = (size_t)(g_encoder.out - g_trace);
}

#endif
