/* SPDX-License-Identifier: Apache-2.0
 *
 * Three passes. The first reads all files and numbers the functions. The second
 * matches functions of one build with functions of the other. The third adds
 * each row of each file to the row of its functions.
 */
#include "collector/compare/runs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "collector/base/grow.h"
#include "collector/base/log.h"
#include "collector/base/path.h"
#include "collector/base/search.h"
#include "collector/output/own_files.h"
#include "collector/show/progress.h"
#include "collector/show/summary_losses.h"
#include "collector/show/summary_sched.h"
#include "shared/compiler.h"
#include "shared/hash.h"

#define VALUES_MAX ((size_t)1 << 27) /* 1 GiB */
#define SUMMARY (-1) /* the "profile" of summary.json */

enum { WALL, CPU, HEAP, SPAN };

static const char *const profile_names[RUNS_PROFILES] = {
	[WALL] = WALL_PROFILE_NAME,
	[CPU] = CPU_PROFILE_NAME,
	[HEAP] = HEAP_PROFILE_NAME,
	[SPAN] = SPAN_PROFILE_NAME,
};

/* Values that repeat others, with the cost of recording or in other units. */
static const char *const hidden[] = { "wall_measured", "samples",
				      "cpu_samples" };

/* Titles of values. Other values have the name of their type. */
static const struct known {
	const char *type, *title;
	bool main; /* as runs_metric.main */
	bool of_sched; /* 0 where the kernel reported no switches */
} known_types[] = {
	{ "calls", "calls", true, false },
	{ "wall", "wall time", true, false },
	{ "cpu", "CPU time", true, false },
	{ "alloc_space", "bytes allocated", true, false },
	{ "alloc_objects", "blocks allocated", true, false },
	{ "inuse_space", "bytes in use at the end", true, false },
	{ "inuse_objects", "blocks in use at the end", true, false },
	{ "peak_space", "bytes in use at the peak", true, false },
	{ "on_cpu", "time on a CPU", true, true },
	{ "runnable", "time runnable, without a CPU", false, true },
	{ "blocked", "time blocked", true, true },
	{ "switches", "switches", false, true },
};

static int64_t to_signed(uint64_t value)
{
	return value > INT64_MAX ? INT64_MAX : (int64_t)value;
}

/* --- metrics ------------------------------------------------------------- */

static const struct known *find_known_type(const char *type)
{
	for (size_t i = 0; i < ARRAY_SIZE(known_types); i++)
		if (strcmp(type, known_types[i].type) == 0)
			return &known_types[i];
	return NULL;
}

static uint32_t find_metric_key(const struct runs *runs, const char *key)
{
	for (uint32_t i = 0; i < runs->metric_count; i++)
		if (strcmp(runs->metric[i].key, key) == 0)
			return i;
	return RUNS_NONE;
}

static void add_metric(struct runs *runs, const char *type, const char *unit,
		       bool total, int profile)
{
	struct runs_metric *metric = &runs->metric[runs->metric_count];
	const struct known *known;

	if (runs->metric_count == RUNS_METRICS_MAX)
		return;
	*metric = (struct runs_metric){ .profile = profile, .total = total };
	snprintf(metric->key, sizeof(metric->key), "%.48s%s", type,
		 total ? ".total" : "");
	snprintf(metric->unit, sizeof(metric->unit), "%s", unit);
	known = find_known_type(type);
	metric->main = known && known->main;
	metric->random = known && known->of_sched;
	snprintf(metric->title, sizeof(metric->title), "%.40s%s",
		 known ? known->title : type, metric->total ? ", total" : "");
	if (find_metric_key(runs, metric->key) == RUNS_NONE)
		runs->metric_count++;
}

static void type_of(const struct runs_metric *metric, char type[64])
{
	size_t length = strlen(metric->key);

	if (metric->total)
		length -= strlen(".total");
	snprintf(type, 64, "%.*s", (int)length, metric->key);
}

/* Returns true if @run can have meaningful values of @type. */
static bool run_knows(const struct run *run, const char *type)
{
	const struct known *known = find_known_type(type);

	return !known || !known->of_sched || summary_sched_known(run->summary);
}

/* A total of calls has no meaning, and the total of a stack is its own
 * value. */
static void add_profile_metrics(struct runs *runs, const struct run *run,
				int number)
{
	const struct pprof *pprof = run->profile[number];

	for (size_t i = 0; i < pprof->type_count; i++) {
		const struct pprof_type *type = &pprof->type[i];

		if (search_text(type->type, hidden, ARRAY_SIZE(hidden)) ||
		    !run_knows(run, type->type))
			continue;
		add_metric(runs, type->type, type->unit, false, number);
		if (!runs->stacks && strcmp(type->type, "calls") != 0)
			add_metric(runs, type->type, type->unit, true, number);
	}
}

