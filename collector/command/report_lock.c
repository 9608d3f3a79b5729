/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/command/report_lock.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "collector/base/json_text.h"
#include "collector/base/log.h"
#include "collector/base/size.h"
#include "collector/base/text_out.h"
#include "collector/command/range_command.h"
#include "collector/command/report_trace_options.h"
#include "collector/command/trace_command.h"
#include "collector/names/name_fold.h"
#include "collector/output/own_files.h"
#include "collector/read/lock_groups.h"
#include "collector/show/lock_list_json.h"
#include "collector/show/progress.h"
#include "collector/show/summary_slowed.h"
#include "collector/show/table.h"
#include "collector/show/terminal.h"
#include "shared/compiler.h"

#define PARTS_SHOWN 5 /* holders of a lock; more: --limit 0 */

struct lock_view {
	const struct report_trace_options *options;
	struct lock_list list;
};

/* Reads what recording added to the waits. Only a finished recording says what it
 * cost. */
static int read_own_waits(struct lock_view *view, const char *path,
			  const struct read_progress *tell)
{
	struct summary *summary = NULL;
	int err = 0;

	if (own_files_exists(view->options->dir, SUMMARY_NAME) &&
	    !summary_read(view->options->dir, &summary))
		err = lock_list_read_own(&view->list, summary, path, tell);
	summary_free(&summary);
	/* Its budget of memory is used up: there is no such column then. */
	return err == -ENOMEM ? 0 : err;
}

/* --- text ----------------------------------------------------------------- */

/* Lines below a row, whose texts the table does not copy. */
struct lock_lines {
	struct table *table;
	char **texts;
	size_t count, room;
	uint64_t blocked_ns; /* of the row */
};

/* Takes @line. NULL: out of memory. */
static void add_kept_line(struct lock_lines *lines, char *line)
{
	if (!line || grow_array(lines->texts, lines->room, lines->count + 1)) {
		free(line);
		lines->table->failed = true;
		return;
	}
	lines->texts[lines->count++] = line;
	table_add_below(lines->table, line, NULL);
}

/* Adds "94.0 %  1.79 s  TEXT". */
static void add_lock_line(struct lock_lines *lines, uint64_t ns,
			  const char *text)
{
	double share = lines->blocked_ns
			       ? 100 * (double)ns / (double)lines->blocked_ns
			       : 0;
	char size[SIZE_TEXT], *line;

	if (!ns)
		return;
	if (asprintf(&line, "%5.1f %%  %8s  %s", share,
		     size_format_ns(ns, size), text) < 0)
		line = NULL;
	add_kept_line(lines, line);
}

/* Adds the parts without a thread, which are in the order of the texts. */
static void add_rest_lines(struct lock_lines *lines, const uint64_t *ns)
{
	static const char *const texts[] = { "hand-over", "woken from outside",
					     "timed out",
					     "until the process ended",
					     "unknown" };

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		add_lock_line(lines, ns[i], texts[i]);
}

static void lock_lines_release(struct lock_lines *lines)
{
	table_release(lines->table);
	for (size_t i = 0; i < lines->count; i++)
		free(lines->texts[i]);
	free(lines->texts);
}

static int print_lock_lines(struct lock_lines *lines, FILE *out)
{
	const struct terminal terminal = terminal_of(out);
	int err = table_print(lines->table, &terminal, out);

	lock_lines_release(lines);
	return err;
}

static void name_function(const struct lock_view *view, uint32_t function,
			  char name[NAME_FOLD_BYTES])
{
	const char *text = lock_list_text(&view->list, function);

	if (view->options->full_names)
		name_fold_clean(text, name);
	else
		name_fold(text, name);
}

/* Adds " < run < main" to @text, which has @size bytes, for the callers of the
 * innermost function of @stack. */
