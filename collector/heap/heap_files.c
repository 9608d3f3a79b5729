/* SPDX-License-Identifier: Apache-2.0
 *
 * heap_files - sites are sorted by thread, so that a profile gets all sites of
 * a thread in one call.
 */
#include "collector/heap/heap_files.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "collector/base/clock.h"
#include "collector/base/lock.h"
#include "collector/heap/heap_bands.h"
#include "collector/heap/heap_dump.h"
#include "collector/heap/process_heap_inner.h"
#include "collector/names/modules.h"
#include "collector/options/collect_options.h"
#include "collector/output/comments.h"
#include "collector/profile/function_table.h"
#include "collector/profile/stack_profile.h"
#include "collector/profile/stacks.h"
#include "collector/profile/window_profile.h"
#include "collector/record/recording.h"
#include "collector/record/who.h"
#include "collector/replay/order.h"
#include "collector/samples/samples.h"
#include "shared/compiler.h"

/* --- a profile ----------------------------------------------------------- */

struct row {
	uint32_t owner;
	struct stack_values values;
};

static int rows_by_owner(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->owner != y->owner)
		return x->owner < y->owner ? -1 : 1;
	return 0;
}

/* The unrounded sums of earlier rows: heap_round_next(). */
struct row_sums {
	uint64_t of[4];
};

static void fill_row(const struct process_heap *heap,
		     const struct heap_site *site, enum heap_moment moment,
		     struct row_sums *sums, struct row *row)
{
	size_t first = moment == HEAP_OF_SPANS ? SPAN_ALLOC_OBJECTS : 0;
	const struct heap *core = &heap->heap;
	struct heap_values values =
		moment == HEAP_AT_PEAK ? heap_at_peak(core, site) : site->now;
	uint64_t value[] = { values.alloc_objects, values.alloc_bytes,
			     values.inuse_objects, values.inuse_bytes };

	if (moment == HEAP_AT_PEAK) {
		value[2] = heap_scale_peak(core, value[2]);
		value[3] = heap_scale_peak(core, value[3]);
	}
	*row = (struct row){ .owner = site->owner,
			     .values.stack = site->stack };
	for (size_t i = 0; i < ARRAY_SIZE(value); i++)
		row->values.value[first + i] = (int64_t)heap_round_next(
			&heap->heap, &sums->of[i], value[i]);
	if (moment == HEAP_OF_SPANS)
		row->values.value[SPAN_PEAK_BYTES] =
			(int64_t)heap_round(&heap->heap, site->peak_bytes);
}

/* Returns true if any value of @row is not 0: a small share may have bytes but
 * no block, and a site may have values only at the peak. */
static bool has_row_values(const struct row *row)
{
	for (size_t i = 0; i < ARRAY_SIZE(row->values.value); i++)
		if (row->values.value[i])
			return true;
	return false;
}

static struct profile_owner profile_owner_of(struct process_heap *heap,
					     uint32_t number)
{
	struct profile_owner owner = { .pid = heap->pid };

	memcpy(owner.process, heap->name, sizeof(owner.process));
	lock_acquire(&heap->lock);
	if (number < heap->owner_count) {
		owner.tid = heap->owner[number].tid;
		memcpy(owner.thread, heap->owner[number].name,
		       sizeof(owner.thread));
	}
	lock_release(&heap->lock);
	return owner;
}

/* Returns the rows of @heap, *@count of them, which the caller frees. NULL: no
 * memory. */
static struct row *make_heap_rows(struct process_heap *heap,
				  enum heap_moment moment, size_t *count)
{
	uint32_t sites;
	struct row_sums sums = { { 0 } };
	struct row *rows;

	*count = 0;
	/* Copying is quick; adding to the profile takes long. */
	order_lock(heap->order);
	/* Stacks of samples are not stacks of spans. */
	if (moment != HEAP_OF_SPANS)
		process_heap_spread(heap);
	sites = heap_site_count(&heap->heap);
	rows = calloc(sites, sizeof(*rows));
	for (uint32_t i = 0; rows && i < sites; i++) {
		const struct heap_site *site = heap_get_site(&heap->heap, i);

		fill_row(heap, site, moment, &sums, &rows[*count]);
		*count += has_row_values(&rows[*count]);
	}
	if (moment != HEAP_OF_SPANS)
		process_heap_unspread(heap);
	order_unlock(heap->order);
	return rows;
}

