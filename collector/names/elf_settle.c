/* SPDX-License-Identifier: Apache-2.0
 *
 * elf_settle - symbols of assembly code often lack a size or a type. Unwind
 * tables are more reliable: each frame description is one function.
 *
 * A symbol without a size ends at the next symbol, at the end of its frame
 * description, or at the next description. In a stripped file most functions
 * have no symbol. Without a frame description nothing ends such a symbol (Go
 * programs have none), so it gets UNPROVEN_BYTES_MAX at most.
 *
 * A symbol without a type (a label) is a function unless it lies inside one, as
 * sizes and frame descriptions show. Without both, a label is inside if it is
 * local and follows a global function, or if its name is the function's with a
 * dot and more (nasm).
 */
#include "collector/names/elf_settle.h"

#include <stdlib.h>
#include <string.h>

#include "collector/names/elf_bounds.h"
#include "collector/names/elf_functions.h"
#include "shared/compiler.h"

#define UNPROVEN_BYTES_MAX 1024u

static int compare_elf_functions(const void *left, const void *right)
{
	const struct elf_function *a = left, *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	return a->name < b->name ? -1 : a->name > b->name;
}

/* Returns true if bounds are needed. */
static bool sort_functions(struct elf_functions *functions)
{
	struct elf_function *list = functions->list;
	bool is_vague = false;
	size_t kept = 0;

	qsort(list, functions->count, sizeof(*list), compare_elf_functions);
	for (size_t i = 0; i < functions->count; i++) {
		if (kept && list[i].start == list[kept - 1].start)
			continue;
		is_vague |= list[i].rank >= ELF_RANK_NO_SIZE;
		list[kept++] = list[i];
	}
	functions->count = kept;
	return is_vague;
}

/* @last is the function before @label. No frame description covers @label. */
static bool is_label_of(const struct elf_function *label,
			const struct elf_function *last, const char *strings)
{
	const char *name = strings + last->name;
	size_t length = strlen(name);

	if (!(last->rank & ELF_RANK_NO_SIZE) ||
	    label->start - last->start >= last->size ||
	    !(label->rank & ELF_RANK_LOCAL))
		return false;
	if (!(last->rank & (ELF_RANK_LABEL | ELF_RANK_LOCAL)))
		return true;
	return !strncmp(strings + label->name, name, length) &&
	       strings[label->name + length] == '.';
}

static void drop_inner_labels(struct elf_functions *functions,
			      const struct elf_bounds *bounds)
{
	struct elf_function *list = functions->list;
	uint64_t sized_end = 0;
	size_t kept = 0;

	for (size_t i = 0; i < functions->count; i++) {
		const struct elf_function *last = kept ? &list[kept - 1] : NULL;
		const struct elf_bound *frame =
			elf_bounds_last(bounds, list[i].start);

		if (frame && list[i].start - frame->start >= frame->bytes)
			frame = NULL;
		if (list[i].rank & ELF_RANK_LABEL && last &&
		    (list[i].start < sized_end ||
		     (frame ? last->start >= frame->start
			    : is_label_of(&list[i], last, functions->strings))))
			continue;
		if (!(list[i].rank & ELF_RANK_NO_SIZE))
			sized_end =
				MAX(sized_end, list[i].start + list[i].size);
		list[kept++] = list[i];
	}
	functions->count = kept;
}

void elf_settle(int fd, bool is_whole, struct elf_functions *functions)
{
	const struct elf_bound *last, *next;
	struct elf_bounds bounds;

	if (!functions->count || !sort_functions(functions))
		return;
	/* Without unwind tables nothing has a frame description. */
	(void)elf_bounds_read(fd, &bounds);
	drop_inner_labels(functions, &bounds);
	for (size_t i = 0; i < functions->count; i++) {
		struct elf_function *one = &functions->list[i];
		uint64_t end;

		if (!(one->rank & ELF_RANK_NO_SIZE))
			continue;
		last = elf_bounds_last(&bounds, one->start);
		next = last ? last + 1 : bounds.list;
		end = is_whole ? UINT64_MAX : one->start + UNPROVEN_BYTES_MAX;
		if (last && one->start - last->start < last->bytes)
			end = last->start + last->bytes;
		else if (next && next < bounds.list + bounds.count)
			end = MIN(end, next->start);
		if (i + 1 < functions->count)
			end = MIN(end, one[1].start);
		one->size = MIN((uint64_t)one->size, end - one->start);
	}
	free(bounds.list);
}
