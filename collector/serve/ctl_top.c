/* SPDX-License-Identifier: Apache-2.0
 *
 * Works like a flush (ctl_flush.c): the drain workers empty the rings and copy
 * their trees. Then the jobs thread of each recording adds up its trees, and
 * the last one adds these sums. A recording with another snapshot under way
 * begins after that one.
 */
#include "collector/serve/ctl_top.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "collector/base/clock.h"
#include "collector/base/jobs.h"
#include "collector/base/log.h"
#include "collector/base/proc.h"
#include "collector/drain/drain.h"
#include "collector/files/own_costs.h"
#include "collector/files/snapshot.h"
#include "collector/options/collect_options.h"
#include "collector/options/ctl_wire.h"
#include "collector/profile/function_table.h"
#include "collector/profile/true_time.h"
#include "collector/record/arena.h"
#include "collector/record/collector.h"
#include "collector/record/process.h"
#include "collector/record/recording.h"
#include "collector/states/states.h"
#include "shared/atomic.h"

#define PIDS_MAX 256 /* of a program; memory of further ones is not counted */

struct ctl_top {
	struct collector *collector;
	struct drain_wait wait;
	bool begun, posted;
	uint32_t left; /* recordings without sums */
	uint32_t done; /* set by the thread of the last recording */
	size_t arena_count, count;
	struct arena **arena; /* references */
	json_t *json; /* the result; NULL: no memory */
	struct summed {
		struct job job; /* must be first */
		struct ctl_top *top;
		struct recording *recording; /* a reference */
		struct snapshot *snapshot; /* until done; may be NULL */
		struct function_table table;
		uint64_t lost;
		int err; /* of the table: 0 or -ENOMEM */
	} item[];
};

/* --- on the threads of recordings ---------------------------------------- */

static int add_states(struct arena *arena, struct function_table *table)
{
	static const enum function_told told[] = {
		[FUNCTION_SPAN] = TOLD_SPAN,
		[FUNCTION_COUNTED] = TOLD_COUNTED,
		[FUNCTION_OFF] = TOLD_OFF,
		[FUNCTION_DRAINING] = TOLD_COUNTED,
	};
	struct states_function *list;
	size_t count = states_list(arena, &list);
	int err = 0;

	for (size_t i = 0; i < count && !err; i++) {
		const struct function_total one = {
			.name = list[i].name ? list[i].name : "",
			.module = list[i].module ? list[i].module : "",
			.state = told[list[i].state],
		};

		err = function_table_add(table, &one);
	}
	free(list);
	return err;
}

static uint64_t memory_of(struct arena *arena)
{
	pid_t pids[PIDS_MAX];
	uint64_t bytes = 0;
	size_t count = 0;

	arena_lock(arena);
	for (const struct process *process = arena_first_process(arena);
	     process && count < PIDS_MAX; process = process_next(process))
		pids[count++] = process_setup(process)->pid;
	arena_unlock(arena);
	for (size_t i = 0; i < count; i++)
		bytes += proc_resident_bytes(pids[i]);
	return bytes;
}

static json_t *describe_total(const struct function_total *one, bool sched)
{
	static const char *const names[] = { [TOLD_SPAN] = "span",
					     [TOLD_COUNTED] = "counted",
					     [TOLD_OFF] = "off" };
	const struct ctl_function function = {
		.name = one->name,
		.module = one->module,
		.state = names[one->state],
		.calls = one->calls,
		.self_ns = one->self_ns,
		.sched = sched,
		.on_cpu_self_ns =
			one->self_ns - kernel_counts_off_ns(&one->kernel_self),
		.runnable_self_ns = one->kernel_self.runnable_ns,
		.blocked_self_ns = one->kernel_self.blocked_ns,
	};

	return ctl_function_json(&function);
}

/* @sched: on-CPU and wait times are known. */
static json_t *describe_totals(struct function_table *table,
			       const struct own_costs *costs, bool sched)
{
	json_t *json = json_object(), *rows = json_array();
	uint64_t calls = 0, self_ns = 0;
	double own_ns = 0;
	size_t count;
	const struct function_total *all = function_table_sort(table, &count);

	for (size_t i = 0; i < count; i++) {
		calls += all[i].calls;
		self_ns += all[i].self_ns;
		own_ns += true_time_cost(costs, &all[i].own_self);
		if (i < CTL_TOP_FUNCTIONS)
			json_array_append_new(rows,
					      describe_total(&all[i], sched));
	}
	ctl_set_number(json, "known", count);
	ctl_set_number(json, "calls", calls);
	ctl_set_number(json, "self_ns", self_ns);
	ctl_set_number(json, "own_ns", (uint64_t)own_ns);
	json_object_set_new(json, "functions", rows);
	return json;
}

static int add_top_item(struct summed *item, struct function_table *table)
{
	const struct function_total *all;
	size_t count;
	int err = item->err;

	if (err)
		return err;
	all = function_table_sort(&item->table, &count);
	for (size_t i = 0; i < count && !err; i++)
		err = function_table_add(table, &all[i]);
	return err;
}

