/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/core/elf_tables.h"

#include <stdbool.h>
#include <string.h>

#include "shared/compiler.h"

/* Flag of a symbol's version: dlsym() skips hidden versions. */
#define VERSION_HIDDEN 0x8000
/* Lower numbers mean "no version". */
#define VERSION_FIRST 2

/* The dynamic linker makes most pointers of a dynamic section absolute, but not
 * those of the vDSO or of a read-only section. */
static const void *absolute(ElfW(Addr) pointer, ElfW(Addr) base)
{
	return (const void *)(pointer < base ? pointer + base : pointer);
}

static void read_entry(struct elf_tables *tables, const ElfW(Dyn) * entry)
{
	const void *address = absolute(entry->d_un.d_ptr, tables->base);

	switch (entry->d_tag) {
	case DT_SYMTAB:
		tables->symbols = address;
		break;
	case DT_STRTAB:
		tables->names = address;
		break;
	case DT_STRSZ:
		tables->name_bytes = entry->d_un.d_val;
		break;
	case DT_GNU_HASH:
		tables->gnu_hash = address;
		break;
	case DT_HASH:
		tables->sysv_hash = address;
		break;
	case DT_VERSYM:
		tables->versions = address;
		break;
	case DT_VERDEF:
		tables->version_names = address;
		break;
	case DT_VERNEED:
		tables->needed_versions = address;
		break;
	case DT_SYMBOLIC:
		tables->is_symbolic = true;
		break;
	case DT_BIND_NOW:
		tables->is_bound = true;
		break;
	case DT_TEXTREL:
		tables->has_text_relocations = true;
		break;
	case DT_FLAGS:
		tables->has_text_relocations |=
			(entry->d_un.d_val & DF_TEXTREL) != 0;
		tables->is_symbolic |= (entry->d_un.d_val & DF_SYMBOLIC) != 0;
		tables->is_bound |= (entry->d_un.d_val & DF_BIND_NOW) != 0;
		break;
	case DT_FLAGS_1:
		tables->is_bound |= (entry->d_un.d_val & DF_1_NOW) != 0;
		break;
	case DT_RELA:
		tables->relocations[0] = address;
		break;
	case DT_RELASZ:
		tables->bytes[0] = entry->d_un.d_val;
		break;
	case DT_JMPREL:
		tables->relocations[1] = address;
		break;
	case DT_PLTRELSZ:
		tables->bytes[1] = entry->d_un.d_val;
		break;
	}
}

void elf_tables_read(struct elf_tables *tables, const ElfW(Dyn) * entry,
		     ElfW(Addr) base)
{
	const ElfW(Dyn) *soname = NULL;

	*tables = (struct elf_tables){ .base = base };
	for (; entry->d_tag != DT_NULL; entry++) {
		read_entry(tables, entry);
		if (entry->d_tag == DT_SONAME)
			soname = entry;
	}
	if (soname && tables->names)
		tables->soname = tables->names + soname->d_un.d_val;
}

void elf_tables_of(struct elf_tables *tables, const struct link_map *map)
{
	elf_tables_read(tables, map->l_ld, map->l_addr);
}

size_t elf_tables_symbol_bytes(const struct elf_tables *tables)
{
	const void *const others[] = {
		tables->names,	  tables->gnu_hash,	  tables->sysv_hash,
		tables->versions, tables->relocations[0], tables->relocations[1]
	};
	uintptr_t begin = (uintptr_t)tables->symbols, end = UINTPTR_MAX;

	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		if ((uintptr_t)others[i] > begin)
			end = MIN(end, (uintptr_t)others[i]);
	return end == UINTPTR_MAX ? 0 : end - begin;
}

void *const *elf_tables_slot(const struct elf_tables *tables, const char *name)
{
	if (!tables->symbols || !tables->names)
		return NULL;
	for (size_t table = 0; table < 2; table++) {
		const ElfW(Rela) *rela = tables->relocations[table];
		size_t count = rela ? tables->bytes[table] / sizeof(*rela) : 0;

		for (size_t i = 0; i < count; i++) {
			uint64_t symbol = ELF64_R_SYM(rela[i].r_info);

			if (symbol &&
			    !strcmp(tables->names +
					    tables->symbols[symbol].st_name,
				    name))
				return (void *const *)(tables->base +
						       rela[i].r_offset);
		}
	}
	return NULL;
}

