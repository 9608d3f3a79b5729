/* SPDX-License-Identifier: Apache-2.0
 *
 * Each function prints one part of the page, or nothing. summary_print()
 * determines their order. summary_losses.c prints losses, and summary_slowed.c
 * the slowdown by recording.
 */
#include "collector/show/summary_print.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/size.h"
#include "collector/base/text_out.h"
#include "collector/output/own_files.h"
#include "collector/show/summary_async.h"
#include "collector/show/summary_budget.h"
#include "collector/show/summary_functions.h"
#include "collector/show/summary_losses.h"
#include "collector/show/summary_sched.h"
#include "collector/show/summary_slowed.h"
#include "collector/show/summary_trust.h"
#include "collector/show/table.h"
#include "collector/show/terminal.h"
#include "shared/compiler.h"

static void print_exit(const struct summary *summary, FILE *out)
{
	if (summary->exited)
		fprintf(out, "  (exit status %d)", summary->exit_status);
	else if (summary->exit_signal)
		fprintf(out, "  (killed by signal %d: %s)",
			summary->exit_signal, strsignal(summary->exit_signal));
	else if (summary->running)
		fputs("  (recording ended before the program did)", out);
	else if (summary->settings.attached)
		fputs("  (attached: exit status unknown)", out);
	else
		fputs("  (exit status unknown)", out);
}

static void print_run(const struct summary *summary, FILE *out)
{
	const struct summary_totals *totals = &summary->totals;
	char spans[SIZE_TEXT], threads[SIZE_TEXT], processes[SIZE_TEXT];
	char wall[SIZE_TEXT];
	char user[SIZE_TEXT];
	char sys[SIZE_TEXT];

	fprintf(out, "  wall time  %s", size_format_ns(summary->wall_ns, wall));
	if (summary->knows_cpu)
		fprintf(out, "  (user %s, system %s)",
			size_format_ns(summary->user_ns, user),
			size_format_ns(summary->sys_ns, sys));
	fputc('\n', out);
	fprintf(out, "  recorded   %s call%s",
		size_format_count(totals->spans, spans),
		size_plural(totals->spans));
	if (totals->span_threads)
		fprintf(out, " of %s thread%s in %s process%s",
			size_format_count(totals->span_threads, threads),
			size_plural(totals->span_threads),
			size_format_count(totals->span_processes, processes),
			totals->span_processes == 1 ? "" : "es");
	if (summary->first_rank >= 0)
		fprintf(out,
			summary->first_rank == summary->last_rank
				? " (rank %" PRId64 ")"
				: " (ranks %" PRId64 " to %" PRId64 ")",
			summary->first_rank, summary->last_rank);
	fputc('\n', out);
}

static void print_states(const struct summary *summary, FILE *out)
{
	const struct summary_totals *totals = &summary->totals;
	uint64_t all = totals->spans + totals->counted_calls;
	char counted[SIZE_TEXT], off[SIZE_TEXT], calls[SIZE_TEXT];

	if (!totals->functions_counted && !totals->functions_off &&
	    !totals->counted_calls)
		return;
	fputs("  counted    ", out);
	if (summary->settings.overhead > 0)
		fprintf(out, "to stay within %g %%: ",
			100 * summary->settings.overhead);
	if (totals->counted_calls)
		fprintf(out, "%.1f %% of %s calls have no times of their own",
			100 * (double)totals->counted_calls / (double)all,
			size_format_count(all, calls));
	if (totals->functions_counted || totals->functions_off)
		fprintf(out, "%sat the end %s function%s only counted, %s off",
			totals->counted_calls ? "; " : "",
			size_format_count(totals->functions_counted, counted),
			size_plural(totals->functions_counted),
			size_format_count(totals->functions_off, off));
	if (totals->functions_off)
		fputs(" (whose calls since then are not counted)", out);
	fputc('\n', out);
}

/* Reports how many functions without hooks were recorded as they are. */
static void print_patched(const struct summary *summary, FILE *out)
{
	const struct summary_totals *totals = &summary->totals;
	uint64_t all = totals->functions_patched + totals->functions_unpatched;
	char patched[SIZE_TEXT], count[SIZE_TEXT];

	if (!all)
		return;
	fprintf(out, "  patched    %s of %s function%s without hooks",
		size_format_count(totals->functions_patched, patched),
		size_format_count(all, count), size_plural(all));
	if (totals->functions_unpatched)
		fputs("; the calls of the others are not known (perfrec doctor "
		      "FILE says why)",
		      out);
	fputc('\n', out);
}

