/* SPDX-License-Identifier: Apache-2.0
 *
 * chain - hooks of another library. A program may have a library that defines
 * __cyg_profile_func_* itself. The preloaded shim hides those hooks; so it
 * finds them once and calls them for every function, recorded or not. The C
 * library's hooks are empty: they do not count.
 */
#ifndef PERFREC_PRELOAD_CORE_CHAIN_H
#define PERFREC_PRELOAD_CORE_CHAIN_H

#include <stdbool.h>

typedef void chain_hook(void *function, void *call_site);

struct chain {
	chain_hook *enter, *exit; /* NULL: there is none */
};

extern struct chain g_chain;

/* Find them, into g_chain. True when there are any. Once, while recording
 * starts.
 */
bool chain_find(void);

#endif
