/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/show/annotate.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "collector/base/size.h"
#include "collector/base/text_out.h"
#include "collector/show/assembly.h"
#include "collector/show/short_name.h"
#include "collector/show/source_text.h"
#include "shared/compiler.h"
#include "shared/hash.h"

#define AROUND 3 /* lines of source around a line with values */

#define AROUND_CODE 8 /* instructions around one with values */

const struct annotate_value_text annotate_values[ANNOTATE_VALUES] = {
	[ANNOTATE_CPU_SELF] = { "cpu", "CPU self", "cpu_self_ns", true },
	[ANNOTATE_CPU] = { "cpu", "CPU", "cpu_ns", false },
	[ANNOTATE_BYTES] = { "alloc_space", "allocated", "alloc_bytes", false },
	[ANNOTATE_BLOCKS] = { "alloc_objects", "blocks", "alloc_objects",
			      false },
	[ANNOTATE_INUSE] = { "inuse_space", "in use", "inuse_bytes", false },
};

/* --- lines --------------------------------------------------------------- */

static uint64_t hash_line(const void *item)
{
	const struct annotate_line *line = item;

	return hash_fold(hash_text(line->line * HASH_MULTIPLIER, line->file));
}

static bool same_line(const void *left, const void *right)
{
	const struct annotate_line *a = left, *b = right;

	return a->line == b->line && strcmp(a->file, b->file) == 0;
}

static const struct pool_key line_key = { hash_line, same_line };

void annotate_begin(const char *name, struct annotate *out)
{
	*out = (struct annotate){ .name = name, .module = "" };
	pool_init_key(&out->pool, NULL, sizeof(struct annotate_line),
		      &line_key);
}

static int add_frame_lines(struct annotate *to, const uint32_t *number,
			   const struct pprof_row *row,
			   const struct pprof_frame *frame)
{
	struct annotate_line key = { .file = frame->file, .line = frame->line };
	struct annotate_line *line;
	uint32_t at;
	int err = pool_intern(&to->pool, &key, &at);

	if (err < 0)
		return err;
	line = (struct annotate_line *)to->pool.items + at;
	to->module = frame->module;
	for (size_t i = 0; i < ANNOTATE_VALUES; i++) {
		int64_t value;

		if (number[i] == PPROF_NONE ||
		    (annotate_values[i].self && frame != row->frames))
			continue;
		value = row->self[number[i]];
		add_saturated_to(&line->value[i], value);
		add_saturated_to(&to->sum[i], value);
	}
	return 0;
}

int annotate_add(struct annotate *annotate, const struct pprof *pprof,
		 const struct pprof_rows *rows)
{
	uint32_t number[ANNOTATE_VALUES];
	int err = 0;

	for (size_t i = 0; i < ANNOTATE_VALUES; i++) {
		number[i] = pprof_find_type(pprof, annotate_values[i].type);
		annotate->known[i] |= number[i] != PPROF_NONE;
	}
	for (size_t i = 0; i < rows->count && !err; i++) {
		const struct pprof_row *row = &rows->list[i];

		for (size_t k = 0; k < row->depth; k++) {
			const char *name = row->frames[k].name;

			if (strcmp(name, annotate->name) != 0 &&
			    !assembly_is_cold_part(name, annotate->name))
				continue;
			err = add_frame_lines(annotate, number, row,
					      &row->frames[k]);
			break;
		}
	}
	return err;
}

static int compare_annotated_lines(const void *left, const void *right)
{
	const struct annotate_line *a = left, *b = right;
	int order = strcmp(a->file, b->file);

	return order ? order : a->line < b->line ? -1 : a->line > b->line;
}

void annotate_end(struct annotate *annotate)
{
	annotate->lines = annotate->pool.items;
	annotate->count = annotate->pool.count;
	if (annotate->count)
		qsort(annotate->lines, annotate->count,
		      sizeof(*annotate->lines), compare_annotated_lines);
}

void annotate_release(struct annotate *annotate)
{
	pool_release(&annotate->pool);
	*annotate = (struct annotate){ 0 };
}

/* --- text ---------------------------------------------------------------- */

static bool is_column(const struct annotate *annotate, size_t i)
{
	return annotate->sum[i] != 0;
}

static const char *format_amount(size_t i, int64_t value, char text[SIZE_TEXT])
{
	uint64_t size = value < 0 ? 0 : (uint64_t)value;

	text[0] = '\0';
	if (!size)
		return text;
	if (i == ANNOTATE_CPU_SELF || i == ANNOTATE_CPU)
		return size_format_ns(size, text);
	if (i == ANNOTATE_BLOCKS)
		return size_format_count(size, text);
	return size_format_bytes(size, text);
}