int heap_files_add(struct process_heap *heap, enum heap_moment moment,
		   struct stack_profile *profile)
{
	size_t count;
	struct row *rows = make_heap_rows(heap, moment, &count);
	struct stack_values *values =
		rows ? calloc(count + 1, sizeof(*values)) : NULL;
	int err = values ? 0 : -ENOMEM;

	if (values)
		qsort(rows, count, sizeof(*rows), rows_by_owner);
	for (size_t first = 0, end; values && first < count; first = end) {
		struct profile_owner owner =
			profile_owner_of(heap, rows[first].owner);
		int one;

		for (end = first; end < count; end++) {
			if (rows[end].owner != rows[first].owner)
				break;
			values[end - first] = rows[end].values;
		}
		one = stack_profile_add(profile, &owner, heap->stacks,
					heap->modules, values, end - first);
		err = err ? err : one;
	}
	free(values);
	free(rows);
	return err;
}

/* As heap_files_add(), to a profile without threads and processes. False: no
 * memory for a copy. */
static bool add_to_window(struct process_heap *heap,
			  struct stack_profile *window)
{
	const struct profile_owner nobody = { .pid = 0 };
	size_t count;
	struct row *rows = make_heap_rows(heap, HEAP_NOW, &count);
	struct stack_values *values =
		rows ? calloc(count + 1, sizeof(*values)) : NULL;
	const bool copied = values;

	for (size_t i = 0; copied && i < count; i++)
		values[i] = rows[i].values;
	/* The profile counts values without room. */
	if (copied && count)
		(void)stack_profile_add(window, &nobody, heap->stacks,
					heap->modules, values, count);
	free(values);
	free(rows);
	return copied;
}

/* --- a file -------------------------------------------------------------- */

static void make_heap_comments(struct recording *recording,
			       const struct heap_sums *sum,
			       struct comments *out)
{
	who_comment(recording, out);
	comments_add_count(out, "# {block was|blocks were} recorded exactly",
			   sum->exact);
	comments_add_count(out,
			   "stacks of code without recorded calls are those of "
			   "# {block|blocks}: "
			   "sampled, and scaled to the exact totals",
			   sum->stacks);
	comments_add_count(
		out,
		"# {block was sampled: its values|blocks were sampled: "
		"their values} are estimates",
		sum->sampled);
	comments_add_count(out,
			   "# {block is|blocks are} below [unknown]: blocks "
			   "came faster than stacks could be unwound",
			   sum->lost_stacks);
	comments_add_count(
		out,
		"# {allocation found no room in a ring: it is|allocations "
		"found no room in a ring: they are} in no "
		"figure",
		sum->dropped_allocs + sum->unslotted_allocs);
	comments_add_count(
		out,
		"# {free|frees} found no room in a ring: in-use figures may be "
		"too high by up to so many blocks",
		sum->dropped_frees + sum->unslotted_frees);
	comments_add_count(
		out,
		"# {allocation was in a pause: it is|allocations were in a "
		"pause: they are} in no figure",
		sum->paused);
	comments_add_count(
		out,
		"# {block is|blocks are} not in the in-use figures: no "
		"memory to "
		"follow {it|them}",
		sum->untracked);
	comments_add_count(
		out,
		"# {free was of a block|frees were of blocks} allocated "
		"before recording "
		"began, or by ways unseen",
		sum->foreign);
	comments_add_count(
		out,
		"# {free was of a block|frees were of blocks} of a parent "
		"process",
		sum->inherited);
	comments_add_count(
		out,
		"# {block was taken for freed, as its|blocks were taken "
		"for freed, as their} address was "
		"allocated again",
		sum->implied);
	comments_add_count(
		out, "# {block was|blocks were} freed twice by the program",
		sum->doubled);
}

