/* SPDX-License-Identifier: Apache-2.0
 *
 * summary_trust - judges how far the figures of a recording can be trusted: the
 * first line of a summary, and the banner of a page. The files
 * summary_slowed.c, summary_losses.c and summary_budget.c print the details.
 */
#ifndef PERFREC_COLLECTOR_SHOW_SUMMARY_TRUST_H
#define PERFREC_COLLECTOR_SHOW_SUMMARY_TRUST_H

#include <stddef.h>
#include <stdio.h>

#include "collector/read/summary_read.h"
#include "collector/show/terminal.h"

enum trust_level { TRUST_GOOD, TRUST_FAIR, TRUST_POOR, TRUST_LEVELS };

/* "good", "fair", "poor" */
extern const char *const trust_level_names[TRUST_LEVELS];

#define TRUST_DOUBTS_MAX 9

/* A reason not to trust some figures. */
struct trust_doubt {
	enum trust_level level; /* not TRUST_GOOD */
	/* Affected values, by their keys in the page (docs/PAGE.md), separated
	 * by spaces. */
	const char *values;
	const char *next; /* what to run instead, or NULL */
	char text[128]; /* without a period */
};

struct trust {
	enum trust_level level; /* the worst level of the doubts */
	size_t count;
	struct trust_doubt doubts[TRUST_DOUBTS_MAX];
};

/* Judges @summary. @out keeps no pointer into @summary. */
void summary_trust_judge(const struct summary *summary, struct trust *out);

/* Writes the sentence without doubts to @text, of @room bytes. */
void summary_trust_good_text(const struct summary *summary, char *text,
			     size_t room);

/* Prints the line "trust" in the form of the facts. */
void summary_trust_print(const struct summary *summary,
			 const struct terminal *terminal, FILE *out);

#endif
