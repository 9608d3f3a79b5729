/* SPDX-License-Identifier: Apache-2.0 */

#include "collector/show/summary_budget.h"

#include <stdbool.h>
#include <string.h>

#include "collector/base/size.h"
#include "shared/compiler.h"

/* The error of the cost is at least 10 %, so a smaller excess is within
 * budget. */
#define TOLERANCE 1.1
/* Costs were estimated at up to twice the truth. An overhead above this share is
 * divided by less than that error: only a lower bound is known. */
#define ROUGH_ABOVE 2.0
/* Shorter waits are not reported. */
#define HELD_NS 20000000

static const char *time_of(const struct summary *summary)
{
	return summary->cost.of && !strcmp(summary->cost.of, "wall")
		       ? "run time"
		       : "CPU time";
}

static uint64_t start_ns(const struct summary *summary)
{
	return summary->cost.start_ns + summary->cost.pages_ns +
	       summary->totals.patch_ns;
}

static const char *advice_for_hooks(const struct summary *summary)
{
	if (summary->totals.functions_hooked)
		return "build with perfrec cc --hooks=entry, or record the "
		       "program without a rebuild";
	if (summary->totals.overhead_unmet)
		return "counting alone costs more; exclude "
		       "what is called most (--exclude), or record the program "
		       "without a rebuild";
	if (summary->totals.functions_recalled)
		return "exclude what is called most (--exclude), or record the "
		       "program without a rebuild";
	return summary->settings.no_cache
		       ? "the next run knows what is called most, without "
			 "--no-cache"
		       : "the next run knows what is called most";
}

static const char *advice(const struct summary *summary)
{
	const struct summary_cost *cost = &summary->cost;
	const struct {
		uint64_t ns;
		const char *text;
	} parts[] = {
		{ cost->hooks_ns + cost->build_ns, advice_for_hooks(summary) },
		{ start_ns(summary), "most of it is the start: a longer run is "
				     "nearer to the budget" },
		{ cost->samples_ns, "sample CPU time less often (--cpu 99)" },
		{ cost->switches_ns,
		  "do without switches of threads (--sched off)" },
		{ cost->heap_ns, "do without allocations (--alloc off)" },
	};
	size_t most = 0;

	for (size_t i = 1; i < ARRAY_SIZE(parts); i++)
		if (parts[i].ns > parts[most].ns)
			most = i;
	return parts[most].text;
}

static bool is_rough(double reached)
{
	return reached > ROUGH_ABOVE;
}

/* Returns the overhead if perfrec took half of its estimated cost, and the
 * program the rest of the run. */
static double least_overhead(double reached)
{
	return reached / (2 + reached);
}

void summary_budget_print_over(const struct summary *summary, FILE *out)
{
	double limit = summary->settings.overhead;
	double reached = summary->totals.overhead_reached;
	bool rough = is_rough(reached);

	if (limit > 0 && reached > limit * TOLERANCE)
		fprintf(out,
			"  over budget  this run took %s %.*f %% more %s "
			"than the program without perfrec, not %g %%: %s\n",
			rough ? "at least" : "about", reached < 0.1,
			100 * (rough ? least_overhead(reached) : reached),
			time_of(summary), 100 * limit, advice(summary));
}

void summary_budget_print_cost(const struct summary *summary, bool verbose,
			       FILE *out)
{
	const struct summary_totals *totals = &summary->totals;
	char patching[SIZE_TEXT], held[SIZE_TEXT];

	if (summary->settings.overhead <= 0 || totals->overhead_reached <= 0)
		return;
	fputs("             ", out);
	if (totals->patch_ns)
		fprintf(out, "with %s to connect functions: ",
			size_format_ns(totals->patch_ns, patching));
	if (is_rough(totals->overhead_reached))
		fprintf(out, "at least %.0f %%",
			100 * least_overhead(totals->overhead_reached));
	else
		fprintf(out, "%.1f %%", 100 * totals->overhead_reached);
	fprintf(out, " of the %s without perfrec; the budget was %g %%\n",
		time_of(summary), 100 * summary->settings.overhead);
	if (verbose && totals->held_ns >= HELD_NS)
		fprintf(out,
			"             the start waited %s until functions were "
			"connected\n",
			size_format_ns(totals->held_ns, held));
	if (verbose && summary->cost.build_ns)
		fprintf(out,
			"             %s of it is the calls build itself "
			"(perfrec cc --hooks=entry has none)\n",
			size_format_ns(summary->cost.build_ns, held));
}
