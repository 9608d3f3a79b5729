/* SPDX-License-Identifier: Apache-2.0
 *
 * views[] defines each view: its profile, columns and sort keys. A view omits
 * columns without values in the profile, which may be from another version of
 * perfrec.
 */
#include "collector/show/report_view.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/log.h"
#include "collector/base/search.h"
#include "collector/base/size.h"
#include "collector/base/text_out.h"
#include "collector/output/own_files.h"
#include "collector/read/summary_read.h"
#include "collector/show/pprof_rows.h"
#include "collector/show/report_json.h"
#include "collector/show/summary_sched.h"
#include "collector/show/summary_slowed.h"
#include "collector/show/table.h"
#include "collector/show/terminal.h"
#include "shared/compiler.h"

#define LEAKS_SHOWN 5 /* stacks below the table of --view heap */
#define COLUMNS_MAX 19
/* Wall time without and with perfrec's own time. */
#define TRUE_TYPE "wall"
#define RAW_TYPE "wall_measured"
#define BLOCKED_TYPE "blocked"
#define WAITS_TYPE "waits"
#define FAULTS_TYPE "faults"
#define ON_CPU_KEY "on-cpu"

/* Counted for each call with --faults or --counters; stored in the summary. */
static const char *const counted_types[] = {
	FAULTS_TYPE,	    "instructions", "cycles",
	"cache-references", "cache-misses", "branch-misses",
};

struct column {
	const char *title;
	const char *key; /* for --sort; NULL: no key */
	const char *type; /* of the value in the profile */
	unsigned int what; /* flags below */
};

enum {
	TOTAL = 1, /* with callees */
	PERCENT = 2, /* followed by a column with the share */
	MEAN = 4, /* per event of WAITS_TYPE */
};

struct report_view {
	const char *name, *file;
	const char *title;
	const char *what; /* contents of the file, for messages */
	const char *option; /* of perfrec record */
	const char *keys; /* keys for --sort, for messages */
	const char *rows; /* name of a row without --stacks */
	bool of_waits; /* rows are the innermost frames of waits */
	struct column columns[COLUMNS_MAX]; /* ends with a NULL title */
};

static const struct report_view views[] = {
	{
		"cpu",
		CPU_PROFILE_NAME,
		"CPU time, by samples",
		"samples of CPU time",
		"--cpu",
		"self, total, samples or name",
		"function",
		false,
		{
			{ "self", "self", "cpu", PERCENT },
			{ "total", "total", "cpu", TOTAL | PERCENT },
			{ "samples", "samples", "samples", 0 },
		},
	},
	{
		"heap",
		HEAP_PROFILE_NAME,
		"Memory",
		"allocations",
		"--alloc",
		"inuse, allocated, total, blocks, peak, temporary or name",
		"function",
		false,
		{
			{ "in use", "inuse", "inuse_space", PERCENT },
			{ "at peak", "peak", "peak_space", 0 },
			{ "allocated", "allocated", "alloc_space", 0 },
			{ "total", "total", "alloc_space", TOTAL },
			{ "blocks", "blocks", "alloc_objects", 0 },
			{ "temporary", "temporary", "temporary", 0 },
			{ "blocks in use", NULL, "inuse_objects", 0 },
			{ "total in use", NULL, "inuse_space", TOTAL },
		},
	},
	{
		"span",
		SPAN_PROFILE_NAME,
		"Calls, with CPU time, waits and memory",
		"calls with CPU time, waits and allocations",
		"--cpu, --sched or --alloc",
		"self, total, calls, on-cpu, runnable, blocked, switches, "
		"faults, instructions, cycles, cache-references, cache-misses, "
		"branch-misses, cpu, allocated, inuse, peak or name",
		"function",
		false,
		{
			{ "calls", "calls", "calls", 0 },
			{ "self time", "self", "wall", PERCENT },
			{ "on CPU", ON_CPU_KEY, "on_cpu", 0 },
			{ "runnable", "runnable", "runnable", 0 },
			{ "blocked", "blocked", BLOCKED_TYPE, 0 },
			{ "total", "total", "wall", TOTAL },
			{ "switches", "switches", "switches", 0 },
			/* These come from the summary. */
			{ "faults", "faults", FAULTS_TYPE, 0 },
			{ "instr.", "instructions", "instructions", 0 },
			{ "cycles", "cycles", "cycles", 0 },
			{ "cache refs", "cache-references", "cache-references",
			  0 },
			{ "cache miss", "cache-misses", "cache-misses", 0 },
			{ "branch miss", "branch-misses", "branch-misses", 0 },
			{ "samples", "cpu", "cpu_samples", 0 },
			{ "allocated", "allocated", "alloc_space", 0 },
			{ "blocks", NULL, "alloc_objects", 0 },
			{ "in use", "inuse", "inuse_space", 0 },
			{ "own peak", "peak", "peak_space", 0 },
		},
	},
	{
		"wait",
		OFFCPU_PROFILE_NAME,
		"What threads waited for",
		"waits of threads",
		"--sched",
		"blocked, waits or name",
		"object",
		true,
		{
			{ "blocked", "blocked", BLOCKED_TYPE, PERCENT },
			{ "waits", "waits", WAITS_TYPE, 0 },
			{ "mean", NULL, BLOCKED_TYPE, MEAN },
		},
	},
};

