/* SPDX-License-Identifier: Apache-2.0
 *
 * interpose_dl - wraps dlopen(), dlmopen() and dlclose(), which change the
 * meaning of addresses (map_log.c). dlopen() and dlmopen() identify the calling
 * module by their return address, and use its RUNPATH. So the wrappers are
 * assembly that jumps to the real functions (interpose_dl_*.S). A namespace of
 * dlmopen() has no preloaded libraries, so its modules are not recorded.
 *
 * After the jump, the shim does not see the end of dlopen(). So it binds
 * libraries opened with RTLD_DEEPBIND (bind.c) at the next dlsym(), which
 * mostly precedes the first call into such a library. dlsym() also uses its
 * return address.
 */
#include "preload/load/interpose_dl.h"

#include <dlfcn.h>

#include "preload/core/find_next.h"
#include "preload/load/map_log.h"
#include "shared/compiler.h"

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

/* As late as possible. A short program may not have reported a plugin yet. */
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