/* Reports how many functions of --calls-to have calls. */
static void print_called(const struct summary *summary, FILE *out)
{
	const struct summary_totals *totals = &summary->totals;
	char called[SIZE_TEXT], others[SIZE_TEXT];

	if (!totals->functions_called && !totals->functions_uncalled)
		return;
	fprintf(out, "  called     %s function%s of libraries",
		size_format_count(totals->functions_called, called),
		size_plural(totals->functions_called));
	if (totals->functions_uncalled)
		fprintf(out,
			"; the calls of %s other%s cannot be taken (perfrec "
			"ctl functions says why)",
			size_format_count(totals->functions_uncalled, others),
			size_plural(totals->functions_uncalled));
	fputc('\n', out);
}

/* user and system lack running processes and those without a waiting parent. */
#define UNWAITED_SHARE 0.2

/* Reports the CPU time that user and system lack, and that without samples. */
static void print_cpu_lacks(const struct summary *summary, FILE *out)
{
	const struct summary_totals *totals = &summary->totals;
	double known = (double)(summary->user_ns + summary->sys_ns);
	char time[SIZE_TEXT], count[SIZE_TEXT];

	if (summary->knows_cpu &&
	    (double)totals->cpu_ns * (1 - UNWAITED_SHARE) > known)
		fputs("             of all processes; user and system count "
		      "only those that were waited for\n",
		      out);
	if (!totals->unsampled_processes)
		return;
	fprintf(out,
		"             %s of it in %s process%s too short for a sample: "
		"their functions are unknown\n",
		size_format_ns(totals->unsampled_process_ns, time),
		size_format_count(totals->unsampled_processes, count),
		totals->unsampled_processes == 1 ? "" : "es");
}

/* Prints the peak of one process, WHERE. */
static void print_peak(const struct summary *summary, const char *where,
		       FILE *out)
{
	const struct summary_totals *totals = &summary->totals;
	char peak[SIZE_TEXT], error[SIZE_TEXT];

	/* The true peak is not 0, because the program allocated memory. */
	if (summary->estimates && !totals->peak_bytes) {
		fputs("; the peak is too little to be sampled", out);
		return;
	}
	fprintf(out, "; at most %s",
		size_format_bytes(totals->peak_bytes, peak));
	if (totals->peak_error_bytes)
		fprintf(out, " ± %s",
			size_format_bytes(totals->peak_error_bytes, error));
	fputs(where, out);
}

static void print_flight(const struct summary *summary, FILE *out)
{
	const struct summary_totals *totals = &summary->totals;
	char kept[SIZE_TEXT], count[SIZE_TEXT], bytes[SIZE_TEXT];

	if (!summary->settings.flight)
		return;
	fprintf(out, "  flight     the last %s in memory; ",
		size_format_ns(totals->flight_kept_ns, kept));
	if (!totals->snapshots) {
		fputs("no snapshot was taken\n", out);
		return;
	}
	fprintf(out, "%s snapshot%s of %s trigger%s, ",
		size_format_count(totals->snapshots, count),
		size_plural(totals->snapshots),
		size_format_count(totals->triggers, kept),
		size_plural(totals->triggers));
	fprintf(out, "%s in " SNAPSHOTS_NAME "/\n",
		size_format_bytes(totals->snapshot_bytes, bytes));
}

static void print_heap(const struct summary *summary, FILE *out)
{
	const struct summary_totals *totals = &summary->totals;
	char blocks[SIZE_TEXT], bytes[SIZE_TEXT], count[SIZE_TEXT];
	char live[SIZE_TEXT], live_bytes[SIZE_TEXT];

	if (!totals->allocs)
		return;
	fprintf(out, "  allocated  %s%s block%s, %s",
		summary->estimates ? "about " : "",
		size_format_count(totals->allocs, blocks),
		size_plural(totals->allocs),
		size_format_bytes(totals->alloc_bytes, bytes));
	if (totals->heap_processes < 2) {
		print_peak(summary, " at once", out);
	} else {
		fprintf(out, ", in %s processes",
			size_format_count(totals->heap_processes, count));
	}
	fprintf(out, "; not freed: %s block%s, %s\n",
		size_format_count(totals->live_blocks, live),
		size_plural(totals->live_blocks),
		size_format_bytes(totals->live_bytes, live_bytes));
	if (totals->heap_processes > 1) {
		char peaks[SIZE_TEXT];

		fprintf(out, "  at peak    %s, each process at its own",
			size_format_bytes(totals->peaks_bytes, peaks));
		print_peak(summary, " in one", out);
		if (totals->peak_program && totals->peak_program[0]) {
			fputs(": ", out);
			text_out(totals->peak_program, out);
		}
		fputc('\n', out);
	}
}

