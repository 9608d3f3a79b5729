/* SPDX-License-Identifier: Apache-2.0
 *
 * thunk_map - a call reaches 2 GiB. Libraries lie together, and the program
 * lies far from them, so that there are two mappings, mostly.
 *
 * Nothing is ever mapped over what is there: a place is asked for with
 * MAP_FIXED_NOREPLACE, and if it is taken, another one is tried. Below a module
 * comes first, since a program's heap grows above it. Only text calls, so that
 * data of any size may lie beside it.
 *
 * The descriptor of the area is closed after the hello. What is mapped later is
 * another mapping of the same pages, which mremap(2) makes of a size of 0.
 */
#include "preload/load/thunk_map.h"

#include <link.h>
#include <stddef.h>
#include <sys/mman.h>

#include "preload/core/gate.h"
#include "preload/core/libc.h"
#include "preload/core/sys.h"
#include "preload/load/module.h"
#include "shared/atomic.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif
#define MIB ((uint64_t)1 << 20)
/* What a call reaches, less something. */
#define REACH ((uint64_t)(1 << 30) * 2 - MIB)
/* Nothing is mapped lower. */
#define LOWEST ((uint64_t)1 << 20)

static struct {
	uint64_t map[THUNK_MAPS]; /* 0: none; the first ones are used */
	struct thunk_shim *page; /* where they are published; or NULL */
	uint32_t *use; /* enum thunks_use, published with them */
	int32_t pid; /* of the process that they belong to */
} g_thunks;

static bool reaches(uint64_t map, uint64_t start, uint64_t end)
{
	uint64_t low = MIN(map, start);
	uint64_t high =
		map + THUNK_AREA_BYTES > end ? map + THUNK_AREA_BYTES : end;

	return high - low <= REACH;
}

/* Map the area at @at exactly. False if that place is taken. @fd is -1 once the
 * area's descriptor is closed. */
static bool map_at(int fd, uint64_t at)
{
	long got = fd >= 0 ? sys(SYS_mmap, at, THUNK_AREA_BYTES,
				 PROT_READ | PROT_EXEC,
				 MAP_SHARED | MAP_FIXED_NOREPLACE, fd, 0)
			   : sys(SYS_mmap, at, THUNK_AREA_BYTES, PROT_NONE,
				 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE |
					 MAP_FIXED_NOREPLACE,
				 -1, 0);

	if (sys_failed(got))
		return false;
	/* A kernel that does not know the flag maps where it likes. */
	if ((uint64_t)got == at &&
	    (fd >= 0 || sys(SYS_mremap, g_thunks.map[0], 0, THUNK_AREA_BYTES,
			    MREMAP_MAYMOVE | MREMAP_FIXED, at) == got)) {
		sys(SYS_madvise, got, THUNK_AREA_BYTES, MADV_DONTDUMP);
		return true;
	}
	sys(SYS_munmap, got, THUNK_AREA_BYTES);
	return false;
}

/* A free place in reach of the text from @start to @end, where the area is
 * mapped now; or 0. */
static uint64_t map_around(int fd, uint64_t start, uint64_t end)
{
	static const uint64_t gaps[] = { MIB, 32 * MIB, 256 * MIB, 1024 * MIB };
	uint64_t at;

	for (size_t i = 0; i < sizeof(gaps) / sizeof(gaps[0]); i++) {
		if (start < LOWEST + THUNK_AREA_BYTES + gaps[i])
			break;
		at = start - THUNK_AREA_BYTES - gaps[i];
		if (reaches(at, start, end) && map_at(fd, at))
			return at;
	}
	/* A program at a fixed address has no room below. Far above is out of
	 * the way of its heap; not at the end of reach, where the shadow of
	 * AddressSanitizer begins (0x7fff8000). Its own data may lie there. */
	for (uint64_t gap = 32 * MIB; gap + THUNK_AREA_BYTES < REACH;
	     gap += 64 * MIB) {
		at = (start + REACH - THUNK_AREA_BYTES - gap) & -PAGE_BYTES_MAX;
		if (at >= end && reaches(at, start, end) && map_at(fd, at))
			return at;
	}
	return 0;
}

