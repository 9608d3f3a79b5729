/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/show/summary_slowed.h"

#include "shared/compiler.h"

/* Below this, waits for slowed threads are within the noise of runs. */
#define SLOWED_LEAST 1.3
/* Above this, the remaining CPU time is only the error of the cost. */
#define SLOWED_MOST 50.0

static bool is_slower(const struct summary *summary)
{
	return !summary->rebuilt && summary->cost.dilation >= SLOWED_LEAST;
}

bool summary_is_slowed(const struct summary *summary)
{
	return is_slower(summary) && summary->totals.threads > 1;
}

bool summary_slowed_text(const struct summary *summary, char *text, size_t room)
{
	double times = MIN(summary->cost.dilation, SLOWED_MOST);

	if (is_slower(summary))
		snprintf(text, room, "recording made this run %s %.*f x slower",
			 times < SLOWED_MOST ? "about" : "at least",
			 times < 10 ? 1 : 0, times);
	return is_slower(summary);
}

const char *summary_slowed_next(const struct summary *summary)
{
	return summary->settings.overhead > 0
		       ? "a build of perfrec cc --hooks=entry, or without hooks"
		       : "perfrec record --overhead 5% -- COMMAND";
}

void summary_slowed_print_effect(const struct summary *summary, FILE *out)
{
	if (!is_slower(summary))
		return;
	if (summary_is_slowed(summary))
		fputs("             wall and blocked times include waits for "
		      "threads that it slowed\n",
		      out);
	fprintf(out, "             next: %s\n", summary_slowed_next(summary));
}

void summary_slowed_print(const struct summary *summary, FILE *out)
{
	char text[SUMMARY_SLOWED_TEXT];

	if (summary_slowed_text(summary, text, sizeof(text)))
		fprintf(out, "  slowed     %s\n", text);
	summary_slowed_print_effect(summary, out);
}

void summary_slowed_print_mark(const struct summary *summary, FILE *out)
{
	if (summary_is_slowed(summary))
		fputs("  " SUMMARY_SLOWED_MARK
		      ": with waits for threads that recording slowed\n",
		      out);
}
