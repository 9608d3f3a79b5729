/* SPDX-License-Identifier: Apache-2.0
 *
 * thread - the work of one drain worker on one slot while one thread owns it.
 * The worker passes the records through replay into blocks of the trace,
 * follows the name of the thread, and ends it. Then the jobs thread sums up the
 * tree of the thread, resolves the names of its functions and frees it. By then
 * no worker uses the thread any more.
 */
#include "collector/drain/thread.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/clock.h"
#include "collector/base/random.h"
#include "collector/drain/drain.h"
#include "collector/drain/filter_names.h"
#include "collector/drain/process_durations.h"
#include "collector/drain/thread_durations.h"
#include "collector/drain/thread_figures.h"
#include "collector/drain/thread_locks.h"
#include "collector/drain/thread_notes.h"
#include "collector/drain/thread_samples.h"
#include "collector/drain/thread_triggers.h"
#include "collector/drain/thread_waits.h"
#include "collector/files/calibrate.h"
#include "collector/files/offcpu_profile.h"
#include "collector/files/snapshot.h"
#include "collector/files/span_profile.h"
#include "collector/files/thread_stacks.h"
#include "collector/heap/thread_heap.h"
#include "collector/names/filter_matches.h"
#include "collector/names/modules.h"
#include "collector/options/collect_options.h"
#include "collector/profile/function_table.h"
#include "collector/record/arena.h"
#include "collector/record/collector.h"
#include "collector/record/process.h"
#include "collector/record/thread_state.h"
#include "collector/replay/cct.h"
#include "collector/replay/cct_kernel.h"
#include "collector/replay/clock_sync.h"
#include "collector/replay/histograms.h"
#include "collector/replay/ring_get.h"
#include "collector/samples/samples.h"
#include "collector/samples/thread_cpu.h"
#include "collector/states/states.h"
#include "collector/trace/out_perfetto.h"
#include "collector/trace/trace_file.h"
#include "shared/atomic.h"
#include "shared/ring_shm.h"

#define PACKET_BYTES 512
#define COST_PAGE_CELLS (COST_PAGE_BYTES / sizeof(struct record))
#define NAME_TRIES 4
/* A piece is this part of a ring: the writer gets its room back after each
 * piece. */
#define PUBLISH_PARTS 8
/* Maximum cells of a piece; larger rings have more pieces. A thread begins with
 * PIECE_CELLS_FIRST. A piece shrinks if the last one took longer than PIECE_NS:
 * a cell may cost 20 ns, or, with the names of an annotation, 20 us, and a turn
 * can end only between two pieces. */
#define PIECE_CELLS 16384
#define PIECE_CELLS_FIRST 256
#define PIECE_CELLS_MIN 64
#define PIECE_NS 1000000
/* Restart points per time that the flight recorder keeps, at least. It forgets
 * old data in steps of this size. */
#define RESTARTS 16
/* A time of the program's clock and one of ours differ by less than this. */
#define CLOCK_SLACK_NS 10000000

static struct recording *recording_of_thread(const struct thread *thread)
{
	return thread->setup->arena_setup->recording;
}

static struct trace_file *trace_of_thread(const struct thread *thread)
{
	return recording_setup(recording_of_thread(thread))->trace;
}

/* --- replay's sink ------------------------------------------------------- */

static struct trace_block *sink_take(void *context)
{
	struct thread *thread = context;
	struct trace_block *block = trace_file_block(trace_of_thread(thread));

	block->modules = NULL;
	block->name_count = 0;
	return block;
}

static void sink_give(void *context, struct trace_block *block)
{
	struct thread *thread = context;

	if (block->name_count)
		block->modules = modules_get(thread->setup->modules);
	trace_file_submit(trace_of_thread(thread), block);
}

static uint64_t sink_position(void *context)
{
	return trace_file_submitted(trace_of_thread(context));
}

/*
 * The program itself leaves out excluded functions of the modules that were
 * known at its start. Functions here are of modules loaded later. Their tables
 * have been read (filter_names.h). Functions of a module that is not in the map
 * log have no names here, so no filter excludes them: a drain worker reads no
 * file.
 */