static bool has_word(const char *keys, const char *key)
{
	size_t length = strlen(key);

	while (*keys) {
		size_t word = strcspn(keys, ", ");

		if (word == length && strncmp(keys, key, word) == 0 &&
		    strcmp(key, "or") != 0)
			return true;
		keys += word;
		keys += strspn(keys, ", ");
	}
	return false;
}

const struct report_view *report_view_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(views); i++)
		if (strcmp(views[i].name, name) == 0)
			return &views[i];
	return NULL;
}

bool report_view_has_raw(const struct report_view *view)
{
	for (size_t i = 0; i < COLUMNS_MAX && view->columns[i].title; i++)
		if (strcmp(view->columns[i].type, TRUE_TYPE) == 0)
			return true;
	return false;
}

bool report_view_has_key(const struct report_view *view, const char *key,
			 const char **keys)
{
	*keys = view->keys;
	return has_word(view->keys, key);
}

/* --- the table ----------------------------------------------------------- */

struct sheet {
	const struct report_view_options *options;
	const struct summary *summary; /* of the same recording */
	struct pprof *pprof;
	struct pprof_rows rows;
	/* Columns with values in the profile. */
	const struct column *column[COLUMNS_MAX];
	uint32_t value[COLUMNS_MAX]; /* index of the value of each column */
	char title[COLUMNS_MAX][24];
	char percent[COLUMNS_MAX][24]; /* titles of shares */
	size_t column_count, percent_count;
	char sort[24]; /* the key of the rows' order */
	struct terminal terminal;
};

static bool is_of_sched(const struct column *column)
{
	static const char *const types[] = { "on_cpu", "runnable", BLOCKED_TYPE,
					     "switches" };

	return search_text(column->type, types, ARRAY_SIZE(types));
}

/* Returns the index of @column's value, or PPROF_NONE. An older perfrec only
 * wrote measured times. */
static uint32_t find_value(const struct sheet *sheet,
			   const struct column *column)
{
	uint32_t value = PPROF_NONE;

	if (is_of_sched(column) && !sheet->options->view->of_waits &&
	    !summary_sched_known(sheet->summary))
		return PPROF_NONE;
	if (sheet->options->raw && strcmp(column->type, TRUE_TYPE) == 0)
		value = pprof_find_type(sheet->pprof, RAW_TYPE);
	return value != PPROF_NONE
		       ? value
		       : pprof_find_type(sheet->pprof, column->type);
}

static bool is_slowed(const struct sheet *sheet, const struct column *column)
{
	return summary_is_slowed(sheet->summary) &&
	       (strcmp(column->type, TRUE_TYPE) == 0 ||
		strcmp(column->type, "runnable") == 0 ||
		strcmp(column->type, BLOCKED_TYPE) == 0);
}

