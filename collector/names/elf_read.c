/* SPDX-License-Identifier: Apache-2.0
 *
 * elf_read - functions come from .symtab and .dynsym together: a stripped
 * library has only .dynsym, and some tools strip parts of .symtab. If several
 * names share an address, the lowest rank wins:
 *
 *  1. a name with the type of a function, before one without a type;
 *  2. a name with a size: a label without a size is often just a marker;
 *  3. a definition, before an import (see below), before a PLT entry;
 *  4. a global or weak name, before a local one;
 *  5. fewer leading underscores: people know write, which is weak in the
 *     C library, and not its global alias __write;
 *  6. a global name, before a weak one;
 *  7. a function before its resolver (STT_GNU_IFUNC); then table order.
 *
 * An undefined symbol with a value is a function of another module whose
 * address a program at a fixed address uses. The value is its PLT entry, which
 * all modules then use as the address of the function.
 */
#include "collector/names/elf_read.h"

#include <elf.h>
#include <errno.h>
#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/base/hex.h"
#include "collector/base/path.h"
#include "collector/names/elf_settle.h"
#include "collector/names/elf_stubs.h"
#include "collector/names/elf_twins.h"
#include "shared/compiler.h"
#include "shared/elf_note.h"
#include "shared/entry_build.h"

/* More than the largest browser, but small enough for memory. */
#define SYMBOLS_MAX (4u << 20)
#define STRING_BYTES_MAX (256u << 20)
#define DYNAMIC_BYTES_MAX (1u << 20)
#define NOTE_BYTES_MAX (64u << 10)
#define INTERPRETER_BYTES_MAX 4096
#define SEGMENTS_MAX 256
#define NAME_BYTES_MAX (1u << 20)

#define PLT_ENTRY_BYTES 16
#define FUNCTION_BYTES_MAX ((1u << 24) - 1)

static int fail_with(int err, const char *text, const char **why)
{
	*why = text;
	return err;
}

static int fail_libelf(const char **why)
{
	const char *text = elf_errmsg(-1);

	return fail_with(-EBADMSG, text ? text : "damaged", why);
}

static int open_elf(int fd, Elf **out, const char **why)
{
	Elf64_Ehdr header;
	ssize_t got = pread(fd, &header, sizeof(header), 0);
	int native = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB
							       : ELFDATA2MSB;

	if (got < 0)
		return fail_with(-errno, strerror(errno), why);
	if (got < SELFMAG || memcmp(header.e_ident, ELFMAG, SELFMAG))
		return fail_with(-ENOEXEC, "not an ELF file", why);
	if ((size_t)got < sizeof(header))
		return fail_with(-EBADMSG, "it ends within its ELF header",
				 why);
	if (header.e_ident[EI_CLASS] != ELFCLASS64 ||
	    header.e_ident[EI_DATA] != native)
		return fail_with(-ENOEXEC, "not an ELF file for this machine",
				 why);
	/* libelf trusts counts of sections or segments above 65,535 and
	 * allocates a table at once. Loaded programs do not need them. */
	if ((header.e_shoff && !header.e_shnum) || header.e_phnum == PN_XNUM)
		return fail_with(-EFBIG, "too many sections", why);
	elf_version(EV_CURRENT);
	*out = elf_begin(fd, ELF_C_READ, NULL);
	if (!*out)
		return fail_libelf(why);
	return 0;
}

/* Returns NULL for another type, or too large or incomplete data. */
static Elf_Data *section_data(Elf_Scn *section, GElf_Word type, uint64_t max,
			      size_t *strings)
{
	GElf_Shdr header;
	Elf_Data *data;

	if (!section || !gelf_getshdr(section, &header) ||
	    header.sh_type != type || header.sh_size > max)
		return NULL;
	*strings = header.sh_link;
	data = elf_getdata(section, NULL);
	return data && data->d_buf ? data : NULL;
}

struct table {
	Elf_Data *entries;
	const char *strings;
	size_t string_bytes;
	size_t count;
};

static bool read_string_table(Elf *elf, size_t index, uint64_t max,
			      struct table *out)
{
	size_t unused;
	Elf_Data *data =
		section_data(elf_getscn(elf, index), SHT_STRTAB, max, &unused);
	const char *end =
		data ? memrchr(data->d_buf, '\0', data->d_size) : NULL;

	if (!end)
		return false;
	out->strings = data->d_buf;
	out->string_bytes = (size_t)(end + 1 - out->strings);
	return true;
}

