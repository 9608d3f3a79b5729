/* SPDX-License-Identifier: Apache-2.0
 *
 * elf_bounds - .eh_frame_hdr has a sorted table of the entries of .eh_frame
 * (LSB 5.0 core, 10.6.2): pairs of 32-bit offsets from the header, from all
 * linkers. Without it, .eh_frame itself is read.
 *
 * Keeps a few windows of the file, since descriptions are adjacent but refer to
 * shared ones (CIEs).
 */
#include "collector/names/elf_bounds.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/base/grow.h"
#include "collector/base/search.h"
#include "collector/names/elf_segments.h"
#include "collector/names/unwind_cfi.h"
#include "shared/compiler.h"

#define ENTRIES_MAX (4u << 20)
#define WINDOW_BYTES 16384u
#define WINDOWS 16u

struct window {
	uint64_t number; /* from 1 on; 0: none */
	size_t bytes;
	uint8_t data[WINDOW_BYTES];
};

struct source {
	int fd;
	struct elf_segments segments;
	struct elf_segment header; /* .eh_frame_hdr; 0 bytes: none */
	Elf64_Ehdr elf;
	struct window window[WINDOWS];
};

/* --- reading -------------------------------------------------------------- */

static const struct window *window_at(struct source *source, uint64_t offset)
{
	uint64_t number = offset / WINDOW_BYTES + 1;
	struct window *window = &source->window[number % WINDOWS];
	ssize_t got;

	if (window->number == number)
		return window;
	do
		got = pread(source->fd, window->data, WINDOW_BYTES,
			    (off_t)((number - 1) * WINDOW_BYTES));
	while (got < 0 && errno == EINTR);
	window->number = number;
	window->bytes = (size_t)MAX(got, 0);
	return window;
}

static bool read_source_offset(struct source *source, uint64_t offset,
			       uint8_t *out, size_t bytes)
{
	while (bytes) {
		const struct window *window = window_at(source, offset);
		size_t at = offset % WINDOW_BYTES;
		size_t part = MIN(bytes, WINDOW_BYTES - at);

		if (at + part > window->bytes)
			return false;
		memcpy(out, window->data + at, part);
		out += part;
		offset += part;
		bytes -= part;
	}
	return true;
}

static bool read_at_offset(void *context, uint64_t offset, void *out,
			   size_t bytes)
{
	return read_source_offset(context, offset, out, bytes);
}

static bool read_source_vaddr(void *context, uint64_t vaddr, void *out,
			      size_t bytes)
{
	struct source *source = context;
	uint64_t offset;

	return elf_segments_find(&source->segments, vaddr, bytes, &offset) &&
	       read_source_offset(source, offset, out, bytes);
}

static bool read_headers(struct source *source)
{
	Elf64_Ehdr *elf = &source->elf;
	Elf64_Phdr header;

	if (!read_source_offset(source, 0, (uint8_t *)elf, sizeof(*elf)) ||
	    !elf_segments_header_is_good(elf) || elf->e_phoff > INT64_MAX / 2)
		return false;
	for (size_t i = 0; i < elf->e_phnum; i++) {
		if (!read_source_offset(source,
					elf->e_phoff + i * sizeof(header),
					(uint8_t *)&header, sizeof(header)) ||
		    header.p_offset > INT64_MAX / 2 ||
		    header.p_filesz > INT64_MAX / 2)
			continue;
		if (header.p_type == PT_GNU_EH_FRAME)
			source->header = (struct elf_segment){
				header.p_vaddr, header.p_offset, header.p_filesz
			};
		else if (header.p_type == PT_LOAD)
			elf_segments_add(&source->segments, &header);
	}
	return true;
}

/* --- the table ------------------------------------------------------------ */

