/* SPDX-License-Identifier: Apache-2.0
 *
 * chain - hooks of another library. A library of the program may define
 * __cyg_profile_func_* itself, and the shim hides these. So the shim finds them
 * once and calls them for every function, recorded or not. The C library's
 * hooks are empty and ignored.
 */
#ifndef PERFREC_PRELOAD_CORE_CHAIN_H
#define PERFREC_PRELOAD_CORE_CHAIN_H

#include <stdbool.h>

typedef void chain_hook(void *function, void *call_site);

struct chain {
	chain_hook *enter, *exit; /* NULL: none */
};

extern struct chain g_chain;

/* Fills g_chain, once, while recording starts. Returns true if a hook
 * exists. */
bool chain_find(void);

#endif