int heap_files_write(struct recording *recording, struct stack_profile *profile,
		     const struct heap_sums *sum, uint64_t duration_ns,
		     const char *name, uint64_t *bytes)
{
	const struct recording_setup *setup = recording_setup(recording);
	const struct collect_options *options = setup->options;
	struct comments comments = { 0 };
	struct stack_profile_header header = {
		.start_ns = (uint64_t)setup->started * 1000000000,
		.duration_ns = duration_ns,
		.comments = &comments,
		.period = sum->sampled ? options->alloc_period : 1,
	};
	struct stat status;
	int err;

	*bytes = 0;
	make_heap_comments(recording, sum, &comments);
	err = stack_profile_write(profile, &header, setup->dir_fd, name);
	comments_release(&comments);
	if (!err && fstatat(setup->dir_fd, name, &status, 0) == 0)
		*bytes = (uint64_t)status.st_size;
	return err;
}

/* --- the end of a process ------------------------------------------------ */

static void add_functions(struct process_heap *heap)
{
	uint32_t sites = heap_site_count(&heap->heap);
	struct heap *core = &heap->heap;
	uint64_t sum[5] = { 0 };

	for (uint32_t i = 0; i < sites; i++) {
		const struct heap_site *site = heap_get_site(core, i);
		const struct heap_values *now = &site->now;
		struct function_total total = {
			.alloc_objects = heap_round_next(core, &sum[0],
							 now->alloc_objects),
			.alloc_bytes = heap_round_next(core, &sum[1],
						       now->alloc_bytes),
			.inuse_objects = heap_round_next(core, &sum[2],
							 now->inuse_objects),
			.inuse_bytes = heap_round_next(core, &sum[3],
						       now->inuse_bytes),
			.temporary_objects =
				heap_round_next(core, &sum[4], site->temporary),
		};
		struct stack_frame frame;
		struct symbol symbol;

		if (!now->alloc_objects && !now->alloc_bytes &&
		    !site->temporary)
			continue;
		frame = stacks_frame(heap->stacks, site->stack);
		if (frame.kind == FRAME_NAMED || !site->stack)
			continue;
		/* A return address may be the start of the next function. */
		modules_resolve(heap->modules,
				frame.address - (frame.kind == FRAME_RETURN),
				frame.generation, &symbol);
		total.name = symbol.name;
		total.module = symbol.module;
		recording_add_function(heap->recording, &total);
	}
}

/* Returns how many blocks of an exact heap have a sampled stack. Must not be
 * called under the recording's lock, which ranks after known_lock. */
static uint64_t count_known(struct process_heap *heap)
{
	uint64_t count = 0;

	if (heap->known) {
		lock_acquire(&heap->known_lock);
		count = heap->known->totals.allocs;
		lock_release(&heap->known_lock);
	}
	return count;
}

/* Adds all sums except count_known(). Under order_lock(), or when no thread
 * changes the heap any more. */
static void add_heap_sums(struct process_heap *heap, struct heap_sums *sum)
{
	const struct heap_totals *from = &heap->heap.totals;
	struct heap *core = &heap->heap;
	uint64_t error, peak = heap_peak_bytes(core, &error);

	*(heap->heap.period ? &sum->sampled : &sum->exact) += from->allocs;
	if (heap->samples)
		sum->lost_stacks += samples_lost_stacks(heap->samples);
	sum->allocs += heap_round(core, from->now.alloc_objects);
	sum->alloc_bytes += heap_round(core, from->now.alloc_bytes);
	sum->live += heap_round(core, from->now.inuse_objects);
	sum->live_bytes += heap_round(core, from->now.inuse_bytes);
	sum->temporary += heap_round(core, from->temporary);
	sum->frees += from->matched_frees;
	sum->implied += from->implied_frees;
	sum->late += from->late_frees;
	*(heap->forked ? &sum->inherited : &sum->foreign) +=
		from->foreign_frees;
	sum->doubled += from->double_frees;
	sum->untracked += from->untracked;
	sum->dropped_allocs += heap->dropped_allocs;
	sum->dropped_frees += heap->dropped_frees;
	sum->paused += heap->paused;
	sum->odd += heap->odd;
	sum->disorders += order_early(heap->order);
	sum->processes += from->allocs != 0;
	sum->peaks_bytes += peak;
	if (peak > sum->peak_bytes) {
		sum->peak_bytes = peak;
		sum->peak_error_bytes = error;
		memcpy(sum->peak_name, heap->name, sizeof(sum->peak_name));
		sum->peak_ns = heap_track_ns(&heap->track, from->peak_clock);
		sum->peak_pid = heap->pid;
	}
}

