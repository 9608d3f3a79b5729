/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/show/summary_sched.h"

#include <string.h>

#include "collector/base/log.h"
#include "collector/base/size.h"

/* Smaller shares of the total are not reported. */
#define SPREAD_SHARE 0.01
#define ODD_SHARE 0.001
#define COST_SHARE 0.01

bool summary_sched_known(const struct summary *summary)
{
	return summary->settings.sched && summary->totals.sched_threads;
}

double summary_sched_waiting(const struct summary *summary)
{
	uint64_t self_ns = 0, blocked_ns = 0;

	for (size_t i = 0; i < summary->function_count; i++) {
		self_ns += summary->functions[i].self_ns;
		blocked_ns += summary->functions[i].blocked_self_ns;
	}
	return summary_sched_known(summary) && self_ns
		       ? (double)blocked_ns / (double)self_ns
		       : 0;
}

void summary_sched_print_order(const struct summary *summary, FILE *out)
{
	fprintf(out,
		"\n  by time on CPU, because %.0f %% of self time is waiting "
		"(--sort self: by self time)\n",
		100 * summary_sched_waiting(summary));
}

void summary_sched_log_unknown(const struct summary *summary, const char *dir,
			       const char *what)
{
	const char *why = "record again, without --sched off";

	if (summary->rebuilt)
		why = "its summary was made from its trace; perfrec open shows "
		      "what that has";
	else if (summary->settings.sched)
		why = "the kernel reported no switches of its threads (see its "
		      "notes)";
	log_err("%s: '%s' has no waits and times on CPUs: %s", what, dir, why);
}

static double share_of_all(const struct summary_totals *totals, uint64_t ns)
{
	uint64_t all = totals->on_cpu_ns + totals->runnable_ns +
		       totals->blocked_ns + totals->unknown_sched_ns;

	return all ? (double)ns / (double)all : 0;
}

static void print_odd_part(const struct summary_totals *totals, uint64_t ns,
			   const char *what, FILE *out)
{
	char text[SIZE_TEXT];

	if (share_of_all(totals, ns) > ODD_SHARE)
		fprintf(out, "             %s %s\n", size_format_ns(ns, text),
			what);
}

static void print_silent(const struct summary_totals *totals, const char *lead,
			 FILE *out)
{
	char threads[SIZE_TEXT], on_cpu[SIZE_TEXT], runnable[SIZE_TEXT],
		blocked[SIZE_TEXT];

	if (!totals->silent_threads)
		return;
	fprintf(out,
		"%s%s thread%s without a recorded call or block: on CPU %s, "
		"runnable %s, blocked %s\n",
		lead, size_format_count(totals->silent_threads, threads),
		size_plural(totals->silent_threads),
		size_format_ns(totals->silent_on_cpu_ns, on_cpu),
		size_format_ns(totals->silent_runnable_ns, runnable),
		size_format_ns(totals->silent_blocked_ns, blocked));
}

void summary_sched_print(const struct summary *summary, FILE *out)
{
	const struct summary_totals *totals = &summary->totals;
	char on_cpu[SIZE_TEXT], runnable[SIZE_TEXT], blocked[SIZE_TEXT];
	char switches[SIZE_TEXT];
	char migrations[SIZE_TEXT];
	uint64_t known;
	uint64_t unknown;
	char text[SIZE_TEXT];
	double share;
	uint64_t ns;

	if (!summary->settings.sched ||
	    !(totals->sched_threads + totals->sums_threads +
	      totals->silent_threads))
		return;
	known = totals->sched_threads + totals->sums_threads;
	if (!known) {
		print_silent(totals, "  threads    ", out);
		return;
	}
	fprintf(out, "  threads    on CPU %s, runnable %s, blocked %s",
		size_format_ns(totals->on_cpu_ns, on_cpu),
		size_format_ns(totals->runnable_ns, runnable),
		size_format_ns(totals->blocked_ns, blocked));
	fprintf(out, "; %s switch%s, %s migration%s",
		size_format_count(totals->switches, switches),
		totals->switches == 1 ? "" : "es",
		size_format_count(totals->migrations, migrations),
		totals->migrations == 1 ? "" : "s");
	fputc('\n', out);
	share = share_of_all(totals, totals->spread_ns);
	if (share > SPREAD_SHARE)
		fprintf(out,
			"             %.1f %% of these times is estimated: the "
			"kernel gave sums of threads only\n",
			100 * share);
	print_odd_part(totals, totals->unknown_sched_ns,
		       "unknown: the kernel dropped records or began later",
		       out);
	print_odd_part(totals, totals->stolen_ns,
		       "on a CPU were stolen: the host of this machine had it",
		       out);
	ns = MAX(totals->surplus_functions_ns, totals->surplus_threads_ns) +
	     totals->surplus_silent_ns;
	/* See files/time_check.h. Functions have what their threads have, so
	 * that is the same time. */
	if (ns)
		fprintf(out,
			"             %s on CPUs shown as unknown: the kernel "
			"counted less\n",
			size_format_ns(ns, text));
	unknown = totals->threads > known ? totals->threads - known : 0;
	if (unknown)
		fprintf(out,
			"             %s more thread%s: the kernel reported "
			"no switches\n",
			size_format_count(unknown, text), size_plural(unknown));
	print_silent(totals, "             and ", out);
}

void summary_sched_print_cost(const struct summary *summary, FILE *out)
{
	const struct summary_cost *cost = &summary->cost;
	double ns = cost->told_switch_ns * (double)summary->totals.switches;
	double share;

	if (!cost->total_ns || cost->share <= 0)
		return;
	share = ns * cost->share / (double)cost->total_ns;
	if (share > COST_SHARE)
		fprintf(out,
			"             %.1f %% of the %s went into reports of "
			"switches (--sched off: none)\n",
			100 * share,
			cost->of && strcmp(cost->of, "wall") == 0 ? "run"
								  : "CPU time");
}