static bool sink_excludes(void *context, uint64_t function)
{
	struct thread *thread = context;
	const struct process_setup *setup = thread->setup;
	const struct filter *filter = &setup->collector->options->filter;
	struct filter_matches *matches;
	struct symbol symbol;

	if (!filter_is_active(filter))
		return false;
	matches = recording_setup(setup->arena_setup->recording)->matches;
	if (!modules_resolve_read(setup->modules, function,
				  replay_tree(thread->replay)->generation,
				  &symbol))
		return false;
	if (symbol.site) {
		filter_matches_site(matches, symbol.name);
		return filter_excludes_site(filter, symbol.name);
	}
	filter_matches_called(matches, symbol.name, symbol.module);
	return filter_excludes(filter, symbol.name, symbol.module);
}

static size_t sink_unloaded(void *context, uint32_t after, uint32_t upto,
			    struct address_range *out, size_t room)
{
	const struct thread *thread = context;

	return process_unloaded(thread->process, after, upto, out, room);
}

static uint32_t sink_open_track(void *context, uint32_t number,
				uint64_t start_ns)
{
	const struct thread *thread = context;
	uint8_t packet[PACKET_BYTES];
	char name[sizeof(thread->entry.name) + 32];
	const struct out_context out = {
		.uuid = thread_stack_uuid(thread, number),
		.thread_uuid = thread->uuid,
		.sequence = recording_sequence(recording_of_thread(thread)),
		.name = name,
		.start_ns = start_ns,
	};

	snprintf(name, sizeof(name), "context %u of %s", number,
		 thread->entry.name);
	trace_file_append(trace_of_thread(thread), out.sequence, packet,
			  out_perfetto_context(packet, sizeof(packet), &out));
	return out.sequence;
}

static void sink_suspended(void *context, uint32_t number, uint64_t from_ns,
			   uint64_t to_ns)
{
	thread_waits_suspended(context, number, from_ns, to_ns);
}

static void sink_block(void *context, struct replay *replay, uint64_t word,
		       uint64_t clock)
{
	thread_heap_block(context, replay, word, clock);
}

/* Counts an extended record for the own cost, by how the shim writes it: runs
 * of numbers are written differently from all other prefixes. */
static void count_extended_record(struct thread *thread, struct replay *replay,
				  const struct record *cells, size_t count)
{
	enum record_ext ext = record_ext(cells[0].word);

	if (ext == EXT_ALLOC_SAMPLE) {
		replay_top_node(replay)->heap_samples++;
		thread->heap_samples++;
		thread->heap_sample_cells += count;
	}
	if (ext < EXT_ARGS)
		return;
	if (ext >= EXT_INSTANT)
		thread->note_events++;
	else if (ext == EXT_ARGS &&
		 count == 1 + record_ext_value(cells[0].word))
		thread->note_arguments++;
	else
		thread->note_texts++;
}

/* Assigns the kernel's samples of @thread from @ns on to its request. */
static void tell_request(const struct thread *thread, uint64_t ns)
{
	if (thread->setup->samples)
		samples_request(thread->setup->samples, thread->entry.tid, ns,
				&thread->request);
}

static int sink_extended(void *context, struct replay *replay,
			 const struct record *cells, size_t count)
{
	struct thread *thread = context;
	enum record_ext ext = record_ext(cells[0].word);

	count_extended_record(thread, replay, cells, count);
	if (ext == EXT_CPU_SAMPLE)
		thread_cpu_own(replay, cells, count);
	if (ext == EXT_CPU_SAMPLE || ext == EXT_ALLOC_SAMPLE)
		return thread_sample(thread, replay, cells, count);
	if (ext == EXT_TRACE_ID || ext == EXT_TRACEPARENT) {
		const struct trace_ids before = thread->request;
		int err = thread_note(thread, replay, cells, count);

		/* Some programs repeat it at each call, which must stay
		 * cheap. */
		if (!err &&
		    memcmp(&before, &thread->request, sizeof(before)) != 0)
			tell_request(thread, replay_ns(replay, cells[0].clock,
						       thread->fibers.now_ns));
		return err;
	}
	if (ext >= EXT_SYNC_WAIT && ext <= EXT_SYNC_RELEASE)
		return thread_locks_record(thread, replay, cells, count);
	if (ext >= EXT_ARGS)
		return thread_note(thread, replay, cells, count);
	return thread_heap_extended(thread, replay, cells, count);
}

