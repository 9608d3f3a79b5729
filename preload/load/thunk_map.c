/* SPDX-License-Identifier: Apache-2.0
 *
 * thunk_map - maps the thunk area near all modules. A call reaches 2 GiB.
 * Libraries lie together, far from the program, so two mappings mostly suffice.
 *
 * MAP_FIXED_NOREPLACE never replaces a mapping; if a place is in use, the next
 * one is tried. Places below a module come first, because the program's heap
 * grows above it. Only text has calls, so data of any size may lie in between.
 *
 * The area's descriptor is closed after hello. Later mappings map the pages of
 * the first one again, by mremap(2) with an old size of 0.
 */
#include "preload/load/thunk_map.h"

#include <link.h>
#include <stddef.h>
#include <sys/mman.h>

#include "preload/core/gate.h"
#include "preload/core/libc.h"
#include "preload/core/sys.h"
#include "preload/core/thread_asm.h"
#include "preload/load/module.h"
#include "preload/load/thunk_image.h"
#include "shared/atomic.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif
#define MIB ((uint64_t)1 << 20)
/* Reach of a call, with a margin. */
#define REACH ((uint64_t)(1 << 30) * 2 - MIB)
#define LOWEST ((uint64_t)1 << 20)

static struct {
	uint64_t map[THUNK_MAPS]; /* 0: none */
	uint64_t bytes; /* of each */
	uint32_t functions;
	struct thunk_shim *page; /* published here; or NULL */
	uint32_t *use; /* enum thunks_use, in the same page */
	int32_t pid; /* the process that published them */
} g_thunks;

const struct thunk_mode *g_thunk_modes;
uint64_t g_thunk_code_bytes;

_Static_assert(1 << MOVED_BYTES_SHIFT == THUNK_BYTES &&
		       MOVED_RECORD == THUNK_MOVED_RECORD &&
		       MOVED_ENTERED == THUNK_MOVED_ENTERED &&
		       MOVED_WORDS == THUNK_MOVED_WORDS &&
		       MOVED_CODE == THUNK_CODE - THUNK_MODES &&
		       1 << MODE_BYTES_SHIFT == sizeof(struct thunk_mode) &&
		       MODE_FRAME == offsetof(struct thunk_mode, frame) &&
		       MODE_FUNCTION == offsetof(struct thunk_mode, function) &&
		       MODE_UNKNOWN == THUNK_UNKNOWN &&
		       MODE_UNKNOWN_BYTES == THUNK_UNKNOWN_BYTES &&
		       MODE_MANY == THUNK_MANY &&
		       MODE_MANY_BYTES == THUNK_MANY_BYTES,
	       "thread_asm.h");

static bool reaches(uint64_t map, uint64_t start, uint64_t end)
{
	uint64_t low = MIN(map, start);
	uint64_t high = map + g_thunks.bytes > end ? map + g_thunks.bytes : end;

	return high - low <= REACH;
}

/* Maps the area at @at. Returns false if that place is in use. @fd is -1 once
 * the area's descriptor is closed. */
static bool map_at(int fd, uint64_t at)
{
	long got = fd >= 0 ? sys(SYS_mmap, at, g_thunks.bytes,
				 PROT_READ | PROT_EXEC,
				 MAP_SHARED | MAP_FIXED_NOREPLACE, fd, 0)
			   : sys(SYS_mmap, at, g_thunks.bytes, PROT_NONE,
				 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE |
					 MAP_FIXED_NOREPLACE,
				 -1, 0);

	if (sys_failed(got))
		return false;
	/* Kernels without the flag take @at as a hint. */
	if ((uint64_t)got == at &&
	    (fd >= 0 || sys(SYS_mremap, g_thunks.map[0], 0, g_thunks.bytes,
			    MREMAP_MAYMOVE | MREMAP_FIXED, at) == got)) {
		sys(SYS_madvise, got, g_thunks.bytes, MADV_DONTDUMP);
		return true;
	}
	sys(SYS_munmap, got, g_thunks.bytes);
	return false;
}

