/* SPDX-License-Identifier: Apache-2.0
 *
 * notes_rig - a simulated process. A test makes the records of its threads,
 * which pass fibers, thread_notes and tracks into a trace on disk.
 */
#ifndef PERFREC_TESTS_UNIT_NOTES_RIG_H
#define PERFREC_TESTS_UNIT_NOTES_RIG_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/base/clock.h"
#include "collector/base/lock.h"
#include "collector/base/random.h"
#include "collector/drain/thread_notes.h"
#include "collector/names/modules.h"
#include "collector/names/sites.h"
#include "collector/names/symbols.h"
#include "collector/output/own_files.h"
#include "collector/record/arena_inner.h"
#include "collector/record/process_inner.h"
#include "collector/record/recording.h"
#include "collector/record/recording_inner.h"
#include "collector/record/thread_state.h"
#include "collector/record/tracks.h"
#include "collector/trace/out_perfetto.h"
#include "collector/trace/trace_file.h"
#include "tests/unit/told.h"

#define RIG_THREADS 3
#define RIG_BUDGET (64u << 20)

struct rig {
	char dir[64];
	int dir_fd;
	uint64_t start_ns;
	struct symbol_cache *cache;
	struct modules *modules;
	struct recording recording;
	struct arena arena;
	struct process process;
	struct slot_shm slot[RIG_THREADS];
	struct thread thread[RIG_THREADS];
};

static inline void rig_must(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "notes_rig: %s\n", what);
	abort();
}

static inline struct trace_block *rig_take(void *context)
{
	struct thread *thread = context;
	struct trace_block *block = trace_file_block(
		recording_setup(thread->setup->arena_setup->recording)->trace);

	block->modules = NULL;
	block->name_count = 0;
	return block;
}

static inline void rig_give(void *context, struct trace_block *block)
{
	struct thread *thread = context;

	if (block->name_count)
		block->modules = modules_get(thread->setup->modules);
	trace_file_submit(
		recording_setup(thread->setup->arena_setup->recording)->trace,
		block);
}

static inline bool rig_excludes(void *context, uint64_t function)
{
	(void)context;
	return function == 13;
}

static inline uint32_t rig_open_track(void *context, uint32_t number,
				      uint64_t start_ns)
{
	const struct thread *thread = context;
	uint8_t packet[512];
	char name[32];
	const struct out_context out = {
		.uuid = random_u64(),
		.thread_uuid = thread->uuid,
		.sequence = recording_sequence(
			thread->setup->arena_setup->recording),
		.name = name,
		.start_ns = start_ns,
	};

	snprintf(name, sizeof(name), "context %u of worker", number);
	trace_file_append(
		recording_setup(thread->setup->arena_setup->recording)->trace,
		out.sequence, packet,
		out_perfetto_context(packet, sizeof(packet), &out));
	return out.sequence;
}

static inline size_t rig_unloaded(void *context, uint32_t after, uint32_t upto,
				  struct address_range *out, size_t room)
{
	(void)context;
	(void)after;
	(void)upto;
	(void)out;
	(void)room;
	return SIZE_MAX;
}

static inline void rig_block(void *context, struct replay *replay,
			     uint64_t word, uint64_t clock)
{
	(void)context;
	(void)replay;
	(void)word;
	(void)clock;
}

static inline int rig_extended(void *context, struct replay *replay,
			       const struct record *cells, size_t count)
{
	if (record_ext(cells[0].word) < EXT_ARGS)
		return 0;
	return thread_note(context, replay, cells, count);
}

static inline void rig_thread(struct rig *rig, int i)
{
	struct thread *thread = &rig->thread[i];
	const struct replay_sink sink = {
		.take = rig_take,
		.give = rig_give,
		.excludes = rig_excludes,
		.context = thread,
	};
	const struct fibers_sink fibers_sink = { rig_open_track, rig_unloaded,
						 rig_block,	 rig_extended,
						 thread,	 NULL };
	struct out_thread out;
	uint8_t packet[512];

	thread->process = &rig->process;
	thread->setup = process_setup(&rig->process);
	thread->slot = &rig->slot[i];
	thread->uuid = random_u64();
	thread->sequence = recording_sequence(&rig->recording);
	thread->start_ns = rig->start_ns;
	out = (struct out_thread){ .uuid = thread->uuid,
				   .sequence = thread->sequence,
				   .pid = 100,
				   .tid = 100 + i,
				   .name = "worker",
				   .start_ns = rig->start_ns };
	trace_file_append(rig->recording.setup.trace, thread->sequence, packet,
			  out_perfetto_thread(packet, sizeof(packet), &out));
	rig_must(!replay_new(&sink, thread->sequence, rig->start_ns, NULL,
			     &rig->arena.pauses, &rig->recording.budget,
			     &thread->replay),
		 "replay");
	replay_set_sites(thread->replay, rig->arena.setup.sites);
	rig_must(!fibers_init(&thread->fibers, &fibers_sink, thread->replay),
		 "fibers");
}

static inline void rig_begin_trace(struct rig *rig)
{
	const struct out_clocks clocks = { rig->start_ns, rig->start_ns,
					   rig->start_ns, rig->start_ns,
					   rig->start_ns };
	const struct out_process process = { .uuid = rig->process.setup.uuid,
					     .pid = 100,
					     .name = "paper" };
	const struct trace_file_options options = { .dir_fd = rig->dir_fd,
						    .name = TRACE_NAME };
	static const uint8_t uuid[16] = { 1 };
	uint8_t packet[4096];

	rig_must(!trace_file_open(&options, &rig->recording.setup.trace),
		 "trace");
	trace_file_append(rig->recording.setup.trace, 1, packet,
			  out_perfetto_preamble(packet, sizeof(packet), &clocks,
						uuid, NULL, 0));
	trace_file_append(
		rig->recording.setup.trace, 1, packet,
		out_perfetto_process(packet, sizeof(packet), &process));
}

