/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/compare/row_text.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/path.h"
#include "collector/base/size.h"
#include "collector/base/text_out.h"
#include "shared/compiler.h"

#define FRAMES_SHOWN 12 /* of a stack on one line */

/* --- names --------------------------------------------------------------- */

static void take_row_name(struct row_names *names, uint32_t function)
{
	if (names->slot[function])
		return;
	names->full[names->count] = runs_function(names->runs, function)->name;
	names->slot[function] = (uint32_t)++names->count;
}

int row_names_make(const struct runs *runs, const size_t *rows, size_t count,
		   bool full_names, struct row_names *out)
{
	*out = (struct row_names){ .runs = runs };
	out->slot = calloc(runs->functions.count + 1, sizeof(*out->slot));
	out->full = calloc(runs->functions.count + 1, sizeof(*out->full));
	if (!out->slot || !out->full)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		const struct runs_row *of = runs_row(out->runs, rows[i]);

		for (uint32_t frame = 0; frame < of->depth; frame++) {
			uint32_t function =
				out->runs->frames[of->first + frame];
			uint32_t other =
				runs_function(out->runs, function)->other;

			take_row_name(out, function);
			if (other != RUNS_NONE)
				take_row_name(out, other);
		}
	}
	return short_names_make(&out->names, out->full, out->count, full_names);
}

void row_names_release(struct row_names *names)
{
	short_names_free(&names->names);
	free(names->slot);
	free(names->full);
	*names = (struct row_names){ 0 };
}

static const char *row_name(const struct row_names *names, uint32_t function)
{
	return short_names_get(&names->names, names->slot[function] - 1);
}

/* Returns true if the function has moved to another module and both are known.
 * Profiles made from a trace have no modules. */
static bool is_moved(const struct runs_function *function,
		     const struct runs_function *other)
{
	return function->match == RUNS_MOVED && function->module[0] &&
	       other->module[0];
}

/* " (now f)", " (now in [libf.so])". Functions of side A are in the rows. */
static void print_match(const struct row_names *names,
			const struct runs_function *function, FILE *out)
{
	const struct runs_function *other;

	if (function->other == RUNS_NONE || function->match == RUNS_SAME)
		return;
	if (function->match == RUNS_RENAMED) {
		fputs(" (now ", out);
		text_out(row_name(names, function->other), out);
		fputc(')', out);
		return;
	}
	other = runs_function(names->runs, function->other);
	if (!is_moved(function, other))
		return;
	fputs(" (now in ", out);
	text_out_module(other->module, out);
	fputc(')', out);
}

void row_print(const struct row_names *names, size_t row, FILE *out)
{
	const struct runs *runs = names->runs;
	const struct runs_row *of = runs_row(runs, row);

	for (uint32_t i = 0; i < of->depth && i < FRAMES_SHOWN; i++) {
		uint32_t function = runs->frames[of->first + i];

		fputs(i ? " < " : "", out);
		text_out(row_name(names, function), out);
		print_match(names, runs_function(runs, function), out);
	}
	if (of->depth > FRAMES_SHOWN)
		fprintf(out, " < %u more", of->depth - FRAMES_SHOWN);
	if (runs->first_b == runs->count)
		return;
	if (!runs_present(runs, row, false))
		fputs(" (only in B)", out);
	else if (!runs_present(runs, row, true))
		fputs(" (only in A)", out);
}

/* --- rows of a table ----------------------------------------------------- */

/* Sets @text to the remark behind the name. */
static void note_row(const struct runs *runs, size_t row, char *text,
		     size_t room)
{
	const struct runs_function *function = runs_frame(runs, row, 0);
	const struct runs_function *other = function;
	char folded[NAME_FOLD_BYTES];

	text[0] = '\0';
	if (function->other != RUNS_NONE)
		other = runs_function(runs, function->other);
	name_fold(other->name, folded);
	if (function->match == RUNS_RENAMED)
		snprintf(text, room, "(now %.200s)", folded);
	else if (is_moved(function, other))
		snprintf(text, room, "(now in [%.100s])",
			 path_name(other->module));
	else if (runs->first_b < runs->count && !runs_present(runs, row, false))
		snprintf(text, room, "(only in B)");
	else if (runs->first_b < runs->count && !runs_present(runs, row, true))
		snprintf(text, room, "(only in A)");
}

void row_add(const struct runs *runs, size_t row, const char *const *cells,
	     struct table *table)
{
	const struct runs_function *function = runs_frame(runs, row, 0);
	char note[512];

	table_add(table, cells, function->name, function->module);
	note_row(runs, row, note, sizeof(note));
	if (note[0])
		table_behind(table, note);
	for (uint32_t i = 1; i < runs_row(runs, row)->depth; i++) {
		function = runs_frame(runs, row, i);
		table_add_below(table, function->name, function->module);
	}
}

/* --- values -------------------------------------------------------------- */

const char *row_value(const struct runs_metric *metric, double value, bool sign,
		      char *text)
{
	uint64_t size = (uint64_t)MIN(fabs(value), 9e18);
	char *to = text;

	if (value < 0)
		*to++ = '-';
	else if (sign)
		*to++ = '+';
	if (strcmp(metric->unit, "nanoseconds") == 0)
		size_format_ns(size, to);
	else if (strcmp(metric->unit, "bytes") == 0)
		size_format_bytes(size, to);
	else
		size_format_count(size, to);
	return text;
}
