/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/start/thunks.h"

#include <fcntl.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <unistd.h>

#include "preload/core/chain.h"
#include "preload/core/gate.h"
#include "preload/core/libc.h"
#include "preload/core/sys.h"
#include "preload/core/thread.h"
#include "preload/load/thunk_image.h"
#include "preload/load/thunk_map.h"
#include "preload/ring/hook.h"
#include "preload/ring/slot_memory.h"
#include "preload/ring/vector.h"
#include "shared/atomic.h"
#include "shared/compiler.h"

/* linux/membarrier.h */
#define REGISTER_GLOBAL_EXPEDITED (1 << 2)
/* MFD_EXEC, Linux 6.3: the memfd may be mapped to execute. */
#define EXEC_FLAG 0x10u

long thunks_open_memory(void)
{
	return sys(SYS_openat, AT_FDCWD, "/proc/self/mem", O_RDWR | O_CLOEXEC,
		   0);
}

#if defined(__x86_64__)
/* Returns true if the limits leave room for two mappings of an area of @bytes
 * beside an arena of @arena_bytes. A file beyond RLIMIT_FSIZE raises a signal. */
static bool fits(uint64_t arena_bytes, uint64_t bytes)
{
	uint64_t as = sys_limit(RLIMIT_AS);

	return sys_limit(RLIMIT_FSIZE) >= bytes &&
	       (as == RLIM_INFINITY ||
		as / ADDRESS_SPACE_SHARE >= arena_bytes + 2 * bytes);
}

/* @folder: of the image, or NULL */
static long make_area(uint32_t functions, const char *folder)
{
	const unsigned int flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
	long fd = folder ? thunk_image_make(folder, functions) : -1;

	if (fd >= 0) {
		if (thunk_map_begin((int)fd, functions))
			return fd;
		sys(SYS_close, fd);
		thunk_image_remove();
	}
	fd = sys(SYS_memfd_create, THUNK_AREA_NAME, flags | EXEC_FLAG);
	if (fd < 0)
		fd = sys(SYS_memfd_create, THUNK_AREA_NAME, flags);
	if (fd < 0)
		return fd;
	if (!sys(SYS_ftruncate, fd, thunk_area_bytes(functions)) &&
	    !sys(SYS_fcntl, fd, F_ADD_SEALS,
		 F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) &&
	    thunk_map_begin((int)fd, functions))
		return fd;
	sys(SYS_close, fd);
	return -1;
}

/* Makes the collector's membarrier(GLOBAL_EXPEDITED) reach this process.
 * Returns false if it does not: the collector then uses a slower barrier. With
 * several threads the registration would take 10 ms. */
static bool register_barrier(void)
{
	const char *single = libc()->single_threaded;

	return single && *single &&
	       !sys(SYS_membarrier, REGISTER_GLOBAL_EXPEDITED, 0, 0);
}

/* Other hooks must see all calls of hooks. Entry builds call none. */
static bool has_chain(void)
{
	return g_chain.enter || g_chain.exit;
}

struct thunk_offer thunks_offer(struct wire_hello *ask, const char *folder)
{
	struct thunk_offer offer = { .count = 0 };
	long area, memory;

	if ((has_chain() && !ask->entry_build) ||
	    !fits(ask->arena_bytes, thunk_area_bytes(ask->functions)))
		return offer;
	area = make_area(ask->functions, folder);
	if (area < 0)
		return offer;
	ask->fds |= WIRE_FD_THUNKS;
	offer.fd[offer.count++] = (int)area;
	memory = thunks_open_memory();
	if (memory < 0)
		return offer;
	ask->fds |= WIRE_FD_MEMORY;
	offer.fd[offer.count++] = (int)memory;
	return offer;
}

/* Returns the offset of @of, in t_thread, from the address in fs. */
static int64_t thread_offset(const void *of)
{
	const char *thread = __builtin_thread_pointer();
	const char *state = of;

	__asm__("" : "+r"(state)); /* as in init.c */
	return state - thread;
}

void thunks_describe(struct page_shm *page)
{
	struct thunk_shim *thunks = &page->thunks;

	if (has_chain())
		/* order: sc, FLAGS: as every flag; it stands alone */
		atom_or_sc(&page->flags, PAGE_OTHER_HOOKS);
	if (!thunk_map_publish(page))
		return;
	vector_find();
	thunks->epoch = thread_offset(&t_thread.epoch);
	thunks->counts = thread_offset(&t_thread.counts);
	thunks->count_epoch = (uintptr_t)&g_gate.count_epoch;
	thunks->page = (struct thunk_page){
		.entry_enter = (uintptr_t)hook_entry_enter,
		.entry_exit = (uintptr_t)hook_entry_exit,
		.entry_enter_general = (uintptr_t)hook_entry_enter_general,
		.entry_exit_pushed = (uintptr_t)hook_entry_exit_pushed,
		.moved_count = (uintptr_t)hook_moved_count,
		.moved_enter = (uintptr_t)hook_moved_enter,
		.moved_exit = (uintptr_t)hook_moved_exit,
		.moved_enter_2 = (uintptr_t)hook_moved_enter_2,
		.moved_enter_6 = (uintptr_t)hook_moved_enter_6,
		.moved_enter_14 = (uintptr_t)hook_moved_enter_14,
		.moved_enter_any = (uintptr_t)hook_moved_enter_any,
		.moved_exit_words = (uintptr_t)hook_moved_exit_words,
		.moved_exit_any = (uintptr_t)hook_moved_exit_any,
	};
	if (!has_chain()) {
		thunks->page.enter = (uintptr_t)hook_enter;
		thunks->page.exit = (uintptr_t)hook_exit;
		thunks->page.enter_general = (uintptr_t)hook_enter_general;
	}
	if (register_barrier())
		/* order: sc, FLAGS: as every flag; it stands alone */
		atom_or_sc(&page->flags, PAGE_BARRIER);
}
#else
struct thunk_offer thunks_offer(struct wire_hello *ask, const char *folder)
{
	(void)ask, (void)folder;
	return (struct thunk_offer){ .count = 0 };
}

void thunks_describe(struct page_shm *page)
{
	(void)page;
}
#endif

void thunks_forked(void)
{
	/* No documentation says whether children inherit it. */
	sys(SYS_membarrier, REGISTER_GLOBAL_EXPEDITED, 0, 0);
}

void thunks_close(struct thunk_offer *offer)
{
	while (offer->count)
		sys(SYS_close, offer->fd[--offer->count]);
}

void thunks_withdraw(struct wire_hello *ask)
{
	ask->fds = 0;
	thunk_map_end();
	thunk_image_remove();
}
