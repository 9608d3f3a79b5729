/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/code/code_file.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/base/grow.h"
#include "collector/base/search.h"
#include "collector/code/code_machine.h"
#include "collector/code/code_site.h"
#include "shared/compiler.h"
#include "shared/elf_note.h"
#include "shared/entry_build.h"

#define PROGRAM_HEADERS_MAX 512
#define SECTIONS_MAX 65535
#define DYNAMIC_MAX 4096
#define RELOCS_MAX (8u << 20)
#define NAME_MAX_BYTES 256
#define NOTES_MAX 16
#define NOTE_BYTES_MAX (64u << 10)

/* --- bytes ---------------------------------------------------------------- */

static bool read_descriptor(struct code_source *source, uint64_t offset,
			    uint8_t *to, uint64_t bytes)
{
	while (bytes) {
		ssize_t got = pread(source->fd, to, MIN(bytes, 64u << 20),
				    (off_t)offset);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			source->err = -errno;
		if (got <= 0)
			return false;
		to += got;
		offset += (uint64_t)got;
		bytes -= (uint64_t)got;
	}
	return true;
}

/* Returns false if the file has no byte at @offset or the read failed. */
static bool move_window(struct code_source *source, uint64_t offset)
{
	uint64_t into = offset - source->window_offset;
	size_t got = 0;
	int err = -ENOMEM;

	if (source->window && offset >= source->window_offset &&
	    into < source->window_bytes)
		return true;
	if (!source->window)
		source->window = malloc(CODE_READ_BYTES);
	source->window_bytes = 0;
	if (source->window)
		err = source->read(source->context, offset, CODE_READ_BYTES,
				   source->window, &got);
	if (err) {
		source->err = err;
		return false;
	}
	source->window_offset = offset;
	source->window_bytes = got;
	return got;
}

static bool read_source_bytes(struct code_source *source, uint64_t offset,
			      void *out, uint64_t bytes)
{
	uint8_t *to = out;

	if (offset > INT64_MAX - bytes)
		return false;
	if (!source->read)
		return read_descriptor(source, offset, to, bytes);
	while (bytes) {
		uint64_t into, part;

		if (!move_window(source, offset))
			return false;
		into = offset - source->window_offset;
		part = MIN(bytes, source->window_bytes - into);
		memcpy(to, source->window + into, part);
		to += part;
		offset += part;
		bytes -= part;
	}
	return true;
}

static int64_t source_size(const struct code_source *source)
{
	struct stat status;

	if (source->read)
		return (int64_t)MIN(source->size, INT64_MAX);
	return fstat(source->fd, &status) ? -errno : status.st_size;
}

static const struct code_segment *find_segment(const struct code_file *file,
					       uint64_t vaddr)
{
	for (size_t i = 0; i < file->segment_count; i++)
		if (vaddr - file->segment[i].vaddr < file->segment[i].bytes)
			return &file->segment[i];
	return NULL;
}

const uint8_t *code_file_at(const struct code_file *file, uint64_t vaddr,
			    uint64_t bytes)
{
	const struct code_segment *segment = find_segment(file, vaddr);

	if (!segment || segment->bytes - (vaddr - segment->vaddr) < bytes)
		return NULL;
	return segment->at + (vaddr - segment->vaddr);
}

bool code_file_copy(void *file, uint64_t vaddr, void *out, size_t bytes)
{
	const uint8_t *at = code_file_at(file, vaddr, bytes);

	if (at)
		memcpy(out, at, bytes);
	return at;
}

const struct code_segment *code_file_text(const struct code_file *file,
					  uint64_t vaddr)
{
	const struct code_segment *segment = find_segment(file, vaddr);

	return segment && segment->is_executable ? segment : NULL;
}

/* --- notes --------------------------------------------------------------- */

static void read_file_notes(struct code_file *file, const Elf64_Phdr *header)
{
	const uint64_t bytes = MIN(header->p_filesz, NOTE_BYTES_MAX);
	const uint8_t *notes = code_file_at(file, header->p_vaddr, bytes);
	struct elf_note note;
	uint64_t at = 0;
	uint32_t kind;

	while (notes && elf_note_next(notes, bytes, &at, &note)) {
		if (!elf_note_is(&note, ENTRY_NOTE_NAME, ENTRY_NOTE_TYPE) ||
		    note.desc_bytes != sizeof(kind))
			continue;
		memcpy(&kind, note.desc, sizeof(kind));
		file->entry_kinds |= kind < 32 ? 1u << kind : 0;
	}
}