static void add_callers(const struct lock_view *view, uint32_t stack,
			char *text, size_t size)
{
	const struct wait_frame *frame =
		wait_stacks_frame(&view->list.stacks, stack);
	size_t used = strlen(text);
	char name[NAME_FOLD_BYTES];

	while (frame &&
	       (frame = wait_stacks_frame(&view->list.stacks, frame->caller))) {
		name_function(view, frame->function, name);
		if (used + strlen(name) + 8 > size) {
			snprintf(text + used, size - used, " < ...");
			return;
		}
		used += (size_t)snprintf(text + used, size - used, " < %s",
					 name);
	}
}

/* Adds "held in commit < run, thread 4713 worker-3"; without callers if @stack is
 * 0. */
static void add_part_line(const struct lock_view *view,
			  struct lock_lines *lines, uint32_t in, uint32_t by,
			  uint32_t tid, uint64_t ns, bool held, uint32_t stack)
{
	char name[NAME_FOLD_BYTES], text[4 * NAME_FOLD_BYTES];
	const char *thread = lock_list_text(&view->list, by);
	size_t length;

	name_function(view, in, name);
	snprintf(text, sizeof(text), "%s%s%s", held ? "held" : "woken",
		 name[0] ? " in " : "", name);
	add_callers(view, stack, text, 3 * NAME_FOLD_BYTES);
	length = strlen(text);
	if (tid)
		snprintf(text + length, sizeof(text) - length,
			 ", thread %u %.200s", tid, thread);
	else if (thread[0])
		snprintf(text + length, sizeof(text) - length, " by %.200s",
			 thread);
	add_lock_line(lines, ns, text);
}

/* The cells of "blocked" and "w/o perfrec". */
struct blocked_cells {
	char blocked[SIZE_TEXT], rest[SIZE_TEXT + 2];
};

/* Adds the first columns of a row to @cells. Returns their number. */
static size_t add_blocked_cells(const struct lock_view *view,
				uint64_t blocked_ns, uint64_t own_ns,
				struct blocked_cells *texts, const char **cells)
{
	cells[0] = size_format_ns(blocked_ns, texts->blocked);
	if (!view->list.has_own)
		return 1;
	/* Recording added own_ns or more. */
	memcpy(texts->rest, "< ", 2);
	size_format_ns(blocked_ns - MIN(blocked_ns, own_ns), texts->rest + 2);
	cells[1] = texts->rest;
	return 2;
}

/* Adds the titles of these columns to @columns. Returns their number. */
static size_t add_blocked_columns(const struct lock_view *view,
				  struct table_column *columns)
{
	columns[0] = (struct table_column){
		view->list.has_own ? "blocked" SUMMARY_SLOWED_MARK : "blocked",
		9, false, 0
	};
	if (!view->list.has_own)
		return 1;
	columns[1] = (struct table_column){ "w/o perfrec", 11, false, 0 };
	return 2;
}

/* Adds "12 locks, first waited for in take < run". */
static void add_group_line(const struct lock_view *view,
			   struct lock_lines *lines, const struct lock_row *row)
{
	const struct wait_frame *frame =
		wait_stacks_frame(&view->list.stacks, row->stack);
	char name[NAME_FOLD_BYTES], text[4 * NAME_FOLD_BYTES];

	if (!frame)
		return;
	name_function(view, frame->function, name);
	snprintf(text, sizeof(text), "%u lock%s, first waited for in %s",
		 row->locks, size_plural(row->locks), name);
	add_callers(view, row->stack, text, sizeof(text));
	add_kept_line(lines, strdup(text));
}

