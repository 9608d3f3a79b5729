/* SPDX-License-Identifier: Apache-2.0
 *
 * filter_matches - which patterns of --filter, --exclude and --count have
 * matched something in some program of a recording. One that has not is most
 * likely spelled wrong, which the recording says at its end.
 *
 * Any thread may call these functions; they take no locks.
 */
#ifndef PERFREC_COLLECTOR_NAMES_FILTER_MATCHES_H
#define PERFREC_COLLECTOR_NAMES_FILTER_MATCHES_H

#include <stdbool.h>
#include <stddef.h>

struct filter_matches; /* NULL where there are no patterns */

/* The patterns of the options, as in name_pattern.h. */
struct filter_patterns {
	const char *const *only; /* of --filter */
	size_t only_count;
	const char *const *except; /* of --exclude */
	size_t except_count;
	const char *const *count; /* of --count */
	size_t count_count;
};

/* Begins with no match. What @patterns points to must outlive *@out, which the
 * caller ends by filter_matches_free(); it is NULL if there are no patterns at
 * all. 0 or -ENOMEM. */
int filter_matches_new(const struct filter_patterns *patterns,
		       struct filter_matches **out);
void filter_matches_free(struct filter_matches **matches);

/* There is a function @name of the module with the path @module: notes which
 * patterns of --filter and --exclude match it. @matches may be NULL, also
 * below. */
void filter_matches_function(struct filter_matches *matches, const char *name,
			     const char *module);
/* The same of a function that was called, which --count concerns, too. */
void filter_matches_called(struct filter_matches *matches, const char *name,
			   const char *module);
/* There is an annotation @name, which only --exclude concerns. */
void filter_matches_site(struct filter_matches *matches, const char *name);
/* Pattern @index of --count has matched. */
void filter_matches_count(struct filter_matches *matches, size_t index);
/* Not all functions of a program became known: nothing can be said of what was
 * not matched. */
void filter_matches_give_up(struct filter_matches *matches);

/*
 * The next pattern from *@at (0 at first) on that has matched nothing, which is
 * as long as the options; sets *@at behind it, and *@option to the option that
 * has it ("--count"). NULL: there is no more.
 */
const char *filter_matches_missing(const struct filter_matches *matches,
				   size_t *at, const char **option);

#endif