/* Prints "12.5 ns a call that is WHAT", or nothing without calls. Returns the
 * separator for the next part. */
static const char *print_cost_of_calls(uint64_t calls, double ns,
				       const char *what, const char *separator,
				       FILE *out)
{
	if (!calls)
		return separator;
	fprintf(out, "%s%.1f ns a call that is %s", separator, ns, what);
	return ", ";
}

static const char *print_cost_of_sample(double ns, const char *what,
					const char *separator, FILE *out)
{
	char time[SIZE_TEXT];

	if (ns <= 0)
		return separator;
	fprintf(out, "%s%s a %s", separator, size_format_ns((uint64_t)ns, time),
		what);
	return ", ";
}

static const char *print_cost_once(uint64_t ns, const char *what,
				   const char *separator, FILE *out)
{
	char time[SIZE_TEXT];

	if (!ns)
		return separator;
	fprintf(out, "%s%s %s", separator, size_format_ns(ns, time), what);
	return ", ";
}

/* Returns the base of the cost's share. An older perfrec did not write it. */
static const char *cost_base(const struct summary *summary)
{
	if (!summary->cost.of)
		return summary->knows_cpu ? "CPU time" : "run";
	return strcmp(summary->cost.of, "cpu") == 0 ? "CPU time" : "run";
}

/* Prints what the cost consists of. */
static void print_cost_parts(const struct summary *summary, FILE *out)
{
	const char *separator = "";

	if (summary->totals.spans) {
		fprintf(out, "%.1f ns a call", summary->cost.span_ns);
		separator = ", ";
	}
	separator = print_cost_of_calls(summary->totals.counted_calls,
					summary->cost.counted_ns, "counted",
					separator, out);
	separator = print_cost_of_calls(summary->cost.left_out_calls,
					summary->cost.left_out_ns, "too deep",
					separator, out);
	separator = print_cost_of_calls(summary->cost.excluded_calls,
					summary->cost.excluded_ns, "excluded",
					separator, out);
	separator = print_cost_of_calls(
		summary->cost.paused_ns > 0 ? summary->totals.paused_spans : 0,
		summary->cost.paused_ns, "in a pause", separator, out);
	separator = print_cost_of_calls(
		summary->cost.dropped_ns > 0 ? summary->totals.dropped_spans
					     : 0,
		summary->cost.dropped_ns, "lost", separator, out);
	if (summary->cost.heap_record_ns > 0) {
		fprintf(out, "%s%.1f ns an allocation or free", separator,
			summary->cost.heap_record_ns);
		separator = ", ";
	}
	separator = print_cost_of_sample(summary->cost.heap_sample_ns,
					 "sampled block", separator, out);
	separator = print_cost_of_sample(summary->cost.sample_ns, "sample",
					 separator, out);
	separator = print_cost_of_sample(summary->cost.switch_ns, "switch",
					 separator, out);
	separator = print_cost_once(summary->cost.start_ns, "to start",
				    separator, out);
	(void)print_cost_once(summary->cost.pages_ns, "for memory of the rings",
			      separator, out);
	fputc('\n', out);
}

static void print_cost(const struct summary *summary, bool verbose, FILE *out)
{
	char time[SIZE_TEXT];

	if (!summary->cost.total_ns && !summary->totals.spans)
		return;
	fputs("  own cost   ", out);
	if (summary->cost.capped)
		fputs("more than could be measured", out);
	else
		fprintf(out, "about %.1f %% of the %s, %s",
			100 * summary->cost.share, cost_base(summary),
			size_format_ns(summary->cost.total_ns, time));
	fputs(verbose ? "\n             "
		      : " (details: perfrec report --verbose)\n",
	      out);
	if (verbose)
		print_cost_parts(summary, out);
	summary_budget_print_cost(summary, verbose, out);
	summary_sched_print_cost(summary, out);
}

