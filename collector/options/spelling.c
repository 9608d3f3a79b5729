/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/options/spelling.h"

#include <string.h>

#include "shared/compiler.h"

#define WORD_MAX 32 /* letters that are compared */
#define CHANGES_MAX 2

/*
 * Returns how many letters to change, insert, delete or swap with their
 * neighbour to make @a from @b (the optimal string alignment distance). At most
 * WORD_MAX letters each. */
static size_t count_changes(const char *a, size_t a_length, const char *b,
			    size_t b_length)
{
	size_t changes[WORD_MAX + 1][WORD_MAX + 1];

	for (size_t i = 0; i <= a_length; i++)
		changes[i][0] = i;
	for (size_t j = 0; j <= b_length; j++)
		changes[0][j] = j;
	for (size_t i = 1; i <= a_length; i++) {
		for (size_t j = 1; j <= b_length; j++) {
			size_t best =
				changes[i - 1][j - 1] + (a[i - 1] != b[j - 1]);

			best = MIN(best, changes[i - 1][j] + 1);
			best = MIN(best, changes[i][j - 1] + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] &&
			    a[i - 2] == b[j - 1])
				best = MIN(best, changes[i - 2][j - 2] + 1);
			changes[i][j] = best;
		}
	}
	return changes[a_length][b_length];
}

const char *spelling_nearest(const char *text, size_t length,
			     const char *const *words, size_t count)
{
	size_t nearest = MIN(CHANGES_MAX, length / 3) + 1;
	const char *found = NULL;

	if (length > WORD_MAX)
		return NULL;
	for (size_t i = 0; i < count; i++) {
		size_t word = words[i] ? strlen(words[i]) : WORD_MAX + 1;
		size_t changes;

		if (word > WORD_MAX)
			continue;
		changes = count_changes(text, length, words[i], word);
		/* Two profiles may have the same name. */
		if (changes == nearest && found && strcmp(found, words[i]) != 0)
			found = NULL;
		if (changes < nearest) {
			nearest = changes;
			found = words[i];
		}
	}
	return found;
}