static void choose_sheet_columns(struct sheet *sheet)
{
	const struct column *column = sheet->options->view->columns;

	for (size_t i = 0; i < COLUMNS_MAX && column[i].title; i++) {
		uint32_t value = find_value(sheet, &column[i]);

		/* Total and self values of a stack are equal. */
		if (value == PPROF_NONE ||
		    (column[i].what & TOTAL && sheet->options->stacks))
			continue;
		snprintf(sheet->title[sheet->column_count],
			 sizeof(sheet->title[0]), "%s%s", column[i].title,
			 is_slowed(sheet, &column[i]) ? SUMMARY_SLOWED_MARK
						      : "");
		snprintf(sheet->percent[sheet->column_count],
			 sizeof(sheet->percent[0]), "%s %%", column[i].title);
		sheet->percent_count += !!(column[i].what & PERCENT);
		sheet->value[sheet->column_count] = value;
		sheet->column[sheet->column_count++] = &column[i];
	}
}

static struct pprof_key column_key(const struct sheet *sheet, size_t i)
{
	return (struct pprof_key){ sheet->value[i],
				   sheet->column[i]->what & TOTAL };
}

static bool sched_key(const struct report_view *view, const char *key)
{
	for (size_t i = 0; i < COLUMNS_MAX && view->columns[i].title; i++)
		if (view->columns[i].key &&
		    strcmp(view->columns[i].key, key) == 0)
			return is_of_sched(&view->columns[i]);
	return false;
}

static bool was_counted(const struct summary_settings *settings,
			const char *key)
{
	const json_t *one;
	const char *name;
	size_t i;

	if (strcmp(key, FAULTS_TYPE) == 0)
		return settings->faults;
	json_array_foreach(settings->counters, i, one)
	{
		name = json_string_value(one);
		if (name && strcmp(name, key) == 0)
			return true;
	}
	return false;
}

static bool key_has_values(const struct sheet *sheet, const char *key)
{
	for (size_t i = 0; i < sheet->column_count; i++)
		if (sheet->column[i]->key &&
		    strcmp(sheet->column[i]->key, key) == 0)
			return sheet->rows.sum[sheet->value[i]];
	return false;
}

/* Chooses the user's key. Otherwise the view's first key whose values are not
 * all 0, but time on CPUs if threads were asleep most of the time. */
static void choose_sort_key(struct sheet *sheet)
{
	const struct report_view *view = sheet->options->view;
	const char *keys = sheet->options->sort;

	if (!keys && !sheet->options->json && !strcmp(view->name, "span") &&
	    key_has_values(sheet, ON_CPU_KEY) &&
	    summary_sched_waiting(sheet->summary) > SUMMARY_WAITING_MOST)
		keys = ON_CPU_KEY;
	if (!keys)
		keys = view->keys;
	do {
		int length = (int)strcspn(keys, ", ");

		snprintf(sheet->sort, sizeof(sheet->sort), "%.*s", length,
			 keys);
		keys += length + strspn(keys + length, ", ");
	} while (*keys && !key_has_values(sheet, sheet->sort));
}

/* Returns 0, or -EINVAL if the recording lacks the key. */
static int sort_view_rows(struct sheet *sheet)
{
	struct pprof_key keys[COLUMNS_MAX + 1];
	size_t count = 0;
	const struct report_view *view = sheet->options->view;
	const char *key = sheet->sort;

	choose_sort_key(sheet);
	/* All columns break ties. */
	for (size_t i = 0; i < sheet->column_count; i++)
		if (sheet->column[i]->key &&
		    strcmp(sheet->column[i]->key, key) == 0)
			keys[count++] = column_key(sheet, i);
	if (!count && strcmp(key, "temporary") == 0) {
		log_err("'%s' does not know which blocks were temporary: %s",
			sheet->options->dir,
			sheet->options->stacks
				? "that is known of functions only, so leave "
				  "out --stacks"
				: "its allocations were sampled; record with "
				  "--alloc=exact");
		return -EINVAL;
	}
	if (!count &&
	    search_text(key, counted_types, ARRAY_SIZE(counted_types))) {
		const char *dir = sheet->options->dir;
		bool faults = strcmp(key, FAULTS_TYPE) == 0;

		if (sheet->options->stacks)
			log_err("'%s' has no counts of %s by call: they are "
				"known of functions only, so leave out "
				"--stacks",
				dir, key);
		else if (was_counted(&sheet->summary->settings, key))
			log_err("'%s' has no counts of %s by call: the kernel "
				"counted none (see its notes: perfrec report)",
				dir, key);
		else
			log_err("'%s' has no counts of %s by call: record with "
				"%s%s",
				dir, key, faults ? "--faults" : "--counters ",
				faults ? "" : key);
		return -EINVAL;
	}
	if (!count && sched_key(view, key)) {
		summary_sched_log_unknown(sheet->summary, sheet->options->dir,
					  "--sort");
		return -EINVAL;
	}
	for (size_t i = 0; i < sheet->column_count && count; i++)
		keys[count++] = column_key(sheet, i);
	pprof_rows_sort(&sheet->rows, keys, count);
	return 0;
}

