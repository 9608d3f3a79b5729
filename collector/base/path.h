/* SPDX-License-Identifier: Apache-2.0
 *
 * path - names in paths. Pure; any thread.
 */
#ifndef PERFREC_COLLECTOR_BASE_PATH_H
#define PERFREC_COLLECTOR_BASE_PATH_H

#include <string.h>

/* Returns the part of @path behind its last '/', or all of it. */
static inline const char *path_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

#endif