/* --- segments ------------------------------------------------------------- */

static int add_segment(struct code_file *file, struct code_source *source,
		       const Elf64_Phdr *header, uint64_t text_max,
		       const char **why)
{
	struct code_segment *segment = &file->segment[file->segment_count];

	*why = "its segments make no sense";
	if (!header->p_filesz)
		return 0;
	if (file->segment_count == CODE_SEGMENTS_MAX ||
	    header->p_vaddr > INT64_MAX ||
	    header->p_filesz > INT64_MAX - header->p_vaddr)
		return -EBADMSG;
	*why = "it has too much code";
	if (header->p_flags & PF_X)
		file->text_bytes += header->p_filesz;
	if (file->text_bytes > text_max)
		return -EFBIG;
	*why = "not enough memory";
	if (!budget_take(&file->budget, header->p_filesz))
		return -ENOMEM;
	segment->at = malloc(header->p_filesz);
	if (!segment->at)
		return -ENOMEM;
	segment->vaddr = header->p_vaddr;
	segment->bytes = header->p_filesz;
	segment->is_executable = header->p_flags & PF_X;
	file->segment_count++;
	*why = "it is shorter than it says";
	return read_source_bytes(source, header->p_offset, segment->at,
				 segment->bytes)
		       ? 0
		       : -EBADMSG;
}

static int read_segments(struct code_file *file, struct code_source *source,
			 const Elf64_Ehdr *elf, uint64_t text_max,
			 Elf64_Phdr *dynamic, const char **why)
{
	Elf64_Phdr header, note[NOTES_MAX];
	int64_t size = source_size(source);
	size_t notes = 0;

	if (size < 0)
		return (int)size;
	for (size_t i = 0; i < MIN(elf->e_phnum, PROGRAM_HEADERS_MAX); i++) {
		int err = 0;

		*why = "its program headers are not all there";
		if (!read_source_bytes(source,
				       elf->e_phoff + i * sizeof(header),
				       &header, sizeof(header)))
			return -EBADMSG;
		*why = "it is shorter than it says";
		if (header.p_type == PT_LOAD &&
		    header.p_filesz > (uint64_t)size)
			return -EBADMSG;
		if (header.p_type == PT_LOAD)
			err = add_segment(file, source, &header, text_max, why);
		else if (header.p_type == PT_DYNAMIC)
			*dynamic = header;
		else if (header.p_type == PT_GNU_EH_FRAME)
			file->eh_frame_hdr = header.p_vaddr;
		else if (header.p_type == PT_GNU_RELRO)
			file->relro = (struct code_section){ header.p_vaddr,
							     header.p_memsz };
		else if (header.p_type == PT_NOTE && notes < NOTES_MAX)
			note[notes++] = header;
		if (err)
			return err;
	}
	for (size_t i = 0; i < notes; i++)
		read_file_notes(file, &note[i]);
	return 0;
}

/* --- relocations ---------------------------------------------------------- */

struct tables {
	uint64_t symbols, strings, string_bytes;
	uint64_t rela, rela_bytes, plt, plt_bytes, relr, relr_bytes;
};

static int add_reloc(struct code_file *file, uint64_t at, uint64_t value,
		     enum code_reloc_kind kind)
{
	if (file->reloc_count == RELOCS_MAX)
		return 0;
	if (grow_array_from(&file->budget, file->relocs, file->reloc_room,
			    file->reloc_count + 1))
		return -ENOMEM;
	file->relocs[file->reloc_count++] =
		(struct code_reloc){ at, value, kind };
	return 0;
}

static void read_name(const struct code_file *file, const struct tables *tables,
		      uint32_t offset, char name[NAME_MAX_BYTES])
{
	size_t bytes = 0;
	const uint8_t *at;

	while (bytes + 1 < NAME_MAX_BYTES &&
	       offset + bytes < tables->string_bytes &&
	       (at = code_file_at(file, tables->strings + offset + bytes, 1)) &&
	       *at)
		name[bytes++] = (char)*at;
	name[bytes] = '\0';
}