/* Returns true if perfrec's own time exceeds the remaining time of functions,
 * so the times of small functions are mostly error. Measured waits do not
 * count. */
static bool is_cost_rough(const struct summary *summary)
{
	uint64_t took = summary->cost.subtracted_ns, left = 0;

	for (size_t i = 0; i < summary->function_count; i++)
		left += summary->functions[i].self_ns;
	return took > summary->totals.wait_ns &&
	       took - summary->totals.wait_ns > left;
}

static void print_partial_times(const struct summary *summary, FILE *out)
{
	const struct summary_totals *totals = &summary->totals;
	char count[SIZE_TEXT];

	if (!totals->functions_counted && !totals->functions_off &&
	    !totals->counted_calls)
		return;
	fprintf(out,
		"  times      are of recorded calls only; those of all others "
		"are in their callers:\n"
		"             %s CPU sample%s: too few to tell more (--cpu "
		"997, "
		"or a longer run)\n",
		size_format_count(totals->cpu_samples, count),
		size_plural(totals->cpu_samples));
}

static void print_subtracted(const struct summary *summary,
			     const struct summary_print_options *options,
			     FILE *out)
{
	char time[SIZE_TEXT];

	if (summary_time_is_sampled(summary)) {
		char count[SIZE_TEXT];

		fprintf(out,
			"  times      are from %s CPU samples%s, without "
			"perfrec's own; +- is the error of\n"
			"             chance; median, p99 and max are of "
			"recorded calls (--recorded: all times)\n",
			size_format_count(summary->totals.cpu_samples, count),
			summary_sched_known(summary)
				? " and the stacks of waits"
				: " (waits are not known)");
		return;
	}
	print_partial_times(summary, out);
	if (!summary->cost.subtracted_ns)
		return;
	size_format_ns(summary->cost.subtracted_ns, time);
	if (options->raw)
		fprintf(out,
			"  times      are as measured: perfrec itself took "
			"%s in them%s\n",
			time,
			summary_sched_known(summary)
				? " (on CPU, runnable and blocked: without)"
				: "");
	else
		fprintf(out,
			"  times      are without the %s that perfrec took "
			"in them (--raw: as measured)\n",
			time);
	if (options->raw && summary_knows_durations(summary))
		fputs("             (median, p99 and max of single calls: "
		      "without)\n",
		      out);
	if (!options->raw && is_cost_rough(summary))
		fputs("             that is more than is left: times of small "
		      "functions are rough\n",
		      out);
}

/* Names the views with data of a program without spans. Returns false and
 * prints nothing if there are none. */
static bool print_other_views(const struct summary *summary, FILE *out)
{
	const struct {
		const char *view;
		bool filled;
	} all[] = {
		{ "cpu", summary->totals.cpu_ns },
		{ "heap", summary->totals.allocs },
		{ "wait", summary_sched_known(summary) },
	};
	size_t left = 0, count = 0;

	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		left += all[i].filled;
	if (!left)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		if (!all[i].filled)
			continue;
		fprintf(out, "%s--view %s",
			!count++    ? "are no calls: see perfrec report "
			: left == 1 ? " and "
				    : ", ",
			all[i].view);
		left--;
	}
	fputs(".\n", out);
	return true;
}

/* A program that could not load perfrec's library looks like one without
 * instrumentation. */
static void print_no_hooks(const struct summary *summary, FILE *out)
{
	const struct summary_totals *totals = &summary->totals;
	bool recorded = totals->processes &&
			(summary->wants_cpu || summary->wants_alloc);

	if (totals->unloaded_programs) {
		fputs("\n  There are no calls, as perfrec's library was not "
		      "loaded (see the note). Link\n  programs without "
		      "-static, and start them with LD_PRELOAD in their "
		      "environment.\n  Build those without hooks with perfrec "
		      "cc.\n",
		      out);
		return;
	}
	fputs("\n  No function of this program is instrumented, so there ",
	      out);
	if (!print_other_views(summary, out))
		fputs(recorded ? "are no calls,\n  and the programs that "
				 "loaded perfrec's library ended without a "
				 "sample.\n"
			       : "is nothing to see.\n",
		      out);
	fputs("  For every call of it as it is, add --patch. Or rebuild it "
	      "with\n"
	      "      perfrec cc gcc -g ...\n"
	      "      perfrec c++ g++ -g ...         (or clang, clang++)\n",
	      out);
	if (!totals->processes)
		fputs("  If it is instrumented: programs that are linked "
		      "statically or set-user-ID do not\n"
		      "  load perfrec's library.\n",
		      out);
	else if (!totals->allocs)
		fputs("  Programs that are linked statically or set-user-ID "
		      "are not recorded.\n",
		      out);
}