static uint32_t value_number(const struct runs_metric *metric,
			     const struct pprof *pprof)
{
	char type[64];

	if (!pprof)
		return PPROF_NONE;
	type_of(metric, type);
	return pprof_find_type(pprof, type);
}

static bool every_run_has(const struct runs *runs,
			  const struct runs_metric *metric)
{
	if (metric->profile == SUMMARY)
		return true;
	for (size_t i = 0; i < runs->count; i++) {
		const struct pprof *pprof =
			runs->list[i].profile[metric->profile];
		uint32_t number = value_number(metric, pprof);
		char type[64];

		type_of(metric, type);
		if (!run_knows(&runs->list[i], type))
			return false;

		if (number == PPROF_NONE ||
		    strcmp(pprof->type[number].unit, metric->unit) != 0)
			return false;
	}
	return true;
}

static void keep_shared_metrics(struct runs *runs)
{
	size_t kept = 0;

	for (size_t i = 0; i < runs->metric_count; i++) {
		if (every_run_has(runs, &runs->metric[i]))
			runs->metric[kept++] = runs->metric[i];
		else {
			size_t length = strlen(runs->left_out);

			if (!runs->metric[i].total)
				snprintf(runs->left_out + length,
					 sizeof(runs->left_out) - length,
					 "%s%s", length ? ", " : "",
					 runs->metric[i].key);
		}
	}
	runs->metric_count = kept;
}

/* Marks the values that are estimates. The period of a profile applies to its
 * last type. */
static void set_sampled(struct runs *runs)
{
	for (size_t m = 0; m < runs->metric_count; m++) {
		struct runs_metric *metric = &runs->metric[m];

		for (size_t i = 0; i < runs->count; i++) {
			const struct run *run = &runs->list[i];

			if (run->profile[CPU] &&
			    (metric->profile == CPU ||
			     /* A time that may come from samples. */
			     (strncmp(metric->key, "wall", 4) == 0 &&
			      strncmp(metric->key, "wall_measured", 13) != 0 &&
			      summary_time_is_sampled(run->summary)))) {
				metric->sampled = true;
				metric->grain =
					MAX(metric->grain,
					    (double)run->profile[CPU]->period);
			} else if (metric->profile == HEAP ||
				   metric->profile == SPAN) {
				metric->sampled |= run->summary->estimates;
			}
		}
	}
}

/* --- functions ----------------------------------------------------------- */

static uint64_t hash_runs_function(const void *item)
{
	const struct runs_function *function = item;

	return hash_fold(hash_text(hash_text(HASH_START, function->name),
				   path_name(function->module)));
}

static bool same_runs_function(const void *left, const void *right)
{
	const struct runs_function *a = left, *b = right;

	return strcmp(a->name, b->name) == 0 &&
	       strcmp(path_name(a->module), path_name(b->module)) == 0;
}

static const struct pool_key function_key = { hash_runs_function,
					      same_runs_function };

static int intern_runs_frame(struct runs *runs, size_t run,
			     const struct pprof_frame *frame, uint32_t *out)
{
	struct runs_function key = { .name = frame->name,
				     .module = frame->module,
				     .file = "",
				     .other = RUNS_NONE };
	struct runs_function *function;
	int err = pool_intern(&runs->functions, &key, out);

	if (err < 0)
		return err;
	function = (struct runs_function *)runs->functions.items + *out;
	function->same_as = *out;
	if (run < runs->first_b)
		function->on_a = true;
	else
		function->on_b = true;
	if (!function->file[0] && frame->file[0]) {
		function->file = frame->file;
		function->line = frame->line;
	}
	return 0;
}

static int intern_summary(struct runs *runs, size_t number)
{
	struct run *run = &runs->list[number];
	size_t count = run->summary->function_count;
	int err = 0;

	run->summary_ids = calloc(count + 1, sizeof(*run->summary_ids));
	if (!run->summary_ids)
		return -ENOMEM;
	for (size_t i = 0; i < count && !err; i++) {
		const struct pprof_frame frame = {
			run->summary->functions[i].name,
			run->summary->functions[i].module, "", 0
		};

		err = intern_runs_frame(runs, number, &frame,
					&run->summary_ids[i]);
	}
	return err;
}

/* The only frame of a stack without frames. */
static const struct pprof_frame no_stack = { "[no stack]", "", "", 0 };

static size_t count_frames(const struct pprof_rows *rows)
{
	size_t count = 0;

	for (size_t i = 0; i < rows->count; i++)
		count += rows->list[i].depth;
	return count;
}

