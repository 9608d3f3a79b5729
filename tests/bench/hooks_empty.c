/* SPDX-License-Identifier: Apache-2.0
 *
 * hooks_empty - a preloaded pair of hooks that does nothing: what any tool of
 * this kind costs at least when it records nothing.
 */
#include "shared/compiler.h"

void __cyg_profile_func_enter(void *function, void *call_site);
void __cyg_profile_func_exit(void *function, void *call_site);

ATTR_EXPORT void __cyg_profile_func_enter(void *function, void *call_site)
{
	(void)function;
	(void)call_site;
}

ATTR_EXPORT void __cyg_profile_func_exit(void *function, void *call_site)
{
	(void)function;
	(void)call_site;
}