/* --- definitions ---------------------------------------------------------- */

static uint32_t hash_gnu(const char *name)
{
	uint32_t hash = 5381;

	for (; *name; name++)
		hash = hash * 33 + (unsigned char)*name;
	return hash;
}

static uint32_t hash_sysv(const char *name)
{
	uint32_t hash = 0;

	for (; *name; name++) {
		hash = (hash << 4) + (unsigned char)*name;
		hash = (hash ^ (hash >> 24 & 0xf0)) & 0x0fffffff;
	}
	return hash;
}

static const char *version_name(const struct elf_tables *tables, uint32_t i)
{
	const char *at = (const char *)tables->version_names;
	const ElfW(Verdef) * version;
	uint16_t number;

	if (!tables->versions || !at)
		return NULL;
	number = tables->versions[i] & ~VERSION_HIDDEN;
	if (number < VERSION_FIRST)
		return NULL;
	do {
		version = (const void *)at;
		if (version->vd_ndx == number)
			return tables->names +
			       ((const ElfW(Verdaux) *)(at + version->vd_aux))
				       ->vda_name;
		at += version->vd_next;
	} while (version->vd_next);
	return NULL;
}

/* True for the default of a name, and for version @version. */
static bool is_version(const struct elf_tables *tables, uint32_t i,
		       const char *version)
{
	const char *name;

	if (!tables->versions || !(tables->versions[i] & VERSION_HIDDEN))
		return true;
	name = version ? version_name(tables, i) : NULL;
	return name && !strcmp(name, version);
}

struct wanted {
	const char *name, *version;
	bool is_tls; /* a thread-local variable, whose value may be 0 */
	bool is_exact; /* as the dynamic linker: elf_tables_find_exact() */
};

static bool is_wanted_version(const struct elf_tables *tables, uint32_t i,
			      const struct wanted *wanted)
{
	const char *name;

	if (!wanted->is_exact)
		return is_version(tables, i, wanted->version);
	if (!wanted->version)
		return !tables->versions ||
		       (tables->versions[i] & ~VERSION_HIDDEN) <= VERSION_FIRST;
	name = version_name(tables, i);
	if (name)
		return !strcmp(name, wanted->version);
	return !tables->versions || !(tables->versions[i] & VERSION_HIDDEN);
}

static bool defines(const struct elf_tables *tables, uint32_t i,
		    const struct wanted *wanted)
{
	const ElfW(Sym) *symbol = &tables->symbols[i];
	bool is_tls = ELF64_ST_TYPE(symbol->st_info) == STT_TLS;

	return symbol->st_shndx != SHN_UNDEF && is_tls == wanted->is_tls &&
	       (is_tls || symbol->st_value) &&
	       !strcmp(tables->names + symbol->st_name, wanted->name) &&
	       is_wanted_version(tables, i, wanted);
}

/* DT_GNU_HASH: four header words, a Bloom filter of address-sized words,
 * buckets, and a hash for each hashed symbol. The lowest bit of a hash ends its
 * bucket. Returns the symbol's index, or 0. */
static uint32_t find_gnu(const struct elf_tables *tables,
			 const struct wanted *wanted)
{
	const uint32_t *table = tables->gnu_hash, *buckets, *hashes;
	uint32_t hash = hash_gnu(wanted->name);

	if (!table[0])
		return 0;
	buckets = table + 4 + table[2] * (sizeof(ElfW(Addr)) / 4);
	hashes = buckets + table[0] - table[1];
	for (uint32_t i = buckets[hash % table[0]]; i; i++) {
		if ((hashes[i] | 1) == (hash | 1) && defines(tables, i, wanted))
			return i;
		if (hashes[i] & 1)
			break;
	}
	return 0;
}

/* DT_HASH: number of buckets, number of symbols, buckets, and for each symbol
 * the next one of its bucket. Returns the symbol's index, or 0. */
