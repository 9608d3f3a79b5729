/* SPDX-License-Identifier: Apache-2.0
 *
 * call_chunks: names of a crafted index.
 */
#include "collector/read/call_chunks.h"

#include "collector/read/call_search.h"
#include "tests/suite.h"

/* The table's size was the largest iid plus 1, which overflowed; the name was
 * written 16 GiB behind the table. */
TEST(name_with_the_largest_iid_takes_one_place)
{
	struct index_text texts[] = { { (const uint8_t *)"main", 4 } };
	struct index_name names[] = { { UINT32_MAX, 1 }, { 7, 1 } };
	struct index_node nodes[] = { { 0, 0 }, { 0, UINT32_MAX } };
	struct index_sequence sequence = {
		.id = 1,
		.nodes = nodes,
		.node_count = ARRAY_SIZE(nodes),
		.names = names,
		.name_count = ARRAY_SIZE(names),
	};
	const struct trace_index index = {
		.fd = -1,
		.texts = texts,
		.text_count = ARRAY_SIZE(texts),
		.sequences = &sequence,
		.sequence_count = 1,
	};
	const struct call_wish wish = { .function = "main",
					.range = { 0, UINT64_MAX } };
	struct call_chunks chunks;

	ck_assert_int_eq(call_chunks_take(&chunks, &index, &wish), 0);
	call_chunks_release(&chunks);
}