/* Functions of the C and C++ libraries that compilers assume never return. */
static bool is_no_return(const char *name)
{
	static const char *const names[] = {
		"abort",
		"exit",
		"_exit",
		"_Exit",
		"quick_exit",
		"longjmp",
		"_longjmp",
		"siglongjmp",
		"__longjmp_chk",
		"pthread_exit",
		"__assert_fail",
		"__assert_perror_fail",
		"__stack_chk_fail",
		"__chk_fail",
		"__cxa_throw",
		"__cxa_rethrow",
		"__cxa_bad_cast",
		"__cxa_bad_typeid",
		"__cxa_throw_bad_array_new_length",
		"__cxa_call_unexpected",
		"_Unwind_Resume",
		"_ZSt9terminatev",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(name, names[i]))
			return true;
	/* std::__throw_length_error() and similar. */
	return !strncmp(name, "_ZSt", 4) && name[4] >= '1' && name[4] <= '9' &&
	       strstr(name, "__throw_");
}

/* Returns true for functions that use their return address or the stack of
 * their caller. */
static bool looks_at_caller(const char *name)
{
	static const char *const names[] = {
		"dlopen",     "dlmopen",     "dlsym",	    "dlvsym",
		"dlinfo",     "setjmp",	     "_setjmp",	    "__sigsetjmp",
		"getcontext", "swapcontext", "makecontext", "vfork",
		"__vfork",    "backtrace",   "_mcount",	    "__fentry__",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(name, names[i]))
			return true;
	return !strncmp(name, "_Unwind_", 8);
}

/* Adds the slot of @rela if the caller wants the function @name. */
static int add_call_slot(struct code_file *file, const Elf64_Rela *rela,
			 const Elf64_Sym *symbol, const char *name,
			 enum code_reloc_kind kind)
{
	const unsigned int type = ELF64_ST_TYPE(symbol->st_info);
	const size_t bytes = strlen(name) + 1;

	if (!file->calls || file->slot_count == RELOCS_MAX ||
	    code_machine_rela(rela) == CODE_RELA_ADDRESS ||
	    (type != STT_FUNC && type != STT_NOTYPE && type != STT_GNU_IFUNC) ||
	    rela->r_offset % 8 || !file->calls(file->calls_context, name))
		return 0;
	if (file->slot_name_bytes + bytes > UINT32_MAX ||
	    grow_array_from(&file->budget, file->slots, file->slot_room,
			    file->slot_count + 1) ||
	    grow_array_from(&file->budget, file->slot_names,
			    file->slot_name_room,
			    file->slot_name_bytes + bytes + 1))
		return -ENOMEM;
	if (!file->slot_name_bytes)
		file->slot_names[file->slot_name_bytes++] = '\0';
	file->slots[file->slot_count++] = (struct code_slot){
		.at = rela->r_offset,
		.name = (uint32_t)file->slot_name_bytes,
		.refused = kind == CODE_SYMBOL ? CODE_NOT_REFUSED
					       : CODE_SPECIAL_CALL,
	};
	memcpy(file->slot_names + file->slot_name_bytes, name, bytes);
	file->slot_name_bytes += bytes;
	return 0;
}

static int add_slot(struct code_file *file, const struct tables *tables,
		    const Elf64_Rela *rela)
{
	const uint64_t number = ELF64_R_SYM(rela->r_info);
	enum code_reloc_kind kind = CODE_SYMBOL;
	char name[NAME_MAX_BYTES];
	Elf64_Sym symbol;
	const uint8_t *at =
		code_file_at(file, tables->symbols + number * sizeof(symbol),
			     sizeof(symbol));
	bool is_ours;
	int err;

	if (!at || rela->r_addend)
		return 0;
	memcpy(&symbol, at, sizeof(symbol));
	is_ours = symbol.st_shndx != SHN_UNDEF;
	read_name(file, tables, symbol.st_name, name);
	if (!strcmp(name, "__cyg_profile_func_enter"))
		kind = CODE_HOOK_ENTER;
	else if (!strcmp(name, "__cyg_profile_func_exit"))
		kind = CODE_HOOK_EXIT;
	else if (!is_ours && is_no_return(name))
		kind = CODE_NO_RETURN;
	else if (!is_ours && looks_at_caller(name))
		kind = CODE_LOOKS_AT_CALLER;
	if (is_ours && kind != CODE_SYMBOL) {
		file->defines_hooks = true;
		return 0;
	}
	err = add_call_slot(file, rela, &symbol, name, kind);
	if (err)
		return err;
	/* A variable of the program may have such an address. */
	if (code_machine_rela(rela) == CODE_RELA_ADDRESS &&
	    kind != CODE_LOOKS_AT_CALLER)
		return 0;
	return add_reloc(file, rela->r_offset, is_ours ? symbol.st_value : 0,
			 kind);
}

