/* SPDX-License-Identifier: Apache-2.0
 *
 * schema - which fields a perfrec trace may hold, and of what type.
 */
#ifndef PERFREC_TESTS_SCHEMA_H
#define PERFREC_TESTS_SCHEMA_H

#include <stdbool.h>

#include "tests/tools/checker/pbread.h"
#include "tests/tools/checker/verdict.h"

enum message {
	TRACE_PACKET,
	CLOCK_SNAPSHOT,
	CLOCK,
	PACKET_DEFAULTS,
	EVENT_DEFAULTS,
	TRACK_DESCRIPTOR,
	PROCESS_DESCRIPTOR,
	THREAD_DESCRIPTOR,
	TRACK_EVENT,
	DEBUG_ANNOTATION,
	INTERNED_DATA,
	EVENT_NAME,
	EVENT_CATEGORY,
	ANNOTATION_NAME,
	SOURCE_LOCATION,
	COUNTER_DESCRIPTOR,
	STATE_DESCRIPTOR,
	TRACE_STATS,
	BUFFER_STATS,
	WRITER_STATS,
	SYSTEM_INFO,
	UTSNAME,
	TRACE_UUID,
	TRACE_ATTRIBUTES,
	ATTRIBUTE,
	SAMPLE_DEFAULTS,
	TIMEBASE,
	PERF_SAMPLE,
	INTERNED_STRING,
	MAPPING,
	FRAME,
	CALLSTACK,
	PROFILE_PACKET,
	HEAP_DUMP,
	HEAP_SAMPLE,
	FTRACE_BUNDLE,
	COMPACT_SCHED,
	MESSAGE_COUNT
};

/* Call once before schema_check(). */
void schema_init(void);

/*
 * Checks @pb, a message of kind @message, and all messages in it against
 * malformed, unknown-field, field-twice and utf8. False when it cannot be
 * read any further; other breaches are noted and true is returned.
 */
bool schema_check(struct verdict *verdict, enum message message, struct pb pb);

#endif