void heap_files_finish(struct process_heap *heap)
{
	struct recording *recording = heap->recording;
	const struct recording_setup *setup = recording_setup(recording);
	uint64_t known = count_known(heap);
	bool is_largest;
	struct heap_sums *sums;
	struct process_heap **link;

	sums = &recording_lock(recording)->heap;
	link = recording_heaps(recording);
	while (*link && *link != heap)
		link = &(*link)->next;
	if (*link)
		*link = heap->next;
	sums->stacks += known;
	add_heap_sums(heap, sums);
	is_largest = sums->peak_pid == heap->pid;
	recording_unlock(recording);
	/* The page shows one process, that of the highest peak. */
	if (is_largest)
		heap_bands_write(heap);
	process_heap_spread(heap);
	add_functions(heap);
	heap_dump_write(heap);
	process_heap_unspread(heap);
	/* The profile counts values without room. */
	if (setup->profiles.heap)
		(void)heap_files_add(heap, HEAP_NOW, setup->profiles.heap);
	if (setup->profiles.heap_peak)
		(void)heap_files_add(heap, HEAP_AT_PEAK,
				     setup->profiles.heap_peak);
	if (setup->profiles.span && !heap->sampled)
		(void)heap_files_add(heap, HEAP_OF_SPANS, setup->profiles.span);
}

/* --- snapshots ----------------------------------------------------------- */

/* Returns the heap after @last (NULL: the first) in the list of running
 * processes, with a reference, or NULL at the end. */
static struct process_heap *next_heap(struct recording *recording,
				      struct process_heap *last)
{
	struct process_heap *heap;

	recording_lock(recording);
	heap = last ? last->next : *recording_heaps(recording);
	if (heap)
		process_heap_get(heap);
	recording_unlock(recording);
	return heap;
}

int heap_files_so_far(struct recording *recording, struct heap_sums *sum,
		      struct stack_profile **out)
{
	const struct recording_setup *setup = recording_setup(recording);
	struct process_heap *heap = NULL, *next;
	int err = setup->profiles.heap ? 0 : -ENOENT;

	if (!err)
		err = stack_profile_new(&stack_profile_heap, setup->symbols,
					setup->budget, out);
	if (err)
		return err;
	(void)stack_profile_merge(*out, setup->profiles.heap);
	*sum = recording_lock(recording)->heap;
	recording_unlock(recording);
	/* Only this thread removes entries of the list. */
	for (; (next = next_heap(recording, heap)); heap = next) {
		process_heap_put(&heap);
		order_lock(next->order);
		sum->stacks += count_known(next);
		add_heap_sums(next, sum);
		order_unlock(next->order);
		(void)heap_files_add(next, HEAP_NOW, *out);
	}
	process_heap_put(&heap);
	if (sum->exact + sum->sampled)
		return 0;
	stack_profile_free(out);
	return -ENOENT;
}

bool heap_files_sum(struct recording *recording, struct stack_profile *window)
{
	const struct recording_setup *setup = recording_setup(recording);
	struct process_heap *heap = NULL, *next;
	bool whole = true;

	window_profile_begin(window);
	/* The profile counts values without room. */
	(void)window_profile_add(window, setup->profiles.heap, NULL);
	/* Only this thread removes entries of the list. */
	for (; (next = next_heap(recording, heap)); heap = next) {
		process_heap_put(&heap);
		whole = add_to_window(next, window) && whole;
	}
	process_heap_put(&heap);
	return whole;
}

int heap_files_snapshot(struct recording *recording, const char *name)
{
	const struct recording_setup *setup = recording_setup(recording);
	struct stack_profile *profile;
	struct heap_sums sum;
	uint64_t bytes;
	int err = heap_files_so_far(recording, &sum, &profile);

	if (err)
		return err;
	err = heap_files_write(recording, profile, &sum,
			       clock_boottime_ns() - setup->start_ns, name,
			       &bytes);
	recording_say_unwritten(recording, name, err);
	stack_profile_free(&profile);
	return err;
}
