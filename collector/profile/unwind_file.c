/* SPDX-License-Identifier: Apache-2.0
 *
 * unwind_file - a list of files, each with its symbol_file as the key, and the
 * pages read so far.
 *
 * The section .eh_frame_hdr has a table of functions, sorted by address. For
 * each function the table has the address of its frame description entry (FDE);
 * see LSB 5.0 core, 10.6.2. Every linker makes this table with entries of two
 * 32-bit numbers, which are relative to the address of .eh_frame_hdr. For a
 * file without such a table (--no-eh-frame-hdr, Free Pascal), all of .eh_frame
 * is read once, and the table is made here.
 */
#include "collector/profile/unwind_file.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/budget.h"
#include "collector/base/grow.h"
#include "collector/base/pool.h"
#include "collector/base/search.h"
#include "collector/names/elf_segments.h"
#include "collector/names/symbols.h"
#include "shared/compiler.h"

#define PAGE_BYTES 16384u
#define PAGES_MAX 4096u /* of all files together: 64 MiB */
#define FILE_BYTES_MAX (16ULL << 30) /* a larger file is not read */
#define FILES_MAX 8192
/* Pointers to pages, of all files together. */
#define PAGE_NUMBERS_MAX (16u << 20)
#define MADE_MAX (1u << 18) /* entries of a table that is made */
/* Memory for the known_fdes and made tables of all files together. */
#define FDES_MAX_BYTES (16u << 20)

struct page { /* bytes of a file, from a multiple of PAGE_BYTES on */
	uint32_t bytes; /* number of bytes in the file; 0: not readable */
	uint8_t data[PAGE_BYTES];
};

struct unwind_file {
	struct unwind_file *next;
	struct unwind_files *files;
	struct symbol_file *symbols; /* a reference */
	bool is_good; /* its headers could be read */
	bool is_slow; /* a read of it took too long */
	struct page **pages; /* by page number; NULL: not read yet */
	uint64_t page_count;
	struct elf_segments segments;
	uint64_t low, high; /* as unwind_file_extent() */
	uint64_t header; /* vaddr of .eh_frame_hdr; 0: no usable one */
	uint64_t table, table_count; /* its vaddr, and its entries */
	struct made_entry { /* without a header: by start */
		uint64_t start, fde; /* vaddr */
	} * made;
	size_t made_count, made_room;
	struct pool fdes; /* struct known_fde */
};

struct known_fde { /* an FDE that was checked */
	uint64_t vaddr; /* of the FDE */

	struct cfi_range range;
	enum cfi_verdict verdict;
};

struct unwind_files {
	struct unwind_file *list;
	size_t count, pages;
	uint64_t page_numbers; /* pointers to pages, of all files */
	uint64_t edition;
	struct budget budget; /* FDES_MAX_BYTES */
};

/* --- reading ------------------------------------------------------------- */

/* Returns page @number of @file, and reads it first if necessary; it is empty
 * if that fails. Skips a file whose read was slow once, because the stacks of
 * all programs wait for this thread. NULL: no such page, pages are at their
 * limit, or memory is short. */
static struct page *page_of_number(struct unwind_file *file, uint64_t number)
{
	struct page *page;
	size_t bytes = 0;
	int err = -ETIMEDOUT;

	if (number >= file->page_count)
		return NULL;
	if (file->pages[number])
		return file->pages[number];
	if (file->files->pages >= PAGES_MAX)
		return NULL;
	page = malloc(sizeof(*page));
	if (!page)
		return NULL;
	if (!file->is_slow)
		err = symbol_file_read(file->symbols, number * PAGE_BYTES,
				       PAGE_BYTES, page->data, &bytes);
	file->is_slow = err == -ETIMEDOUT;
	page->bytes = err ? 0 : (uint32_t)bytes;
	file->pages[number] = page;
	file->files->pages++;
	return page;
}

/* Copies @bytes at @offset of @file to @out. Returns false if the file is too
 * short or not readable now. */
static bool read_file_offset(struct unwind_file *file, uint64_t offset,
			     uint8_t *out, size_t bytes)
{
	while (bytes) {
		struct page *page = page_of_number(file, offset / PAGE_BYTES);
		size_t at = offset % PAGE_BYTES;
		size_t part = MIN(bytes, PAGE_BYTES - at);

		if (!page || at + part > page->bytes)
			return false;
		memcpy(out, page->data + at, part);
		out += part;
		offset += part;
		bytes -= part;
	}
	return true;
}

bool unwind_file_read(struct unwind_file *file, uint64_t vaddr, void *out,
		      size_t bytes)
{
	uint64_t offset;

	return elf_segments_find(&file->segments, vaddr, bytes, &offset) &&
	       read_file_offset(file, offset, out, bytes);
}