static bool has_unit(const struct sheet *sheet, uint32_t value,
		     const char *unit)
{
	return strcmp(sheet->pprof->type[value].unit, unit) == 0;
}

static const char *format_value(const struct sheet *sheet, uint32_t value,
				int64_t number, char text[SIZE_TEXT])
{
	/* Lost records can make a value negative. */
	uint64_t size = number < 0 ? -(uint64_t)number : (uint64_t)number;
	char *to = text;

	if (number < 0)
		*to++ = '-';
	if (has_unit(sheet, value, "nanoseconds"))
		size_format_ns(size, to);
	else if (has_unit(sheet, value, "bytes"))
		size_format_bytes(size, to);
	else
		size_format_count(size, to);
	return text;
}

/* Sets the columns of the table: those of the view and their shares. If a table
 * has no room for all, it first drops later columns, but never the sort key. */
static size_t make_columns(const struct sheet *sheet,
			   struct table_column columns[TABLE_COLUMNS_MAX])
{
	size_t count = 0;

	for (size_t i = 0; i < sheet->column_count; i++) {
		const struct column *column = sheet->column[i];
		size_t width =
			has_unit(sheet, sheet->value[i], "count") ? 11 : 9;
		bool asked_for =
			column->key && strcmp(sheet->sort, column->key) == 0;
		unsigned int rank = asked_for ? 0 : 2 * (unsigned int)i;

		columns[count++] = (struct table_column){ sheet->title[i],
							  width, false, rank };
		if (column->what & PERCENT)
			columns[count++] = (struct table_column){
				sheet->percent_count > 1 ? sheet->percent[i]
							 : "%",
				5, false, 2 * (unsigned int)i + 1
			};
	}
	return count;
}

static const char *format_mean(const struct sheet *sheet, uint32_t value,
			       const int64_t *values, char text[SIZE_TEXT + 1])
{
	uint32_t count = pprof_find_type(sheet->pprof, WAITS_TYPE);

	if (count == PPROF_NONE || values[count] <= 0)
		return "?";
	return format_value(sheet, value, values[value] / values[count], text);
}

static void add_sheet_values(const struct sheet *sheet,
			     const struct pprof_row *row, const char *name,
			     const char *module, struct table *table)
{
	char texts[TABLE_COLUMNS_MAX][SIZE_TEXT + 1];
	const char *cells[TABLE_COLUMNS_MAX];
	size_t count = 0;

	for (size_t i = 0; i < sheet->column_count; i++) {
		const struct column *column = sheet->column[i];
		uint32_t value = sheet->value[i];
		const int64_t *values =
			column->what & TOTAL ? row->total : row->self;
		int64_t number = values[value];

		cells[count] = column->what & MEAN
				       ? format_mean(sheet, value, values,
						     texts[count])
				       : format_value(sheet, value, number,
						      texts[count]);
		count++;
		if (!(column->what & PERCENT))
			continue;
		/* perfrec is not part of the program. */
		texts[count][0] = '\0';
		if (!row->own) {
			double sum = (double)sheet->rows.sum[value];

			snprintf(texts[count], SIZE_TEXT + 1, "%.1f",
				 sum != 0 ? 100 * (double)number / sum : 0);
		}
		cells[count] = texts[count];
		count++;
	}
	table_add(table, cells, name, module);
}

