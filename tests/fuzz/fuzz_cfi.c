/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz_cfi - checks call frame information: the input is an .eh_frame_hdr and
 * the data behind it, at a virtual address.
 */
#include <string.h>

#include "collector/names/unwind_cfi.h"
#include "shared/compiler.h"
#include "tests/fuzz/fuzz.h"

#define AT 0x10000
#define ENTRIES_MAX 64

struct bytes {
	const uint8_t *data;
	size_t size;
};

static bool read_bytes(void *context, uint64_t vaddr, void *out, size_t bytes)
{
	const struct bytes *input = context;

	if (vaddr < AT || vaddr - AT > input->size ||
	    bytes > input->size - (vaddr - AT))
		return false;
	memcpy(out, input->data + (vaddr - AT), bytes);
	return true;
}

static void check_entry(const struct cfi_reader *reader, uint64_t fde)
{
	struct cfi_range range = { 0 }, again = { 0 };
	bool has_range = unwind_cfi_range(reader, fde, &again);

	if (unwind_cfi_check(reader, fde, &range) == CFI_BAD)
		return;
	fuzz_must(has_range && range.start == again.start &&
			  range.end == again.end && range.start <= range.end,
		  "a good entry has another range");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes input = { data, size };
	const struct cfi_reader reader = { read_bytes, &input };
	struct cfi_table table;
	uint64_t at = AT, fde;
	struct cfi_range range;
	int32_t entry[2];

	check_entry(&reader, AT);
	for (uint64_t before = at;
	     unwind_cfi_next(&reader, AT + size, &at, &fde, &range);
	     before = at)
		fuzz_must(fde >= before && at > fde && at <= AT + size &&
				  range.start <= range.end,
			  "the next entry");
	if (!unwind_cfi_table(&reader, AT, &table))
		return 0;
	for (uint64_t i = 0; i < MIN(table.count, (uint32_t)ENTRIES_MAX); i++)
		if (read_bytes(&input, table.vaddr + i * sizeof(entry), entry,
			       sizeof(entry)))
			check_entry(&reader, AT + (uint64_t)(int64_t)entry[1]);
	return 0;
}