static void map_near(int fd, uint64_t start, uint64_t end)
{
	unsigned int i;

	if (start >= end)
		return; /* a module without text */
	for (i = 0; i < THUNK_MAPS && g_thunks.map[i]; i++)
		if (reaches(g_thunks.map[i], start, end))
			return;
	if (i == THUNK_MAPS)
		return;
	g_thunks.map[i] = map_around(fd, start, end);
	if (g_thunks.page)
		/* relaxed: mapped by the kernel before; who reads it
		 * writes by the kernel, too */
		atom_store_rlx(&g_thunks.page->map[i], g_thunks.map[i]);
}

static int visit_module(struct dl_phdr_info *info, size_t size, void *fd)
{
	struct module module;

	(void)size;
	if (module_describe(info->dlpi_addr, info->dlpi_phdr, info->dlpi_phnum,
			    info->dlpi_name, &module))
		map_near(*(int *)fd, module.text_start, module.text_end);
	return 0;
}

bool thunk_map_begin(int fd)
{
	/* The kernel puts it below what was mapped last: the libraries. */
	long first = sys(SYS_mmap, 0, THUNK_AREA_BYTES, PROT_READ | PROT_EXEC,
			 MAP_SHARED, fd, 0);

	if (sys_failed(first))
		return false;
	sys(SYS_madvise, first, THUNK_AREA_BYTES, MADV_DONTDUMP);
	g_thunks.map[0] = (uint64_t)first;
	libc()->iterate_phdr(visit_module, &fd);
	return true;
}

void thunk_map_end(void)
{
	g_thunks.page = NULL;
	for (unsigned int i = 0; i < THUNK_MAPS && g_thunks.map[i]; i++) {
		sys(SYS_munmap, g_thunks.map[i], THUNK_AREA_BYTES);
		g_thunks.map[i] = 0;
	}
}

void thunk_map_give_back(void)
{
	uint64_t at;

	if (!g_thunks.page)
		return;
	/* order: sc, THUNKS: from then on nobody comes to use them */
	if (!atom_cas_sc(g_thunks.use, THUNKS_FREE, THUNKS_GONE) &&
	    /* relaxed: GONE stays; a parent may have said it for all */
	    atom_load_rlx(g_thunks.use) != THUNKS_GONE)
		return;
	for (unsigned int i = 0; i < THUNK_MAPS; i++) {
		/* order: sc, THUNKS: of two threads, one unmaps it */
		at = atom_xchg_sc(&g_thunks.map[i], 0);
		if (at)
			sys(SYS_munmap, at, THUNK_AREA_BYTES);
	}
}

bool thunk_map_publish(struct page_shm *shared)
{
	struct thunk_shim *page = &shared->thunks;

	if (!g_thunks.map[0])
		return false;
	for (unsigned int i = 0; i < THUNK_MAPS; i++)
		/* relaxed: the hello comes after it */
		atom_store_rlx(&page->map[i], g_thunks.map[i]);
	g_thunks.pid = (int32_t)sys(SYS_getpid);
	g_thunks.use = &shared->thunks_use;
	g_thunks.page = page;
	return true;
}

void thunk_map_near(uint64_t start, uint64_t end)
{
	/* relaxed: without the first mapping there is nothing to map again */
	if (g_thunks.page && atom_load_rlx(&g_thunks.map[0]) &&
	    g_shim.pid == g_thunks.pid && !g_shim.no_syscalls)
		map_near(-1, start, end);
}

const struct thunk_mode *thunk_map_mode(uint32_t number)
{
	static const struct thunk_mode none = { .path = THUNK_COUNT };
	/* relaxed: it is not unmapped while functions call thunks */
	uint64_t map = atom_load_rlx(&g_thunks.map[0]);
	const struct thunk_mode *modes =
		(const struct thunk_mode *)(map + THUNK_MODES);

	return map && number < FUNCTIONS_MAX ? modes + number : &none;
}
