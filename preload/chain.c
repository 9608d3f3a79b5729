/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/chain.h"

#include <dlfcn.h>
#include <stddef.h>

struct chain g_chain;

/* The module that @address lies in; NULL: none. Not dladdr(), which looks at
 * every symbol of a library on the way. */
static const struct link_map *module_of(void *address)
{
	struct dl_find_object found;

	return _dl_find_object(address, &found) ? NULL : found.dlfo_link_map;
}

/* @symbol as the next library defines it; NULL when that is the C library:
 * its stubs are empty. */
static chain_hook *find_behind(const char *symbol)
{
	void *next = dlsym(RTLD_NEXT, symbol);

	if (!next ||
	    module_of(next) ==
		    module_of(dlsym(RTLD_NEXT, "gnu_get_libc_version")))
		return NULL;
	return (chain_hook *)next;
}

bool chain_find(void)
{
	g_chain.enter = find_behind("__cyg_profile_func_enter");
	g_chain.exit = find_behind("__cyg_profile_func_exit");
	return g_chain.enter || g_chain.exit;
}
