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
		struct filter_patterns given;
		uint8_t *matched; /* by pattern */
	} list[FILTER_OPTIONS];
	uint8_t given_up;
	uint8_t matched[];
};

const char *const filter_option_names[FILTER_OPTIONS] = {
	[FILTER_ONLY] = "--filter",    [FILTER_EXCEPT] = "--exclude",
	[FILTER_COUNT] = "--count",    [FILTER_ARGS] = "--args",
	[FILTER_CALLS] = "--calls-to", [FILTER_PATCH] = "--patch",
};

int filter_matches_new(const struct filter_patterns patterns[FILTER_OPTIONS],
		       struct filter_matches **out)
{
	struct filter_matches *matches;
	uint8_t *matched;
	size_t all = 0;

	for (int i = 0; i < FILTER_OPTIONS; i++)
		all += patterns[i].count;
	*out = NULL;
	if (!all)
		return 0;
	matches = calloc(1, sizeof(*matches) + all);
	if (!matches)
		return -ENOMEM;
	matched = matches->matched;
	for (int i = 0; i < FILTER_OPTIONS; i++) {
		matches->list[i] = (struct patterns){ patterns[i], matched };
		matched += patterns[i].count;
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
	for (size_t i = 0; i < patterns->given.count; i++)
		/* relaxed, both: each is set once, and read at the end */
		if (!atom_load_rlx(&patterns->matched[i]) &&
		    name_pattern_matches(patterns->given.glob[i], name, module))
			atom_store_rlx(&patterns->matched[i], 1);
}

void filter_matches_function(struct filter_matches *matches, const char *name,
			     const char *module)
{
	if (!matches)
		return;
	note_pattern_match(&matches->list[FILTER_ONLY], name, module);
	note_pattern_match(&matches->list[FILTER_EXCEPT], name, module);
}

void filter_matches_called(struct filter_matches *matches, const char *name,
			   const char *module)
{
	filter_matches_function(matches, name, module);
	if (matches)
		note_pattern_match(&matches->list[FILTER_COUNT], name, module);
}

void filter_matches_site(struct filter_matches *matches, const char *name)
{
	if (matches)
		note_pattern_match(&matches->list[FILTER_EXCEPT], name,
				   SITE_MODULE);
}

void filter_matches_mark(struct filter_matches *matches,
			 enum filter_option option, size_t index)
{
	if (matches && index < matches->list[option].given.count)
		/* relaxed: read at the end */
		atom_store_rlx(&matches->list[option].matched[index], 1);
}

void filter_matches_give_up(struct filter_matches *matches)
{
	if (matches)
		/* relaxed: read at the end */
		atom_store_rlx(&matches->given_up, 1);
}

const char *filter_matches_missing(const struct filter_matches *matches,
				   size_t *at, enum filter_option *option)
{
	size_t first = 0;

	/* relaxed, both: no more matches can come */
	if (!matches || atom_load_rlx(&matches->given_up))
		return NULL;
	for (int i = 0; i < FILTER_OPTIONS; i++) {
		const struct patterns *patterns = &matches->list[i];

		*option = (enum filter_option)i;
		while (*at - first < patterns->given.count) {
			size_t index = (*at)++ - first;

			/* relaxed: as above */
			if (!atom_load_rlx(&patterns->matched[index]))
				return patterns->given.glob[index];
		}
		first += patterns->given.count;
	}
	return NULL;
}