/* --- names --------------------------------------------------------------- */

/* Reads a whole name. Keeps the old name if the thread is writing a new one at
 * each try. */
static void read_thread_name(struct thread *thread)
{
	const struct slot_shm *slot = thread->slot;
	char name[SLOT_NAME_BYTES];

	for (int tries = 0; tries < NAME_TRIES; tries++) {
		/* order: acq, NAME: the counter is read before the name */
		uint32_t changes = atom_load_acq(&slot->name_changes);

		for (int i = 0; i < SLOT_NAME_BYTES; i++)
			/* order: acq, NAME: before the second look at the
			 * counter */
			name[i] = (char)atom_load_acq(&slot->name[i]);
		/* relaxed: the loads before it are acquires */
		if (changes & 1 ||
		    changes != atom_load_rlx(&slot->name_changes))
			continue;
		name[SLOT_NAME_BYTES - 1] = '\0';
		memcpy(thread->entry.name, name, sizeof(name));
		thread->name_changes = changes;
		return;
	}
}

static struct out_thread thread_descriptor(const struct thread *thread)
{
	return (struct out_thread){
		.uuid = thread->uuid,
		.sequence = thread->sequence,
		.pid = thread->setup->pid,
		.tid = thread->entry.tid,
		.name = thread->entry.name,
		.start_ns = thread->start_ns,
	};
}

/* --- life ---------------------------------------------------------------- */

static uint32_t slot_index(const struct thread *thread)
{
	return (uint32_t)(thread->slot -
			  arena_slot_shm(thread->setup->arena, 0));
}

static uint32_t worker_index(const struct thread *thread)
{
	return slot_index(thread) %
	       drain_workers(thread->setup->collector->drain);
}

uint64_t thread_claimed_ns(const struct collector *collector,
			   const struct arena_setup *arena,
			   const struct slot_shm *slot)
{
	/* relaxed: STATE orders it */
	uint64_t clock = atom_load_rlx(&slot->claim_clock);
	uint64_t now = clock_boottime_ns(), ns = clock;
	uint64_t earliest = recording_setup(arena->recording)->start_ns;
	struct clock_segment segment;

	if (arena->clock == WIRE_CLOCK_TSC) {
		clock_sync_segment(collector->clock, clock, &segment);
		ns = clock_segment_ns(&segment, clock);
	}
	return MIN(MAX(ns, earliest), now);
}

static void tell_thread_wait(struct thread *thread,
			     const struct thread_wait *wait)
{
	if (!thread_locks_tell(thread, wait) && wait->object)
		thread_waits_tell(thread, wait);
}

static int start_replay(struct thread *thread)
{
	const struct process_setup *process = thread->setup;
	const struct arena_setup *arena = process->arena_setup;
	const struct flight_options *flight =
		&process->collector->options->flight;
	bool indexed = !flight->on && !process->collector->options->keep_last;
	struct replay_sink sink = {
		.take = sink_take,
		.give = sink_give,
		.excludes = sink_excludes,
		.context = thread,
		.tells_end = process->collector->options->keep_last,
		.position = indexed ? sink_position : NULL,
		.restart_ns = flight->on ? flight->keep_ns / RESTARTS + 1 : 0,
	};
	struct fibers_sink fibers_sink = { sink_open_track, sink_unloaded,
					   sink_block,	    sink_extended,
					   thread,	    NULL };
	bool ticks = arena->clock == WIRE_CLOCK_TSC;

	/* Without switches a trace does not show who was on a CPU. */
	if (process->collector->options->sched)
		fibers_sink.suspended = sink_suspended;
	thread_triggers_begin(thread, worker_index(thread), &sink);
	if (replay_new(&sink, thread->sequence, thread->start_ns,
		       ticks ? process->collector->clock : NULL, arena->pauses,
		       recording_setup(arena->recording)->budget,
		       &thread->replay) < 0)
		return -ENOMEM;
	/* relaxed: STATE orders it */
	replay_tree(thread->replay)->generation =
		atom_load_rlx(&thread->slot->claim_map);
	replay_set_sites(thread->replay, arena->sites);
	replay_set_function_log(thread->replay, arena->functions);
	replay_set_histograms(
		thread->replay,
		process_durations(thread->process, worker_index(thread)));
	replay_limit(thread->replay, process->collector->options->depth);
	replay_set_min_duration(thread->replay,
				process->collector->options->min_ns);
	if (fibers_init(&thread->fibers, &fibers_sink, thread->replay) == 0)
		return 0;
	replay_free(&thread->replay);
	return -ENOMEM;
}