static int intern_profile(struct runs *runs, size_t number, int profile)
{
	struct run *run = &runs->list[number];
	const struct pprof_rows *rows = &run->rows[profile];
	uint32_t *ids = calloc(count_frames(rows) + 1, sizeof(*ids));
	int err = 0;

	run->ids[profile] = ids;
	if (!ids)
		return -ENOMEM;
	for (size_t i = 0; i < rows->count && !err; i++) {
		if (!rows->list[i].depth)
			err = intern_runs_frame(runs, number, &no_stack,
						&runs->no_stack);
		for (size_t k = 0; k < rows->list[i].depth && !err; k++)
			err = intern_runs_frame(
				runs, number, &rows->list[i].frames[k], ids++);
	}
	return err;
}

/* --- reading ------------------------------------------------------------- */

static int read_run_profile(struct runs *runs, struct run *run, int profile)
{
	int err = pprof_read(run->dir, profile_names[profile],
			     &run->profile[profile]);

	if (err)
		return err == -ENOENT ? 0 : err;
	err = runs->stacks ? pprof_rows_by_stack(run->profile[profile],
						 &run->rows[profile])
			   : pprof_rows_by_function(run->profile[profile],
						    &run->rows[profile]);
	/* perfrec's own rows are not part of the program. */
	if (!err && pprof_rows_fold_own(&run->rows[profile]))
		run->rows[profile].count--;
	return err;
}

/* Rejects a recording that a side has twice, because it makes the sums and the
 * spread wrong. Both sides may have the same recording. Returns 0, or -errno
 * after one line in the log. */
static int check_is_once(struct runs *runs, size_t number)
{
	size_t first = number < runs->first_b ? 0 : runs->first_b;
	struct run *run = &runs->list[number];

	if (stat(run->dir, &run->folder) < 0) {
		int err = -errno;

		log_err("cannot read '%.2000s': %s", run->dir, strerror(-err));
		return err;
	}
	for (size_t i = first; i < number; i++) {
		const struct run *other = &runs->list[i];

		if (run->folder.st_dev == other->folder.st_dev &&
		    run->folder.st_ino == other->folder.st_ino) {
			log_err("'%.2000s' and '%.2000s' are the same "
				"recording: leave out one",
				other->dir, run->dir);
			return -EEXIST;
		}
	}
	return 0;
}

static int read_run(struct runs *runs, size_t number)
{
	struct run *run = &runs->list[number];
	int err = summary_read(run->dir, &run->summary);
	const struct summary_totals *totals;

	if (!err)
		err = check_is_once(runs, number);
	if (err)
		return err;
	totals = &run->summary->totals;
	run->single_threaded = totals->threads <= totals->processes;
	run->complete = summary_losses_none(run->summary) &&
			!totals->functions_off && !totals->functions_gated &&
			!totals->paused_spans && !totals->truncated_spans &&
			!run->summary->rebuilt;
	err = intern_summary(runs, number);
	for (int profile = 0; profile < RUNS_PROFILES && !err; profile++) {
		err = read_run_profile(runs, run, profile);
		if (!err)
			err = intern_profile(runs, number, profile);
	}
	if (err == -ENOMEM)
		log_err("out of memory");
	return err;
}

/* --- rows ---------------------------------------------------------------- */

/* The runs whose rows are compared: frames of rows are in an array that moves
 * while it grows. Only one thread reads recordings. */
static const struct runs *g_rows_of;

static uint64_t hash_runs_row(const void *item)
{
	const struct runs_row *row = item;
	uint64_t hash = row->depth;

	for (uint32_t i = 0; i < row->depth; i++) {
		hash = (hash ^ g_rows_of->frames[row->first + i]) *
		       HASH_MULTIPLIER;
		hash ^= hash >> 32;
	}
	return hash;
}

static bool same_row(const void *left, const void *right)
{
	const struct runs_row *a = left, *b = right;

	return a->depth == b->depth &&
	       memcmp(g_rows_of->frames + a->first,
		      g_rows_of->frames + b->first,
		      a->depth * sizeof(*g_rows_of->frames)) == 0;
}

static const struct pool_key row_key = { hash_runs_row, same_row };

/* Sets *@out to the row of the functions @ids, under their numbers on side A.
 * Returns 0 or -errno. */