static uint32_t find_sysv(const struct elf_tables *tables,
			  const struct wanted *wanted)
{
	const uint32_t *table = tables->sysv_hash, *buckets, *next;

	if (!table[0])
		return 0;
	buckets = table + 2;
	next = buckets + table[0];
	for (uint32_t i = buckets[hash_sysv(wanted->name) % table[0]]; i;
	     i = next[i])
		if (defines(tables, i, wanted))
			return i;
	return 0;
}

#if defined(__aarch64__)
/* The CPU's features, in the form that resolvers read. While all zero
 * (unknown), a resolver chooses a function that runs on any CPU. */
static struct {
	unsigned long size, hwcap, hwcap2;
} g_cpu = { .size = sizeof(g_cpu) };

void elf_tables_set_cpu(unsigned long hwcap, unsigned long hwcap2)
{
	g_cpu.hwcap = hwcap;
	g_cpu.hwcap2 = hwcap2;
}

/* Calls @resolver as the dynamic linker does. */
void *elf_tables_resolve(void *resolver)
{
	const uint64_t has_argument = 1ULL << 62;

	return ((void *(*)(uint64_t, const void *))resolver)(
		g_cpu.hwcap | has_argument, &g_cpu);
}
#else
void *elf_tables_resolve(void *resolver)
{
	return ((void *(*)(void))resolver)();
}
#endif

static uint32_t find_wanted(const struct elf_tables *tables,
			    const struct wanted *wanted)
{
	if (!tables->symbols || !tables->names)
		return 0;
	if (tables->gnu_hash)
		return find_gnu(tables, wanted);
	return tables->sysv_hash ? find_sysv(tables, wanted) : 0;
}

static uint32_t find_symbol(const struct elf_tables *tables, const char *name,
			    const char *version)
{
	const struct wanted wanted = { .name = name, .version = version };

	return find_wanted(tables, &wanted);
}

void *elf_tables_find_version(const struct elf_tables *tables, const char *name,
			      const char *version)
{
	uint32_t i = find_symbol(tables, name, version);
	const ElfW(Sym) * symbol;
	void *address;

	if (!i)
		return NULL;
	symbol = &tables->symbols[i];
	address = (void *)(tables->base + symbol->st_value);
	return ELF64_ST_TYPE(symbol->st_info) == STT_GNU_IFUNC
		       ? elf_tables_resolve(address)
		       : address;
}

const ElfW(Sym) * elf_tables_find_exact(const struct elf_tables *tables,
					const char *name, const char *version)
{
	const struct wanted wanted = { .name = name,
				       .version = version,
				       .is_exact = true };
	uint32_t i = find_wanted(tables, &wanted);

	return i ? &tables->symbols[i] : NULL;
}

const char *elf_tables_needed_version(const struct elf_tables *tables,
				      uint32_t i)
{
	const char *file = (const char *)tables->needed_versions;
	const uint16_t number =
		tables->versions ? tables->versions[i] & ~VERSION_HIDDEN : 0;

	while (file && number >= VERSION_FIRST) {
		const ElfW(Verneed) *need = (const void *)file;
		const char *at = file + need->vn_aux;

		for (uint16_t j = 0; j < need->vn_cnt; j++) {
			const ElfW(Vernaux) *version = (const void *)at;

			if (version->vna_other == number)
				return tables->names + version->vna_name;
			at += version->vna_next;
		}
		file = need->vn_next ? file + need->vn_next : NULL;
	}
	return NULL;
}

void *elf_tables_find(const struct elf_tables *tables, const char *name)
{
	return elf_tables_find_version(tables, name, NULL);
}

const char *elf_tables_version(const struct elf_tables *tables,
			       const char *name)
{
	uint32_t i = find_symbol(tables, name, NULL);

	return i ? version_name(tables, i) : NULL;
}

const ElfW(Sym) *
	elf_tables_find_tls(const struct elf_tables *tables, const char *name)
{
	const struct wanted wanted = { .name = name, .is_tls = true };
	uint32_t i = find_wanted(tables, &wanted);

	return i ? &tables->symbols[i] : NULL;
}
