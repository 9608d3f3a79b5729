/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/options/name_near.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "collector/names/name_fold.h"
#include "collector/options/spelling.h"

/* The name without what stands in front of its last "::". */
static const char *last_name_part(const char *plain)
{
	const char *part = plain, *at;

	while ((at = strstr(part, "::")) != NULL)
		part = at + 2;
	return part;
}

static char *short_part(const char *name, bool whole)
{
	char plain[NAME_FOLD_BYTES];

	name_fold_plain(name, plain);
	return strdup(whole ? plain : last_name_part(plain));
}

static char *find_nearest_name(const char *word, const char *const *names,
			       size_t count, bool whole)
{
	char **parts = calloc(count + 1, sizeof(*parts));
	const char *near = NULL;
	char *out = NULL;

	for (size_t i = 0; parts && i < count; i++)
		parts[i] = short_part(names[i], whole);
	if (parts)
		near = spelling_nearest(word, strlen(word),
					(const char *const *)parts, count);
	for (size_t i = 0; parts && i < count; i++) {
		if (!out && near && near == parts[i])
			out = short_part(names[i], true);
		free(parts[i]);
	}
	free(parts);
	return out;
}

char *name_near(const char *word, const char *const *names, size_t count)
{
	char *near = find_nearest_name(word, names, count, true);

	return near ? near : find_nearest_name(word, names, count, false);
}
