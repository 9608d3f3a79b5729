/* SPDX-License-Identifier: Apache-2.0
 *
 * filter_matches - records which patterns of --filter, --exclude, --count,
 * --args, --calls-to and --patch matched in any program. The others are
 * probably misspelled, and the recording reports them at its end. Any thread,
 * without locks.
 */
#ifndef PERFREC_COLLECTOR_NAMES_FILTER_MATCHES_H
#define PERFREC_COLLECTOR_NAMES_FILTER_MATCHES_H

#include <stdbool.h>
#include <stddef.h>

struct filter_matches; /* NULL: no patterns */

enum filter_option {
	FILTER_ONLY,
	FILTER_EXCEPT,
	FILTER_COUNT,
	FILTER_ARGS,
	FILTER_CALLS,
	FILTER_PATCH,
	FILTER_OPTIONS
};

/* "--filter" */
extern const char *const filter_option_names[FILTER_OPTIONS];

/* As the user gave them. */
struct filter_patterns {
	const char *const *glob;
	size_t count;
};

/* The globs must outlive *@out. *@out is NULL without patterns. */
int filter_matches_new(const struct filter_patterns patterns[FILTER_OPTIONS],
		       struct filter_matches **out);
void filter_matches_free(struct filter_matches **matches);

/* For --filter and --exclude. @matches may be NULL, here and below. */
void filter_matches_function(struct filter_matches *matches, const char *name,
			     const char *module);
/* As filter_matches_function(), plus --count. */
void filter_matches_called(struct filter_matches *matches, const char *name,
			   const char *module);
/* Only --exclude applies. */
void filter_matches_site(struct filter_matches *matches, const char *name);
/* Marks pattern @index of @option as matched. */
void filter_matches_mark(struct filter_matches *matches,
			 enum filter_option option, size_t index);
/* Call if functions of a program are unknown: nothing is missing then. */
void filter_matches_give_up(struct filter_matches *matches);

/* Returns the next pattern without a match, or NULL. *@at is 0 at first.
 * *@option becomes its option. */
const char *filter_matches_missing(const struct filter_matches *matches,
				   size_t *at, enum filter_option *option);

#endif