static int read_rela(struct code_file *file, const struct tables *tables,
		     uint64_t vaddr, uint64_t bytes)
{
	Elf64_Rela rela;
	int err = 0;

	for (uint64_t i = 0; !err && i < bytes / sizeof(rela); i++) {
		const uint8_t *at = code_file_at(file, vaddr + i * sizeof(rela),
						 sizeof(rela));
		enum code_rela kind;

		if (!at)
			break;
		memcpy(&rela, at, sizeof(rela));
		kind = code_machine_rela(&rela);
		if (kind == CODE_RELA_RELATIVE)
			err = add_reloc(file, rela.r_offset,
					(uint64_t)rela.r_addend, CODE_RELATIVE);
		else if (kind != CODE_RELA_OTHER)
			err = add_slot(file, tables, &rela);
	}
	return err;
}

static int add_in_place(struct code_file *file, uint64_t vaddr)
{
	const uint8_t *at = code_file_at(file, vaddr, 8);
	uint64_t value;

	if (!at)
		return 0;
	memcpy(&value, at, sizeof(value));
	return add_reloc(file, vaddr, value, CODE_RELATIVE);
}

/* Format: an even word is an address, an odd word has bits for the next 63
 * words. */
static int read_relr(struct code_file *file, uint64_t vaddr, uint64_t bytes)
{
	uint64_t next = 0;
	int err = 0;

	for (uint64_t i = 0; !err && i < bytes / 8; i++) {
		const uint8_t *at = code_file_at(file, vaddr + i * 8, 8);
		uint64_t word;

		if (!at)
			break;
		memcpy(&word, at, sizeof(word));
		if (!(word & 1)) {
			err = add_in_place(file, word);
			next = word + 8;
			continue;
		}
		for (uint64_t bit = 0; !err && bit < 63; bit++)
			if (word >> (bit + 1) & 1)
				err = add_in_place(file, next + bit * 8);
		next += 63 * 8;
	}
	return err;
}

static void take_dynamic(struct tables *tables, const Elf64_Dyn *entry)
{
	uint64_t value = entry->d_un.d_val;

	switch (entry->d_tag) {
	case DT_SYMTAB:
		tables->symbols = value;
		break;
	case DT_STRTAB:
		tables->strings = value;
		break;
	case DT_STRSZ:
		tables->string_bytes = value;
		break;
	case DT_RELA:
		tables->rela = value;
		break;
	case DT_RELASZ:
		tables->rela_bytes = value;
		break;
	case DT_JMPREL:
		tables->plt = value;
		break;
	case DT_PLTRELSZ:
		tables->plt_bytes = value;
		break;
	case 36: /* DT_RELR; missing in some elf.h */
		tables->relr = value;
		break;
	case 35:
		tables->relr_bytes = value;
		break;
	default:
		break;
	}
}

static int compare_call_slots(const void *left, const void *right)
{
	const struct code_slot *a = left, *b = right;

	return (a->at > b->at) - (a->at < b->at);
}

static int compare_relocs(const void *left, const void *right)
{
	const struct code_reloc *a = left, *b = right;

	if (a->at != b->at)
		return a->at < b->at ? -1 : 1;
	return (a->kind > b->kind) - (a->kind < b->kind);
}

static bool are_sorted(const struct code_file *file)
{
	for (size_t i = 1; i < file->reloc_count; i++)
		if (compare_relocs(&file->relocs[i - 1], &file->relocs[i]) > 0)
			return false;
	return true;
}

static int read_dynamic(struct code_file *file, const Elf64_Phdr *dynamic)
{
	struct tables tables = { 0 };
	uint64_t count =
		MIN(dynamic->p_filesz / sizeof(Elf64_Dyn), DYNAMIC_MAX);
	int err;

	for (uint64_t i = 0; i < count; i++) {
		Elf64_Dyn entry;
		const uint8_t *at =
			code_file_at(file, dynamic->p_vaddr + i * sizeof(entry),
				     sizeof(entry));

		if (!at)
			break;
		memcpy(&entry, at, sizeof(entry));
		if (entry.d_tag == DT_NULL)
			break;
		take_dynamic(&tables, &entry);
	}
	err = read_rela(file, &tables, tables.rela, tables.rela_bytes);
	if (!err)
		err = read_rela(file, &tables, tables.plt, tables.plt_bytes);
	if (!err)
		err = read_relr(file, tables.relr, tables.relr_bytes);
	if (!err && !are_sorted(file))
		qsort(file->relocs, file->reloc_count, sizeof(*file->relocs),
		      compare_relocs);
	if (!err && file->slot_count)
		qsort(file->slots, file->slot_count, sizeof(*file->slots),
		      compare_call_slots);
	return err;
}