int thread_new(struct process *process, const struct slot_shm *slot,
	       struct thread **out)
{
	struct thread *thread = calloc(1, sizeof(*thread));
	const struct process_setup *setup = process_setup(process);
	pid_t inner, tid;
	struct out_thread described;
	uint8_t packet[PACKET_BYTES];
	uint64_t flow = 0;

	if (!thread)
		return -ENOMEM;
	thread->process = process;
	thread->setup = setup;
	thread->slot = slot;
	thread->uuid = random_u64();
	thread->sequence = recording_sequence(setup->arena_setup->recording);
	thread->piece_cells = PIECE_CELLS_FIRST;
	thread->on_cpu = thread_cpu_on_ns;
	thread->told_wait = tell_thread_wait;
	thread->told_start = thread_waits_started;
	thread->start_ns =
		thread_claimed_ns(setup->collector, setup->arena_setup, slot);
	/* The same clock value may map to another time by now. */
	if (setup->forked)
		thread->start_ns =
			MAX(thread->start_ns, setup->entry->start_ns);
	/* relaxed: STATE orders it */
	inner = atom_load_rlx(&thread->slot->tid);
	tid = process_outer_thread(thread->process, inner);
	thread->tid_known = tid > 0;
	/* A thread that has ended keeps its own id. */
	thread->entry.tid = tid > 0 ? tid : inner;
	read_thread_name(thread);
	if (start_replay(thread) < 0) {
		thread_triggers_finish(thread);
		free(thread);
		return -ENOMEM;
	}
	described = thread_descriptor(thread);
	trace_file_append(
		trace_of_thread(thread), thread->sequence, packet,
		out_perfetto_thread(packet, sizeof(packet), &described));
	if (thread->entry.tid == thread->setup->pid)
		flow = process_take_start_flow(thread->process);
	if (flow)
		replay_instant(thread->replay, thread->start_ns,
			       "image started by exec", flow, true);
	arena_add_live_threads(setup->arena, 1);
	*out = thread;
	return 0;
}

static void tell_progress(struct thread *thread)
{
	struct replay_counts counts = fibers_counts(&thread->fibers);
	uint64_t dropped = counts.lost_spans + counts.truncated_ends;

	recording_add_live(recording_of_thread(thread),
			   counts.spans - thread->told_spans,
			   dropped - thread->told_dropped);
	arena_add_live(thread->setup->arena, counts.spans - thread->told_spans,
		       dropped - thread->told_dropped);
	thread->told_spans = counts.spans;
	thread->told_dropped = dropped;
}

static size_t next_piece(size_t piece, size_t most, uint64_t ns)
{
	if (ns > PIECE_NS)
		return MAX(piece / 4, PIECE_CELLS_MIN);
	return ns < PIECE_NS / 4 ? MIN(piece * 2, most) : piece;
}

/* Replays the *@count cells at @cells and inserts the kernel's events of the
 * thread at their times (@sampled). Sets *@count to the number of consumed
 * cells, as fibers_run() does. Returns 0 or its error. */
