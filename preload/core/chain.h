/* SPDX-License-Identifier: Apache-2.0
 *
 * chain - hooks of another library behind ours. A program whose own library
 * defines __cyg_profile_func_* would lose them to the preload; so they are
 * found once and called for every function, recorded or not. The C library's
 * empty ones do not count.
 */
#ifndef PERFREC_PRELOAD_CORE_CHAIN_H
#define PERFREC_PRELOAD_CORE_CHAIN_H

#include <stdbool.h>

typedef void chain_hook(void *function, void *call_site);

struct chain {
	chain_hook *enter, *exit; /* NULL: nobody is behind us */
};

extern struct chain g_chain;

/* Finds them. True when there are any. Once, while recording starts. */
bool chain_find(void);

#endif