static json_t *sum_up_top(struct ctl_top *top)
{
	struct function_table table = { 0 };
	struct own_costs costs = { 0 };
	struct true_time_sums sums;
	uint64_t lost = 0, memory = 0;
	json_t *json = NULL;
	int err = 0;

	for (size_t i = 0; i < top->count && !err; i++) {
		err = add_top_item(&top->item[i], &table);
		lost += top->item[i].lost;
	}
	for (size_t i = 0; i < top->arena_count && !err; i++)
		err = add_states(top->arena[i], &table);
	if (!err && top->count) {
		struct own_counts counts = { 0 };
		size_t count;
		const struct function_total *all =
			function_table_all(&table, &count);

		for (size_t i = 0; i < count; i++)
			own_counts_add(&counts, &all[i].own_self);
		costs = own_costs_live(top->item[0].recording, &counts);
	}
	if (!err) {
		function_table_correct(&table, &costs, &sums);
		json = describe_totals(&table, &costs,
				       top->collector->options->sched);
		for (size_t i = 0; i < top->arena_count; i++)
			memory += memory_of(top->arena[i]);
		ctl_set_number(json, "lost", lost);
		ctl_set_number(json, "rss_bytes", memory);
		ctl_set_number(json, "ns", clock_boottime_ns());
	}
	function_table_release(&table);
	return json;
}

static void finish_top(struct ctl_top *top)
{
	int done_fd = top->collector->done_fd;
	uint64_t one = 1;

	top->json = sum_up_top(top);
	/* The last reference to a recording may be ours, as in a flush. */
	for (size_t i = 0; i < top->count; i++) {
		function_table_release(&top->item[i].table);
		recording_put(&top->item[i].recording);
	}
	/* order: rel, FLUSH: the sums are there */
	atom_store_rel(&top->done, 1);
	if (write(done_fd, &one, sizeof(one)) < 0)
		log_err("cannot wake the main thread: %m");
}

static void sum_recording(struct job *job)
{
	struct summed *item = (struct summed *)job;
	struct ctl_top *top = item->top;

	item->err = -ENOMEM;
	if (item->snapshot)
		item->err = snapshot_sum(&item->snapshot, &item->table,
					 &item->lost);
	/* order: sc, FLUSH: the last one sees the sums of the others */
	if (atom_add_sc(&top->left, -1u) == 1)
		finish_top(top);
}

/* --- on the main thread -------------------------------------------------- */

static void add_top_recording(struct ctl_top *top, struct recording *recording)
{
	for (size_t i = 0; i < top->count; i++)
		if (top->item[i].recording == recording)
			return;
	top->item[top->count++].recording = recording_get(recording);
}

static bool is_summed(const void *context, const struct recording *recording)
{
	const struct ctl_top *top = context;

	for (size_t i = 0; i < top->count; i++)
		if (top->item[i].recording == recording)
			return true;
	return false;
}

/* Begins the missing snapshots. Returns false if some have to wait. Requests
 * for several recordings run one at a time, because two of them could wait for
 * each other. */
static bool begin_snapshots(struct ctl_top *top)
{
	struct collector *collector = top->collector;

	if (top->count > 1) {
		if (collector->top && collector->top != top)
			return false;
		collector->top = top;
	}
	for (size_t i = 0; i < top->count; i++) {
		struct summed *item = &top->item[i];

		if (!item->snapshot &&
		    snapshot_begin(item->recording, true, &item->snapshot) ==
			    -EBUSY)
			return false;
	}
	if (drain_wait_begin(&top->wait, collector->drain, collector->arenas,
			     is_summed, top) < 0)
		log_err("out of memory: perfrec top may leave something out");
	return true;
}

int ctl_top_start(struct collector *collector, struct arena *const *arena,
		  size_t count, struct ctl_top **out)
{
	struct ctl_top *top =
		calloc(1, sizeof(*top) + (count + 1) * sizeof(top->item[0]));

	if (top)
		top->arena = calloc(count + 1, sizeof(struct arena *));
	if (!top || !top->arena) {
		free(top);
		return -ENOMEM;
	}
	top->collector = collector;
	for (size_t i = 0; i < count; i++) {
		top->arena[top->arena_count++] = arena_get(arena[i]);
		add_top_recording(top, arena_setup(arena[i])->recording);
	}
	/* A common recording exists before and after its programs. */
	if (collector->recording)
		add_top_recording(top, collector->recording);
	top->begun = begin_snapshots(top);
	*out = top;
	return 0;
}

bool ctl_top_is_done(struct ctl_top *top)
{
	if (!top->begun)
		top->begun = begin_snapshots(top);
	if (top->begun && !top->posted &&
	    drain_wait_is_over(&top->wait, top->collector->drain)) {
		struct summed *item;

		top->posted = true;
		/* relaxed: jobs_post() orders it */
		atom_store_rlx(&top->left, (uint32_t)top->count);
		for (item = top->item; item < top->item + top->count; item++) {
			item->job.run = sum_recording;
			item->top = top;
			jobs_post(recording_setup(item->recording)->jobs,
				  &item->job);
		}
		if (!top->count)
			finish_top(top);
	}
	/* order: acq, FLUSH: the sums are there */
	return atom_load_acq(&top->done);
}

void ctl_top_end(struct ctl_top **top, json_t *answer)
{
	struct ctl_top *old = *top;

	*top = NULL;
	if (old->collector->top == old)
		old->collector->top = NULL;
	if (old->json)
		json_object_set_new(answer, "top", old->json);
	for (size_t i = 0; i < old->arena_count; i++)
		arena_put(&old->arena[i]);
	drain_wait_release(&old->wait);
	free(old->arena);
	free(old);
}
