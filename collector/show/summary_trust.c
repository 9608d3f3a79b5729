/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/show/summary_trust.h"

#include <stdarg.h>

#include "collector/base/size.h"
#include "collector/show/summary_losses.h"
#include "collector/show/summary_slowed.h"
#include "shared/compiler.h"

/* A doubt about at least this share of a whole is TRUST_FAIR, or TRUST_POOR. */
#define FAIR_SHARE 0.01
#define POOR_SHARE 0.1
/* A run that recording made this many times slower is TRUST_POOR;
 * summary_slowed.c has the factor of TRUST_FAIR. */
#define SLOWED_MUCH 2.0
/* With fewer samples, the share of a function with half of them has an error of
 * 10 % or more. */
#define SAMPLES_FEW 100

#define TIMES "wall on_cpu runnable blocked"

const char *const trust_level_names[TRUST_LEVELS] = { "good", "fair", "poor" };

static struct trust_doubt *add_doubt(struct trust *trust,
				     enum trust_level level, const char *values,
				     const char *format, ...)
	__attribute__((format(printf, 4, 5)));
static struct trust_doubt *add_doubt(struct trust *trust,
				     enum trust_level level, const char *values,
				     const char *format, ...)
{
	struct trust_doubt *doubt = &trust->doubts[trust->count++];
	va_list arguments;

	doubt->level = level;
	doubt->values = values;
	doubt->next = NULL;
	va_start(arguments, format);
	vsnprintf(doubt->text, sizeof(doubt->text), format, arguments);
	va_end(arguments);
	trust->level = MAX(trust->level, level);
	return doubt;
}

static double trust_share(uint64_t part, uint64_t whole)
{
	return whole ? (double)part / (double)whole : part ? 1 : 0;
}

static enum trust_level level_of_share(double share)
{
	return share >= POOR_SHARE ? TRUST_POOR : TRUST_FAIR;
}

static void doubt_slowdown(const struct summary *summary, struct trust *trust)
{
	const struct summary_totals *totals = &summary->totals;
	char text[SUMMARY_SLOWED_TEXT], count[SIZE_TEXT], time[SIZE_TEXT];
	double stopped = trust_share(totals->wait_ns, summary->wall_ns);

	if (summary->rebuilt)
		add_doubt(trust, TRUST_FAIR, TIMES,
			  "the collector was killed, so perfrec's own time is "
			  "unknown");
	if (summary_slowed_text(summary, text, sizeof(text)))
		add_doubt(trust,
			  summary->cost.dilation >= SLOWED_MUCH ? TRUST_POOR
								: TRUST_FAIR,
			  totals->threads > 1 ? "wall runnable blocked waited"
					      : "wall",
			  "%s", text)
			->next = summary_slowed_next(summary);
	if (totals->waits && stopped >= FAIR_SHARE)
		add_doubt(trust, level_of_share(stopped), "wall blocked waited",
			  "perfrec stopped your program %s time%s, %s%s",
			  size_format_count(totals->waits, count),
			  size_plural(totals->waits),
			  size_format_ns(totals->wait_ns, time),
			  totals->threads > 1 ? " summed over threads" : "")
			->next = summary->settings.overhead > 0
					 ? SUMMARY_STOPPED_LESS
					 : summary_slowed_next(summary);
}

static void doubt_calls(const struct summary *summary, struct trust *trust)
{
	const struct summary_totals *totals = &summary->totals;
	uint64_t lost = totals->dropped_spans + totals->unslotted_spans +
			totals->vfork_spans + totals->muted_spans +
			totals->edge_spans;
	bool broken = totals->refused_programs || totals->broken_rings ||
		      totals->unconnected_starts;
	double share = trust_share(totals->counted_calls,
				   totals->spans + totals->counted_calls);
	char count[SIZE_TEXT];

	if (!totals->spans && !totals->counted_calls && !totals->cpu_samples &&
	    !totals->allocs)
		add_doubt(trust, TRUST_FAIR, "",
			  "there is no call, no sample and no allocation");
	if (lost) {
		double part = trust_share(lost, lost + totals->spans);

		add_doubt(trust, level_of_share(part), TIMES " calls",
			  "%s call%s lost (%s%.1f %%)",
			  size_format_count(lost, count),
			  lost == 1 ? " was" : "s were",
			  part < 0.001 ? "less than " : "",
			  100 * MAX(part, 0.001));
	}
	/* Lost calls are among the losses. */
	if (broken || (!lost && !summary_losses_none(summary)))
		add_doubt(trust, broken ? TRUST_POOR : TRUST_FAIR,
			  TIMES " calls cpu waited",
			  "parts of the recording are lost");
	if (share >= FAIR_SHARE)
		add_doubt(trust, TRUST_FAIR, "wall",
			  "%.1f %% of calls have no times of their own",
			  100 * share);
	if (totals->functions_off)
		add_doubt(trust, TRUST_FAIR, "wall calls",
			  "calls of %s function%s are not counted",
			  size_format_count(totals->functions_off, count),
			  size_plural(totals->functions_off));
}

