/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/names/name_pattern.h"

#include <fnmatch.h>
#include <string.h>

static bool matches_glob(const char *pattern, const char *text)
{
	return fnmatch(pattern, text, 0) == 0;
}

/* "ns::f(int)" is found by "ns::f" too. */
static bool matches_name(const char *pattern, const char *name)
{
	size_t plain = strcspn(name, "(");
	char buffer[512];

	if (matches_glob(pattern, name))
		return true;
	if (!name[plain] || plain == 0 || plain >= sizeof(buffer))
		return false;
	memcpy(buffer, name, plain);
	buffer[plain] = '\0';
	return matches_glob(pattern, buffer);
}

static bool matches_module(const char *pattern, const char *module)
{
	const char *slash = strrchr(module, '/');

	return matches_glob(pattern, module) ||
	       (slash && matches_glob(pattern, slash + 1));
}

bool name_pattern_matches(const char *pattern, const char *name,
			  const char *module)
{
	return pattern[0] == '@' ? matches_module(pattern + 1, module)
				 : matches_name(pattern, name);
}
