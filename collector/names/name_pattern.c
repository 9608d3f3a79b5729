/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/names/name_pattern.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "collector/names/name_fold.h"
#include "shared/compiler.h"

/* Names have brackets that are no pattern: "text[abi:cxx11]()", "operator[]". */
static bool matches_glob(const char *pattern, const char *text)
{
	return strcmp(pattern, text) == 0 || fnmatch(pattern, text, 0) == 0;
}

/* A word of all matching names. *@length 0: none. */
static const char *fixed_word(const char *pattern, size_t *length)
{
	static const char words[] = "abcdefghijklmnopqrstuvwxyz"
				    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
	size_t left = strcspn(pattern, "*?[\\");
	const char *found = pattern;

	*length = 0;
	for (const char *at = pattern; at < pattern + left;) {
		size_t word =
			MIN(strspn(at, words), (size_t)(pattern + left - at));

		if (word > *length) {
			found = at;
			*length = word;
		}
		at += word ? word : 1;
	}
	return found;
}

static bool matches_name(const char *pattern, const char *name)
{
	char form[NAME_FOLD_BYTES];
	const char *word;
	size_t length;

	if (matches_glob(pattern, name))
		return true;
	/* A cheap test: forms keep the words of a name. */
	word = fixed_word(pattern, &length);
	if (!name[strcspn(name, "(<[.")] ||
	    (length && !memmem(name, strlen(name), word, length)))
		return false;
	name_fold_plain(name, form);
	if (matches_glob(pattern, form))
		return true;
	name_fold(name, form);
	return matches_glob(pattern, form);
}

bool name_pattern_matches(const char *pattern, const char *name,
			  const char *module)
{
	const char *slash;

	if (pattern[0] != '@')
		return matches_name(pattern, name);
	slash = strrchr(module, '/');
	return matches_glob(pattern + 1, module) ||
	       (slash && matches_glob(pattern + 1, slash + 1));
}

/* --- patterns for people ------------------------------------------------- */

/* '*' replaces template arguments and untypable characters. */
static size_t make_pattern(const char *name, char out[NAME_FOLD_BYTES])
{
	static const char *const lists[] = { "<\xe2\x80\xa6>", "<>" };
	size_t used = 0;

	while (*name) {
		size_t list = 0;
		bool typed = *name > ' ' && *name < 0x7f &&
			     !strchr("*?[]\\'\"`$!", *name);

		for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
			if (!strncmp(name, lists[i], strlen(lists[i])))
				list = strlen(lists[i]);
		if (typed && !list)
			out[used++] = *name;
		else if (!used || out[used - 1] != '*')
			out[used++] = '*';
		name += list ? list : 1;
	}
	out[used] = '\0';
	return used;
}

bool name_pattern_make(const char *name, char out[NAME_PATTERN_BYTES])
{
	char form[NAME_FOLD_BYTES], plain[NAME_FOLD_BYTES];
	char pattern[NAME_FOLD_BYTES];
	const char *from = pattern;
	size_t length;

	name_fold(name, form);
	name_fold_plain(form, plain);
	length = make_pattern(plain, pattern);
	/* '@' is for modules. */
	if (length >= NAME_PATTERN_BYTES - 1 || pattern[0] == '@') {
		size_t room = NAME_PATTERN_BYTES - 3; /* two stars */

		from += length > room ? length - room : 1;
		/* Starts at a word if possible. */
		length = strcspn(from, ":");
		if (from[length])
			from += length;
		snprintf(out, NAME_PATTERN_BYTES, "*%s", from + (*from == '*'));
	} else {
		snprintf(out, NAME_PATTERN_BYTES, "%s", pattern);
	}
	length = strlen(out);
	if (!name_pattern_matches(out, name, "") &&
	    length + 1 < NAME_PATTERN_BYTES)
		memcpy(out + length, "*", 2);
	return strspn(out, "*:") < strlen(out) &&
	       name_pattern_matches(out, name, "");
}