static void doubt_estimates(const struct summary *summary, struct trust *trust)
{
	const struct summary_totals *totals = &summary->totals;
	double share = trust_share(totals->spread_ns,
				   totals->on_cpu_ns + totals->runnable_ns +
					   totals->blocked_ns);
	char count[SIZE_TEXT], bytes[SIZE_TEXT];

	if (summary_time_is_sampled(summary))
		add_doubt(trust, TRUST_FAIR, TIMES,
			  "times are estimated from %s CPU sample%s",
			  size_format_count(totals->cpu_samples, count),
			  size_plural(totals->cpu_samples));
	else if (totals->cpu_ns && !totals->cpu_samples &&
		 (totals->spans || totals->allocs))
		add_doubt(trust, TRUST_FAIR, "cpu",
			  "no CPU sample was taken, so functions have no CPU "
			  "time");
	else if (totals->cpu_samples && totals->cpu_samples < SAMPLES_FEW)
		add_doubt(trust, TRUST_FAIR, "cpu",
			  "CPU times are from only %s sample%s",
			  size_format_count(totals->cpu_samples, count),
			  size_plural(totals->cpu_samples));
	if (share >= FAIR_SHARE)
		add_doubt(trust, TRUST_FAIR, "on_cpu runnable blocked",
			  "%.1f %% of on-CPU, runnable and blocked times is "
			  "estimated",
			  100 * share);
	if (summary->estimates && trust_share(totals->peak_error_bytes,
					      totals->peak_bytes) >= POOR_SHARE)
		add_doubt(trust, TRUST_FAIR,
			  "alloc_space alloc_objects inuse_space "
			  "inuse_objects peak_space",
			  "memory is estimated, its peak to ± %s",
			  size_format_bytes(totals->peak_error_bytes, bytes));
}

void summary_trust_judge(const struct summary *summary, struct trust *out)
{
	*out = (struct trust){ 0 };
	doubt_slowdown(summary, out);
	doubt_calls(summary, out);
	doubt_estimates(summary, out);
}

void summary_trust_good_text(const struct summary *summary, char *text,
			     size_t room)
{
	double more = 100 * (summary->cost.dilation - 1);

	if (summary->cost.dilation >= 1)
		snprintf(text, room,
			 "nothing was lost, and recording slowed this run by "
			 "%s%.0f %%",
			 more < 1 ? "less than " : "about ", MAX(more, 1.0));
	else
		snprintf(text, room, "nothing was lost");
}

void summary_trust_print(const struct summary *summary,
			 const struct terminal *terminal, FILE *out)
{
	static const enum terminal_style styles[TRUST_LEVELS] = { STYLE_LESS,
								  STYLE_LOSS,
								  STYLE_MORE };
	struct trust trust;
	char text[128];

	summary_trust_judge(summary, &trust);
	fputs("  trust      ", out);
	terminal_style(terminal, styles[trust.level], out);
	fputs(trust_level_names[trust.level], out);
	terminal_style(terminal, STYLE_PLAIN, out);
	if (!trust.count) {
		summary_trust_good_text(summary, text, sizeof(text));
		fprintf(out, ": %s", text);
	}
	for (size_t i = 0; i < trust.count; i++)
		fprintf(out, "%s%s", i ? "; " : ": ", trust.doubts[i].text);
	fputc('\n', out);
}