/* Reads for a cfi_reader, whose @context is the unwind_file. */
static bool read_file_bytes(void *context, uint64_t vaddr, void *out,
			    size_t bytes)
{
	return unwind_file_read(context, vaddr, out, bytes);
}

void unwind_file_extent(const struct unwind_file *file, uint64_t *low,
			uint64_t *high)
{
	*low = file->low;
	*high = file->high;
}

/* --- headers ------------------------------------------------------------- */

static void take_load_segment(struct unwind_file *file,
			      const Elf64_Phdr *header)
{
	bool first = !file->segments.count;

	if (header->p_vaddr > UINT64_MAX - header->p_memsz ||
	    header->p_offset > FILE_BYTES_MAX ||
	    header->p_filesz > FILE_BYTES_MAX ||
	    !elf_segments_add(&file->segments, header))
		return;
	if (first || header->p_vaddr < file->low)
		file->low = header->p_vaddr;
	file->high = MAX(file->high, header->p_vaddr + header->p_memsz);
}

static void take_eh_frame_hdr(struct unwind_file *file,
			      const Elf64_Phdr *header)
{
	const struct cfi_reader reader = { read_file_bytes, file };
	struct cfi_table table;

	if (!unwind_cfi_table(&reader, header->p_vaddr, &table))
		return;
	file->header = header->p_vaddr;
	file->table = table.vaddr;
	file->table_count = table.count;
}

/* Calls @take for each program header of @type. A header that cannot be read is
 * skipped. */
static void each_program_header(struct unwind_file *file, const Elf64_Ehdr *elf,
				uint32_t type,
				void (*take)(struct unwind_file *,
					     const Elf64_Phdr *))
{
	Elf64_Phdr header;

	for (size_t i = 0; i < elf->e_phnum; i++)
		if (read_file_offset(file, elf->e_phoff + i * sizeof(header),
				     (uint8_t *)&header, sizeof(header)) &&
		    header.p_type == type)
			take(file, &header);
}

static bool read_unwind_bytes(void *context, uint64_t offset, void *out,
			      size_t bytes)
{
	return read_file_offset(context, offset, out, bytes);
}

static int compare_made(const void *left, const void *right)
{
	const struct made_entry *a = left, *b = right;

	return (a->start > b->start) - (a->start < b->start);
}

/* Makes a table from the section .eh_frame if there is one. If memory is short,
 * entries are missing. */
static void make_table(struct unwind_file *file, const Elf64_Ehdr *elf)
{
	const struct cfi_reader reader = { read_file_bytes, file };
	struct cfi_range range;
	uint64_t at, end, fde;
	Elf64_Shdr section;

	if (!elf_segments_section(read_unwind_bytes, file, elf, ".eh_frame",
				  &section) ||
	    section.sh_addr > UINT64_MAX - section.sh_size)
		return;
	at = section.sh_addr;
	end = at + MIN(section.sh_size, CFI_FRAMES_MAX);
	while (file->made_count < MADE_MAX &&
	       unwind_cfi_next(&reader, end, &at, &fde, &range) &&
	       !grow_array_from(&file->files->budget, file->made,
				file->made_room, file->made_count + 1))
		file->made[file->made_count++] =
			(struct made_entry){ range.start, fde };
	if (file->made_count)
		qsort(file->made, file->made_count, sizeof(*file->made),
		      compare_made);
}

static bool read_unwind_headers(struct unwind_file *file)
{
	Elf64_Ehdr elf;

	if (!read_file_offset(file, 0, (uint8_t *)&elf, sizeof(elf)) ||
	    !elf_segments_header_is_good(&elf) || elf.e_phoff > FILE_BYTES_MAX)
		return false;
	each_program_header(file, &elf, PT_LOAD, take_load_segment);
	each_program_header(file, &elf, PT_GNU_EH_FRAME, take_eh_frame_hdr);
	if (!file->header)
		make_table(file, &elf);
	return file->segments.count;
}

/* --- life ---------------------------------------------------------------- */

int unwind_files_new(struct unwind_files **out)
{
	struct unwind_files *files = calloc(1, sizeof(*files));

	if (!files)
		return -ENOMEM;
	files->budget.left = FDES_MAX_BYTES;
	*out = files;
	return 0;
}