const struct code_reloc *code_file_reloc(const struct code_file *file,
					 uint64_t vaddr)
{
	size_t low =
		search_first(i, file->reloc_count, file->relocs[i].at >= vaddr);

	if (low == file->reloc_count || file->relocs[low].at != vaddr)
		return NULL;
	return &file->relocs[low];
}

bool code_file_pointer(const struct code_file *file, uint64_t vaddr,
		       uint64_t *out)
{
	const struct code_reloc *reloc = code_file_reloc(file, vaddr);
	const uint8_t *at;

	*out = 0;
	if (reloc) {
		*out = reloc->value;
		return reloc->kind == CODE_RELATIVE;
	}
	at = file->is_fixed ? code_file_at(file, vaddr, 8) : NULL;
	if (at)
		memcpy(out, at, 8);
	return at;
}

/* --- sections ------------------------------------------------------------- */

static void take_section(struct code_file *file, const Elf64_Shdr *section,
			 const char *name)
{
	struct code_section found = { section->sh_addr, section->sh_size };

	if (!(section->sh_flags & SHF_ALLOC) ||
	    section->sh_type == SHT_NOBITS || !found.bytes ||
	    !code_file_at(file, found.vaddr, found.bytes))
		return;
	if (!strcmp(name, ENTRY_TABLE))
		file->gcc_entries = found;
	else if (!strcmp(name, ENTRY_XRAY_TABLE))
		file->xray = found;
}

static void read_sections(struct code_file *file, struct code_source *source,
			  const Elf64_Ehdr *elf)
{
	uint64_t count = MIN(elf->e_shnum, SECTIONS_MAX);
	Elf64_Shdr names, section;
	char name[NAME_MAX_BYTES];

	if (elf->e_shentsize != sizeof(section) ||
	    elf->e_shstrndx >= elf->e_shnum ||
	    !read_source_bytes(source,
			       elf->e_shoff + elf->e_shstrndx * sizeof(names),
			       &names, sizeof(names)))
		return;
	for (uint64_t i = 0; i < count; i++) {
		uint64_t bytes;

		if (!read_source_bytes(source,
				       elf->e_shoff + i * sizeof(section),
				       &section, sizeof(section)))
			return;
		if (!(section.sh_flags & SHF_ALLOC) ||
		    section.sh_name >= names.sh_size)
			continue;
		bytes = MIN(names.sh_size - section.sh_name, sizeof(name) - 1);
		if (names.sh_offset > INT64_MAX / 2 ||
		    !read_source_bytes(source,
				       names.sh_offset + section.sh_name, name,
				       bytes))
			continue;
		name[bytes] = '\0';
		take_section(file, &section, name);
	}
}

static int read_parts(struct code_file *file, struct code_source *source,
		      uint64_t text_max, const char **why)
{
	Elf64_Phdr dynamic = { 0 };
	Elf64_Ehdr elf;
	int err;

	*why = "not an ELF file for this machine";
	if (!read_source_bytes(source, 0, &elf, sizeof(elf)) ||
	    memcmp(elf.e_ident, ELFMAG, SELFMAG) ||
	    elf.e_ident[EI_CLASS] != ELFCLASS64 ||
	    elf.e_ident[EI_DATA] != ELFDATA2LSB || !code_machine_is(&elf) ||
	    (elf.e_type != ET_EXEC && elf.e_type != ET_DYN) ||
	    elf.e_phentsize != sizeof(Elf64_Phdr) ||
	    elf.e_phoff > INT64_MAX / 2 || elf.e_shoff > INT64_MAX / 2)
		return -ENOEXEC;
	file->is_fixed = elf.e_type == ET_EXEC;
	err = read_segments(file, source, &elf, text_max, &dynamic, why);
	if (err)
		return err;
	read_sections(file, source, &elf);
	*why = "not enough memory";
	return read_dynamic(file, &dynamic);
}

int code_file_read(struct code_file *file, struct code_source *source,
		   uint64_t text_max, const char **why)
{
	int err = read_parts(file, source, text_max, why);

	if (!source->err)
		return err;
	*why = "it cannot be read";
	return source->err;
}

void code_file_release(struct code_file *file)
{
	for (size_t i = 0; i < file->segment_count; i++)
		free(file->segment[i].at);
	free(file->relocs);
	free(file->slots);
	free(file->slot_names);
	file->segment_count = file->reloc_count = file->slot_count = 0;
	file->relocs = NULL;
	file->slots = NULL;
	file->slot_names = NULL;
}