static void add_stack_rows(const struct pprof_row *row, struct table *table)
{
	for (size_t i = 0; i < row->depth; i++) {
		const struct pprof_frame *frame = &row->frames[i];
		char place[512];

		table_add_below(table, frame->name, frame->module);
		if (!frame->file[0])
			continue;
		snprintf(place, sizeof(place), frame->line ? "%.490s:%u" : "%s",
			 frame->file, frame->line);
		table_behind(table, place);
	}
	if (!row->depth)
		table_add_below(table, "[no stack]", NULL);
}

static bool is_empty_row(const struct sheet *sheet, const struct pprof_row *row)
{
	bool of_waits = sheet->options->view->of_waits;

	for (size_t i = 0; i < sheet->column_count; i++)
		if (row->self[sheet->value[i]] ||
		    (!of_waits && row->total[sheet->value[i]]))
			return false;
	return true;
}

/* A function whose bodies are all inlined has a row without values. */
static void drop_empty_rows(struct sheet *sheet)
{
	struct pprof_rows *rows = &sheet->rows;
	size_t kept = 0;

	for (size_t i = 0; i < rows->count; i++)
		if (!is_empty_row(sheet, &rows->list[i]))
			rows->list[kept++] = rows->list[i];
	rows->count = kept;
}

static void add_view_row(const struct sheet *sheet, const struct pprof_row *row,
			 struct table *table)
{
	if (sheet->options->stacks) {
		add_sheet_values(sheet, row, NULL, NULL, table);
		add_stack_rows(row, table);
	} else {
		add_sheet_values(sheet, row, row->frames->name,
				 row->frames->module, table);
	}
}

/* Prints the reason for an order that the user did not choose. */
static void print_view_order(const struct sheet *sheet, FILE *out)
{
	const struct report_view *view = sheet->options->view;
	const struct column *first = view->columns;

	if (sheet->options->sort ||
	    !strncmp(sheet->sort, view->keys, strlen(sheet->sort)))
		return;
	while (!first->key ||
	       strncmp(first->key, view->keys, strlen(first->key)))
		first++;
	if (!strcmp(sheet->sort, ON_CPU_KEY))
		summary_sched_print_order(sheet->summary, out);
	else
		fprintf(out, "\n  by %s, because %s is 0\n", sheet->sort,
			first->title);
}

static int print_view_rows(const struct sheet *sheet, FILE *out)
{
	const struct report_view_options *options = sheet->options;
	size_t count = sheet->rows.count;
	size_t shown = options->limit ? MIN(count, options->limit) : count;
	struct table_column columns[TABLE_COLUMNS_MAX];
	struct table table;
	int err;

	if (!count) {
		fprintf(out, "\n  %s\n",
			sheet->options->view->of_waits
				? "No thread waited long enough to be shown."
				: "There is nothing in it.");
		return 0;
	}
	table_init(&table, columns, make_columns(sheet, columns),
		   options->stacks ? "stack" : options->view->rows);
	table.full_names = options->full_names;
	for (size_t i = 0; i < shown; i++)
		add_view_row(sheet, &sheet->rows.list[i], &table);
	/* perfrec's row stays last in a truncated table. */
	if (shown < count && sheet->rows.list[count - 1].own)
		add_view_row(sheet, &sheet->rows.list[count - 1], &table);
	print_view_order(sheet, out);
	fputc('\n', out);
	err = options->markdown ? table_print_markdown(&table, out)
				: table_print(&table, &sheet->terminal, out);
	table_release(&table);
	if (shown < count && !options->markdown)
		fprintf(out, "  (%zu of %zu %ss; all: --limit 0)\n", shown,
			count, options->stacks ? "stack" : options->view->rows);
	for (size_t i = 0; i < shown && !options->markdown && !options->stacks;
	     i++) {
		const char *name = sheet->rows.list[i].frames->name;

		if (!strcmp(name, "[unknown]") && options->view->of_waits)
			fputs("  ([unknown]: not identified, most of them too "
			      "short; --stacks names the calls)\n",
			      out);
		else if (!strcmp(name, "[short threads]"))
			fputs("  ([short threads]: threads that ended before a "
			      "sample)\n",
			      out);
	}
	for (size_t i = 0; i < sheet->column_count; i++)
		if (is_slowed(sheet, sheet->column[i])) {
			summary_slowed_print_mark(sheet->summary, out);
			break;
		}
	return err;
}

