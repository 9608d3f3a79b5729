/* SPDX-License-Identifier: Apache-2.0
 *
 * interpose_jump_find - the function that a module would have called, had we
 * not been in front of it.
 *
 * dlsym(RTLD_NEXT) sees what the program itself was linked with. A plugin that
 * was loaded with RTLD_LOCAL may bring a C++ runtime which only it and what it
 * needs can see, and two plugins may bring two. Taking the wrong one corrupts
 * an exception. What the dynamic linker would have chosen can be read off the
 * caller's own relocations: it is in the library to which it has bound the
 * caller's reference to another function of the same runtime, which we do not
 * interpose and which the caller has needed before it could call ours. Where
 * there is no such reference (an executable that is not position independent
 * refers to functions by addresses in itself), it is the first library that
 * defines the function: only the program and what it was linked with do
 * without, and they come first.
 *
 * Besides, dlsym() takes a lock and forgets what dlerror() was to say. This
 * reads what the dynamic linker has mapped and trusts.
 */
#include "preload/interpose_jump_find.h"

#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>

#include "shared/compiler.h"

struct dynamic {
	ElfW(Addr) base;
	const ElfW(Sym) * symbols;
	const char *names;
	const uint32_t *gnu_hash;
	const ElfW(Rela) * relocations[2]; /* of data and of calls */
	size_t bytes[2];
};

static void read_entry(const ElfW(Dyn) * entry, struct dynamic *dynamic)
{
	/* Where the section is read-only the pointers are still relative. */
	ElfW(Addr) pointer = entry->d_un.d_ptr < dynamic->base
				     ? entry->d_un.d_ptr + dynamic->base
				     : entry->d_un.d_ptr;
	const void *address = (const void *)pointer;

	switch (entry->d_tag) {
	case DT_SYMTAB:
		dynamic->symbols = address;
		break;
	case DT_STRTAB:
		dynamic->names = address;
		break;
	case DT_GNU_HASH:
		dynamic->gnu_hash = address;
		break;
	case DT_RELA:
		dynamic->relocations[0] = address;
		break;
	case DT_RELASZ:
		dynamic->bytes[0] = entry->d_un.d_val;
		break;
	case DT_JMPREL:
		dynamic->relocations[1] = address;
		break;
	case DT_PLTRELSZ:
		dynamic->bytes[1] = entry->d_un.d_val;
		break;
	}
}

static struct dynamic read_dynamic(const ElfW(Dyn) * entry, ElfW(Addr) base)
{
	struct dynamic dynamic = { .base = base };

	for (; entry->d_tag != DT_NULL; entry++)
		read_entry(entry, &dynamic);
	return dynamic;
}

/* The slot in which a reference to @name was resolved, or NULL. */
static void *const *find_slot(const struct dynamic *dynamic, const char *name)
{
	size_t table;

	for (table = 0; table < 2; table++) {
		const ElfW(Rela) *rela = dynamic->relocations[table];
		size_t i, count = rela ? dynamic->bytes[table] / sizeof(*rela)
				       : 0;

		for (i = 0; i < count; i++) {
			uint64_t symbol = ELF64_R_SYM(rela[i].r_info);

			if (symbol &&
			    !strcmp(dynamic->names +
					    dynamic->symbols[symbol].st_name,
				    name))
				return (void *const *)(dynamic->base +
						       rela[i].r_offset);
		}
	}
	return NULL;
}

static uint32_t gnu_hash(const char *name)
{
	uint32_t hash = 5381;

	for (; *name; name++)
		hash = hash * 33 + (unsigned char)*name;
	return hash;
}

/* An STT_GNU_IFUNC is a function that returns the one that is meant. */
static void *definition(const struct dynamic *dynamic, const ElfW(Sym) * symbol)
{
	void *address = (void *)(dynamic->base + symbol->st_value);

	if (ELF64_ST_TYPE(symbol->st_info) == STT_GNU_IFUNC)
		address = ((void *(*)(unsigned long))address)(
			getauxval(AT_HWCAP));
	return address;
}

/* DT_GNU_HASH: four words, a Bloom filter of words the size of an address,
 * buckets, and for each hashed symbol its hash, whose lowest bit ends a
 * bucket. */
static void *find_definition(const struct dynamic *dynamic, const char *name)
{
	const uint32_t *table = dynamic->gnu_hash, *buckets, *hashes;
	uint32_t hash = gnu_hash(name), i;

	if (!table || !table[0] || !dynamic->symbols)
		return NULL;
	buckets = table + 4 + table[2] * (sizeof(ElfW(Addr)) / 4);
	hashes = buckets + table[0] - table[1];
	i = buckets[hash % table[0]];
	if (!i)
		return NULL;
	for (;; i++) {
		const ElfW(Sym) *symbol = &dynamic->symbols[i];

		if ((hashes[i] | 1) == (hash | 1) &&
		    symbol->st_shndx != SHN_UNDEF &&
		    !strcmp(dynamic->names + symbol->st_name, name))
			return definition(dynamic, symbol);
		if (hashes[i] & 1)
			return NULL;
	}
}