/* Frees all files with their pages, and starts a new edition. */
static void forget_all_files(struct unwind_files *files)
{
	while (files->list) {
		struct unwind_file *file = files->list;

		files->list = file->next;
		for (uint64_t i = 0; i < file->page_count; i++)
			free(file->pages[i]);
		free(file->pages);
		budget_give(&files->budget,
			    file->made_room * sizeof(*file->made));
		free(file->made);
		pool_release(&file->fdes);
		symbol_file_put(&file->symbols);
		free(file);
	}
	files->count = files->pages = 0;
	files->page_numbers = 0;
	files->edition++;
}

void unwind_files_free(struct unwind_files **files)
{
	struct unwind_files *old = *files;

	*files = NULL;
	if (!old)
		return;
	forget_all_files(old);
	free(old);
}

uint64_t unwind_files_edition(struct unwind_files *files)
{
	if (files->pages >= PAGES_MAX || files->count >= FILES_MAX ||
	    files->page_numbers >= PAGE_NUMBERS_MAX ||
	    files->budget.left < FDES_MAX_BYTES / 4)
		forget_all_files(files);
	return files->edition;
}

/* Allocates the list of pages for @file, all unread. Returns false if the file
 * is empty or too large, or memory is short. */
static bool make_pages(struct unwind_file *file)
{
	struct unwind_files *files = file->files;
	uint64_t bytes = symbol_file_size(file->symbols);

	if (bytes > FILE_BYTES_MAX)
		return false;
	file->page_count = (bytes + PAGE_BYTES - 1) / PAGE_BYTES;
	file->pages = calloc(file->page_count + 1, sizeof(*file->pages));
	if (!file->pages)
		file->page_count = 0;
	files->page_numbers += file->page_count;
	return file->page_count;
}

static struct unwind_file *add_unwind_file(struct unwind_files *files,
					   struct symbol_file *symbols)
{
	struct unwind_file *file = calloc(1, sizeof(*file));

	if (!file)
		return NULL;
	file->files = files;
	file->symbols = symbol_file_get(symbols);
	pool_init(&file->fdes, &files->budget, sizeof(struct known_fde),
		  offsetof(struct known_fde, range));
	file->is_good = make_pages(file) && read_unwind_headers(file);
	file->next = files->list;
	files->list = file;
	files->count++;
	return file;
}

struct unwind_file *unwind_files_get(struct unwind_files *files,
				     struct symbol_file *symbols)
{
	struct unwind_file *file;

	symbols = symbol_file_get_common(symbols);
	if (!symbols)
		return NULL;
	for (file = files->list; file; file = file->next)
		if (file->symbols == symbols)
			break;
	if (!file && files->count < FILES_MAX &&
	    files->page_numbers < PAGE_NUMBERS_MAX)
		file = add_unwind_file(files, symbols);
	symbol_file_put(&symbols);
	return file && file->is_good ? file : NULL;
}

/* --- frame descriptions -------------------------------------------------- */

static bool read_table_entry(struct unwind_file *file, uint64_t number,
			     int32_t entry[2])
{
	return unwind_file_read(file, file->table + number * 8, entry, 8);
}

/* Sets *@fde to the virtual address of the description of the last function
 * that starts at or before @vaddr. Returns false if there is none, or the table
 * is not readable. */
static bool find_fde(struct unwind_file *file, uint64_t vaddr, uint64_t *fde)
{
	int64_t wanted = (int64_t)(vaddr - file->header);
	bool readable = true;
	int32_t entry[2];
	size_t low;

	if (file->header) {
		low = search_first(
			i, file->table_count,
			!(readable &= read_table_entry(file, i, entry)) ||
				entry[0] > wanted);
		if (!readable || !low ||
		    !read_table_entry(file, low - 1, entry))
			return false;
		*fde = file->header + (uint64_t)(int64_t)entry[1];
		return true;
	}
	low = search_first(i, file->made_count, file->made[i].start > vaddr);
	if (!low)
		return false;
	*fde = file->made[low - 1].fde;
	return true;
}

void unwind_file_fde(struct unwind_file *file, uint64_t vaddr,
		     struct unwind_fde *out)
{
	const struct cfi_reader reader = { read_file_bytes, file };
	struct known_fde known = { 0 };
	uint32_t number;

	*out = (struct unwind_fde){ .verdict = CFI_BAD };
	if (!find_fde(file, vaddr, &known.vaddr))
		return;
	if (pool_find(&file->fdes, &known, &number)) {
		known = ((struct known_fde *)file->fdes.items)[number];
	} else {
		known.verdict =
			unwind_cfi_check(&reader, known.vaddr, &known.range);
		(void)pool_intern(&file->fdes, &known, &number);
	}
	if (vaddr >= known.range.start && vaddr < known.range.end)
		*out = (struct unwind_fde){ .verdict = known.verdict,
					    .vaddr = known.vaddr,
					    .start = known.range.start };
}