/* @value may be NULL: nothing is known. */
static void print_amounts(const struct annotate *annotate, const int64_t *value,
			  FILE *out)
{
	char text[SIZE_TEXT];

	for (size_t i = 0; i < ANNOTATE_VALUES; i++)
		if (is_column(annotate, i))
			fprintf(out, "  %10s",
				value ? format_amount(i, value[i], text) : "");
}

static void print_titles(const struct annotate *annotate, FILE *out)
{
	for (size_t i = 0; i < ANNOTATE_VALUES; i++)
		if (is_column(annotate, i))
			fprintf(out, "  %10s", annotate_values[i].title);
}

/* text_out() replaces tabs, because they are control characters. */
static void print_source_text(const char *source, FILE *out)
{
	for (; *source == '\t'; source++)
		fputs("        ", out);
	text_out(source, out);
}

/* @line may be NULL: a line without values. */
static void print_source_line(const struct annotate *annotate, uint64_t number,
			      const struct annotate_line *line,
			      const char *source, FILE *out)
{
	print_amounts(annotate, line ? line->value : NULL, out);
	if (number)
		fprintf(out, "  %6" PRIu64 "  ", number);
	else
		fprintf(out, "  %6s  ", "?");
	if (source)
		print_source_text(source, out);
	fputc('\n', out);
}

/* All @count @lines are in one file. */
static void print_with_source(const struct annotate *annotate,
			      const struct annotate_line *lines, size_t count,
			      const struct source_text *source, FILE *out)
{
	uint64_t shown = 0; /* last printed line */

	for (size_t i = 0; i < count; i++) {
		uint64_t number = lines[i].line, end = number + AROUND;
		uint64_t from = number > AROUND ? number - AROUND : 1;

		if (i + 1 < count)
			end = MIN(end, lines[i + 1].line - 1);
		from = MAX(from, shown + 1);
		if (shown && from > shown + 1)
			fputs("  ...\n", out);
		if (!number || number > source->count) {
			print_source_line(annotate, number, &lines[i], NULL,
					  out);
			continue;
		}
		for (shown = from; shown <= MIN(end, source->count); shown++)
			print_source_line(annotate, shown,
					  shown == number ? &lines[i] : NULL,
					  source->lines[shown - 1], out);
		shown--;
	}
}

bool annotate_is_changed(const struct annotate *annotate,
			 const struct source_text *source)
{
	const struct timespec *changed = &source->modified;
	const struct timespec *built;
	struct stat module;

	if (annotate->written && changed->tv_sec > annotate->written)
		return true;
	if (annotate->module[0] != '/' || stat(annotate->module, &module) < 0)
		return false;
	built = &module.st_mtim;
	return changed->tv_sec > built->tv_sec ||
	       (changed->tv_sec == built->tv_sec &&
		changed->tv_nsec > built->tv_nsec);
}

static void print_file(const struct annotate *annotate,
		       const struct annotate_line *lines, size_t count,
		       FILE *out)
{
	struct source_text source;
	int err = source_text_read(lines->file, &source);

	fputc('\n', out);
	if (lines->file[0])
		text_out(lines->file, out);
	else
		fputs("no file is known (compile with -g)", out);
	if (err && lines->file[0])
		fprintf(out, ": no source here: %s", strerror(-err));
	if (!err && annotate_is_changed(annotate, &source))
		fputs(": changed since the program was built, so lines may be "
		      "others: build it and record again",
		      out);
	fputc('\n', out);
	fputc('\n', out);
	print_titles(annotate, out);
	fprintf(out, "  %6s\n", "line");
	if (!err)
		print_with_source(annotate, lines, count, &source, out);
	for (size_t i = 0; err && i < count; i++)
		print_source_line(annotate, lines[i].line, &lines[i], NULL,
				  out);
	source_text_free(&source);
}

static int print_annotate_head(const struct annotate *annotate, FILE *out)
{
	struct short_names names;
	int err = short_names_make(&names, &annotate->name, 1, false);
	char text[SIZE_TEXT];

	if (!err) {
		text_out(short_names_get(&names, 0), out);
		fputs("  ", out);
		text_out_module(annotate->module, out);
		for (size_t i = 0; i < ANNOTATE_VALUES; i++)
			if (is_column(annotate, i))
				fprintf(out, "  %s %s",
					annotate_values[i].title,
					format_amount(i, annotate->sum[i],
						      text));
		fputc('\n', out);
	}
	short_names_free(&names);
	return err;
}

int annotate_print(const struct annotate *annotate, FILE *out)
{
	int err = print_annotate_head(annotate, out);
	size_t end;

	for (size_t i = 0; i < annotate->count && !err; i = end) {
		for (end = i + 1; end < annotate->count; end++)
			if (strcmp(annotate->lines[end].file,
				   annotate->lines[i].file) != 0)
				break;
		print_file(annotate, &annotate->lines[i], end - i, out);
	}
	if (annotate->recorded && annotate->sum[ANNOTATE_BLOCKS])
		fputs("\n  allocations of recorded calls stand at the first "
		      "line: these know their function only\n",
		      out);
	if (!err && (fflush(out) || ferror(out)))
		err = -EIO;
	return err;
}

