/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/show/summary_losses.h"

#include <string.h>

#include "collector/base/size.h"
#include "collector/base/text_out.h"
#include "shared/compiler.h"

/* Room for a sentence with its count. */
#define SENTENCE_BYTES 300
/* Limits of the names of processes that continued: printed, and examined. */
#define NAMES_MAX 8
#define NAMES_SEEN_MAX 1024

/* Order of the lines: the rows SECTION() of counters.def. */
enum section {
#define SECTION(section, title, text) SECTION_##section,
#include "collector/output/counters.def"
	SECTION_COUNT,
};

/* Kind of output for a total that is neither 0 nor null. */
enum said {
	SAID_NOTHING,
	SAID_LOSS,
	SAID_NO_SLOT, /* a loss, with the reason */
	SAID_REFUSED, /* a loss, with the reason for each program */
	SAID_STOPPED, /* a loss, with the reason */
	SAID_ODD, /* no loss */
};

/* The column SAID of counters.def. */
#define NOTHING SAID_NOTHING, NULL, NULL
#define LOSS(sentence) SAID_LOSS, NULL, sentence
#define NO_SLOT(things) SAID_NO_SLOT, NULL, things
#define REFUSED SAID_REFUSED, NULL, NULL
#define STOPPED SAID_STOPPED, NULL, NULL
#define ODD(word, sentence) SAID_ODD, word, sentence

struct said_total {
	size_t offset; /* in struct summary_totals */
	enum counter_kind kind;
	enum section section;
	enum said said;
	const char *word, *sentence;
};

