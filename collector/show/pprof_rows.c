/* SPDX-License-Identifier: Apache-2.0
 *
 * Every line of every location becomes a frame. Sorting the frames by name and
 * module groups the frames of a function. Then a sample is a list of function
 * numbers.
 *
 * The file may come from anywhere, so sums saturate instead of overflowing.
 */
#include "collector/show/pprof_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/path.h"
#include "shared/compiler.h"

#define OWN_NAME "[perfrec]"

static void add_sample(const struct pprof *pprof, int64_t *to,
		       const int64_t *value)
{
	for (size_t i = 0; i < pprof->type_count; i++)
		add_saturated_to(&to[i], value[i]);
}

static int compare_frame_names(const struct pprof_frame *a,
			       const struct pprof_frame *b)
{
	int order = strcmp(a->name, b->name);

	return order ? order : strcmp(a->module, b->module);
}

static bool is_own_frame(const struct pprof_frame *innermost)
{
	return !innermost->module[0] && !strcmp(innermost->name, OWN_NAME);
}

/* --- frames -------------------------------------------------------------- */

/* Returns the number of frames. A location without lines is one frame, with the
 * name of its module. */
static size_t frames_of(const struct pprof_location *location)
{
	return MAX(location->line_count, 1u);
}

static struct pprof_frame make_frame(const struct pprof *pprof,
				     const struct pprof_location *location,
				     size_t i)
{
	struct pprof_frame frame = { .module = location->module, .file = "" };

	if (i < location->line_count) {
		const struct pprof_line *line = &location->lines[i];

		frame.name = pprof->functions[line->function].name;
		frame.file = pprof->functions[line->function].file;
		frame.line = line->line;
	} else {
		frame.name = path_name(location->module);
	}
	if (!frame.name[0])
		frame.name = "[unknown]";
	return frame;
}

struct frames {
	struct pprof_frame *list; /* of all locations, consecutive */
	size_t count;
	size_t *first; /* for each location: index of its first frame */
};

static int make_frames(const struct pprof *pprof, struct frames *out)
{
	size_t at = 0;

	*out = (struct frames){ 0 };
	for (size_t i = 0; i < pprof->location_count; i++)
		out->count += frames_of(&pprof->locations[i]);
	out->list = calloc(out->count + 1, sizeof(*out->list));
	out->first = calloc(pprof->location_count + 1, sizeof(*out->first));
	if (!out->list || !out->first) {
		free(out->list);
		free(out->first);
		*out = (struct frames){ 0 };
		return -ENOMEM;
	}
	for (size_t i = 0; i < pprof->location_count; i++) {
		out->first[i] = at;
		for (size_t k = 0; k < frames_of(&pprof->locations[i]); k++)
			out->list[at++] =
				make_frame(pprof, &pprof->locations[i], k);
	}
	return 0;
}

/* --- by function --------------------------------------------------------- */

struct by_function {
	const struct pprof *pprof;
	struct frames frames;
	uint32_t *row; /* for each frame: row of its function */
	size_t *seen; /* for each row: 1 + its last sample */
	struct pprof_rows *rows;
};

static int compare_frames_and_lines(const void *left, const void *right)
{
	const struct pprof_frame *const *a = left, *const *b = right;
	int order = compare_frame_names(*a, *b);

	/* Lowest line first, because the row shows that line. */
	return order			 ? order
	       : (*a)->line < (*b)->line ? -1
					 : (*a)->line > (*b)->line;
}

static int make_function_rows(struct by_function *by)
{
	size_t count = by->frames.count;
	const struct pprof_frame **sorted = calloc(count + 1, sizeof(*sorted));
	struct pprof_rows *rows = by->rows;

	by->row = calloc(count + 1, sizeof(*by->row));
	by->seen = calloc(count + 1, sizeof(*by->seen));
	rows->list = calloc(count + 1, sizeof(*rows->list));
	if (!sorted || !by->row || !by->seen || !rows->list) {
		free(sorted);
		return -ENOMEM;
	}
	for (size_t i = 0; i < count; i++)
		sorted[i] = &by->frames.list[i];
	qsort(sorted, count, sizeof(*sorted), compare_frames_and_lines);
	for (size_t i = 0; i < count; i++) {
		if (!i || compare_frame_names(sorted[i - 1], sorted[i]) != 0) {
			rows->list[rows->count].frames = sorted[i];
			rows->list[rows->count].own = is_own_frame(sorted[i]);
			rows->list[rows->count++].depth = 1;
		}
		by->row[sorted[i] - by->frames.list] =
			(uint32_t)(rows->count - 1);
	}
	free(sorted);
	return 0;
}

/* Counts a sample inside perfrec. Returns false for others. */
static bool count_own(struct by_function *by, const struct pprof_sample *sample)
{
	struct pprof_row *row;

	if (!sample->depth)
		return false;
	row = &by->rows->list[by->row[by->frames.first[sample->stack[0]]]];
	if (!row->own)
		return false;
	add_sample(by->pprof, row->self, sample->value);
	add_sample(by->pprof, row->total, sample->value);
	return true;
}

static void count_function_sample(struct by_function *by, size_t number)
{
	const struct pprof_sample *sample = &by->pprof->samples[number];
	bool leaf = true;

	if (count_own(by, sample))
		return;
	add_sample(by->pprof, by->rows->sum, sample->value);
	for (uint32_t i = 0; i < sample->depth; i++) {
		size_t at = by->frames.first[sample->stack[i]];
		size_t end =
			at + frames_of(&by->pprof->locations[sample->stack[i]]);

		for (; at < end; at++) {
			uint32_t index = by->row[at];
			struct pprof_row *row = &by->rows->list[index];

			if (leaf)
				add_sample(by->pprof, row->self, sample->value);
			leaf = false;
			if (by->seen[index] == number + 1)
				continue;
			by->seen[index] = number + 1;
			add_sample(by->pprof, row->total, sample->value);
		}
	}
}