static bool read_section_table(Elf *elf, GElf_Word type, size_t entry_bytes,
			       uint64_t max, struct table *out)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	size_t link;

	do
		section = elf_nextscn(elf, section);
	while (section &&
	       (!gelf_getshdr(section, &header) || header.sh_type != type));
	out->entries = section_data(section, type, max, &link);
	if (!out->entries)
		return false;
	out->count = out->entries->d_size / entry_bytes;
	return read_string_table(elf, link, STRING_BYTES_MAX, out);
}

static const char *table_string(const struct table *table, uint64_t offset)
{
	return offset < table->string_bytes ? table->strings + offset : NULL;
}

static bool read_symbols(Elf *elf, GElf_Word type, struct table *out)
{
	return read_section_table(elf, type, sizeof(Elf64_Sym),
				  SYMBOLS_MAX * sizeof(Elf64_Sym), out);
}

#define BUILD_ID_TEXT 129

/* Reads the build-id and the note of an entry build. */
static void read_elf_notes(Elf *elf, uint64_t offset, uint64_t bytes,
			   char build_id[BUILD_ID_TEXT], bool *is_entry_build)
{
	struct elf_note note;
	uint64_t at = 0;
	Elf_Data *data;

	if (bytes > NOTE_BYTES_MAX)
		return;
	data = elf_getdata_rawchunk(elf, (int64_t)offset, bytes, ELF_T_BYTE);
	while (data && elf_note_next(data->d_buf, data->d_size, &at, &note)) {
		if (elf_note_is(&note, ELF_NOTE_GNU, NT_GNU_BUILD_ID) &&
		    note.desc_bytes <= (BUILD_ID_TEXT - 1) / 2 && !build_id[0])
			hex_text(note.desc, note.desc_bytes, build_id);
		if (elf_note_is(&note, ENTRY_NOTE_NAME, ENTRY_NOTE_TYPE))
			*is_entry_build = true;
	}
}

static int read_elf_segments(Elf *elf, struct elf_headers *out,
			     const char **why)
{
	size_t count = 0;
	GElf_Phdr header;

	if (elf_getphdrnum(elf, &count))
		return fail_libelf(why);
	count = MIN(count, SEGMENTS_MAX);
	out->segments = calloc(count + 1, sizeof(*out->segments));
	if (!out->segments)
		return fail_with(-ENOMEM, "not enough memory", why);
	for (size_t i = 0; i < count; i++) {
		if (!gelf_getphdr(elf, (int)i, &header))
			continue;
		if (header.p_type == PT_NOTE)
			read_elf_notes(elf, header.p_offset, header.p_filesz,
				       out->build_id, &out->is_instrumented);
		if (header.p_type == PT_LOAD) {
			out->segments[out->segment_count++] =
				(struct elf_segment){
					.offset = header.p_offset,
					.vaddr = header.p_vaddr,
					.bytes = header.p_filesz,
					.memory_bytes = header.p_memsz,
					.is_executable = header.p_flags & PF_X,
				};
		}
	}
	if (!out->segment_count)
		return fail_with(-EBADMSG, "it has no loadable segment", why);
	return 0;
}