static bool find_all(const struct dynamic *dynamic,
		     const struct jump_wanted *wanted,
		     void *functions[JUMP_FIND_MAX])
{
	size_t i;

	for (i = 0; i < JUMP_FIND_MAX; i++)
		functions[i] =
			wanted->names[i]
				? find_definition(dynamic, wanted->names[i])
				: NULL;
	return functions[0];
}

struct search {
	const struct jump_wanted *wanted;
	void **functions;
};

static int look_at(struct dl_phdr_info *module, size_t size, void *context)
{
	const struct search *search = context;
	const ElfW(Phdr) *header = module->dlpi_phdr;
	const ElfW(Phdr) *end = header + module->dlpi_phnum;
	struct dynamic dynamic = { .base = 0 };
	bool is_ours = false;

	(void)size;
	for (; header < end; header++) {
		ElfW(Addr) address = module->dlpi_addr + header->p_vaddr;

		if (header->p_type == PT_LOAD &&
		    (ElfW(Addr))look_at - address < header->p_memsz)
			is_ours = true;
		if (header->p_type == PT_DYNAMIC)
			dynamic = read_dynamic((const void *)address,
					       module->dlpi_addr);
	}
	return !is_ours && dynamic.symbols &&
	       find_all(&dynamic, search->wanted, search->functions);
}

/* The first library that has them. */
static void find_anywhere(const struct jump_wanted *wanted,
			  void *functions[JUMP_FIND_MAX])
{
	struct search search = { wanted, functions };

	dl_iterate_phdr(look_at, &search);
}

/* By the list that debuggers read, not by dl_iterate_phdr(): that may be a
 * sanitizer's, which allocates before it is ready to be called. */
void *interpose_find_next(const char *name)
{
	const struct link_map *map = _r_debug.r_map;
	void *function = NULL;

	for (; map && !function; map = map->l_next) {
		struct dynamic dynamic;

		if (map->l_ld == _DYNAMIC)
			continue;
		dynamic = read_dynamic(map->l_ld, map->l_addr);
		if (dynamic.symbols)
			function = find_definition(&dynamic, name);
	}
	return function;
}

/* The library to which @module has bound the function beside. */
static bool find_beside(const struct dl_find_object *module,
			const struct jump_wanted *wanted,
			struct jump_found *found)
{
	const struct link_map *map = module->dlfo_link_map;
	struct dynamic dynamic = read_dynamic(map->l_ld, map->l_addr);
	struct dl_find_object runtime;

	found->end = module->dlfo_map_end;
	found->eh_frame = module->dlfo_eh_frame;
	found->slot = find_slot(&dynamic, wanted->beside);
	if (!found->slot)
		return false;
	found->bound = *found->slot;
	if (_dl_find_object(found->bound, &runtime))
		return false;
	map = runtime.dlfo_link_map;
	dynamic = read_dynamic(map->l_ld, map->l_addr);
	return find_all(&dynamic, wanted, found->functions);
}

/*
 * Where a module was unloaded there may be another one; if it looks the same
 * in all this and is bound to the same runtime, it is as good.
 */
static bool is_for(const struct jump_cache_entry *entry,
		   const struct dl_find_object *module)
{
	return entry->map == module->dlfo_link_map &&
	       entry->start == module->dlfo_map_start &&
	       entry->found.end == module->dlfo_map_end &&
	       entry->found.eh_frame == module->dlfo_eh_frame &&
	       *entry->found.slot == entry->found.bound;
}

static bool load(const struct jump_cache_entry *entry,
		 const struct dl_find_object *module, struct jump_found *found)
{
	if (!is_for(entry, module))
		return false;
	*found = entry->found;
	/* A signal handler may have stored another module's meanwhile. */
	__asm__ volatile("" ::: "memory");
	return is_for(entry, module);
}

/* Of a handler that stores another module's in between, start or map stay:
 * the entry is nobody's then. */
static void store(struct jump_cache_entry *entry,
		  const struct dl_find_object *module,
		  const struct jump_found *found)
{
	entry->map = NULL;
	__asm__ volatile("" ::: "memory");
	entry->start = module->dlfo_map_start;
	__asm__ volatile("" ::: "memory");
	entry->found = *found;
	__asm__ volatile("" ::: "memory");
	entry->map = module->dlfo_link_map;
}

void jump_find(struct jump_cache *cache, const struct jump_wanted *wanted,
	       const void *return_address, void *functions[JUMP_FIND_MAX])
{
	struct jump_cache_entry *entry;
	struct dl_find_object module;
	struct jump_found found;

	functions[0] = functions[1] = NULL;
	if (_dl_find_object((void *)return_address, &module)) {
		find_anywhere(wanted, functions);
		return;
	}
	entry = &cache->entries[(uintptr_t)module.dlfo_link_map / 64 %
				JUMP_CACHE_ENTRIES];
	if (!load(entry, &module, &found)) {
		if (!find_beside(&module, wanted, &found)) {
			find_anywhere(wanted, functions);
			return;
		}
		store(entry, &module, &found);
	}
	memcpy(functions, found.functions, sizeof(found.functions));
}
