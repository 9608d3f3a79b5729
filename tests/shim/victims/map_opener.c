/* SPDX-License-Identifier: Apache-2.0
 *
 * map_opener - opens plugins through its RUNPATH, its own folder.
 */
#include "tests/shim/victims/map_victim.h"

#include <dlfcn.h>

void *map_open_beside(const char *name)
{
	return dlopen(name, RTLD_NOW);
}

void *map_open_apart(const char *name)
{
	return dlmopen(LM_ID_BASE, name, RTLD_NOW);
}