static size_t find_search_table(struct source *source, uint64_t *vaddr)
{
	const struct cfi_reader reader = { read_source_vaddr, source };
	struct cfi_table table;

	if (!source->header.bytes ||
	    !unwind_cfi_table(&reader, source->header.vaddr, &table))
		return 0;
	*vaddr = table.vaddr;
	/* Limits memory to the size of the segment. */
	return MIN(MIN(table.count, ENTRIES_MAX), source->header.bytes / 8);
}

static void add_bound(const struct cfi_range *range, struct elf_bounds *out)
{
	if (range->end > range->start &&
	    range->end - range->start <= UINT32_MAX)
		out->list[out->count++] = (struct elf_bound){
			.start = range->start,
			.bytes = (uint32_t)(range->end - range->start),
		};
}

static int read_search_table(struct source *source, uint64_t vaddr,
			     size_t count, struct elf_bounds *out)
{
	const struct cfi_reader reader = { read_source_vaddr, source };
	struct cfi_range range;
	int32_t entry[2];

	out->list = calloc(count, sizeof(*out->list));
	if (!out->list)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		if (!read_source_vaddr(source, vaddr + i * 8, entry,
				       sizeof(entry)))
			break;
		if (unwind_cfi_range(&reader,
				     source->header.vaddr +
					     (uint64_t)(int64_t)entry[1],
				     &range))
			add_bound(&range, out);
	}
	return 0;
}

static int read_frames(struct source *source, struct elf_bounds *out)
{
	const struct cfi_reader reader = { read_source_vaddr, source };
	struct cfi_range range;
	uint64_t at, end, fde;
	Elf64_Shdr section;
	size_t room = 0;

	if (!elf_segments_section(read_at_offset, source, &source->elf,
				  ".eh_frame", &section) ||
	    section.sh_addr > UINT64_MAX - section.sh_size)
		return 0;
	at = section.sh_addr;
	end = at + MIN(section.sh_size, CFI_FRAMES_MAX);
	while (out->count < ENTRIES_MAX &&
	       unwind_cfi_next(&reader, end, &at, &fde, &range)) {
		if (grow_array(out->list, room, out->count + 1))
			return -ENOMEM;
		add_bound(&range, out);
	}
	return 0;
}

static int compare_bounds(const void *left, const void *right)
{
	const struct elf_bound *a = left, *b = right;

	return (a->start > b->start) - (a->start < b->start);
}

static int read_bounds(struct source *source, struct elf_bounds *out)
{
	uint64_t vaddr = 0;
	size_t count, i = 1;
	int err;

	if (!read_headers(source))
		return -ENODATA;
	count = find_search_table(source, &vaddr);
	err = count ? read_search_table(source, vaddr, count, out)
		    : read_frames(source, out);
	if (err)
		return err;
	while (i < out->count && out->list[i].start >= out->list[i - 1].start)
		i++;
	if (i < out->count)
		qsort(out->list, out->count, sizeof(*out->list),
		      compare_bounds);
	return out->count ? 0 : -ENODATA;
}

int elf_bounds_read(int fd, struct elf_bounds *out)
{
	struct source *source = calloc(1, sizeof(*source));
	struct elf_bounds bounds = { 0 };
	int err = -ENOMEM;

	*out = bounds;
	if (source) {
		source->fd = fd;
		err = read_bounds(source, &bounds);
	}
	free(source);
	if (err)
		free(bounds.list);
	else
		*out = bounds;
	return err;
}

const struct elf_bound *elf_bounds_last(const struct elf_bounds *bounds,
					uint64_t vaddr)
{
	size_t low =
		search_first(i, bounds->count, bounds->list[i].start > vaddr);

	return low ? &bounds->list[low - 1] : NULL;
}

bool elf_bounds_find(const struct elf_bounds *bounds, uint64_t vaddr,
		     uint64_t *start)
{
	const struct elf_bound *last = elf_bounds_last(bounds, vaddr);

	if (!last || vaddr - last->start >= last->bytes)
		return false;
	*start = last->start;
	return true;
}
