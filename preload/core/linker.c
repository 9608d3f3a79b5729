/* SPDX-License-Identifier: Apache-2.0
 *
 * linker - if a program defines a symbol, all references to it go there, those
 * of the shim, too. So the shim has no such references. It looks up what it
 * needs of the C library in that library's own table (libc.c). For that it
 * needs the list of loaded modules. The head of the list is a symbol of the
 * dynamic linker, so the shim must find the dynamic linker in memory.
 *
 * A relocation that names no symbol gives an address inside it: a TLS
 * descriptor (linker_x86_64.S). Walking down from there by pages comes to its
 * ELF header. Before the shim is relocated (IFUNC resolvers of libraries that
 * are relocated first may call it) there is the kernel's auxiliary vector:
 * AT_BASE, read from /proc. It is only the second choice: reading it takes
 * system calls, and a dynamic linker that was started as a program is not in
 * it.
 */
#include "preload/core/linker.h"

#include <fcntl.h>
#include <stddef.h>
#include <string.h>

#include "preload/core/elf_tables.h"
#include "preload/core/sys.h"

/* The ELF header of the dynamic linker lies at the start of a page (of the
 * smallest size that there is), less than so many pages below its code. */
#define PAGE_BYTES 4096
#define PAGES_MAX 4096

const void *linker_text(void);

/* Hidden: as <link.h> declares it, it would take a relocation by a symbol. */
extern const ElfW(Dyn) g_dynamic[] __asm__("_DYNAMIC")
	__attribute__((visibility("hidden")));

#if defined(__aarch64__)
/* Segments may be aligned to larger pages than there are, with nothing mapped
 * in between. So this asks the kernel for an operation that does not exist: it
 * reads the set first, then fails, and changes nothing. */
static bool is_readable(const void *page)
{
	return sys(SYS_rt_sigprocmask, -1, page, 0, KERNEL_SIGSET_BYTES) !=
	       -14 /* EFAULT */;
}
#else
/* Segments lie side by side. */
static bool is_readable(const void *page)
{
	(void)page;
	return true;
}
#endif

/* Before the dynamic linker has relocated the shim it does not point to
 * itself. */
static const void *const volatile g_self = (const void *)&g_self;

bool linker_has_relocated(void)
{
	return g_self == (const void *)&g_self;
}

/* Where the kernel says that it mapped the dynamic linker; or NULL. */
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

/* The ELF header in front of @text. */
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

/* In which namespace we are is not known: dlmopen() makes further ones. */
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

/* What the dynamic linker keeps for debuggers; musl's has a pointer to it. */
static const struct r_debug *find_debug(void)
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
	const struct r_debug *debug = find_debug();

	return debug && debug->r_map && debug->r_state == RT_CONSISTENT;
}

const struct link_map *linker_shim(void)
{
	static const struct link_map *shim;

	/* Threads that look at the same time find the same. */
	if (!shim)
		shim = find_shim_in(find_debug());
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
