/* SPDX-License-Identifier: Apache-2.0
 *
 * index_input - input of targets that read a trace by its index: the length of
 * the trace in two bytes, little-endian, the trace, and the items of the index.
 * The target adds valid heads of the file and of a batch.
 */
#ifndef PERFREC_TESTS_FUZZ_INDEX_INPUT_H
#define PERFREC_TESTS_FUZZ_INDEX_INPUT_H

#include <string.h>

#include "collector/trace/index_items.h"
#include "shared/compiler.h"
#include "tests/fuzz/fuzz.h"

struct index_input {
	const uint8_t *trace;
	size_t trace_bytes;
	const uint8_t *items;
	size_t item_bytes;
};

/* Splits @data. Returns false if it is too short. */
static inline bool index_input_take(const uint8_t *data, size_t size,
				    struct index_input *out)
{
	size_t trace_bytes = size < 2 ? 0 : data[0] | data[1] << 8;

	if (size < 2 || trace_bytes > size - 2)
		return false;
	*out = (struct index_input){
		.trace = data + 2,
		.trace_bytes = trace_bytes,
		.items = data + 2 + trace_bytes,
		.item_bytes = size - 2 - trace_bytes,
	};
	return true;
}

/* Returns the index file, which the caller frees; *@size is its length. */
static inline uint8_t *index_input_file(const struct index_input *input,
					size_t *size)
{
	size_t tail = MIN(input->trace_bytes, (size_t)INDEX_TAIL_BYTES);
	struct index_batch batch = {
		.bytes = (uint32_t)input->item_bytes,
		.trace_bytes = input->trace_bytes,
		.tail_crc = index_crc(input->trace + input->trace_bytes - tail,
				      tail),
	};
	uint8_t *file;

	*size = INDEX_HEADER_BYTES + INDEX_BATCH_BYTES + input->item_bytes;
	file = calloc(1, *size);
	fuzz_must(file, "no memory");
	memcpy(file, INDEX_MAGIC, sizeof(INDEX_MAGIC) - 1);
	file[sizeof(INDEX_MAGIC) - 1] = INDEX_VERSION;
	index_put_batch(file + INDEX_HEADER_BYTES, &batch, input->items);
	if (input->item_bytes)
		memcpy(file + *size - input->item_bytes, input->items,
		       input->item_bytes);
	return file;
}

#endif