static const char *file_hint(const char *name)
{
	static const struct {
		const char *name, *hint;
	} hints[] = {
		{ TRACE_NAME, "open it in https://ui.perfetto.dev" },
		{ WALL_PROFILE_NAME, "go tool pprof -http :0, or "
				     "https://www.speedscope.app" },
		{ CPU_PROFILE_NAME, "the same; perfrec report --view cpu" },
		{ OFFCPU_PROFILE_NAME, "the same; perfrec report --view wait" },
		{ HEAP_PROFILE_NAME, "the same; perfrec report --view heap" },
		{ SPAN_PROFILE_NAME, "the same; perfrec report --view span" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(hints); i++)
		if (strcmp(hints[i].name, name) == 0)
			return hints[i].hint;
	return NULL;
}

static void print_file_list(const struct summary *summary, const char *dir,
			    FILE *out)
{
	bool too_large = summary_trace_bytes(summary) > BROWSER_TRACE_BYTES;
	char bytes[SIZE_TEXT];

	fputs("\n  files in ", out);
	text_out(dir, out);
	fputc('\n', out);
	for (size_t i = 0; i < summary->file_count; i++) {
		const struct summary_file *file = &summary->files[i];
		const char *hint = file_hint(file->name);

		if (too_large && !strcmp(file->name, TRACE_NAME))
			hint = "too large for a browser; see below";
		fprintf(out, "  %9s  ", size_format_bytes(file->bytes, bytes));
		text_out(file->name, out);
		if (hint)
			fprintf(out, "  %s", hint);
		fputc('\n', out);
	}
	if (!summary->unwritten) {
		fputs("             " SUMMARY_NAME "   perfrec report ", out);
		text_out_quoted(dir, out);
		fputc('\n', out);
	}
	if (too_large) {
		static const struct {
			const char *command, *does;
		} ways[] = {
			{ "perfrec report ", "all functions" },
			{ "perfrec open --html ",
			  "a page that shows all of it" },
			{ "perfrec cut --slowest FUNC -o cut.pftrace ",
			  "a part of it, for ui.perfetto.dev" },
		};

		fputs("\n  The trace is too large to be opened as it is. "
		      "Instead:\n",
		      out);
		for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
			fprintf(out, "      %s", ways[i].command);
			text_out_quoted(dir, out);
			fprintf(out, "   %s\n", ways[i].does);
		}
	}
}

#define FACT_INDENT 13

static void write_summary_facts(const struct summary *summary,
				const struct summary_print_options *options,
				const struct terminal *terminal, FILE *out)
{
	bool whole = summary_losses_none(summary);
	char from[SIZE_TEXT], bytes[SIZE_TEXT];
	char time[SIZE_TEXT], samples[SIZE_TEXT];

	summary_trust_print(summary, terminal, out);
	summary_slowed_print_effect(summary, out);
	summary_budget_print_over(summary, out);
	print_run(summary, out);
	print_patched(summary, out);
	print_called(summary, out);
	print_states(summary, out);
	if (summary->totals.cpu_ns) {
		fprintf(out,
			"  CPU time   %s in %s sample%s, %u a second (perfrec "
			"report --view cpu)\n",
			size_format_ns(summary->totals.cpu_ns, time),
			size_format_count(summary->totals.cpu_samples, samples),
			size_plural(summary->totals.cpu_samples),
			(unsigned int)summary->settings.cpu_hz);
		print_cpu_lacks(summary, out);
	}
	summary_sched_print(summary, out);
	print_heap(summary, out);
	print_flight(summary, out);
	if (summary->totals.trace_given_up_bytes) {
		fprintf(out,
			"  trace      begins at %s: the older %s were "
			"discarded (--keep last)\n",
			size_format_ns(summary->totals.trace_from_ns, from),
			size_format_bytes(summary->totals.trace_given_up_bytes,
					  bytes));
	}
	if (!whole) {
		terminal_style(terminal, STYLE_LOSS, out);
		summary_losses_print(summary, "  lost       ", out);
		terminal_style(terminal, STYLE_PLAIN, out);
	} else if (!summary->rebuilt &&
		   (summary->totals.spans || summary->totals.allocs ||
		    summary->totals.cpu_samples)) {
		fputs("  lost       nothing\n", out);
	}
	for (const char **note = summary->notes; *note; note++) {
		fputs("  note       ", out);
		text_out(*note, out);
		fputc('\n', out);
	}
	summary_losses_print_went_on(summary, "  note       ", out);
	summary_losses_print_odd(summary, out);
	if (summary->rebuilt)
		return; /* its cost is unknown */
	print_cost(summary, options->verbose, out);
	print_subtracted(summary, options, out);
}

