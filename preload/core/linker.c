/* SPDX-License-Identifier: Apache-2.0
 *
 * linker - finds the dynamic linker in memory, without a symbol.
 *
 * If the program defines a symbol, all references bind there, even the shim's.
 * So the shim has none; it finds functions of the C library in that library's
 * symbol table (libc.c), by the list of loaded modules. The head of this list
 * is a symbol of the dynamic linker.
 *
 * A relocation without a symbol yields an address inside the dynamic linker: a
 * TLS descriptor (linker_x86_64.S). The ELF header is below it, on a page
 * boundary. IFUNC resolvers may call the shim before it is relocated; then
 * /proc/self/auxv has AT_BASE. That is the second choice: it takes system
 * calls, and lacks a dynamic linker that was started as a program.
 */
#include "preload/core/linker.h"

#include <fcntl.h>
#include <stddef.h>
#include <string.h>

#include "preload/core/elf_tables.h"
#include "preload/core/sys.h"

/* The ELF header lies on a page boundary (of the smallest page size), fewer
 * than PAGES_MAX pages below the linker's code. */
#define PAGE_BYTES 4096
#define PAGES_MAX 4096

const void *linker_text(void);

/* <link.h> declares it in a form that needs a symbol. */
extern const ElfW(Dyn) g_dynamic[] __asm__("_DYNAMIC")
	__attribute__((visibility("hidden")));

#if defined(__aarch64__)
/* Segments may be aligned to more than a page, with unmapped gaps between them.
 * rt_sigprocmask() with an invalid operation reads the set, then fails and
 * changes nothing. */
static bool is_readable(const void *page)
{
	return sys(SYS_rt_sigprocmask, -1, page, 0, KERNEL_SIGSET_BYTES) !=
	       -14 /* EFAULT */;
}
#else
/* Segments have no gaps between them. */
static bool is_readable(const void *page)
{
	(void)page;
	return true;
}
#endif

/* Points to itself only after the dynamic linker has relocated the shim. */
static const void *const volatile g_self = (const void *)&g_self;

bool linker_has_relocated(void)
{
	return g_self == (const void *)&g_self;
}

/* Returns the base of the dynamic linker from AT_BASE; NULL if unknown. */
static const void *linker_base(void)
{
	ElfW(auxv_t) entry = { .a_type = AT_NULL };
	const void *base = NULL;
	long fd = sys(SYS_openat, AT_FDCWD, "/proc/self/auxv",
		      O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return NULL;
	while (!base &&
	       sys(SYS_read, fd, &entry, sizeof(entry)) == sizeof(entry))
		if (entry.a_type == AT_BASE)
			base = (const void *)entry.a_un.a_val;
	sys(SYS_close, fd);
	return base;
}

static const ElfW(Ehdr) * find_header(const void *text)
{
	const char *page = (const char *)((uintptr_t)text & -PAGE_BYTES);

	for (int i = 0; i < PAGES_MAX; i++, page -= PAGE_BYTES) {
		const ElfW(Ehdr) *header = (const void *)page;

		if (is_readable(page) &&
		    !memcmp(header->e_ident, ELFMAG, SELFMAG) &&
		    header->e_type == ET_DYN &&
		    header->e_phentsize == sizeof(ElfW(Phdr)))
			return header;
	}
	return NULL;
}

bool linker_tables(struct elf_tables *tables)
{
	const void *inside =
		linker_has_relocated() ? linker_text() : linker_base();
	const ElfW(Ehdr) *header = inside ? find_header(inside) : NULL;
	ElfW(Addr) base = (ElfW(Addr))header;
	const ElfW(Phdr) * segment;

	if (!header)
		return false;
	segment = (const void *)(base + header->e_phoff);
	for (size_t i = 0; i < header->e_phnum; i++, segment++)
		if (segment->p_type == PT_DYNAMIC) {
			elf_tables_read(tables,
					(const void *)(base + segment->p_vaddr),
					base);
			return true;
		}
	return false;
}

/* dlmopen() makes further namespaces; the shim may be in any. */
static const struct link_map *find_shim_in(const struct r_debug *space)
{
	const struct link_map *map;

	while (space) {
		for (map = space->r_map; map; map = map->l_next)
			if (map->l_ld == g_dynamic)
				return map;
		if (space->r_version < 2)
			break;
		space = (const struct r_debug
				 *)((const struct r_debug_extended *)space)
				->r_next;
	}
	return NULL;
}

/* musl has a pointer there. */
const struct r_debug *linker_debug(void)
{
	struct elf_tables tables;
	const struct r_debug *debug, **pointer;

	if (!linker_tables(&tables))
		return NULL;
	debug = elf_tables_find(&tables, "_r_debug");
	if (debug)
		return debug;
	pointer = elf_tables_find(&tables, "_dl_debug_addr");
	return pointer ? *pointer : NULL;
}

bool linker_is_done(void)
{
	const struct r_debug *debug = linker_debug();

	return debug && debug->r_map && debug->r_state == RT_CONSISTENT;
}

const struct link_map *linker_shim(void)
{
	static const struct link_map *shim;

	/* Racing threads store the same value. */
	if (!shim)
		shim = find_shim_in(linker_debug());
	return shim;
}

const struct link_map *linker_first(void)
{
	const struct link_map *map = linker_shim();

	while (map && map->l_prev)
		map = map->l_prev;
	return map;
}

const struct link_map *linker_libc(void)
{
	const struct link_map *map = linker_first();
	struct elf_tables tables;

	for (; map; map = map->l_next) {
		elf_tables_of(&tables, map);
		if (tables.soname && !strcmp(tables.soname, "libc.so.6"))
			return map;
	}
	return NULL;
}