static int intern_runs_row(struct runs *runs, const uint32_t *ids, size_t depth,
			   uint32_t *out)
{
	const struct runs_function *functions = runs->functions.items;
	struct runs_row row = { runs->frame_count, (uint32_t)depth };
	int err;

	if (grow_array(runs->frames, runs->frame_room,
		       runs->frame_count + depth + 1))
		return -ENOMEM;
	for (size_t i = 0; i < depth; i++)
		runs->frames[row.first + i] = functions[ids[i]].same_as;
	err = pool_intern(&runs->row_pool, &row, out);
	if (err == 1)
		runs->frame_count += depth;
	return err < 0 ? err : 0;
}

static int intern_profile_rows(struct runs *runs, struct run *run, int profile)
{
	const struct pprof_rows *rows = &run->rows[profile];
	const uint32_t *from = run->ids[profile];
	uint32_t *to = calloc(rows->count + 1, sizeof(*to));
	int err = 0;

	run->row_ids[profile] = to;
	if (!to)
		return -ENOMEM;
	for (size_t i = 0; i < rows->count && !err; i++) {
		size_t depth = rows->list[i].depth;

		err = depth ? intern_runs_row(runs, from, depth, &to[i])
			    : intern_runs_row(runs, &runs->no_stack, 1, &to[i]);
		from += depth;
	}
	return err;
}

static int64_t *run_value_at(const struct runs *runs, size_t row, size_t metric,
			     size_t run)
{
	return &runs->values[(row * runs->metric_count + metric) * runs->count +
			     run];
}

static void add_run_value(struct runs *runs, size_t row, size_t metric,
			  size_t run, int64_t value)
{
	int64_t *to = run_value_at(runs, row, metric, run);

	add_saturated_to(to, value);
	if (value)
		runs->present[row * runs->count + run] = 1;
}

static void fill_summary_metric(struct runs *runs, size_t m, size_t number)
{
	const struct run *run = &runs->list[number];
	const struct runs_metric *metric = &runs->metric[m];
	bool calls = strcmp(metric->key, "calls") == 0;
	int64_t *sum = &runs->sum[m][number];

	for (size_t i = 0; i < run->summary->function_count; i++) {
		const struct summary_function *one =
			&run->summary->functions[i];
		uint64_t self = calls ? one->calls : one->self_ns;
		uint64_t value = metric->total ? one->total_ns : self;

		add_run_value(runs, run->summary_ids[i], m, number,
			      to_signed(value));
		add_saturated_to(sum, to_signed(self));
	}
}

static void fill_metric(struct runs *runs, size_t m, size_t number)
{
	const struct run *run = &runs->list[number];
	const struct runs_metric *metric = &runs->metric[m];
	const struct pprof_rows *rows;
	uint32_t value;

	if (metric->profile == SUMMARY) {
		fill_summary_metric(runs, m, number);
		return;
	}
	rows = &run->rows[metric->profile];
	value = value_number(metric, run->profile[metric->profile]);
	runs->sum[m][number] = rows->sum[value];
	for (size_t i = 0; i < rows->count; i++)
		add_run_value(runs, run->row_ids[metric->profile][i], m, number,
			      (metric->total ? rows->list[i].total
					     : rows->list[i].self)[value]);
}

static int fill_values(struct runs *runs)
{
	size_t rows = runs->row_pool.count;
	size_t width = runs->metric_count * runs->count + 1;

	if (rows > VALUES_MAX / width) {
		log_err("the recordings have %zu different %s, too many to "
			"compare %zu runs: compare fewer%s",
			rows, runs->stacks ? "stacks" : "functions",
			runs->count,
			runs->stacks ? ", or leave out --stacks" : "");
		return -EFBIG;
	}
	runs->values = calloc(rows * width + 1, sizeof(*runs->values));
	runs->present = calloc(rows + 1, runs->count);
	if (!runs->values || !runs->present)
		return -ENOMEM;
	for (size_t m = 0; m < runs->metric_count; m++)
		for (size_t i = 0; i < runs->count; i++)
			fill_metric(runs, m, i);
	return 0;
}

static const char *program_of_run(const struct run *run)
{
	return run->summary->command[0] ? run->summary->command[0] : "";
}