static int run_ring_piece(struct thread *thread, const struct record *cells,
			  size_t *count, bool sampled, uint64_t start_ns)
{
	size_t all = *count, done = 0, part, taken;
	int err = 0;

	if (!sampled)
		return fibers_run(&thread->fibers, cells, all, start_ns, count);
	do {
		part = thread_cpu_split(thread, cells + done, all - done);
		err = fibers_run(&thread->fibers, cells + done, part, start_ns,
				 &taken);
		done += taken;
	} while (!err && taken && done < all);
	*count = done;
	return err;
}

/* Replays the cells that the last look at @ring saw, for thread_drain().
 * Returns 0 or -EBADMSG. */
static int run_ring_cells(struct thread *thread, struct ring_get *ring,
			  bool sampled, uint64_t until_ns)
{
	struct trace_file *trace = trace_of_thread(thread);
	size_t most = MIN(ring->cell_count / PUBLISH_PARTS, PIECE_CELLS);
	size_t piece = MIN(thread->piece_cells, most), count;
	bool ticks = thread->setup->arena_setup->clock == WIRE_CLOCK_TSC;
	uint64_t before_ns = clock_boottime_ns(), now_ns;
	uint64_t start_ns = ticks ? 0 : before_ns, given = ring->given;
	const struct record *cells;
	int err = 0;

	if (ticks)
		clock_sync_update(thread->setup->collector->clock);
	while (!err && (count = ring_get_run(ring, piece, &cells))) {
		err = run_ring_piece(thread, cells, &count, sampled, start_ns);
		if (!err && !count && piece < most) {
			/* The record is longer than the piece. */
			piece = most;
			continue;
		}
		/* Records are published whole, so a part of one is an error. */
		if (!err && !count)
			err = -EBADMSG;
		ring_get_consume(ring, count);
		thread->cells += count;
		now_ns = clock_boottime_ns();
		ring_get_publish(ring, now_ns);
		piece = next_piece(piece, most, now_ns - before_ns);
		before_ns = now_ns;
		if (trace_file_lags(trace) || now_ns >= until_ns)
			break;
	}
	thread->piece_cells = piece;
	thread->given += ring->given - given;
	return err;
}

int64_t thread_drain(struct thread *thread, struct ring_get *ring, bool resume,
		     uint64_t until_ns)
{
	bool sampled = thread_cpu_begin(thread);
	bool timed = sampled || fibers_hold_back(&thread->fibers) ||
		     recording_setup(recording_of_thread(thread))->triggers;
	uint64_t before_ns = timed ? clock_boottime_ns() : 0;
	int64_t unread =
		resume ? (int64_t)ring_get_left(ring) : ring_get_look(ring);
	int err = 0;
	uint8_t packet[PACKET_BYTES];
	struct out_thread out;

	/* A filter or a trigger needs names of functions in the ring that are
	 * not read yet. */
	if (unread > 0 &&
	    (filter_is_active(&thread->setup->collector->options->filter) ||
	     thread_triggers_need_names(thread)) &&
	    filter_names_lag_now(thread->setup->arena))
		return unread;
	if (sampled && unread >= 0)
		thread_cpu_fetch(thread);
	if (sampled && !unread)
		thread_cpu_count(thread, before_ns);
	if (unread > 0)
		err = run_ring_cells(thread, ring, sampled, until_ns);
	thread_waits_flush(thread);
	/* The thread has recorded nothing until @before_ns. */
	if (!unread && !resume && fibers_hold_back(&thread->fibers) &&
	    before_ns >= CLOCK_SLACK_NS) {
		fibers_write_old(&thread->fibers, before_ns - CLOCK_SLACK_NS);
		fibers_flush(&thread->fibers);
	}
	if (timed)
		thread_triggers_visit(thread, before_ns, !unread && !resume);
	if (unread <= 0)
		return unread;
	thread_notes_flush(thread);
	thread_heap_flush(thread);
	thread_locks_flush(thread);
	fibers_flush(&thread->fibers);
	/* relaxed: read_thread_name() orders its loads */
	if (atom_load_rlx(&thread->slot->name_changes) !=
	    thread->name_changes) {
		read_thread_name(thread);
		out = thread_descriptor(thread);
		trace_file_append(
			trace_of_thread(thread), thread->sequence, packet,
			out_perfetto_thread_name(packet, sizeof(packet), &out));
	}
	if (thread->fibers.forking) {
		arena_note_fork(thread->setup->arena);
		process_note_fork(thread->process);
	}
	if (thread->fibers.fork_parent) {
		struct recording *recording = recording_of_thread(thread);
		pid_t parent =
			process_outer_pid(thread->setup->arena,
					  (pid_t)thread->fibers.fork_parent);

		recording_lock(recording);
		if (parent > 0)
			thread->setup->entry->parent = parent;
		recording_unlock(recording);
		thread->fibers.fork_parent = 0;
	}
	tell_progress(thread);
	thread_durations(thread);
	return err ? err : unread;
}

