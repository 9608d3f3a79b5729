/* SPDX-License-Identifier: Apache-2.0
 *
 * interpose_dl - dlopen(), dlmopen() and dlclose(): after them an address may
 * mean something else (map_log.c). dlopen() and dlmopen() know by their return
 * address which module calls them, and look where its RUNPATH says. So the shim
 * must not call them but jump to them, in assembly (interpose_dl_*.S). A
 * namespace that dlmopen() makes has no preloaded library: what is loaded there
 * is not recorded.
 *
 * So the shim does not see the end of dlopen(). It binds libraries that were
 * opened with RTLD_DEEPBIND (bind.c) at the next dlsym(): mostly that precedes
 * the first call of such a library. dlsym() uses its return address as well.
 */
#include "preload/load/interpose_dl.h"

#include <dlfcn.h>

#include "preload/core/find_next.h"
#include "preload/load/map_log.h"
#include "shared/compiler.h"

/* The next definitions. */
static struct {
	void *dlopen, *dlmopen, *dlsym, *dlvsym;
	int (*dlclose)(void *handle);
} g_next;

static void find_dl_functions(void)
{
	g_next.dlopen = find_next("dlopen");
	g_next.dlmopen = find_next("dlmopen");
	g_next.dlvsym = find_next("dlvsym");
	g_next.dlsym = find_next("dlsym");
	g_next.dlclose = (int (*)(void *))find_next("dlclose");
}

/* As late as can be: a short program has told of no plugin yet. */
__attribute__((destructor)) static void destructor(void)
{
	map_exit();
}

void *interpose_dlopen(const char *file, int mode)
{
	map_open();
	if (file && mode & RTLD_DEEPBIND)
		map_open_deep();
	if (!g_next.dlopen)
		find_dl_functions();
	return g_next.dlopen;
}

void *interpose_dlmopen(void)
{
	map_open();
	if (!g_next.dlmopen)
		find_dl_functions();
	return g_next.dlmopen;
}

void *interpose_dlsym(void)
{
	map_look_up();
	if (!g_next.dlsym)
		find_dl_functions();
	return g_next.dlsym;
}

void *interpose_dlvsym(void)
{
	map_look_up();
	if (!g_next.dlvsym)
		find_dl_functions();
	return g_next.dlvsym;
}

ATTR_EXPORT int dlclose(void *handle)
{
	bool recorded = map_close_begin(handle);
	int result;

	if (!g_next.dlclose)
		find_dl_functions();
	result = g_next.dlclose(handle);
	if (recorded)
		map_close_end();
	return result;
}