/* Maps the area in reach of the text. Returns its address, or 0. */
static uint64_t map_around(int fd, uint64_t start, uint64_t end)
{
	static const uint64_t gaps[] = { MIB, 32 * MIB, 256 * MIB, 1024 * MIB };
	uint64_t at;

	for (size_t i = 0; i < sizeof(gaps) / sizeof(gaps[0]); i++) {
		if (start < LOWEST + g_thunks.bytes + gaps[i])
			break;
		at = (start - g_thunks.bytes - gaps[i]) & -PAGE_BYTES_MAX;
		if (reaches(at, start, end) && map_at(fd, at))
			return at;
	}
	/* A program at a fixed address has no room below. Far above is clear of
	 * its heap, though not always of its data. The end of the reach is
	 * where AddressSanitizer's shadow starts (0x7fff8000). */
	for (uint64_t gap = 32 * MIB; gap + g_thunks.bytes < REACH;
	     gap += 64 * MIB) {
		at = (start + REACH - g_thunks.bytes - gap) & -PAGE_BYTES_MAX;
		if (at >= end && reaches(at, start, end) && map_at(fd, at))
			return at;
	}
	return 0;
}

static void map_near(int fd, uint64_t start, uint64_t end)
{
	unsigned int i;
	long named;

	if (start >= end)
		return; /* no text */
	for (i = 0; i < THUNK_MAPS && g_thunks.map[i]; i++)
		if (reaches(g_thunks.map[i], start, end))
			return;
	if (i == THUNK_MAPS)
		return;
	named = thunk_image_open(fd, i);
	g_thunks.map[i] = map_around(named < 0 ? fd : (int)named, start, end);
	if (named >= 0)
		sys(SYS_close, named);
	if (g_thunks.page)
		/* relaxed: mapped before; readers write through the kernel */
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

bool thunk_map_begin(int fd, uint32_t functions)
{
	long first;

	g_thunks.bytes = thunk_area_bytes(functions);
	g_thunks.functions = functions;
	g_thunk_code_bytes = functions * (uint64_t)THUNK_BYTES;
	/* The kernel chooses a place below the last mapping: the libraries. */
	first = sys(SYS_mmap, 0, g_thunks.bytes, PROT_READ | PROT_EXEC,
		    MAP_SHARED, fd, 0);
	if (sys_failed(first))
		return false;
	sys(SYS_madvise, first, g_thunks.bytes, MADV_DONTDUMP);
	g_thunks.map[0] = (uint64_t)first;
	libc()->iterate_phdr(visit_module, &fd);
	return true;
}

void thunk_map_end(void)
{
	g_thunks.page = NULL;
	for (unsigned int i = 0; i < THUNK_MAPS && g_thunks.map[i]; i++) {
		sys(SYS_munmap, g_thunks.map[i], g_thunks.bytes);
		g_thunks.map[i] = 0;
	}
}

void thunk_map_give_back(void)
{
	uint64_t at;

	if (!g_thunks.page)
		return;
	/* order: sc, THUNKS: no new user from here on */
	if (!atom_cas_sc(g_thunks.use, THUNKS_FREE, THUNKS_GONE) &&
	    /* relaxed: GONE is final; a parent may have set it */
	    atom_load_rlx(g_thunks.use) != THUNKS_GONE)
		return;
	for (unsigned int i = 0; i < THUNK_MAPS; i++) {
		/* order: sc, THUNKS: only one thread unmaps it */
		at = atom_xchg_sc(&g_thunks.map[i], 0);
		if (at)
			sys(SYS_munmap, at, g_thunks.bytes);
	}
}

bool thunk_map_publish(struct page_shm *shared)
{
	struct thunk_shim *page = &shared->thunks;

	if (!g_thunks.map[0])
		return false;
	for (unsigned int i = 0; i < THUNK_MAPS; i++)
		/* relaxed: hello comes later */
		atom_store_rlx(&page->map[i], g_thunks.map[i]);
	g_thunk_modes =
		(const struct thunk_mode *)(g_thunks.map[0] + THUNK_MODES);
	g_thunks.pid = (int32_t)sys(SYS_getpid);
	g_thunks.use = &shared->thunks_use;
	g_thunks.page = page;
	return true;
}

void thunk_map_near(uint64_t start, uint64_t end)
{
	/* relaxed: without the first mapping there is no source for others */
	if (g_thunks.page && atom_load_rlx(&g_thunks.map[0]) &&
	    g_shim.pid == g_thunks.pid && !g_shim.no_syscalls)
		map_near(-1, start, end);
}

static uint64_t map_with(uint64_t address)
{
	for (unsigned int i = 0; i < THUNK_MAPS; i++) {
		/* relaxed: not unmapped while functions call thunks */
		uint64_t map = atom_load_rlx(&g_thunks.map[i]);

		if (!map)
			break;
		if (address - map < g_thunks.bytes)
			return map;
	}
	return 0;
}

uint32_t thunk_map_number(uint64_t address, uint64_t *offset)
{
	uint64_t map = map_with(address);
	uint64_t at = address - map - THUNK_CODE;

	if (!map || address - map < THUNK_CODE || at >= g_thunk_code_bytes)
		return 0;
	*offset = at % THUNK_BYTES;
	return (uint32_t)(at / THUNK_BYTES);
}

uint64_t thunk_map_bytes(void)
{
	return g_thunks.bytes;
}

const struct thunk_words *thunk_map_words(uint32_t number)
{
	static const struct thunk_words none;
	/* relaxed: not unmapped while functions call thunks */
	uint64_t map = atom_load_rlx(&g_thunks.map[0]);

	return map && number < g_thunks.functions
		       ? (const struct thunk_words
				  *)(map + THUNK_CODE +
				     number * (uint64_t)THUNK_BYTES +
				     THUNK_MOVED_WORDS)
		       : &none;
}

uint64_t thunk_map_moved(unsigned int index)
{
	/* relaxed: see above */
	uint64_t map = atom_load_rlx(&g_thunks.map[index]);

	/* relaxed: the collector writes it before the program goes on */
	return map && g_thunks.page &&
			       atom_load_rlx(
				       (const uint32_t *)(map +
							  THUNK_FRAMES_COUNT))
		       ? map
		       : 0;
}

uint64_t thunk_map_of_moved(uint64_t address)
{
	uint64_t map = map_with(address);

	return map && thunk_map_moved(0) ? map : 0;
}

const void *thunk_map_file(unsigned int index, uint64_t *bytes)
{
	const uint64_t map = thunk_map_moved(0);
	const uint64_t from = thunk_files(g_thunks.functions) +
			      index * (uint64_t)THUNK_FILE_BYTES;
	const ElfW(Ehdr) *file = (const ElfW(Ehdr) *)(map + from);
	uint32_t frames;

	if (!map || !file->e_entry)
		return NULL;
	/* relaxed: see above */
	frames = atom_load_rlx((const uint32_t *)(map + THUNK_FRAMES_COUNT)) /
		 THUNK_FRAMES_OF;
	*bytes = thunk_frame(g_thunks.functions, frames) - from;
	return file;
}

const struct thunk_mode *thunk_map_mode(uint32_t number)
{
	static const struct thunk_mode none = { .path = THUNK_COUNT };
	/* relaxed: not unmapped while functions call thunks */
	uint64_t map = atom_load_rlx(&g_thunks.map[0]);
	const struct thunk_mode *modes =
		(const struct thunk_mode *)(map + THUNK_MODES);

	return map && number < g_thunks.functions ? modes + number : &none;
}
