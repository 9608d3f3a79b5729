/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/code/code_scan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "collector/base/search.h"
#include "collector/code/code_file.h"
#include "collector/code/code_stub.h"
#include "shared/compiler.h"

#define TARGETS_MAX 256
#define HITS_MAX (16u << 20)

static int32_t load32(const uint8_t *at)
{
	int32_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

/* --- targets -------------------------------------------------------------- */

static int add_target(struct code_targets *targets, struct code_file *file,
		      uint64_t address, bool is_exit)
{
	if (targets->count == TARGETS_MAX)
		return 0;
	if (grow_array_from(&file->budget, targets->list, targets->room,
			    targets->count + 1))
		return -ENOMEM;
	targets->list[targets->count++] =
		(struct code_target){ address, is_exit };
	return 0;
}

const struct code_target *code_target_at(const struct code_targets *targets,
					 uint64_t address)
{
	if (!targets->count || address < targets->list[0].address ||
	    address > targets->list[targets->count - 1].address)
		return NULL;
	for (size_t i = 0; i < targets->count; i++)
		if (targets->list[i].address == address)
			return &targets->list[i];
	return NULL;
}

static int compare_targets(const void *left, const void *right)
{
	const struct code_target *a = left, *b = right;

	return (a->address > b->address) - (a->address < b->address);
}

int code_scan_slots(struct code_scan *scan, struct code_file *file)
{
	int err = 0;

	for (size_t i = 0; !err && i < file->reloc_count; i++)
		if (file->relocs[i].kind == CODE_HOOK_ENTER ||
		    file->relocs[i].kind == CODE_HOOK_EXIT)
			err = add_target(&scan->slots, file, file->relocs[i].at,
					 file->relocs[i].kind ==
						 CODE_HOOK_EXIT);
	return err;
}

/* --- hits ----------------------------------------------------------------- */

static int compare_hits(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

static int add_hit(struct code_scan *scan, struct code_file *file,
		   uint64_t address)
{
	if (scan->hit_count == HITS_MAX ||
	    grow_array_from(&file->budget, scan->hits, scan->hit_room,
			    scan->hit_count + 1))
		return -ENOMEM;
	scan->hits[scan->hit_count++] = address;
	return 0;
}

static int find_hits(struct code_scan *scan, struct code_file *file,
		     const struct code_segment *text,
		     const struct code_targets *targets)
{
	uint64_t low, window;
	int err = 0;

	if (!targets->count || text->bytes < 4)
		return 0;
	low = targets->list[0].address;
	window = targets->list[targets->count - 1].address - low;
	for (uint64_t i = 0; !err && i <= text->bytes - 4; i++) {
		uint64_t to = text->vaddr + i + 4 +
			      (uint64_t)(int64_t)load32(text->at + i);

		if (to - low <= window && code_target_at(targets, to))
			err = add_hit(scan, file, text->vaddr + i);
	}
	return err;
}

static int find_all_hits(struct code_scan *scan, struct code_file *file,
			 const struct code_targets *targets)
{
	int err = 0;

	for (size_t i = 0; !err && i < file->segment_count; i++)
		if (file->segment[i].is_executable)
			err = find_hits(scan, file, &file->segment[i], targets);
	return err;
}

bool code_scan_hit(const struct code_scan *scan, uint64_t start, uint64_t end,
		   size_t *out)
{
	size_t low = search_first(i, scan->hit_count, scan->hits[i] >= start);

	*out = low;
	return low < scan->hit_count && scan->hits[low] < end;
}

/* --- stubs ---------------------------------------------------------------- */

/* The prefixes of the jump count as entries of the PLT as well. */
static int add_stub(struct code_scan *scan, struct code_file *file,
		    uint64_t hit)
{
	/* Prefixes of code_file_stub(): bnd, mov, endbr64. */
	static const uint8_t before[] = { 0, 1, 4, 5, 6, 10 };
	const uint8_t *at = code_file_at(file, hit - 2, 6);
	const struct code_target *slot;
	uint64_t of;
	int err = 0;

	if (!at || at[0] != 0xff || at[1] != 0x25)
		return 0;
	slot = code_target_at(&scan->slots,
			      hit + 4 + (uint64_t)(int64_t)load32(at + 2));
	for (size_t i = 0; slot && !err && i < ARRAY_SIZE(before); i++) {
		const uint64_t start = hit - 2 - before[i];

		if (code_file_stub(file, start, &of) && of == slot->address)
			err = add_target(&scan->stubs, file, start,
					 slot->is_exit);
	}
	return err;
}

/* --- entries -------------------------------------------------------------- */

static void mark(struct code_pieces *pieces, uint64_t address)
{
	struct code_piece *piece = code_pieces_at(pieces, address);

	if (piece && piece->start == address)
		piece->is_entry = true;
}

static void mark_called(const struct code_file *file,
			const struct code_segment *text,
			struct code_pieces *pieces)
{
	for (uint64_t i = 3; i + 4 <= text->bytes; i++) {
		const uint8_t *at = text->at + i;
		uint64_t next = text->vaddr + i + 4;

		if (at[-1] == 0xe8 || (at[-2] == 0x8d && (at[-1] & 0xc7) == 5))
			mark(pieces, next + (uint64_t)(int64_t)load32(at));
		else if (file->is_fixed && ((at[-1] & 0xf8) == 0xb8 ||
					    at[-2] == 0xc7 || at[-3] == 0xc7))
			mark(pieces, (uint64_t)(int64_t)load32(at));
	}
}

int code_scan_file(struct code_scan *scan, struct code_file *file,
		   struct code_pieces *pieces)
{
	int err;

	for (size_t i = 0; i < file->segment_count; i++)
		if (file->segment[i].is_executable)
			mark_called(file, &file->segment[i], pieces);
	for (size_t i = 0; i < file->reloc_count; i++)
		if (file->relocs[i].kind == CODE_RELATIVE ||
		    file->relocs[i].kind == CODE_SYMBOL)
			mark(pieces, file->relocs[i].value);
	err = find_all_hits(scan, file, &scan->slots);
	if (!err) {
		const size_t count = scan->hit_count;

		for (size_t i = 0; !err && i < count; i++)
			err = add_stub(scan, file, scan->hits[i]);
		if (scan->stubs.count)
			qsort(scan->stubs.list, scan->stubs.count,
			      sizeof(*scan->stubs.list), compare_targets);
	}
	if (!err)
		err = find_all_hits(scan, file, &scan->stubs);
	if (!err && scan->hit_count)
		qsort(scan->hits, scan->hit_count, sizeof(*scan->hits),
		      compare_hits);
	return err;
}

void code_scan_release(struct code_scan *scan)
{
	free(scan->slots.list);
	free(scan->stubs.list);
	free(scan->hits);
	*scan = (struct code_scan){ 0 };
}

bool code_scan_is_use(const uint8_t before[2])
{
	return before[1] == 0xe8 || before[1] == 0xe9 ||
	       (before[0] == 0xff &&
		(before[1] == 0x15 || before[1] == 0x25)) ||
	       (before[0] == 0x0f && (before[1] & 0xf0) == 0x80) ||
	       ((before[0] == 0x8b || before[0] == 0x8d) &&
		(before[1] & 0xc7) == 5);
}
