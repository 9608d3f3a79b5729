/* SPDX-License-Identifier: Apache-2.0
 *
 * elf_bounds - .eh_frame_hdr has a table of the functions with a description
 * in .eh_frame, by address: LSB 5.0 core, 10.6.2. Every linker makes it with
 * entries of two 32-bit numbers, relative to its own address; another is not
 * read. How long a function is, its description says.
 *
 * A few windows of the file are kept while it is read: descriptions lie beside
 * each other, and what many of them have in common (CIEs) elsewhere.
 */
#include "collector/elf_bounds.h"

#include <dwarf.h>
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/unwind_cfi.h"
#include "shared/compiler.h"

#define ENTRIES_MAX (4u << 20)
#define SEGMENTS_MAX 64u
#define WINDOW_BYTES 16384u
#define WINDOWS 16u

struct segment {
	uint64_t vaddr, offset, bytes;
};

struct window {
	uint64_t number; /* of the file's windows, from 1 on; 0: none */
	size_t bytes;
	uint8_t data[WINDOW_BYTES];
};

struct source { /* the file */
	int fd;
	struct segment segment[SEGMENTS_MAX];
	size_t segment_count;
	struct segment header; /* .eh_frame_hdr */
	struct window window[WINDOWS];
};

struct table_head { /* of .eh_frame_hdr */
	uint8_t version, pointer, count, table;
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

static bool read_offset(struct source *source, uint64_t offset, uint8_t *out,
			size_t bytes)
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

/* A cfi_reader's. */
static bool read_vaddr(void *context, uint64_t vaddr, void *out, size_t bytes)
{
	struct source *source = context;

	for (size_t i = 0; i < source->segment_count; i++) {
		const struct segment *segment = &source->segment[i];
		uint64_t into = vaddr - segment->vaddr;

		if (vaddr >= segment->vaddr && into < segment->bytes &&
		    segment->bytes - into >= bytes)
			return read_offset(source, segment->offset + into, out,
					   bytes);
	}
	return false;
}

static void take_header(struct source *source, const Elf64_Phdr *header)
{
	const struct segment segment = { header->p_vaddr, header->p_offset,
					 header->p_filesz };

	if (header->p_offset > INT64_MAX / 2 ||
	    header->p_filesz > INT64_MAX / 2)
		return;
	if (header->p_type == PT_GNU_EH_FRAME)
		source->header = segment;
	else if (header->p_type == PT_LOAD &&
		 source->segment_count < SEGMENTS_MAX)
		source->segment[source->segment_count++] = segment;
}

/* False: it is no such file, or has no table. */
static bool read_headers(struct source *source)
{
	Elf64_Phdr header;
	Elf64_Ehdr elf;

	if (!read_offset(source, 0, (uint8_t *)&elf, sizeof(elf)) ||
	    memcmp(elf.e_ident, ELFMAG, SELFMAG) ||
	    elf.e_ident[EI_CLASS] != ELFCLASS64 ||
	    elf.e_ident[EI_DATA] != ELFDATA2LSB ||
	    elf.e_phentsize != sizeof(header) || elf.e_phoff > INT64_MAX / 2)
		return false;
	for (size_t i = 0; i < elf.e_phnum; i++)
		if (read_offset(source, elf.e_phoff + i * sizeof(header),
				(uint8_t *)&header, sizeof(header)))
			take_header(source, &header);
	return source->header.bytes;
}

/* --- the table ------------------------------------------------------------ */

/* Bytes of a pointer that is encoded so; 0: it is not read. */
static size_t pointer_bytes(uint8_t encoding)
{
	switch (encoding & 0x0f) {
	case DW_EH_PE_udata4:
	case DW_EH_PE_sdata4:
		return 4;
	case DW_EH_PE_absptr:
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8:
		return 8;
	default:
		return 0;
	}
}

/* Where the table is, and how long it says that it is; 0: there is none. */
static size_t find_table(struct source *source, uint64_t *vaddr)
{
	const uint64_t at = source->header.vaddr;
	struct table_head head;
	size_t pointer;
	uint32_t count;

	if (!read_vaddr(source, at, &head, sizeof(head)) || head.version != 1 ||
	    head.count != DW_EH_PE_udata4 ||
	    head.table != (DW_EH_PE_datarel | DW_EH_PE_sdata4))
		return 0;
	pointer = pointer_bytes(head.pointer);
	if (!pointer || !read_vaddr(source, at + sizeof(head) + pointer, &count,
				    sizeof(count)))
		return 0;
	*vaddr = at + sizeof(head) + pointer + sizeof(count);
	/* A count is but a claim: memory is only for what the segment holds. */
	return MIN(MIN(count, ENTRIES_MAX), source->header.bytes / 8);
}

/* Appends what entry @number of the table at @vaddr is about. False: the table
 * ends here. */
static bool add_entry(struct source *source, uint64_t vaddr, size_t number,
		      struct elf_bounds *out)
{
	const struct cfi_reader reader = { read_vaddr, source };
	struct cfi_range range;
	int32_t entry[2];

	if (!read_vaddr(source, vaddr + number * 8, entry, sizeof(entry)))
		return false;
	if (!unwind_cfi_range(
		    &reader, source->header.vaddr + (uint64_t)(int64_t)entry[1],
		    &range) ||
	    range.end == range.start || range.end - range.start > UINT32_MAX)
		return true;
	out->list[out->count++] = (struct elf_bound){
		.start = range.start,
		.bytes = (uint32_t)(range.end - range.start),
	};
	return true;
}

static int compare_bounds(const void *left, const void *right)
{
	const struct elf_bound *a = left, *b = right;

	return (a->start > b->start) - (a->start < b->start);
}

static bool is_sorted(const struct elf_bounds *bounds)
{
	for (size_t i = 1; i < bounds->count; i++)
		if (bounds->list[i].start < bounds->list[i - 1].start)
			return false;
	return true;
}

static int read_table(struct source *source, struct elf_bounds *out)
{
	uint64_t vaddr = 0;
	size_t count, i;

	count = read_headers(source) ? find_table(source, &vaddr) : 0;
	if (!count)
		return -ENODATA;
	out->list = calloc(count, sizeof(*out->list));
	if (!out->list)
		return -ENOMEM;
	for (i = 0; i < count; i++)
		if (!add_entry(source, vaddr, i, out))
			break;
	if (!is_sorted(out))
		qsort(out->list, out->count, sizeof(*out->list),
		      compare_bounds);
	return out->count ? 0 : -ENODATA;
}

int elf_bounds_read(int fd, struct elf_bounds *out)
{
	struct source *source = calloc(1, sizeof(*source));
	struct elf_bounds bounds = { 0 };
	int error = -ENOMEM;

	*out = bounds;
	if (source) {
		source->fd = fd;
		error = read_table(source, &bounds);
	}
	free(source);
	if (error)
		free(bounds.list);
	else
		*out = bounds;
	return error;
}

bool elf_bounds_find(const struct elf_bounds *bounds, uint64_t vaddr,
		     uint64_t *start)
{
	size_t low = 0, high = bounds->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (bounds->list[middle].start <= vaddr)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low ||
	    vaddr - bounds->list[low - 1].start >= bounds->list[low - 1].bytes)
		return false;
	*start = bounds->list[low - 1].start;
	return true;
}
