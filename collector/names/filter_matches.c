/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/names/filter_matches.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "collector/names/name_pattern.h"
#include "collector/names/sites.h"
#include "shared/atomic.h"

struct filter_matches {
	struct patterns {
		const char *option;
		const char *const *glob;
		size_t count;
		uint8_t *matched; /* by pattern */
	} list[5];
	uint8_t given_up;
	uint8_t matched[];
};

enum { ONLY, EXCEPT, COUNT, ARGS, CALLS, LISTS };

int filter_matches_new(const struct filter_patterns *patterns,
		       struct filter_matches **out)
{
	const struct patterns list[] = {
		[ONLY] = { "--filter", patterns->only, patterns->only_count,
			   NULL },
		[EXCEPT] = { "--exclude", patterns->except,
			     patterns->except_count, NULL },
		[COUNT] = { "--count", patterns->count, patterns->count_count,
			    NULL },
		[ARGS] = { "--args", patterns->args, patterns->args_count,
			   NULL },
		[CALLS] = { "--calls-to", patterns->calls,
			    patterns->calls_count, NULL },
	};
	size_t all = patterns->only_count + patterns->except_count +
		     patterns->count_count + patterns->args_count +
		     patterns->calls_count;
	struct filter_matches *matches;
	uint8_t *matched;

	*out = NULL;
	if (!all)
		return 0;
	matches = calloc(1, sizeof(*matches) + all);
	if (!matches)
		return -ENOMEM;
	matched = matches->matched;
	for (int i = ONLY; i < LISTS; i++) {
		matches->list[i] = list[i];
		matches->list[i].matched = matched;
		matched += list[i].count;
	}
	*out = matches;
	return 0;
}

void filter_matches_free(struct filter_matches **matches)
{
	free(*matches);
	*matches = NULL;
}

static void note_pattern_match(struct patterns *patterns, const char *name,
			       const char *module)
{
	for (size_t i = 0; i < patterns->count; i++)
		/* relaxed, both: each is set once, and read at the end */
		if (!atom_load_rlx(&patterns->matched[i]) &&
		    name_pattern_matches(patterns->glob[i], name, module))
			atom_store_rlx(&patterns->matched[i], 1);
}

void filter_matches_function(struct filter_matches *matches, const char *name,
			     const char *module)
{
	if (!matches)
		return;
	note_pattern_match(&matches->list[ONLY], name, module);
	note_pattern_match(&matches->list[EXCEPT], name, module);
}

void filter_matches_called(struct filter_matches *matches, const char *name,
			   const char *module)
{
	filter_matches_function(matches, name, module);
	if (matches)
		note_pattern_match(&matches->list[COUNT], name, module);
}

void filter_matches_site(struct filter_matches *matches, const char *name)
{
	if (matches)
		note_pattern_match(&matches->list[EXCEPT], name, SITE_MODULE);
}

static void mark_pattern(struct filter_matches *matches, int list, size_t index)
{
	if (matches && index < matches->list[list].count)
		/* relaxed: read at the end */
		atom_store_rlx(&matches->list[list].matched[index], 1);
}

void filter_matches_count(struct filter_matches *matches, size_t index)
{
	mark_pattern(matches, COUNT, index);
}

void filter_matches_args(struct filter_matches *matches, size_t index)
{
	mark_pattern(matches, ARGS, index);
}

void filter_matches_calls(struct filter_matches *matches, size_t index)
{
	mark_pattern(matches, CALLS, index);
}

void filter_matches_give_up(struct filter_matches *matches)
{
	if (matches)
		/* relaxed: read at the end */
		atom_store_rlx(&matches->given_up, 1);
}

const char *filter_matches_missing(const struct filter_matches *matches,
				   size_t *at, const char **option)
{
	size_t first = 0;

	/* relaxed, both: no more matches can come */
	if (!matches || atom_load_rlx(&matches->given_up))
		return NULL;
	for (int i = ONLY; i < LISTS; i++) {
		const struct patterns *patterns = &matches->list[i];

		*option = patterns->option;
		while (*at - first < patterns->count) {
			size_t index = (*at)++ - first;

			/* relaxed: as above */
			if (!atom_load_rlx(&patterns->matched[index]))
				return patterns->glob[index];
		}
		first += patterns->count;
	}
	return NULL;
}