static const struct said_total said_totals[] = {
#define TOTAL(section, kind, name, value, said, text)            \
	{ offsetof(struct summary_totals, name), COUNTER_##kind, \
	  SECTION_##section, said },
#include "collector/output/counters.def"
};

static uint64_t count_said(const struct summary *summary,
			   const struct said_total *row)
{
	return counters_amount(row->kind,
			       (const char *)&summary->totals + row->offset);
}

bool summary_losses_none(const struct summary *summary)
{
	for (size_t i = 0; i < ARRAY_SIZE(said_totals); i++)
		if (said_totals[i].said != SAID_NOTHING &&
		    said_totals[i].said != SAID_ODD &&
		    count_said(summary, &said_totals[i]))
			return false;
	return true;
}

/* Prints "12 calls ..." without a newline. */
static void print_sentence(uint64_t count, const char *sentence,
			   const char *prefix, FILE *out)
{
	char number[SIZE_TEXT], text[SENTENCE_BYTES];

	size_format_text(sentence, size_format_count(count, number), text,
			 sizeof(text));
	fprintf(out, "%s%s %s", prefix, number, text);
}

/* Reports records that found the ring full. If threads already waited for room,
 * replaces the advice to wait by the reason. */
static void print_lost(const struct summary *summary, uint64_t count,
		       const char *sentence, const char *prefix, FILE *out)
{
	static const char advice[] = " (record with --on-full block, or ";
	const char *on_full = summary->settings.on_full;
	const char *found = strstr(sentence, advice);
	char text[SENTENCE_BYTES];

	if (found && on_full && !strcmp(on_full, "block")) {
		snprintf(text, sizeof(text),
			 "%.*s, and the collector did not read it in time "
			 "(record with %s",
			 (int)(found - sentence), sentence,
			 found + sizeof(advice) - 1);
		sentence = text;
	}
	print_sentence(count, sentence, prefix, out);
	fputc('\n', out);
}

/* Prints ": reason; reason". */
static void print_why_no_slot(const struct summary_totals *totals, FILE *out)
{
	const struct {
		bool is_so;
		const char *text;
	} whys[] = {
		/* An older perfrec had no other reason. */
		{ totals->slots_taken ||
			  (!totals->slots_retired && !totals->slots_refused),
		  "there were more threads than slots (set PERFREC_SLOTS "
		  "to more threads than there are at once, up to 65536; "
		  "below ulimit -v a smaller --ring-size, too)" },
		{ totals->slots_retired,
		  "the program set RLIMIT_AS or called mlockall(), which left "
		  "room for few (record with a smaller --ring-size)" },
		{ totals->slots_refused,
		  "the kernel refused access to more of them (mprotect(): "
		  "a seccomp filter, or vm.max_map_count)" },
	};
	const char *between = ": ";

	for (size_t i = 0; i < ARRAY_SIZE(whys); i++) {
		if (!whys[i].is_so)
			continue;
		fprintf(out, "%s%s", between, whys[i].text);
		between = "; ";
	}
}

/* Prints "2 of the programs (the first was sh): it runs as another user". */
static void print_refused_programs(const struct summary *summary,
				   const char *prefix, FILE *out)
{
	/* An older perfrec wrote no reasons. */
	if (!summary->refused_count) {
		print_sentence(summary->totals.refused_programs,
			       "of the programs: refused by the collector",
			       prefix, out);
		fputc('\n', out);
	}
	for (size_t i = 0; i < summary->refused_count; i++) {
		const struct summary_refused *one = &summary->refused[i];
		char count[SIZE_TEXT];

		fprintf(out, "%s%s of the programs", prefix,
			size_format_count(one->programs, count));
		if (one->name[0]) {
			fputs(" (the first was ", out);
			text_out_quoted(one->name, out);
			fputc(')', out);
		}
		fputs(": ", out);
		text_out(one->why, out);
		fputc('\n', out);
	}
}

static void print_loss(const struct summary *summary,
		       const struct said_total *row, const char *prefix,
		       FILE *out)
{
	uint64_t count = count_said(summary, row);

	switch (row->said) {
	case SAID_LOSS:
		print_lost(summary, count, row->sentence, prefix, out);
		break;
	case SAID_NO_SLOT:
		print_sentence(count, row->sentence, prefix, out);
		fputs(" of threads that have no slot", out);
		print_why_no_slot(&summary->totals, out);
		fputc('\n', out);
		break;
	case SAID_REFUSED:
		print_refused_programs(summary, prefix, out);
		break;
	case SAID_STOPPED:
		fprintf(out, "%sthe rest of the trace: ", prefix);
		text_out(summary->totals.trace_stopped, out);
		fputs(" (calls and times are of the whole run)\n", out);
		break;
	case SAID_NOTHING:
	case SAID_ODD:
		break;
	}
}

void summary_losses_print(const struct summary *summary, const char *prefix,
			  FILE *out)
{
	for (int section = 0; section < SECTION_COUNT; section++)
		for (size_t i = 0; i < ARRAY_SIZE(said_totals); i++)
			if ((int)said_totals[i].section == section &&
			    count_said(summary, &said_totals[i]))
				print_loss(summary, &said_totals[i], prefix,
					   out);
}

static size_t count_name(const char **names, size_t i)
{
	size_t count = 0;

	for (size_t k = 0; k < NAMES_SEEN_MAX && names[k]; k++) {
		if (strcmp(names[k], names[i]) != 0)
			continue;
		if (k < i)
			return 0;
		count++;
	}
	return count;
}

static void print_names(const char **names, FILE *out)
{
	size_t shown = 0;

	for (size_t i = 0; i < NAMES_SEEN_MAX && names[i]; i++) {
		size_t count = count_name(names, i);

		if (!count)
			continue;
		fputs(shown ? ", " : ": ", out);
		if (shown++ == NAMES_MAX) {
			fputs("...", out);
			break;
		}
		text_out(names[i], out);
		if (count > 1)
			fprintf(out, " (%zu)", count);
	}
}

void summary_losses_print_went_on(const struct summary *summary,
				  const char *prefix, FILE *out)
{
	uint64_t count = summary->totals.went_on;
	char text[SIZE_TEXT];

	if (!count)
		return;
	fprintf(out,
		"%s%s process%s went on unrecorded when the recording ended",
		prefix, size_format_count(count, text), count == 1 ? "" : "es");
	print_names(summary->went_on, out);
	/* A user may end the recording, for example by perfrec ctl stop, while
	 * the command continues. */
	fputs((summary->running && !summary->exited && !summary->exit_signal)
		      ? ", as it was ended while the program ran\n"
		      : "; perfrec record --follow records until the last "
			"has ended\n",
	      out);
}

static void print_waits(const struct summary *summary, FILE *out)
{
	const struct summary_totals *totals = &summary->totals;
	char count[SIZE_TEXT], time[SIZE_TEXT];

	if (totals->waits)
		fprintf(out,
			"  stopped    perfrec stopped your program %s time%s, "
			"%s summed over threads, because it could not write "
			"fast enough: try %s\n",
			size_format_count(totals->waits, count),
			size_plural(totals->waits),
			size_format_ns(totals->wait_ns, time),
			summary->settings.overhead > 0 ? SUMMARY_STOPPED_LESS
						       : "--overhead 5%");
}

static void print_skipped_maps(const struct summary_totals *totals, FILE *out)
{
	char count[SIZE_TEXT];

	if (totals->skipped_maps)
		fprintf(out,
			"  names      may be wrong where libraries took each "
			"other's place: too fast, %s time%s\n",
			size_format_count(totals->skipped_maps, count),
			totals->skipped_maps == 1 ? "" : "s");
}

void summary_losses_print_odd(const struct summary *summary, FILE *out)
{
	print_waits(summary, out);
	for (size_t i = 0; i < ARRAY_SIZE(said_totals); i++) {
		const struct said_total *row = &said_totals[i];
		uint64_t count = count_said(summary, row);

		if (row->said != SAID_ODD || !count)
			continue;
		fprintf(out, "  %-10s ", row->word);
		print_sentence(count, row->sentence, "", out);
		fputc('\n', out);
	}
	print_skipped_maps(&summary->totals, out);
}