static void print_view_head(const struct sheet *sheet,
			    const struct summary *summary, FILE *out)
{
	const struct report_view *view = sheet->options->view;
	char text[SIZE_TEXT + 1];

	fputs("\nperfrec: ", out);
	text_out(sheet->options->dir, out);
	fprintf(out, "/%s\n", view->file);
	fputs("\n  in all     ", out);
	for (size_t i = 0; i < sheet->column_count; i++) {
		/* A total has the same sum as its self column. */
		if (sheet->column[i]->what & (TOTAL | MEAN))
			continue;
		fprintf(out, "%s%s %s", i ? ", " : "", sheet->column[i]->title,
			format_value(sheet, sheet->value[i],
				     sheet->rows.sum[sheet->value[i]], text));
	}
	fputc('\n', out);
	if (sheet->column_count && is_slowed(sheet, sheet->column[0]))
		summary_slowed_print(summary, out);
	for (size_t i = 0; i < sheet->pprof->comment_count; i++) {
		const char *comment = sheet->pprof->comments[i];

		if (!strncmp(comment, "perfrec ", strlen("perfrec ")) ||
		    !strncmp(comment, "command: ", strlen("command: ")))
			continue;
		fputs("  note       ", out);
		text_out(comment, out);
		fputc('\n', out);
	}
	if (pprof_find_type(sheet->pprof, "temporary") != PPROF_NONE &&
	    summary->estimates)
		fputs("  note       temporary: only of blocks that were "
		      "recorded exactly\n",
		      out);
}

/* --- blocks in use at the end -------------------------------------------- */

static int print_leaks(const struct sheet *sheet, FILE *out)
{
	uint32_t space = pprof_find_type(sheet->pprof, "inuse_space");
	uint32_t objects = pprof_find_type(sheet->pprof, "inuse_objects");
	char bytes[SIZE_TEXT + 1], blocks[SIZE_TEXT + 1];
	struct pprof_rows stacks;
	size_t shown = 0;
	int err;

	if (space == PPROF_NONE || objects == PPROF_NONE)
		return 0;
	err = pprof_rows_by_stack(sheet->pprof, &stacks);
	if (err)
		return err;
	pprof_rows_sort(&stacks, &(struct pprof_key){ space, false }, 1);
	for (; !err && shown < MIN(stacks.count, LEAKS_SHOWN); shown++) {
		const struct pprof_row *row = &stacks.list[shown];
		struct table table;

		if (row->self[space] <= 0)
			break;
		if (!shown)
			fputs("\n  not freed at the end, by where it was "
			      "allocated:\n",
			      out);
		fprintf(out, "\n  %s in %s block%s\n",
			format_value(sheet, space, row->self[space], bytes),
			format_value(sheet, objects, row->self[objects],
				     blocks),
			row->self[objects] == 1 ? "" : "s");
		table_init(&table, NULL, 0, NULL);
		table.full_names = sheet->options->full_names;
		add_stack_rows(row, &table);
		err = table_print(&table, &sheet->terminal, out);
		table_release(&table);
	}
	if (shown == LEAKS_SHOWN && shown < stacks.count)
		fputs("\n  (more: --stacks)\n", out);
	if (!shown)
		fprintf(out, "\n  %s at the end.\n",
			sheet->pprof->period > 1
				? "No block that was sampled was in use"
				: "Everything was freed");
	pprof_rows_free(&stacks);
	return err;
}

/* --- values from the summary and the peak -------------------------------- */

/* Adds a type of value, 0 in all samples. Returns its index, or PPROF_NONE if
 * the table is full. */
static uint32_t add_type(struct pprof *pprof, const char *type,
			 const char *unit)
{
	if (pprof->type_count >= PPROF_VALUES_MAX)
		return PPROF_NONE;
	pprof->type[pprof->type_count] = (struct pprof_type){ type, unit };
	return (uint32_t)pprof->type_count++;
}

