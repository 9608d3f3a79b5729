/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/code/code_calls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/search.h"
#include "collector/code/code_file.h"
#include "collector/code/code_found.h"
#include "collector/code/code_site.h"
#include "shared/compiler.h"

/* How code refers to a slot. */
#define REFERENCE_CALLS 1u
#define REFERENCE_LOADS 2u

/* Notes the instructions with an operand that leads to a slot. Bytes that only
 * look like one count as well: they can refuse a slot, or nothing. Operands
 * before a constant are not found: compilers compare a slot only with 0 so, which
 * a thunk does not change. */
static void scan_text(const struct code_file *file,
		      const struct code_segment *text, uint8_t *references)
{
	const uint64_t low = file->slots[0].at;
	const uint64_t window = file->slots[file->slot_count - 1].at - low;

	for (uint64_t i = 2; i + 4 <= text->bytes; i++) {
		const uint8_t *at = text->at + i;
		uint64_t to = text->vaddr + i + 4;
		int32_t distance;
		size_t slot;

		memcpy(&distance, at, sizeof(distance));
		to += (uint64_t)(int64_t)distance;
		if (to - low > window)
			continue;
		slot = search_first(j, file->slot_count,
				    file->slots[j].at >= to);
		if (file->slots[slot].at != to)
			continue;
		/* call *slot(%rip), jmp *slot(%rip) */
		references[slot] |=
			at[-2] == 0xff && (at[-1] == 0x15 || at[-1] == 0x25)
				? REFERENCE_CALLS
				: REFERENCE_LOADS;
	}
}

/* Returns true for functions of the dynamic linker and functions that start or
 * leave a stack. */
static bool is_special_call(const char *name)
{
	static const char *const names[] = {
		"__tls_get_addr", "__libc_start_main", "__libc_start_call_main",
		"clone",	  "__clone",	       "__clone2",
		"setcontext",	  "sigsetjmp",	       "savectx",
		"mcount",	  "__gmon_start__",    "__cxa_finalize",
	};

	return search_text(name, names, ARRAY_SIZE(names));
}

static int decide_slot(const struct code_file *file,
		       const struct code_slot *slot, uint8_t references,
		       struct code_found *found, bool blames)
{
	struct code_use use = { .site = slot->at,
				.slot = slot->at,
				.name = slot->name,
				.form = CODE_SLOT,
				.length = sizeof(uint64_t),
				.entry_build = true,
				.is_known = true };
	struct code_blame blame = { .slot = slot->at,
				    .at = slot->at,
				    .name = slot->name,
				    .refusal = slot->refused,
				    .is_function = true };

	if (is_special_call(file->slot_names + slot->name))
		blame.refusal = CODE_SPECIAL_CALL;
	else if (!blame.refusal && references != REFERENCE_CALLS)
		blame.refusal = CODE_ADDRESS_TAKEN;
	if (!blame.refusal)
		return code_found_use(found, &use);
	return blames ? code_found_blame(found, &blame) : 0;
}

int code_calls_find(const struct code_file *file, struct code_found *found,
		    bool blames)
{
	uint8_t *references;
	int err = 0;

	if (!file->slot_count)
		return 0;
	references = calloc(file->slot_count, 1);
	if (!references)
		return -ENOMEM;
	for (size_t i = 0; i < file->segment_count; i++)
		if (file->segment[i].is_executable)
			scan_text(file, &file->segment[i], references);
	for (size_t i = 0; i < file->slot_count && !err; i++)
		/* Two relocations of one slot make no sense. */
		if (!i || file->slots[i].at != file->slots[i - 1].at)
			err = decide_slot(file, &file->slots[i], references[i],
					  found, blames);
	free(references);
	return err;
}