static inline struct rig *rig_new(void)
{
	struct rig *rig = calloc(1, sizeof(*rig));

	rig_must(rig, "memory");
	strcpy(rig->dir, "/tmp/perfrec-notes.XXXXXX");
	rig_must(mkdtemp(rig->dir), "folder");
	rig->dir_fd = open(rig->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	rig->start_ns = clock_boottime_ns() - 1000000000;
	lock_init(&rig->recording.lock, LOCK_RECORDING);
	rig->recording.budget.left = RIG_BUDGET;
	rig->recording.setup.budget = &rig->recording.budget;
	rig->recording.last_sequence = 1;
	rig->recording.setup.start_ns = rig->start_ns;
	rig->process.setup.uuid = random_u64();
	rig_begin_trace(rig);
	rig_must(!symbol_cache_new(&rig->cache), "cache");
	lock_init(&rig->arena.lock, LOCK_ARENA);
	orders_init(&rig->arena.orders);
	rig->arena.setup.clock = WIRE_CLOCK_BOOTTIME;
	rig->arena.setup.orders = &rig->arena.orders;
	rig->arena.setup.pauses = &rig->arena.pauses;
	rig->arena.setup.page = told_new();
	rig->arena.setup.recording = &rig->recording;
	rig_must(!sites_new(rig->arena.setup.page, rig->cache,
			    &rig->arena.setup.sites),
		 "sites");
	rig_must(!modules_new(getpid(), getpid(), NULL, rig->cache,
			      &rig->process.setup.modules),
		 "modules");
	modules_set_sites(rig->process.setup.modules, rig->arena.setup.sites);
	rig->process.setup.arena = &rig->arena;
	rig->process.setup.arena_setup = &rig->arena.setup;
	rig_must(!tracks_new(rig->process.setup.uuid, NULL,
			     rig->arena.setup.sites, rig->recording.setup.trace,
			     &rig->recording.budget,
			     &rig->process.setup.tracks),
		 "tracks");
	for (int i = 0; i < RIG_THREADS; i++)
		rig_thread(rig, i);
	return rig;
}

/* Adds a site and returns its id. @texts: name, category, file ... */
static inline uint32_t rig_site(struct rig *rig, struct site_shm head,
				const char *const texts[6], const char *key)
{
	struct page_shm *page = rig->arena.setup.page;
	uint32_t id = ++page->site_count;
	struct site_shm *shm =
		(struct site_shm *)((char *)page + ARENA_SITE_BYTES +
				    page->site_bytes);
	char *out = (char *)(shm + 1);

	*shm = head;
	for (int i = 0; i < 6; i++) {
		const char *text = texts[i] ? texts[i] : "";

		shm->text_bytes[i] = (uint16_t)strlen(text);
		out = stpcpy(out, text) + 1;
	}
	if (key) {
		shm->keys = 1;
		out = stpcpy(out, key) + 1;
	}
	shm->bytes = (uint32_t)(out - (char *)shm + 15) & ~15u;
	((uint32_t *)((char *)page + ARENA_SITES))[id] = page->site_bytes + 1;
	page->site_bytes += shm->bytes;
	return id;
}

static inline int rig_run(struct rig *rig, int i, const struct record *cells,
			  size_t count)
{
	struct thread *thread = &rig->thread[i];
	size_t done = 0;
	int err = 0;

	while (!err && count) {
		err = fibers_run(&thread->fibers, cells, count,
				 clock_boottime_ns(), &done);
		if (!done)
			break;
		cells += done;
		count -= done;
	}
	thread_notes_flush(thread);
	fibers_flush(&thread->fibers);
	return err;
}

/* Ends all threads and the process. Leaves the trace in dir/trace.pftrace. */
static inline void rig_end(struct rig *rig)
{
	for (int i = 0; i < RIG_THREADS; i++) {
		struct thread *thread = &rig->thread[i];

		thread_notes_leave(thread, clock_boottime_ns());
		thread_notes_finish(thread);
		fibers_finish(&thread->fibers, 0);
		fibers_flush(&thread->fibers);
		thread_notes_release(thread, &rig->recording.sums.totals);
		fibers_release(&thread->fibers);
		replay_free(&thread->replay);
	}
	rig->process.end.ns = clock_boottime_ns();
	rig->process.ending = 1;
	process_notes_finish(&rig->process);
	trace_file_close(&rig->recording.setup.trace);
}

static inline void rig_free(struct rig *rig)
{
	char path[96];

	orders_destroy(&rig->arena.orders);
	tracks_put(&rig->process.setup.tracks);
	modules_put(&rig->process.setup.modules);
	sites_put(&rig->arena.setup.sites);
	symbol_cache_put(&rig->cache);
	told_free(rig->arena.setup.page);
	rig_must(rig->recording.budget.left == RIG_BUDGET,
		 "memory was not returned");
	free(rig->recording.sums.lossy);
	async_table_release(&rig->recording.async);
	snprintf(path, sizeof(path), "%s/" TRACE_NAME, rig->dir);
	unlink(path);
	rmdir(rig->dir);
	close(rig->dir_fd);
	free(rig);
}

#endif