int pprof_rows_by_function(const struct pprof *pprof, struct pprof_rows *out)
{
	struct by_function by = { .pprof = pprof, .rows = out };
	int err = make_frames(pprof, &by.frames);

	*out = (struct pprof_rows){ .by_function = true };
	if (!err)
		err = make_function_rows(&by);
	out->frames = by.frames.list;
	for (size_t i = 0; i < pprof->sample_count && !err; i++)
		count_function_sample(&by, i);
	free(by.frames.first);
	free(by.row);
	free(by.seen);
	if (err)
		pprof_rows_free(out);
	return err;
}

/* --- by stack ------------------------------------------------------------ */

static int compare_stacks(const void *left, const void *right)
{
	const struct pprof_sample *const *a = left, *const *b = right;
	uint32_t depth = MIN((*a)->depth, (*b)->depth);
	int order = depth ? memcmp((*a)->stack, (*b)->stack,
				   depth * sizeof(*(*a)->stack))
			  : 0;

	if (order)
		return order;
	return (*a)->depth < (*b)->depth ? -1 : (*a)->depth > (*b)->depth;
}

static size_t frames_of_sample(const struct pprof *pprof,
			       const struct pprof_sample *sample)
{
	size_t count = 0;

	for (uint32_t i = 0; i < sample->depth; i++)
		count += frames_of(&pprof->locations[sample->stack[i]]);
	return count;
}

int pprof_rows_by_stack(const struct pprof *pprof, struct pprof_rows *out)
{
	size_t count = pprof->sample_count, frames = 0;
	const struct pprof_sample **sorted = calloc(count + 1, sizeof(*sorted));
	struct pprof_frame *at;
	struct pprof_row *row;

	*out = (struct pprof_rows){ 0 };
	if (!sorted)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		sorted[i] = &pprof->samples[i];
	qsort(sorted, count, sizeof(*sorted), compare_stacks);
	for (size_t i = 0; i < count; i++)
		if (!i || compare_stacks(&sorted[i - 1], &sorted[i]) != 0)
			frames += frames_of_sample(pprof, sorted[i]);
	out->list = calloc(count + 1, sizeof(*out->list));
	out->frames = calloc(frames + 1, sizeof(*out->frames));
	if (!out->list || !out->frames) {
		free(sorted);
		pprof_rows_free(out);
		return -ENOMEM;
	}
	at = out->frames;
	row = NULL;
	for (size_t i = 0; i < pprof->sample_count; i++) {
		if (!i || compare_stacks(&sorted[i - 1], &sorted[i]) != 0) {
			row = &out->list[out->count++];
			row->frames = at;
			for (uint32_t j = 0; j < sorted[i]->depth; j++) {
				const struct pprof_location *location =
					&pprof->locations[sorted[i]->stack[j]];

				for (size_t k = 0; k < frames_of(location); k++)
					*at++ = make_frame(pprof, location, k);
			}
			row->depth = (size_t)(at - row->frames);
			row->own = row->depth && is_own_frame(row->frames);
		}
		add_sample(pprof, row->self, sorted[i]->value);
		add_sample(pprof, row->total, sorted[i]->value);
		add_sample(pprof, out->sum, sorted[i]->value);
	}
	free(sorted);
	return 0;
}

bool pprof_rows_fold_own(struct pprof_rows *rows)
{
	struct pprof_row own = { 0 };
	size_t kept = 0;

	for (size_t i = 0; i < rows->count; i++) {
		const struct pprof_row *row = &rows->list[i];

		if (!row->own) {
			rows->list[kept++] = *row;
			continue;
		}
		for (size_t k = 0; k < PPROF_VALUES_MAX; k++) {
			add_saturated_to(&own.self[k], row->self[k]);
			add_saturated_to(&own.total[k], row->total[k]);
			/* By function, perfrec's row is in no sum. */
			if (!rows->by_function)
				add_saturated_to(&rows->sum[k],
						 row->self[k] == INT64_MIN
							 ? INT64_MAX
							 : -row->self[k]);
		}
		own.frames = row->frames;
		own.depth = 1;
		own.own = true;
	}
	if (own.own)
		rows->list[kept++] = own;
	rows->count = kept;
	return own.own;
}

void pprof_rows_free(struct pprof_rows *rows)
{
	free(rows->list);
	free(rows->frames);
	*rows = (struct pprof_rows){ 0 };
}

/* --- order --------------------------------------------------------------- */

struct order {
	const struct pprof_key *keys;
	size_t count;
};

static int compare_pprof_rows(const void *left, const void *right,
			      void *context)
{
	const struct pprof_row *a = left, *b = right;
	const struct order *order = context;

	if (order->count && a->own != b->own)
		return a->own ? 1 : -1;
	for (size_t i = 0; i < order->count; i++) {
		uint32_t value = order->keys[i].value;
		bool total = order->keys[i].total;
		int64_t one = (total ? a->total : a->self)[value];
		int64_t two = (total ? b->total : b->self)[value];

		if (one != two)
			return one < two ? 1 : -1;
	}
	for (size_t i = 0; i < MIN(a->depth, b->depth); i++) {
		int names = compare_frame_names(&a->frames[i], &b->frames[i]);

		if (names)
			return names;
	}
	return a->depth < b->depth ? -1 : a->depth > b->depth;
}

void pprof_rows_sort(struct pprof_rows *rows, const struct pprof_key *keys,
		     size_t count)
{
	struct order order = { keys, count };

	qsort_r(rows->list, rows->count, sizeof(*rows->list),
		compare_pprof_rows, &order);
}