static void add_lock_row(const struct lock_view *view, struct lock_lines *lines,
			 uint32_t number)
{
	const struct lock_row *row = lock_list_row(&view->list, number);
	const struct trace_track *process =
		trace_reader_track(view->list.waits->reader, row->process);
	const struct lock_part *parts;
	size_t count = lock_list_parts(&view->list, number, &parts);
	size_t shown =
		view->options->limit ? MIN(count, (size_t)PARTS_SHOWN) : count;
	uint64_t rest_ns = 0;
	char waits[SIZE_TEXT], mean[SIZE_TEXT];
	char held[SIZE_TEXT] = "-", longest[SIZE_TEXT] = "-", text[64];
	const char *cells[TABLE_COLUMNS_MAX];
	struct blocked_cells texts;
	size_t cell = add_blocked_cells(view, row->blocked_ns, row->own_ns,
					&texts, cells);

	if (row->held) {
		size_format_ns(row->held_ns, held);
		size_format_ns(row->longest_ns, longest);
	}
	cells[cell++] = size_format_count(row->waits, waits);
	cells[cell++] = size_format_ns(row->blocked_ns / row->waits, mean);
	cells[cell++] = held;
	cells[cell++] = longest;
	table_add(lines->table, cells, lock_list_text(&view->list, row->lock),
		  "");
	if (view->list.has_processes && process) {
		snprintf(text, sizeof(text), "of process %" PRId64,
			 process->pid);
		table_behind(lines->table, text);
	}
	lines->blocked_ns = row->blocked_ns;
	add_group_line(view, lines, row);
	for (size_t i = 0; i < shown; i++)
		add_part_line(view, lines, parts[i].function, parts[i].thread,
			      parts[i].tid, parts[i].ns, row->held,
			      parts[i].stack);
	for (size_t i = shown; i < count; i++)
		rest_ns += parts[i].ns;
	snprintf(text, sizeof(text), "%s by %zu more (--limit 0)",
		 row->held ? "held" : "woken", count - shown);
	add_lock_line(lines, rest_ns, text);
	add_rest_lines(lines,
		       (const uint64_t[]){ row->hand_over_ns, row->outside_ns,
					   row->timed_out_ns, row->ended_ns,
					   row->unknown_ns });
}

static void add_waiter_to_table(const struct lock_view *view,
				struct lock_lines *lines, uint32_t number)
{
	const struct waiter_row *row =
		&((const struct waiter_row *)
			  view->list.waiters.rows.items)[number];
	const struct waiter_part *parts;
	size_t count = lock_waiters_parts(&view->list.waiters, number, &parts);
	size_t shown =
		view->options->limit ? MIN(count, (size_t)PARTS_SHOWN) : count;
	char waits[SIZE_TEXT], mean[SIZE_TEXT], text[64];
	const char *cells[TABLE_COLUMNS_MAX];
	struct blocked_cells texts;
	size_t cell = add_blocked_cells(view, row->blocked_ns, row->own_ns,
					&texts, cells);
	uint64_t rest_ns = 0;

	cells[cell++] = size_format_count(row->waits, waits);
	cells[cell++] = size_format_ns(row->blocked_ns / row->waits, mean);
	table_add(lines->table, cells,
		  lock_list_text(&view->list, row->function), "");
	lines->blocked_ns = row->blocked_ns;
	for (size_t i = 0; i < shown; i++)
		add_part_line(view, lines, parts[i].function, parts[i].thread,
			      parts[i].tid, parts[i].ns, parts[i].held, 0);
	for (size_t i = shown; i < count; i++)
		rest_ns += parts[i].ns;
	snprintf(text, sizeof(text), "held or woken by %zu more (--limit 0)",
		 count - shown);
	add_lock_line(lines, rest_ns, text);
	add_rest_lines(lines,
		       (const uint64_t[]){ row->hand_over_ns, row->outside_ns,
					   row->timed_out_ns, row->ended_ns,
					   row->unknown_ns });
}