static int compare_read(struct runs *runs)
{
	int err = 0;
	size_t sampled = 0;

	/* Uses times from calls in all runs, because times from samples do not
	 * compare with them. */
	for (size_t i = 0; i < runs->count; i++)
		sampled += summary_time_is_sampled(runs->list[i].summary);
	runs->mixed_times = sampled && sampled < runs->count;
	for (size_t i = 0; i < runs->count && runs->mixed_times; i++)
		summary_use_recorded(runs->list[i].summary);
	if (!runs->stacks) {
		add_metric(runs, "calls", "count", false, SUMMARY);
		add_metric(runs, "wall", "nanoseconds", false, SUMMARY);
		add_metric(runs, "wall", "nanoseconds", true, SUMMARY);
	}
	for (int number = 0; number < RUNS_PROFILES; number++)
		for (size_t i = 0; i < runs->count; i++)
			if (runs->list[i].profile[number])
				add_profile_metrics(runs, &runs->list[i],
						    number);
	keep_shared_metrics(runs);
	set_sampled(runs);
	if (runs->first_b < runs->count) {
		const char *const programs[] = {
			program_of_run(&runs->list[0]),
			program_of_run(&runs->list[runs->first_b]),
		};

		err = runs_match_sides(&runs->functions, programs);
	}
	g_rows_of = runs;
	if (!err) {
		/* The values are allocated once all rows are known. */
		for (size_t i = 0; i < runs->count; i++) {
			struct run *run = &runs->list[i];
			size_t known =
				runs->stacks ? 0 : run->summary->function_count;

			for (size_t k = 0; k < known && !err; k++)
				err = intern_runs_row(runs,
						      &run->summary_ids[k], 1,
						      &run->summary_ids[k]);
			for (int p = 0; p < RUNS_PROFILES && !err; p++)
				err = intern_profile_rows(runs, run, p);
		}
	}
	if (!err)
		err = fill_values(runs);
	g_rows_of = NULL;
	if (err == -ENOMEM)
		log_err("out of memory");
	return err;
}

int runs_read(char *const *dirs, size_t count, size_t first_b, bool stacks,
	      struct runs *out)
{
	struct progress progress;
	int err = 0;

	*out = (struct runs){ .count = count,
			      .first_b = first_b,
			      .stacks = stacks };
	pool_init_key(&out->functions, NULL, sizeof(struct runs_function),
		      &function_key);
	pool_init_key(&out->row_pool, NULL, sizeof(struct runs_row), &row_key);
	out->list = calloc(count + 1, sizeof(*out->list));
	if (!out->list) {
		log_err("out of memory");
		return -ENOMEM;
	}
	progress_begin(&progress, "reading the recordings", true);
	for (size_t i = 0; i < count && !err; i++) {
		out->list[i].dir = dirs[i];
		err = read_run(out, i);
		progress_tell(&progress, i + 1, count);
	}
	if (!err)
		err = compare_read(out);
	progress_end(&progress);
	if (err)
		runs_release(out);
	return err;
}

void runs_release(struct runs *runs)
{
	for (size_t i = 0; runs->list && i < runs->count; i++) {
		summary_free(&runs->list[i].summary);
		for (int which = 0; which < RUNS_PROFILES; which++) {
			pprof_rows_free(&runs->list[i].rows[which]);
			pprof_free(&runs->list[i].profile[which]);
			free(runs->list[i].ids[which]);
			free(runs->list[i].row_ids[which]);
		}
		free(runs->list[i].summary_ids);
	}
	free(runs->list);
	pool_release(&runs->functions);
	pool_release(&runs->row_pool);
	free(runs->frames);
	free(runs->values);
	free(runs->present);
	*runs = (struct runs){ 0 };
}

/* --- access -------------------------------------------------------------- */

size_t runs_row_count(const struct runs *runs)
{
	return runs->row_pool.count;
}

const struct runs_row *runs_row(const struct runs *runs, size_t row)
{
	return (const struct runs_row *)runs->row_pool.items + row;
}

const struct runs_function *runs_function(const struct runs *runs,
					  uint32_t function)
{
	return (const struct runs_function *)runs->functions.items + function;
}

const struct runs_function *runs_frame(const struct runs *runs, size_t row,
				       size_t i)
{
	return runs_function(runs,
			     runs->frames[runs_row(runs, row)->first + i]);
}

int64_t runs_value(const struct runs *runs, size_t row, size_t metric,
		   size_t run)
{
	return *run_value_at(runs, row, metric, run);
}

size_t runs_present(const struct runs *runs, size_t row, bool side_b)
{
	size_t from = side_b ? runs->first_b : 0;
	size_t to = side_b ? runs->count : runs->first_b;
	size_t count = 0;

	for (size_t i = from; i < to; i++)
		count += runs->present[row * runs->count + i];
	return count;
}

uint32_t runs_find_metric(const struct runs *runs, const char *key)
{
	static const struct {
		const char *short_key, *key;
	} others[] = {
		{ "self", "wall" },
		{ "total", "wall.total" },
		{ "bytes", "alloc_space" },
		{ "blocks", "alloc_objects" },
		{ "bytes.total", "alloc_space.total" },
		{ "blocks.total", "alloc_objects.total" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		if (strcmp(key, others[i].short_key) == 0)
			key = others[i].key;
	return find_metric_key(runs, key);
}