/* --- the end ------------------------------------------------------------- */

static void add_thread_function(struct thread *thread,
				const struct cct_function *function)
{
	const uint32_t hz = thread->setup->collector->options->cpu_hz;
	struct function_total total = {
		.calls = function->calls + function->unrecorded,
		.measured_self_ns = function->self_ns,
		.measured_total_ns = function->total_ns,
		.own_self = function->own_self,
		.own_total = function->own_total,
		.cpu_samples = function->cpu_samples,
		.cpu_ns = hz ? function->cpu_samples * (1000000000 / hz) : 0,
	};
	struct symbol symbol;

	if (function->kernel) {
		total.kernel_self = function->kernel->self;
		total.kernel_total = function->kernel->total;
	}
	if (!thread->entry.sched) {
		total.kernel_self.unknown_ns = function->self_ns;
		total.kernel_total.unknown_ns = function->total_ns;
	}
	modules_resolve(thread->setup->modules, function->address,
			function->generation, &symbol);
	total.name = symbol.name;
	total.module = symbol.module;
	if (function->histogram)
		histograms_set_name(function->histogram, total.name,
				    total.module);
	recording_add_function(recording_of_thread(thread), &total);
}

static void add_open_stack(void *context, struct replay *replay)
{
	struct thread *thread = context;
	struct recording *recording = recording_of_thread(thread);
	const struct replay_counts *counts = replay_counts(replay);
	const struct cct *tree = replay_tree(replay);
	bool lossy = counts->lost_spans || counts->truncated_ends;
	struct totals *totals;
	uint64_t counted = 0;

	if (replay == thread->replay && thread->entry.truncated_spans)
		lossy = true; /* no record has these */
	cct_sum(replay_tree(replay));
	cct_kernel_sum(replay_tree(replay));
	for (const struct cct_function *function = tree->functions; function;
	     function = function->next)
		if (function->calls || function->unrecorded) {
			add_thread_function(thread, function);
			counted += function->unrecorded;
		}
	totals = recording_lock(recording);
	totals->overflowed_stacks += tree->overflowed;
	totals->counted_calls += counted;
	if (lossy)
		recording_list_loss(recording, replay_sequence(replay));
	recording_unlock(recording);
}

/* Adds the figures for the own cost that the records do not show. */
static void add_thread_costs(const struct thread *thread, uint64_t spans,
			     struct totals *totals)
{
	uint64_t room = thread->setup->arena_setup->ring_cells;
	uint64_t touched = ALIGN_UP(thread->cells + 1, (uint64_t)TOUCH_CELLS);
	uint64_t first_lap = MIN(touched, room);
	/* Later laps touch pages that the collector gave back. */
	uint64_t given =
		MIN(thread->given, touched - first_lap) / COST_PAGE_CELLS;

	if (thread->general)
		totals->general_spans += spans;
	if (thread->ring_used)
		totals->pages_again += first_lap / COST_PAGE_CELLS;
	else
		totals->pages_first += first_lap / COST_PAGE_CELLS;
	totals->pages_first += given;
	totals->heap_samples += thread->heap_samples;
	totals->heap_sample_cells += thread->heap_sample_cells;
	totals->note_events += thread->note_events;
	totals->note_arguments += thread->note_arguments;
	totals->note_texts += thread->note_texts;
}