/* Prints the threads that the calls of each function waited for. */
static int print_waiter_table(const struct lock_view *view, FILE *out)
{
	struct table_column columns[TABLE_COLUMNS_MAX];
	size_t columns_used = add_blocked_columns(view, columns);
	const uint32_t functions = view->list.waiters.rows.count;
	size_t count = functions;
	struct table table;
	struct lock_lines lines = { .table = &table };
	int err;

	if (view->options->limit)
		count = MIN(count, view->options->limit);
	columns[columns_used++] = (struct table_column){ "waits", 7, false, 0 };
	columns[columns_used++] = (struct table_column){ "mean", 9, false, 2 };
	table_init(&table, columns, columns_used, "function, with its callees");
	table.full_names = view->options->full_names;
	for (size_t i = 0; i < count; i++)
		add_waiter_to_table(view, &lines, view->list.functions[i]);
	fputc('\n', out);
	err = print_lock_lines(&lines, out);
	if (!err && count < functions)
		fprintf(out, "  (%zu of %u functions; all: --limit 0)\n", count,
			functions);
	return err;
}

static void say_missing_stacks(const struct lock_view *view, FILE *out)
{
	uint64_t held_ns = 0;
	bool has_wakers = false;
	char text[SIZE_TEXT];

	for (uint32_t i = 0; i < view->list.sums.parts.count; i++) {
		const struct lock_part *part = &view->list.parts[i];

		if (!lock_list_row(&view->list, part->row)->held)
			has_wakers = true;
		else if (!part->stack)
			held_ns += part->ns;
	}
	if (held_ns)
		fprintf(out,
			"  No stack for holders of %s: readers have no ids, "
			"and other threads had no recorded call when they "
			"released the lock.\n",
			size_format_ns(held_ns, text));
	if (has_wakers)
		fputs("  No stacks for wakers: only holders have them.\n", out);
}

static int print_lock_table(const struct lock_view *view, size_t count,
			    FILE *out)
{
	static const struct table_column rest[] = {
		{ "waits", 7, false, 0 },
		{ "mean", 9, false, 3 },
		{ "held", 9, false, 4 },
		{ "longest hold", 12, false, 2 },
	};
	struct table_column columns[TABLE_COLUMNS_MAX];
	const size_t first = add_blocked_columns(view, columns);
	const uint32_t rows = view->list.sums.rows.count;
	uint32_t locks = 0;
	char text[SIZE_TEXT], number[SIZE_TEXT];
	uint64_t blocked_ns = 0, waits = 0;
	struct table table;
	struct lock_lines lines = { .table = &table };
	int err = 0;

	memcpy(columns + first, rest, sizeof(rest));
	table_init(&table, columns, first + ARRAY_SIZE(rest), "lock");
	/* Names of locks stay as they are. */
	table.full_names = true;
	for (size_t i = 0; i < count; i++)
		add_lock_row(view, &lines, view->list.order[i]);
	for (uint32_t i = 0; i < rows; i++) {
		locks += lock_list_row(&view->list, i)->locks;
		blocked_ns += lock_list_row(&view->list, i)->blocked_ns;
		waits += lock_list_row(&view->list, i)->waits;
	}
	fputs("\nperfrec: ", out);
	text_out(view->options->dir, out);
	fprintf(out, "\n\n  blocked    %s in %s wait%s for %u lock%s\n",
		size_format_ns(blocked_ns, text),
		size_format_count(waits, number), size_plural(waits), locks,
		size_plural(locks));
	if (view->list.sums.other_waits)
		fprintf(out,
			"             %s in %s wait%s for other objects: "
			"--view "
			"wait\n",
			size_format_ns(view->list.sums.other_ns, text),
			size_format_count(view->list.sums.other_waits, number),
			size_plural(view->list.sums.other_waits));
	if (rows) {
		fputc('\n', out);
		err = print_lock_lines(&lines, out);
	} else {
		fputs("\n  no thread waited for a lock\n", out);
		lock_lines_release(&lines);
	}
	if (!err && count < rows)
		fprintf(out, "  (%zu of %u %s; all: --limit 0)\n", count, rows,
			view->options->stacks ? "rows" : "locks");
	if (!err && view->options->stacks)
		say_missing_stacks(view, out);
	if (!err && view->list.waiters.rows.count)
		err = print_waiter_table(view, out);
	if (!err && view->list.has_own)
		fputs("  " SUMMARY_SLOWED_MARK
		      ": with waits for threads that recording slowed; w/o "
		      "perfrec: at most this time,\n"
		      "     as recording added the rest or more\n",
		      out);
	return err ? err : fflush(out) || ferror(out) ? -EIO : 0;
}