static void print_facts(const struct summary *summary,
			const struct summary_print_options *options,
			const struct terminal *terminal, FILE *out)
{
	char *text = NULL;
	size_t size;
	FILE *lines = terminal->columns ? open_memstream(&text, &size) : NULL;

	write_summary_facts(summary, options, terminal, lines ? lines : out);
	if (lines && !fclose(lines))
		terminal_wrap(terminal, text, FACT_INDENT, out);
	free(text);
}

static int print_summary_functions(struct summary *summary,
				   const struct summary_print_options *options,
				   const struct terminal *terminal, FILE *out)
{
	const struct summary_rows rows = {
		.dir = options->dir,
		.order = options->order,
		.limit = options->limit,
		.full_names = options->full_names,
	};

	return summary_functions_print(summary, &rows, terminal, out);
}

int summary_print(struct summary *summary,
		  const struct summary_print_options *options, FILE *out)
{
	const struct terminal terminal = terminal_of(out);
	int err;

	fputs("\nperfrec: ", out);
	for (const char **word = summary->command; *word; word++) {
		if (word != summary->command)
			fputc(' ', out);
		text_out_quoted(*word, out);
	}
	print_exit(summary, out);
	if (summary->service[0]) {
		fputs("  as service ", out);
		text_out_quoted(summary->service, out);
	}
	fputs("\n\n", out);
	print_facts(summary, options, &terminal, out);
	err = print_summary_functions(summary, options, &terminal, out);
	if (!err)
		err = summary_async_print(summary, options->limit,
					  options->full_names, &terminal, out);
	if (!summary->totals.spans && !summary->totals.refused_programs &&
	    !summary->rebuilt) {
		if (!summary->instrumented)
			print_no_hooks(summary, out);
		else if (summary->filtered)
			fputs("\n  Nothing is left of this program by --filter "
			      "and --exclude.\n",
			      out);
	}
	print_file_list(summary, options->dir, out);
	return fflush(out) || ferror(out) ? -EIO : err;
}

/* Prints the command as code, without the folder of its program. */
static int print_command_code(const struct summary *summary, FILE *out)
{
	char *text = NULL;
	size_t size;
	FILE *words = open_memstream(&text, &size);

	if (!words)
		return -ENOMEM;
	for (const char **word = summary->command; *word; word++) {
		const char *slash =
			word == summary->command ? strrchr(*word, '/') : NULL;

		if (word != summary->command)
			fputc(' ', words);
		text_out_quoted(slash && slash[1] ? slash + 1 : *word, words);
	}
	if (fclose(words)) {
		free(text);
		return -ENOMEM;
	}
	table_markdown_code(text, out);
	free(text);
	return 0;
}

int summary_print_markdown(struct summary *summary,
			   const struct summary_print_options *options,
			   bool with_functions, FILE *out)
{
	static const struct terminal plain;
	int err;

	fputs("**perfrec", out);
	if (summary->version[0])
		fputc(' ', out);
	text_out(summary->version, out);
	fputs("**: ", out);
	err = print_command_code(summary, out);
	print_exit(summary, out);
	/* Each line begins with two spaces and a word, so none ends the
	 * block. */
	fputs("\n\n```text\n", out);
	print_facts(summary, options, &plain, out);
	fputs("```\n", out);
	if (with_functions && !err)
		err = print_summary_functions(summary, options, NULL, out);
	if (with_functions && !err)
		err = summary_async_print(summary, options->limit,
					  options->full_names, NULL, out);
	return fflush(out) || ferror(out) ? -EIO : err;
}