static void add_thread_totals(struct thread *thread, struct totals *totals)
{
	const struct replay_counts counts = fibers_counts(&thread->fibers);

	totals->threads++;
	totals->sched.threads += thread->entry.sched;
	totals->sched.sums += thread->entry.sums;
	totals->sched.on_cpu_ns += thread->entry.on_cpu_ns;
	totals->sched.runnable_ns += thread->entry.runnable_ns;
	totals->sched.blocked_ns += thread->entry.blocked_ns;
	totals->sched.unknown_ns += thread->entry.unknown_ns;
	totals->sched.spread_ns += thread->entry.spread_ns;
	totals->sched.stolen_ns += thread->entry.stolen_ns;
	totals->sched.waits += thread->entry.waits;
	totals->sched.preemptions += thread->entry.preemptions;
	totals->sched.migrations += thread->entry.migrations;
	if (counts.spans || thread->entry.dropped_spans) {
		totals->span_threads++;
		totals->span_processes += !thread->setup->entry->has_spans;
		thread->setup->entry->has_spans = true;
	}
	totals->spans += counts.spans;
	totals->dropped_spans += thread->entry.dropped_spans;
	totals->truncated_spans += thread->entry.truncated_spans;
	totals->paused_spans += counts.paused_spans;
	add_thread_costs(thread, counts.spans, totals);
	totals->excluded_hooks += thread->excluded_hooks;
	totals->left_out_hooks += thread->left_out_hooks;
	totals->filtered_spans += counts.filtered_spans;
	totals->repaired_slices += counts.repaired_slices;
	totals->orphan_ends += counts.orphan_ends;
	totals->off_slices += counts.off_slices;
	totals->late_begins += counts.late_begins;
	totals->off_ends += counts.off_ends;
	totals->folded_spans += counts.folded_spans;
	totals->short_spans += counts.short_spans;
	totals->mixed_contexts += thread->fibers.mixed_contexts;
	totals->skipped_maps += thread->fibers.skipped_maps;
	totals->waits += counts.waits;
	totals->wait_ns += counts.wait_ns;
	totals->lost_cpu_samples += thread->dropped_samples;
}

static void sum_up_thread(struct job *job)
{
	struct thread *thread = (struct thread *)job;
	struct recording *recording = recording_of_thread(thread);
	const struct recording_setup *setup = recording_setup(recording);
	struct thread_stacks stacks;
	struct totals *totals;

	thread_stacks_set_calls(thread, thread->counted, thread->counted_count);
	thread_stacks_copy(thread, 0, &stacks);
	fibers_each(&thread->fibers, add_open_stack, thread);
	totals = recording_lock(recording);
	add_thread_totals(thread, totals);
	thread_notes_release(thread, totals);
	recording_list_thread(recording, thread->setup->entry, &thread->entry);
	recording_unlock(recording);
	fibers_release(&thread->fibers);
	replay_free(&thread->replay);
	/* The recording's budget has room again. */
	thread_stacks_add(&stacks, setup->profiles.wall);
	if (setup->profiles.span)
		span_profile_add(setup->profiles.span, &stacks);
	if (setup->profiles.offcpu_rest)
		offcpu_profile_add_rest(recording, &stacks);
	snapshot_add_ended(thread, &stacks);
	thread_stacks_release(&stacks);
	thread_heap_release(thread);
	free(thread->counted);
	free(thread);
}

/* Returns when @thread ended, or 0 if unknown. @end: the kernel's counts at its
 * end, or NULL. @end_ns: end of its process; 0: unknown. */
static uint64_t find_end(const struct thread *thread, uint64_t end_ns,
			 const struct thread_end *end)
{
	uint64_t last_ns = replay_last_ns(fibers_current(&thread->fibers));
	uint64_t latest_ns = end_ns ? end_ns : clock_boottime_ns();

	/* The program may write any time. */
	return end ? MAX(MIN(end->ns, latest_ns), last_ns) : end_ns;
}

/* Counts the remaining kernel events of @thread until its end at @ns (0:
 * unknown), and compares the sums with the kernel's own counts. Returns when
 * the thread ended: its process may live on, or its end may be noticed late. */