static void read_needed_libraries(Elf *elf, struct elf_headers *out)
{
	static const char prefix[] = "libasan.so.";
	struct table dynamic;
	GElf_Dyn entry;

	if (!read_section_table(elf, SHT_DYNAMIC, sizeof(Elf64_Dyn),
				DYNAMIC_BYTES_MAX, &dynamic))
		return;
	/* out keeps it: NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
	for (size_t i = 0; i < dynamic.count; i++) {
		const char *name;

		if (!gelf_getdyn(dynamic.entries, (int)i, &entry) ||
		    entry.d_tag == DT_NULL)
			return;
		if (entry.d_tag != DT_NEEDED)
			continue;
		name = table_string(&dynamic, entry.d_un.d_val);
		if (name && !strncmp(name, prefix, sizeof(prefix) - 1) &&
		    strlen(name) < sizeof(out->asan))
			strcpy(out->asan, name);
	}
}

static bool has_hooks(Elf *elf)
{
	struct table symbols;
	GElf_Sym symbol;

	if (!read_symbols(elf, SHT_DYNSYM, &symbols))
		return false;
	for (size_t i = 0; i < symbols.count; i++) {
		const char *name;

		if (!gelf_getsym(symbols.entries, (int)i, &symbol) ||
		    symbol.st_shndx != SHN_UNDEF)
			continue;
		name = table_string(&symbols, symbol.st_name);
		if (name && !strcmp(name, "__cyg_profile_func_enter"))
			return true;
	}
	return false;
}

int elf_read_headers(int fd, struct elf_headers *out, const char **why)
{
	struct elf_headers headers = { 0 };
	Elf *elf = NULL;
	int err = open_elf(fd, &elf, why);

	if (err)
		return err;
	err = read_elf_segments(elf, &headers, why);
	if (!err) {
		read_needed_libraries(elf, &headers);
		headers.is_instrumented |= has_hooks(elf);
	}
	elf_end(elf);
	if (err)
		free(headers.segments);
	else
		*out = headers;
	return err;
}

static size_t copy_section(Elf *elf, const GElf_Shdr *section, char *out,
			   size_t max)
{
	Elf_Data *data;

	if (section->sh_type != SHT_PROGBITS || section->sh_size > max)
		return 0;
	data = elf_getdata_rawchunk(elf, (int64_t)section->sh_offset,
				    section->sh_size, ELF_T_BYTE);
	if (!data)
		return 0;
	memcpy(out, data->d_buf, data->d_size);
	return data->d_size;
}

/* Format: a name, zeros up to a multiple of four, a checksum. */
static void read_debug_link(Elf *elf, const GElf_Shdr *section,
			    struct elf_debug *out)
{
	char bytes[sizeof(out->link) + sizeof(out->link_crc)];
	size_t got = copy_section(elf, section, bytes, sizeof(bytes));
	size_t end = ALIGN_UP(strnlen(bytes, got) + 1, 4);

	if (got < 8 || end > got - sizeof(out->link_crc))
		return;
	memcpy(out->link, bytes, end);
	memcpy(&out->link_crc, bytes + end, sizeof(out->link_crc));
}

/* Format: a name with its NUL, then a build-id. */
static void read_alt_link(Elf *elf, const GElf_Shdr *section,
			  struct elf_debug *out)
{
	char bytes[sizeof(out->alt) + 64];
	size_t got = copy_section(elf, section, bytes, sizeof(bytes));
	size_t end = strnlen(bytes, got) + 1;

	if (end >= got || end > sizeof(out->alt) || got - end > 64)
		return;
	memcpy(out->alt, bytes, end);
	hex_text((const uint8_t *)bytes + end, got - end, out->alt_build_id);
}

static void read_debug_section(Elf *elf, const GElf_Shdr *section,
			       const char *name, struct elf_debug *out)
{
	bool is_there = section->sh_type != SHT_NOBITS && section->sh_size;
	bool unused = false;

	if (section->sh_type == SHT_NOTE)
		read_elf_notes(elf, section->sh_offset, section->sh_size,
			       out->build_id, &unused);
	else if (section->sh_type == SHT_SYMTAB)
		out->has_symbols = is_there;
	else if (!strcmp(name, ".debug_info") || !strcmp(name, ".zdebug_info"))
		out->has_lines = is_there;
	else if (!strcmp(name, ".gnu_debuglink"))
		read_debug_link(elf, section, out);
	else if (!strcmp(name, ".gnu_debugaltlink"))
		read_alt_link(elf, section, out);
	else if (!strcmp(name, ".gnu_debugdata") && is_there) {
		out->mini_offset = section->sh_offset;
		out->mini_bytes = section->sh_size;
	}
}

int elf_read_debug(int fd, struct elf_debug *out, const char **why)
{
	struct table names = { 0 };
	Elf *elf = NULL;
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	size_t index = 0;
	int err = open_elf(fd, &elf, why);

	if (err)
		return err;
	*out = (struct elf_debug){ 0 };
	if (elf_getshdrstrndx(elf, &index) ||
	    !read_string_table(elf, index, NAME_BYTES_MAX, &names))
		index = 0;
	while (index && (section = elf_nextscn(elf, section))) {
		const char *name;

		if (!gelf_getshdr(section, &header))
			continue;
		name = table_string(&names, header.sh_name);
		read_debug_section(elf, &header, name ? name : "", out);
	}
	elf_end(elf);
	return 0;
}

static bool find_section(Elf *elf, const GElf_Sym *symbol, GElf_Shdr *header)
{
	Elf_Scn *section = elf_getscn(elf, symbol->st_shndx);

	return section && gelf_getshdr(section, header) &&
	       symbol->st_value >= header->sh_addr &&
	       symbol->st_value - header->sh_addr < header->sh_size;
}

/* Assembly code often has no types. Tools make names with a dot or dollar:
 * marks of annobin, and of code and data of ARM. */
static bool is_label_of_code(Elf *elf, const GElf_Sym *symbol, const char *name)
{
	GElf_Shdr header;

	return GELF_ST_TYPE(symbol->st_info) == STT_NOTYPE && name[0] != '.' &&
	       name[0] != '$' && find_section(elf, symbol, &header) &&
	       header.sh_flags & SHF_EXECINSTR;
}

static uint32_t rank_of_symbol(const GElf_Sym *symbol, const char *name)
{
	uint32_t underscores = 0;
	uint32_t rank;

	while (underscores < 3 && name[underscores] == '_')
		underscores++;
	rank = underscores * ELF_RANK_UNDERSCORE;
	if (GELF_ST_TYPE(symbol->st_info) == STT_NOTYPE)
		rank |= ELF_RANK_LABEL;
	if (symbol->st_shndx == SHN_UNDEF)
		rank |= ELF_RANK_IMPORT;
	else if (!symbol->st_size)
		rank |= ELF_RANK_NO_SIZE;
	if (GELF_ST_BIND(symbol->st_info) == STB_LOCAL)
		rank |= ELF_RANK_LOCAL;
	if (GELF_ST_BIND(symbol->st_info) == STB_WEAK)
		rank |= ELF_RANK_WEAK;
	if (GELF_ST_TYPE(symbol->st_info) == STT_GNU_IFUNC)
		rank |= ELF_RANK_IFUNC;
	return rank;
}

typedef void symbol_adder(Elf *elf, const struct table *table,
			  const GElf_Sym *symbol, struct elf_functions *out);

static void add_object(Elf *elf, const struct table *table,
		       const GElf_Sym *symbol, struct elf_functions *out)
{
	const char *name = table_string(table, symbol->st_name);
	GElf_Shdr section;

	if (name && *name && GELF_ST_TYPE(symbol->st_info) == STT_OBJECT &&
	    symbol->st_size && find_section(elf, symbol, &section) &&
	    section.sh_flags & SHF_WRITE)
		out->list[out->count++] = (struct elf_function){
			.start = symbol->st_value,
			.size = MIN(symbol->st_size, FUNCTION_BYTES_MAX),
			.rank = rank_of_symbol(symbol, name),
			.name = (uint32_t)(out->string_bytes + symbol->st_name),
		};
}

static void add_elf_function(Elf *elf, const struct table *table,
			     const GElf_Sym *symbol, struct elf_functions *out)
{
	const char *name = table_string(table, symbol->st_name);
	int type = GELF_ST_TYPE(symbol->st_info);
	bool is_import = symbol->st_shndx == SHN_UNDEF;
	uint64_t size = symbol->st_size;
	GElf_Shdr section;

	if (!name || !*name || (is_import && !symbol->st_value) ||
	    (type != STT_FUNC && type != STT_GNU_IFUNC &&
	     !is_label_of_code(elf, symbol, name)))
		return;
	if (is_import)
		size = PLT_ENTRY_BYTES;
	else if (!size) /* may reach to the end of its section */
		size = find_section(elf, symbol, &section)
			       ? section.sh_size -
					 (symbol->st_value - section.sh_addr)
			       : 1;
	out->list[out->count++] = (struct elf_function){
		.start = symbol->st_value,
		.size = MIN(size, FUNCTION_BYTES_MAX),
		.rank = rank_of_symbol(symbol, name),
		.name = (uint32_t)(out->string_bytes + symbol->st_name),
	};
}

static void add_elf_symbols(Elf *elf, const struct table *table,
			    symbol_adder *add, struct elf_functions *out,
			    struct elf_file *files)
{
	const size_t first = out->count;
	struct elf_file file = { 0 };
	GElf_Sym symbol;

	for (size_t i = 0; i < table->count; i++) {
		if (!gelf_getsym(table->entries, (int)i, &symbol))
			continue;
		if (GELF_ST_TYPE(symbol.st_info) == STT_FILE &&
		    table_string(table, symbol.st_name))
			file = (struct elf_file){
				.name = (uint32_t)(out->string_bytes +
						   symbol.st_name),
				.number = file.number + 1,
			};
		files[out->count - first] = file;
		add(elf, table, &symbol, out);
	}
}

static int add_symbol_table(Elf *elf, GElf_Word type, symbol_adder *add,
			    struct elf_functions *out)
{
	const size_t first = out->count;
	struct table table;
	struct elf_file *files;
	void *grown;
	int err = 0;

	if (!read_symbols(elf, type, &table))
		return 0;
	grown = realloc(out->list,
			(out->count + table.count + 1) * sizeof(*out->list));
	if (!grown)
		return -ENOMEM;
	out->list = grown;
	grown = realloc(out->strings, out->string_bytes + table.string_bytes);
	if (!grown)
		return -ENOMEM;
	out->strings = grown;
	memcpy(out->strings + out->string_bytes, table.strings,
	       table.string_bytes);
	files = calloc(table.count + 1, sizeof(*files));
	if (!files)
		return -ENOMEM;
	add_elf_symbols(elf, &table, add, out, files);
	out->string_bytes += table.string_bytes;
	if (type == SHT_SYMTAB)
		err = elf_twins_name(elf, out, first, files);
	free(files);
	return err;
}

static int read_elf_names(int fd, int debug_fd, symbol_adder *add,
			  struct elf_functions *out, const char **why)
{
	struct elf_functions functions = { 0 };
	Elf *elf = NULL, *debug = NULL;
	const char *ignored;
	int err = open_elf(fd, &elf, why);
	bool is_whole;

	if (err)
		return err;
	if (debug_fd < 0) {
		err = add_symbol_table(elf, SHT_SYMTAB, add, &functions);
	} else if (!open_elf(debug_fd, &debug, &ignored)) {
		err = add_symbol_table(debug, SHT_SYMTAB, add, &functions);
		elf_end(debug);
	}
	is_whole = functions.count;
	if (!err)
		err = add_symbol_table(elf, SHT_DYNSYM, add, &functions);
	/* Other files count as files without symbols. */
	if (!err && functions.count && add == add_elf_function)
		err = elf_stubs_add(elf, &functions);
	elf_end(elf);
	if (err) {
		free(functions.list);
		free(functions.strings);
		return fail_with(err, "not enough memory", why);
	}
	elf_settle(fd, is_whole, &functions);
	*out = functions;
	return 0;
}

int elf_read_functions(int fd, int debug_fd, struct elf_functions *out,
		       const char **why)
{
	return read_elf_names(fd, debug_fd, add_elf_function, out, why);
}

int elf_read_objects(int fd, int debug_fd, struct elf_functions *out,
		     const char **why)
{
	return read_elf_names(fd, debug_fd, add_object, out, why);
}

/* ld.so has no interpreter either, but is no program. */
static bool is_pie(Elf *elf)
{
	struct table dynamic;
	GElf_Dyn entry;

	if (!read_section_table(elf, SHT_DYNAMIC, sizeof(Elf64_Dyn),
				DYNAMIC_BYTES_MAX, &dynamic))
		return false;
	for (size_t i = 0; i < dynamic.count; i++)
		if (gelf_getdyn(dynamic.entries, (int)i, &entry) &&
		    entry.d_tag == DT_FLAGS_1)
			return entry.d_un.d_val & DF_1_PIE;
	return false;
}

bool elf_is_of_other_libc(int fd)
{
	char path[INTERPRETER_BYTES_MAX + 1] = "";
	GElf_Phdr header = { .p_type = PT_NULL };
	const char *why;
	Elf *elf = NULL;
	size_t count = 0;
	bool is_other = false;

	elf_version(EV_CURRENT);
	if (open_elf(fd, &elf, &why))
		return false;
	elf_getphdrnum(elf, &count);
	for (size_t i = 0; i < MIN(count, SEGMENTS_MAX); i++)
		if (gelf_getphdr(elf, (int)i, &header) &&
		    header.p_type == PT_INTERP)
			break;
	if (header.p_type == PT_INTERP && header.p_filesz < sizeof(path) &&
	    pread(fd, path, header.p_filesz, (off_t)header.p_offset) > 0)
		/* Others have ld-musl-x86_64.so.1. */
		is_other = strncmp(path_name(path), "ld-linux", 8) != 0;
	elf_end(elf);
	return is_other;
}

bool elf_is_static(int fd)
{
	const char *why;
	Elf *elf = NULL;
	bool is_static = false;
	size_t count = 0;
	GElf_Phdr header;
	GElf_Ehdr file;

	elf_version(EV_CURRENT);
	if (open_elf(fd, &elf, &why))
		return false;
	if (gelf_getehdr(elf, &file) && !elf_getphdrnum(elf, &count))
		is_static = file.e_type == ET_EXEC || is_pie(elf);
	for (size_t i = 0; i < MIN(count, SEGMENTS_MAX); i++)
		if (gelf_getphdr(elf, (int)i, &header) &&
		    header.p_type == PT_INTERP)
			is_static = false;
	elf_end(elf);
	return is_static;
}