static int compare_frame_name(const struct pprof_frame *a, const char *name,
			      const char *module)
{
	int order = strcmp(a->name, name);

	return order ? order : strcmp(a->module, module);
}

static struct pprof_row *find_named_row(struct pprof_rows *rows,
					const char *name, const char *module)
{
	size_t at = search_first(
		i, rows->count,
		compare_frame_name(rows->list[i].frames, name, module) >= 0);

	return at < rows->count && !compare_frame_name(rows->list[at].frames,
						       name, module)
		       ? &rows->list[at]
		       : NULL;
}

/* Sets value @to of each function to its bytes in use at the peak, from
 * heap-peak.pb.gz. */
static void add_peak(struct sheet *sheet, uint32_t to)
{
	struct pprof *peak = NULL;
	struct pprof_rows rows;
	uint32_t from;

	if (to == PPROF_NONE ||
	    pprof_read(sheet->options->dir, HEAP_PEAK_NAME, &peak))
		return;
	from = pprof_find_type(peak, "inuse_space");
	if (from != PPROF_NONE && !pprof_rows_by_function(peak, &rows)) {
		sheet->rows.sum[to] = rows.sum[from];
		for (size_t i = 0; i < rows.count; i++) {
			const struct pprof_frame *frame = rows.list[i].frames;
			struct pprof_row *row = find_named_row(
				&sheet->rows, frame->name, frame->module);

			if (row) {
				row->self[to] = rows.list[i].self[from];
				row->total[to] = rows.list[i].total[from];
			}
		}
		pprof_rows_free(&rows);
	}
	pprof_free(&peak);
}

/* Adds the numbers of temporary blocks from the summary. Blocks of no listed
 * function had no stack, so they count for [unknown]. */
static void add_temporary(struct sheet *sheet, const struct summary *summary)
{
	struct pprof_row *unknown =
		find_named_row(&sheet->rows, "[unknown]", "");
	int64_t rest = (int64_t)summary->totals.temporary_allocs;
	uint32_t to = PPROF_NONE;

	if (summary->knows_temporary)
		to = add_type(sheet->pprof, "temporary", "count");
	if (to == PPROF_NONE)
		return;
	sheet->rows.sum[to] = rest;
	for (size_t i = 0; i < summary->function_count; i++) {
		const struct summary_function *from = &summary->functions[i];
		struct pprof_row *row =
			find_named_row(&sheet->rows, from->name, from->module);

		if (!row)
			continue;
		row->self[to] = (int64_t)from->temporary_objects;
		rest -= row->self[to];
	}
	if (unknown && rest > 0)
		unknown->self[to] += rest;
}

/* Sets *@count to the page faults or counter @type of function @from, with
 * callees if @total. Returns false if unknown. */
static bool counted_of(const struct summary_function *from, const char *type,
		       bool total, int64_t *count)
{
	size_t i;
	json_t *one;

	if (strcmp(type, FAULTS_TYPE) == 0) {
		*count = (int64_t)(total ? from->faults : from->faults_self);
		return json_is_integer(
			json_object_get(from->document, "faults"));
	}
	json_array_foreach(from->counters, i, one)
	{
		const char *name =
			json_string_value(json_object_get(one, "name"));

		if (!name || strcmp(name, type) != 0)
			continue;
		*count = (int64_t)json_integer_value(
			json_object_get(one, total ? "total" : "self"));
		return true;
	}
	return false;
}

static void add_counted(struct sheet *sheet, const struct summary *summary,
			const char *type)
{
	uint32_t to = PPROF_NONE;
	int64_t self, total;

	for (size_t i = 0; i < summary->function_count; i++) {
		const struct summary_function *from = &summary->functions[i];
		struct pprof_row *row =
			find_named_row(&sheet->rows, from->name, from->module);

		if (!counted_of(from, type, false, &self) ||
		    !counted_of(from, type, true, &total))
			continue;
		if (to == PPROF_NONE)
			to = add_type(sheet->pprof, type, "count");
		if (to == PPROF_NONE)
			return;
		sheet->rows.sum[to] += self;
		if (!row)
			continue;
		row->self[to] = self;
		row->total[to] = total;
	}
}