static uint64_t finish_cpu(struct thread *thread, uint64_t ns,
			   const struct thread_end *end)
{
	bool sampled = thread_cpu_begin(thread);
	struct sched_end counted = { 0 };
	bool settles = false;

	if (end) {
		counted = (struct sched_end){ end->times.on_cpu_ns,
					      end->times.delay_ns };
		/* /proc reports too little for a running thread. */
		settles = end->times.has_delay && end->times.state != 'R';
	}
	if (sampled)
		thread_cpu_count(thread, ns ? ns : UINT64_MAX);
	if (sampled && !end && process_is_gone(thread->process))
		thread_cpu_lose_end(thread);
	thread_notes_leave(thread, ns ? ns : clock_boottime_ns());
	if (sampled)
		ns = thread_cpu_finish(thread, ns, settles ? &counted : NULL);
	return ns;
}

/* Reports losses and pauses without a record, because the thread ended before
 * it could write one. */
static void tell_lost_rest(struct thread *thread)
{
	const struct replay_counts counts = fibers_counts(&thread->fibers);
	struct replay *replay = fibers_current(&thread->fibers);
	/* relaxed: the owner is gone; its counts are its word */
	uint64_t dropped = atom_load_rlx(&thread->slot->dropped_spans);
	uint64_t paused = atom_load_rlx(&thread->slot->paused_spans);

	if (dropped > counts.lost_spans)
		replay_loss(replay, dropped - counts.lost_spans);
	if (paused > counts.paused_told)
		replay_paused(replay, paused - counts.paused_told);
}

void thread_finish(struct thread **thread, uint64_t end_ns)
{
	struct thread *old = *thread;
	const struct process_ending *ending;
	struct replay_counts counts;
	struct thread_end end;
	bool known = thread_figures_end(old, &end);
	bool ended_itself = known && !end.times.state;

	*thread = NULL;
	end_ns = finish_cpu(old, find_end(old, end_ns, known ? &end : NULL),
			    known ? &end : NULL);
	ending = process_ending(old->process);
	if (ending && ending->why == PROCESS_EXITED && !ended_itself)
		thread_locks_end_wait(old, end_ns);
	if (trace_ids_are_set(&old->request)) {
		/* Another thread may get its id. */
		old->request = (struct trace_ids){ 0 };
		tell_request(old, end_ns ? end_ns : clock_boottime_ns());
	}
	thread_figures_finish(old, known ? &end : NULL);
	tell_lost_rest(old);
	thread_notes_finish(old);
	thread_heap_finish(old);
	fibers_finish(&old->fibers, end_ns);
	thread_locks_finish(old);
	thread_waits_finish(old);
	thread_triggers_finish(old);
	if (ending && ending->why == PROCESS_EXECED &&
	    old->entry.tid == old->setup->pid)
		replay_instant(old->replay, ending->ns, "exec",
			       ending->exec_flow, false);
	fibers_flush(&old->fibers);
	tell_progress(old);
	arena_add_live_threads(old->setup->arena, -1);
	counts = fibers_counts(&old->fibers);
	old->entry.spans = counts.spans;
	old->entry.wait_ns = counts.wait_ns;
	/* At least the losses in its records, which are in the trace. */
	old->entry.dropped_spans = counts.lost_spans;
	/* relaxed: as in tell_lost_rest() */
	old->entry.truncated_spans = atom_load_rlx(&old->slot->truncated_spans);
	/* relaxed, both: as above */
	old->excluded_hooks = atom_load_rlx(&old->slot->excluded_hooks);
	old->left_out_hooks = atom_load_rlx(&old->slot->left_out_hooks);
	/* relaxed, both: as above */
	old->ring_used = atom_load_rlx(&old->slot->claims) > 1;
	old->general = atom_load_rlx(&old->setup->arena_setup->page->flags) &
		       PAGE_GENERAL;
	/* relaxed: as above */
	old->dropped_samples = atom_load_rlx(&old->slot->dropped_samples);
	old->counted_count = states_slot_calls(old->setup->arena,
					       slot_index(old), &old->counted);
	old->job.run = sum_up_thread;
	jobs_post(recording_setup(recording_of_thread(old))->jobs, &old->job);
}
