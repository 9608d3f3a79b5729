/* SPDX-License-Identifier: Apache-2.0
 *
 * replay_rig - a replay whose events are text, and macros that write its records.
 */
#ifndef PERFREC_TESTS_UNIT_REPLAY_RIG_H
#define PERFREC_TESTS_UNIT_REPLAY_RIG_H

#include "tests/suite.h"
#include "tests/unit/replay_text.h"

static struct replay_text *g_text;

static inline void setup(void)
{
	g_text = replay_text_new();
}

static inline void teardown(void)
{
	replay_text_free(g_text);
}

#define COUNTS (&g_text->replay.counts)
/* The text of these records, which end the thread. */
#define RUN(...)                                                  \
	replay_text_of(g_text, (struct record[]){ __VA_ARGS__ },  \
		       sizeof((struct record[]){ __VA_ARGS__ }) / \
			       sizeof(struct record))
#define B(function, sp, ns) rec(RECORD_BEGIN, function, sp, ns)
#define E(function, sp, ns) rec(RECORD_END, function, sp, ns)

#endif