/* --- the view ------------------------------------------------------------- */

static void say_no_locks(const struct lock_view *view)
{
	const struct trace_waits *waits = view->list.waits;
	const char *dir = view->options->dir;
	bool has_locks = false, has_waits = false;

	for (size_t i = 0; i < waits->wait_count; i++) {
		has_locks |= waits->waits[i].lock != 0;
		has_waits |= !waits->waits[i].is_start;
	}
	if (has_locks)
		log_err("'%s' has waits for locks, but none in the chosen part",
			dir);
	else if (has_waits)
		log_err("'%s' has no waits for locks with their wakers: its "
			"waits were for other objects (perfrec report --view "
			"wait), or before their threads recorded a call or "
			"block (add --patch to perfrec record), or it was "
			"recorded with --locks off or --keep last",
			dir);
	else
		log_err("'%s' has no waits of threads with a recorded call or "
			"block: for those of all threads, add --patch to "
			"perfrec record; without --sched off",
			dir);
}

/* Returns 0, or -errno after one line in the log. */
static int read_locks(struct lock_view *view)
{
	const struct report_trace_options *options = view->options;
	struct time_range range;
	struct progress progress;
	const struct read_progress tell = { progress_tell, &progress };
	char path[PATH_MAX];
	bool met;
	int err = trace_command_path(options->dir, path);

	if (!err)
		err = range_command_part(options->range, options->dir, path,
					 &range);
	if (!err) {
		progress_begin(&progress, "reading the trace", true);
		err = trace_waits_read(path, NULL, &tell, &view->list.waits)
			      ?: read_own_waits(view, path, &tell);
		progress_end(&progress);
	}
	if (err) {
		if (err != -EDOM)
			trace_command_log_open(options->dir, err);
		return err;
	}
	if (options->stacks) {
		progress_begin(&progress, "reading the calls", true);
		err = lock_list_read_stacks(&view->list, path, &range,
					    options->thread, &tell);
		progress_end(&progress);
	}
	if (!err)
		err = lock_sums_make(view->list.waits, &range, options->thread,
				     options->stacks ? LOCK_SUMS_BY_HOLDER
						     : LOCK_SUMS_BY_LOCK,
				     &met, &view->list.sums);
	if (!err && !met) {
		trace_command_say_thread(options->thread,
					 view->list.waits->reader);
		return -ENOENT;
	}
	if (!err && options->stacks)
		err = lock_groups_make(&view->list.sums, view->list.waits);
	if (err == -ENOMEM)
		log_err("out of memory");
	else if (err)
		trace_command_log_open(options->dir, err);
	return err;
}

int report_lock_print(const struct report_trace_options *options, FILE *out)
{
	struct lock_view view = { .options = options };
	int err = read_locks(&view);
	size_t count = view.list.sums.rows.count;

	if (!err && !count && !view.list.waiters.rows.count) {
		say_no_locks(&view);
		err = -ENOENT;
	}
	if (!err) {
		err = lock_list_sort(&view.list, options->sort ?: "blocked");
		if (err)
			log_err("out of memory");
	}
	if (options->limit)
		count = MIN(count, options->limit);
	if (!err)
		err = options->json
			      ? json_text_print(lock_list_json(&view.list,
							       options->limit),
						out)
			      : print_lock_table(&view, count, out);
	if (!err && trace_command_check(options->dir, view.list.waits->err,
					&view.list.waits->totals) != OPTS_OK)
		err = -EBADMSG;
	lock_list_release(&view.list);
	return err;
}
