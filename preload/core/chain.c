/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/core/chain.h"

#include <stddef.h>

#include "preload/core/find_next.h"
#include "preload/core/linker.h"

struct chain g_chain;

/* Returns the next definition; NULL if it is the C library's empty stub. */
static chain_hook *find_hook(const char *symbol)
{
	const struct link_map *map;
	void *next = find_behind(symbol, &map);

	return map == linker_libc() ? NULL : (chain_hook *)next;
}

bool chain_find(void)
{
	g_chain.enter = find_hook("__cyg_profile_func_enter");
	g_chain.exit = find_hook("__cyg_profile_func_exit");
	return g_chain.enter || g_chain.exit;
}
