/* SPDX-License-Identifier: Apache-2.0
 *
 * map_opener - a library that looks for plugins where its RUNPATH says: in its
 * own folder.
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
