/* SPDX-License-Identifier: Apache-2.0
 *
 * interpose_find - shows unwinders the frame descriptions of moved functions
 * (function_shm.h), in the thunk area, which the dynamic linker does not know.
 * libgcc asks _dl_find_object(), also in a program that is linked with a static
 * libgcc; others ask dl_iterate_phdr(). __register_frame() would make libgcc
 * lock a mutex for each exception, and a backtrace() in a signal handler would
 * wait for itself.
 *
 * Without moved functions nothing changes. Neither takes a lock of its own, and
 * _dl_find_object() may be called from any context.
 */
#include <link.h>
#include <stdbool.h>
#include <stddef.h>

#include "preload/core/find_next.h"
#include "preload/core/libc.h"
#include "preload/load/interpose_find.h"
#include "preload/load/thunk_map.h"
#include "shared/compiler.h"

ATTR_EXPORT int _dl_find_object(void *address, struct dl_find_object *out)
{
	uint64_t map = thunk_map_of_moved((uintptr_t)address);

	if (likely(!map))
		return libc()->find_object(address, out);
	/* The area belongs to this library. */
	if (libc()->find_object((void *)_dl_find_object, out))
		return -1;
	out->dlfo_map_start = (void *)map;
	out->dlfo_map_end = (void *)(map + thunk_map_bytes());
	out->dlfo_eh_frame = (void *)(map + THUNK_FRAMES);
	return 0;
}

struct visit {
	libc_visit *visit;
	void *context;
	bool has_areas; /* they were visited */
};

static int visit_area(const struct visit *visit,
		      const struct dl_phdr_info *module, uint64_t map)
{
	const ElfW(Phdr) headers[] = {
		{ .p_type = PT_LOAD,
		  .p_flags = PF_R | PF_X,
		  .p_vaddr = map,
		  .p_filesz = thunk_map_bytes(),
		  .p_memsz = thunk_map_bytes(),
		  .p_align = PAGE_BYTES_MAX },
		{ .p_type = PT_GNU_EH_FRAME,
		  .p_flags = PF_R,
		  .p_vaddr = map + THUNK_FRAMES,
		  .p_filesz = THUNK_FRAMES_BYTES,
		  .p_memsz = THUNK_FRAMES_BYTES,
		  .p_align = 4 },
	};
	struct dl_phdr_info info = { .dlpi_name = "[" THUNK_AREA_NAME "]",
				     .dlpi_phdr = headers,
				     .dlpi_phnum = ARRAY_SIZE(headers),
				     .dlpi_adds = module->dlpi_adds,
				     .dlpi_subs = module->dlpi_subs };

	return visit->visit(&info, sizeof(info), visit->context);
}

/* The areas come after the first module: unwinders rely on the lock that the
 * dynamic linker holds during a visit. */
static int visit_loaded(struct dl_phdr_info *module, size_t size, void *context)
{
	struct visit *visit = context;
	int result = visit->visit(module, size, visit->context);
	uint64_t map;

	if (result || visit->has_areas)
		return result;
	visit->has_areas = true;
	for (unsigned int i = 0;
	     i < THUNK_MAPS && !result && (map = thunk_map_moved(i)); i++)
		result = visit_area(visit, module, map);
	return result;
}

static int (*g_iterate_phdr)(libc_visit *visit, void *context);

static int iterate_moved(libc_visit *callback, void *context)
{
	struct visit visit = { .visit = callback, .context = context };

	return g_iterate_phdr(visit_loaded, &visit);
}

void *interpose_dl_iterate_phdr(void)
{
	if (!g_iterate_phdr)
		g_iterate_phdr = (int (*)(libc_visit *, void *))find_next(
			"dl_iterate_phdr");
	return thunk_map_moved(0) ? (void *)iterate_moved
				  : (void *)g_iterate_phdr;
}