/* --- machine code --------------------------------------------------------- */

static bool has_code_values(const struct assembly_line *line)
{
	for (size_t i = 0; i < ANNOTATE_VALUES; i++)
		if (line->value[i])
			return true;
	return false;
}

/* Returns the first instruction from @from on with values, or the count. */
static size_t next_code_values(const struct assembly_part *part, size_t from)
{
	while (from < part->count && !has_code_values(&part->lines[from]))
		from++;
	return from;
}

/* Prints the line of the source where it changes. *@source is that of the last
 * one, *@file its path. */
static void print_code_source(const struct annotate *annotate,
			      const struct assembly_line *line,
			      struct source_text *source, const char **file,
			      FILE *out)
{
	const char *name = strrchr(line->file, '/');

	if (!*file || strcmp(*file, line->file) != 0) {
		source_text_free(source);
		(void)source_text_read(line->file, source);
		*file = line->file;
	}
	print_amounts(annotate, NULL, out);
	fprintf(out, "  %8s  ", "");
	text_out(name ? name + 1 : line->file, out);
	fprintf(out, ":%" PRIu32 "  ", line->line);
	if (line->line && line->line <= source->count &&
	    !annotate_is_changed(annotate, source))
		print_source_text(source->lines[line->line - 1], out);
	fputc('\n', out);
}

static void print_instructions(const struct annotate *annotate,
			       const struct assembly_part *part, FILE *out)
{
	struct source_text source = { 0 };
	const char *file = NULL;
	size_t shown = 0; /* instructions before it are done */
	char text[SIZE_TEXT];

	for (size_t hot = next_code_values(part, 0); hot < part->count;
	     hot = next_code_values(part, shown)) {
		size_t from = hot - MIN(hot, (size_t)AROUND_CODE);

		if (from < shown + AROUND_CODE)
			from = shown;
		else
			fprintf(out, "  ... %zu instructions\n", from - shown);
		for (size_t at = from;
		     at < part->count && at <= hot + AROUND_CODE; at++) {
			const struct assembly_line *line = &part->lines[at];

			if (has_code_values(line))
				hot = at;
			if (line->file[0] &&
			    (at == from || line->line != line[-1].line ||
			     strcmp(line->file, line[-1].file) != 0))
				print_code_source(annotate, line, &source,
						  &file, out);
			print_amounts(annotate, line->value, out);
			snprintf(text, sizeof(text), "+0x%" PRIx64,
				 line->vaddr - part->start);
			fprintf(out, "  %8s  ", text);
			text_out(line->text, out);
			fputc('\n', out);
			shown = at + 1;
		}
	}
	if (shown < part->count)
		fprintf(out, "  ... %zu instruction%s\n", part->count - shown,
			size_plural(part->count - shown));
	source_text_free(&source);
}

static void print_code_part(const struct annotate *annotate,
			    const struct assembly_part *part, FILE *out)
{
	char text[SIZE_TEXT];

	fputc('\n', out);
	if (!part->lines) {
		text_out(part->why, out);
		fputs(": no machine code", out);
		for (size_t i = 0; i < ANNOTATE_VALUES; i++)
			if (part->sum[i])
				fprintf(out, ", %s %s",
					annotate_values[i].title,
					format_amount(i, part->sum[i], text));
		fputc('\n', out);
		return;
	}
	text_out(part->module, out);
	fprintf(out, " at 0x%" PRIx64, part->start);
	if (part->symbol[0] && strcmp(part->symbol, annotate->name) != 0) {
		fputs(": a part of ", out);
		text_out(part->symbol, out);
	}
	fputs("\n\n", out);
	print_titles(annotate, out);
	fprintf(out, "  %8s  instruction\n", "offset");
	print_instructions(annotate, part, out);
	if (part->left_out)
		fprintf(out, "  ... %s of code behind it are not shown\n",
			size_format_bytes(part->left_out, text));
}

int annotate_print_assembly(const struct annotate *annotate,
			    const struct assembly_part *parts, size_t count,
			    FILE *out)
{
	int err = print_annotate_head(annotate, out);

	for (size_t i = 0; i < count && !err; i++)
		print_code_part(annotate, &parts[i], out);
	if (annotate->sum[ANNOTATE_CPU_SELF])
		fputs("\n  a sample stands at the instruction that was to run "
		      "next, often the one after the slow one\n",
		      out);
	if (!err && (fflush(out) || ferror(out)))
		err = -EIO;
	return err;
}