static void add_columns(struct sheet *sheet, const struct summary *summary)
{
	static const struct pprof_frame unknown = { "[unknown]", "", "", 0 };

	if (sheet->options->stacks)
		return;
	if (strcmp(sheet->options->view->name, "span") == 0) {
		pprof_rows_sort(&sheet->rows, NULL, 0);
		for (size_t i = 0; i < ARRAY_SIZE(counted_types); i++)
			add_counted(sheet, summary, counted_types[i]);
	}
	if (strcmp(sheet->options->view->name, "heap") != 0)
		return;
	/* The profile may have stacks for all blocks, but the profile of the
	 * peak may not. drop_empty_rows() removes the row if it stays empty. */
	pprof_rows_sort(&sheet->rows, NULL, 0);
	if (!find_named_row(&sheet->rows, unknown.name, unknown.module)) {
		sheet->rows.list[sheet->rows.count++] =
			(struct pprof_row){ .frames = &unknown, .depth = 1 };
		pprof_rows_sort(&sheet->rows, NULL, 0);
	}
	add_peak(sheet, add_type(sheet->pprof, "peak_space", "bytes"));
	add_temporary(sheet, summary);
}

/* --- the view ------------------------------------------------------------ */

static int print_pprof(struct sheet *sheet, const struct summary *summary,
		       FILE *out)
{
	const struct report_view_options *options = sheet->options;
	const char *view = options->view->name;
	const struct report_json json = {
		.view = view,
		.stacks = options->stacks,
		.limit = options->limit,
		.dir = strcmp(view, "heap") == 0 ? options->dir : NULL,
	};
	int err = options->stacks
			  ? pprof_rows_by_stack(sheet->pprof, &sheet->rows)
			  : pprof_rows_by_function(sheet->pprof, &sheet->rows);

	if (err) {
		log_err("out of memory");
		return err;
	}
	pprof_rows_fold_own(&sheet->rows);
	add_columns(sheet, summary);
	choose_sheet_columns(sheet);
	drop_empty_rows(sheet);
	err = sort_view_rows(sheet);
	if (!err && options->json)
		err = report_json_write(&json, sheet->pprof, &sheet->rows, out);
	else if (!err) {
		bool markdown = sheet->options->markdown;

		if (markdown)
			fprintf(out, "\n**%s**\n", sheet->options->view->title);
		else
			print_view_head(sheet, summary, out);
		err = print_view_rows(sheet, out);
		if (!err && !markdown &&
		    strcmp(sheet->options->view->name, "heap") == 0 &&
		    !sheet->options->stacks)
			err = print_leaks(sheet, out);
		if (!err && (fflush(out) || ferror(out)))
			err = -EIO;
	}
	pprof_rows_free(&sheet->rows);
	return err;
}

int report_view_print(const struct summary *summary,
		      const struct report_view_options *options, FILE *out)
{
	struct sheet sheet = { .options = options,
			       .summary = summary,
			       .terminal = terminal_of(out) };
	int err = pprof_read(options->dir, options->view->file, &sheet.pprof);

	if (err == -ENOENT && options->view->of_waits &&
	    !summary_sched_known(summary))
		summary_sched_log_unknown(summary, options->dir, "--view wait");
	else if (err == -ENOENT && !summary->totals.spans &&
		 !summary->totals.counted_calls &&
		 !strcmp(options->view->name, "span"))
		log_err("'%s' has no calls: build the program with perfrec cc, "
			"or record it with --patch; --view cpu and --view heap "
			"show it as it is",
			options->dir);
	else if (err == -ENOENT)
		log_err("'%s' has no %s: there is no %s in it (see perfrec "
			"record %s)",
			options->dir, options->view->what, options->view->file,
			options->view->option);
	if (err)
		return err;
	if (pprof_find_type(sheet.pprof, options->view->columns[0].type) ==
	    PPROF_NONE) {
		log_err("'%s/%s' holds something else than %s", options->dir,
			options->view->file, options->view->what);
		err = -EBADMSG;
	} else {
		err = print_pprof(&sheet, summary, out);
	}
	pprof_free(&sheet.pprof);
	return err;
}
