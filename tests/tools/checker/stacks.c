/* SPDX-License-Identifier: Apache-2.0
 *
 * stacks - interned stacks and their parts, and the samples and heap dumps that
 * use stacks. An entry must be interned before its first use, on the same
 * sequence.
 */
#include <inttypes.h>

#include "tests/tools/checker/pbread.h"
#include "tests/tools/checker/trace.h"

#define BREAK(trace, rule, ...) \
	verdict_break(&(trace)->verdict, RULE_##rule, __VA_ARGS__)

/* Fields of InternedData. */
enum {
	FUNCTION = 5,
	FRAME = 6,
	CALLSTACK = 7,
	BUILD_ID = 16,
	PATH = 17,
	SOURCE_PATH = 18,
	MAPPING = 19,
};

/* Fields of interned entries that refer to other entries. */
static const struct reference {
	uint32_t in, field, to;
} g_references[] = {
	{ FRAME, 2, FUNCTION },	   { FRAME, 3, MAPPING },
	{ FRAME, 5, SOURCE_PATH }, { CALLSTACK, 2, FRAME },
	{ MAPPING, 2, BUILD_ID },  { MAPPING, 7, PATH },
};

static void check_iid(struct trace *trace, const struct sequence *sequence,
		      uint32_t kind, uint64_t iid)
{
	if (!table_find(&trace->interned,
			tracks_interned_key(trace, sequence, kind, iid)))
		BREAK(trace, IID_UNKNOWN,
		      "sequence %u: iid %" PRIu64 " of InternedData.%u",
		      sequence->id, iid, kind);
}

static void check_reference(struct trace *trace,
			    const struct sequence *sequence, uint32_t in,
			    const struct pb_field *field)
{
	size_t count = sizeof(g_references) / sizeof(*g_references);

	for (size_t i = 0; i < count; i++)
		if (g_references[i].in == in &&
		    g_references[i].field == field->number)
			check_iid(trace, sequence, g_references[i].to,
				  field->value);
}

bool stacks_intern(struct trace *trace, const struct sequence *sequence,
		   uint32_t kind, struct pb entry)
{
	struct pb_field field;
	uint64_t iid = 0;

	if (kind != FRAME && kind != CALLSTACK && kind != MAPPING)
		return false;
	while (pb_next(&entry, &field) > 0) {
		if (field.number == 1)
			iid = field.value;
		else
			check_reference(trace, sequence, kind, &field);
	}
	if (!iid || iid >> 32)
		BREAK(trace, NAME_IID, "sequence %u interns iid %" PRIu64,
		      sequence->id, iid);
	*table_at(&trace->interned,
		  tracks_interned_key(trace, sequence, kind, iid)) = 1;
	return true;
}

void stacks_sample(struct trace *trace, const struct sequence *sequence,
		   struct pb sample)
{
	struct pb_field field;
	uint64_t pid = 0, tid = 0;

	while (pb_next(&sample, &field) > 0) {
		if (field.number == 2)
			pid = field.value;
		else if (field.number == 3)
			tid = field.value;
		else if (field.number == 4)
			check_iid(trace, sequence, CALLSTACK, field.value);
	}
	if (!pid || !tid)
		BREAK(trace, IDS,
		      "a sample of process %" PRIu64 ", thread %" PRIu64, pid,
		      tid);
	trace->totals.samples++;
}

static void check_dump(struct trace *trace, const struct sequence *sequence,
		       struct pb dump)
{
	struct pb_field field, inner;

	while (pb_next(&dump, &field) > 0)
		while (field.number == 2 && pb_next(&field.bytes, &inner) > 0)
			if (inner.number == 1)
				check_iid(trace, sequence, CALLSTACK,
					  inner.value);
}

void stacks_heap(struct trace *trace, const struct sequence *sequence,
		 struct pb packet)
{
	struct pb_field field;

	while (pb_next(&packet, &field) > 0)
		if (field.number == 5)
			check_dump(trace, sequence, field.bytes);
}
