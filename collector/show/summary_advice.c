/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/show/summary_advice.h"

#include <stdlib.h>
#include <string.h>

#include "collector/base/text_out.h"

/* If recording took more of the run than this, there is advice. */
#define COST_SHARE_HIGH (1.0 / 3)
/* The advice names functions until the rest takes no more than this. */
#define COST_SHARE_GOAL 0.2
#define ADVICE_MAX 3 /* functions */
#define ADVICE_INDENT "             "
/* Room for an option, in a line of 80 columns that may end in " \". */
#define ADVICE_COLUMNS (80 - sizeof(ADVICE_INDENT " \\") + 1)
/* A function whose spans are a smaller part of the cost is not named. */
#define ADVICE_COST_MIN 0.01

/* How much is won by excluding @function: the more, the more often it is called
 * and the less it does itself. */
static double advice_score(const struct summary_function *function)
{
	double calls = (double)function->calls;

	return calls * calls / ((double)function->self_ns + 1);
}

static int compare_advice_scores(const void *left, const void *right)
{
	const struct summary_function *const *a = left, *const *b = right;
	double one = advice_score(*a), other = advice_score(*b);

	return one < other ? 1 : one > other ? -1 : 0;
}

/* "--exclude" and @name, as a glob that matches nothing else, quoted for a
 * shell. NULL: no memory. The caller frees it. */
static char *exclude_option(const char *name)
{
	char *glob = malloc(2 * strlen(name) + 1);
	char *to = glob;
	char *option = NULL;
	size_t size;
	FILE *out = glob ? open_memstream(&option, &size) : NULL;

	if (!out) {
		free(glob);
		return NULL;
	}
	for (; *name; name++) {
		if (strchr("*?[]\\", *name) || (*name == '@' && to == glob))
			*to++ = '\\';
		*to++ = *name;
	}
	*to = '\0';
	fputs("--exclude ", out);
	text_out_quoted(glob, out);
	free(glob);
	fclose(out);
	return option;
}

/* One option that is advised. */
struct advice {
	char *option; /* NULL: nobody could type it */
	size_t length;
};

/* The option that excludes function @name, if a person can type it: it has only
 * characters that keyboards have, and fits into a line. */
static struct advice make_advice(const char *name)
{
	struct advice advice = { NULL, 0 };

	for (const char *c = name; *c; c++)
		if (*c < ' ' || *c > '~')
			return advice;
	if (strlen(name) > ADVICE_COLUMNS)
		return advice;
	advice.option = exclude_option(name);
	advice.length = advice.option ? strlen(advice.option) : 0;
	if (advice.length <= ADVICE_COLUMNS)
		return advice;
	free(advice.option);
	return (struct advice){ NULL, 0 };
}

static int compare_option_lengths(const void *left, const void *right)
{
	const struct advice *a = left, *b = right;

	return a->length < b->length ? -1 : a->length > b->length;
}

/* Fill in @advice for the first of @functions, until what is left of the cost
 * is small enough; the best function to exclude stands first among @functions.
 * Returns how many are filled in; the caller frees their options. */
static size_t choose_advice(const struct summary *summary,
			    const struct summary_function *const *functions,
			    struct advice advice[ADVICE_MAX])
{
	double share = summary->cost.share;
	double cost = (double)summary->cost.total_ns;
	size_t chosen = 0;

	for (size_t i = 0; i < summary->function_count; i++) {
		double part =
			(double)functions[i]->calls * summary->cost.span_ns;

		if (chosen == ADVICE_MAX || share < COST_SHARE_GOAL)
			break;
		/* Most of the cost may be of calls that are excluded. */
		if (part < ADVICE_COST_MIN * cost)
			continue;
		advice[chosen] = make_advice(functions[i]->name);
		if (!advice[chosen].option)
			continue;
		chosen++;
		share -= summary->cost.share * part / cost;
	}
	return chosen;
}

void summary_advice_print(const struct summary *summary, FILE *out)
{
	size_t count = summary->function_count, chosen;
	const struct summary_function **best;
	struct advice advice[ADVICE_MAX];

	if (summary->cost.share <= COST_SHARE_HIGH || !summary->totals.spans)
		return;
	best = calloc(count + 1, sizeof(*best));
	if (!best)
		return;
	for (size_t i = 0; i < count; i++)
		best[i] = &summary->functions[i];
	qsort(best, count, sizeof(*best), compare_advice_scores);
	chosen = choose_advice(summary, best, advice);
	qsort(advice, chosen, sizeof(*advice), compare_option_lengths);
	if (chosen)
		fputs(ADVICE_INDENT "these are called most and do least; "
				    "without them times are truer:\n",
		      out);
	for (size_t i = 0; i < chosen; i++) {
		/* Each line can be pasted with the next one. */
		fprintf(out, ADVICE_INDENT "%s%s\n", advice[i].option,
			i + 1 < chosen ? " \\" : "");
		free(advice[i].option);
	}
	free(best);
}
