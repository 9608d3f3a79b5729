/* SPDX-License-Identifier: Apache-2.0
 *
 * recording - the main thread creates it. Drain workers and the jobs thread add
 * to it under its lock, and hold the lock only briefly. The recording ends with
 * its last reference: on the main thread in `perfrec record`, and on the thread
 * of its jobs in the daemon.
 *
 * The trace is written as it grows, and is valid at any moment. All other data
 * is summed up in memory, bounded by the number of functions and by LISTED_MAX.
 * recording->finish writes it at the end: the rooms that know the files are
 * above this one (files/recording_finish.c).
 */
#include "collector/record/recording.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "collector/base/clock.h"
#include "collector/base/grow.h"
#include "collector/base/lock.h"
#include "collector/base/log.h"
#include "collector/base/proc.h"
#include "collector/base/random.h"
#include "collector/cut/kept_head.h"
#include "collector/names/filter_matches.h"
#include "collector/names/symbols.h"
#include "collector/options/collect_options.h"
#include "collector/output/folder_lock.h"
#include "collector/output/own_files.h"
#include "collector/output/unwritten.h"
#include "collector/profile/stack_profile.h"
#include "collector/record/attributes.h"
#include "collector/record/collector.h"
#include "collector/record/cpu_account.h"
#include "collector/record/flight_queue.h"
#include "collector/record/recording_inner.h"
#include "collector/record/triggers.h"
#include "collector/record/wakes.h"
#include "collector/trace/out_perfetto.h"
#include "collector/trace/out_track.h"
#include "collector/trace/trace_file.h"
#include "shared/atomic.h"
#include "shared/compiler.h"

/* For all trees and stacks of a recording, which a program can grow. */
#define BUDGET_BYTES (1ULL << 30)
/* Histograms leave the rest to trees: calls are counted even without them. */
#define HISTOGRAM_BYTES (BUDGET_BYTES / 4)
#define LISTED_MAX 65536
#define WENT_ON_MAX 4096
/* The number of marks that fit into one block of the trace. */
#define LOSSY_MAX ((TRACE_BLOCK_BYTES - 64) / 32)
/* Room of a trace that stopped at its size limit, for switches before the stop
 * that are not written yet: trace/out_sched.h buffers some KiB for each CPU. */
#define LATE_BYTES_MAX (1u << 20)
#define PACKET_BYTES 8192
#define BOOT_ID_BYTES 36
#define BOOT_BYTES (BOOT_ID_BYTES + 24)
#define CLOCK_TRIES 8
#define CLOCK_CLOSE_NS 1000
#define ROOM_BYTES (256 << 10)

static uint64_t default_max_bytes(int dir_fd)
{
	struct statvfs free_space;

	if (fstatvfs(dir_fd, &free_space) < 0)
		return MAX_BYTES_DEFAULT;
	return MIN(MAX_BYTES_DEFAULT,
		   free_space.f_bavail * free_space.f_frsize / 10);
}

/* Reads the boot id of the kernel whose CLOCK_BOOTTIME we read; "": unknown.
 * Adds the offset of a time namespace, whose clock differs from the kernel's.
 */
static void read_boot(char out[BOOT_BYTES])
{
	int64_t offset_ns = proc_boottime_offset_ns();
	char id[BOOT_ID_BYTES + 1] = "";
	FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");

	if (file && !fgets(id, sizeof(id), file))
		id[0] = '\0';
	if (file)
		fclose(file);
	snprintf(out, BOOT_BYTES, offset_ns && id[0] ? "%s%+" PRId64 : "%s", id,
		 offset_ns);
}

static void write_preamble(struct recording *recording)
{
	struct out_clocks clocks;
	char host[HOST_NAME_MAX + 1] = "", boot[BOOT_BYTES];
	const struct collect_options *options = recording->setup.options;
	const struct out_attribute attributes[] = {
		{ "perfrec.version", PERFREC_VERSION, 0 },
		{ "perfrec.command",
		  options->command ? options->command[0] : "", 0 },
		{ "perfrec.host", host, 0 },
		{ "perfrec.boot", boot, 0 },
		{ "perfrec.clock", recording->setup.ticks ? "tsc" : "boottime",
		  0 },
		{ "perfrec.on_full",
		  options->on_full == WIRE_ON_FULL_BLOCK ? "block" : "drop",
		  0 },
		{ "perfrec.span_cost_ps", NULL,
		  (int64_t)(recording->setup.span_ns * 1000) },
		{ "perfrec.min_duration_ns", NULL, (int64_t)options->min_ns },
	};
	uint8_t packet[PACKET_BYTES], uuid[16];
	uint64_t half[2] = { random_u64(), random_u64() };

	/* Viewers align traces of other machines by the wall clock, so both are
	 * read again if the thread lost its CPU between them. */
	for (int i = 0; i < CLOCK_TRIES; i++) {
		clocks.boottime = clock_read_ns(CLOCK_BOOTTIME);
		clocks.realtime = clock_read_ns(CLOCK_REALTIME);
		if (clock_read_ns(CLOCK_BOOTTIME) - clocks.boottime <
		    CLOCK_CLOSE_NS)
			break;
	}
	clocks.monotonic = clock_read_ns(CLOCK_MONOTONIC);
	clocks.monotonic_coarse = clock_read_ns(CLOCK_MONOTONIC_COARSE);
	clocks.monotonic_raw = clock_read_ns(CLOCK_MONOTONIC_RAW);
	gethostname(host, sizeof(host) - 1);
	read_boot(boot);
	memcpy(uuid, half, sizeof(uuid));
	trace_file_append(recording->setup.trace, 1, packet,
			  out_perfetto_preamble(packet, sizeof(packet), &clocks,
						uuid, attributes,
						ARRAY_SIZE(attributes)));
}

static int open_recording_folder(const char *path, bool exclusive, int *out)
{
	int made = mkdir(path, 0700), err;

	if (made < 0 && errno == EEXIST && exclusive)
		return -EEXIST;
	if (made < 0 && errno != EEXIST) {
		log_err("cannot make folder '%s': %m (choose another with -o)",
			path);
		return -errno;
	}
	*out = open(path, O_DIRECTORY | O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (*out >= 0) {
		/* So that no other process removes or repairs it meanwhile. */
		folder_lock_hold(*out);
		return 0;
	}
	err = -errno;
	log_err("cannot open folder '%s': %s (%s)", path, strerror(-err),
		unwritten_way_out(err));
	if (made == 0)
		(void)rmdir(path);
	return err;
}

/*
 * Reserves disk space in a nameless file: a trace may fill the disk, and the
 * files written after it, above all the summary, then use this space. Returns
 * its descriptor, or -1 if the space cannot be reserved.
 */
static int set_disk_room_aside(int dir_fd)
{
	int fd = openat(dir_fd, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);

	if (fd >= 0 && fallocate(fd, 0, 0, ROOM_BYTES) == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

void recording_give_room_back(struct recording *recording)
{
	if (recording->room_fd >= 0)
		close(recording->room_fd);
	recording->room_fd = -1;
}

static int open_trace(const struct collector *collector,
		      struct recording *recording)
{
	const struct collect_options *options = recording->setup.options;
	struct trace_file_options trace = {
		.dir_fd = recording->setup.dir_fd,
		.name = TRACE_NAME,
		.index_name = INDEX_NAME,
		.compress = options->compress,
		.producers = options->workers,
	};
	int err;

	trace.flight = collector->flight;
	trace.flight_ns = options->flight.keep_ns;
	recording->setup.max_bytes = options->max_bytes;
	if (!recording->setup.max_bytes)
		recording->setup.max_bytes =
			default_max_bytes(recording->setup.dir_fd);
	if (options->keep_last) {
		recording->setup.max_bytes =
			MAX(recording->setup.max_bytes, KEEP_BYTES_MIN);
		trace.keep_bytes = recording->setup.max_bytes;
		trace.make_head = kept_head_make;
		/* The index is made when the trace is complete. */
		trace.index_name = NULL;
	} else {
		trace.max_bytes = recording->setup.max_bytes;
		if (options->sched)
			trace.late_bytes =
				MIN(trace.max_bytes / 16, LATE_BYTES_MAX);
	}
	err = trace_file_open(&trace, &recording->setup.trace);
	if (err == -EOPNOTSUPP && options->keep_last)
		log_err("cannot write '%s/%s': the file system cannot remove "
			"the start of a file, which --keep last needs (choose "
			"another with -o, or leave --keep last out)",
			recording->path, TRACE_NAME);
	else if (err)
		log_err("cannot write '%s/%s': %s (%s)", recording->path,
			TRACE_NAME, strerror(-err), unwritten_way_out(err));
	return err;
}

static int start_jobs(const struct collector *collector,
		      struct recording *recording)
{
	int err = jobs_new("perfrec-jobs", collector->endings,
			   &recording->setup.jobs);

	if (err)
		log_err("cannot start a thread for '%s': %s (%s)",
			recording->path, strerror(-err),
			unwritten_way_out(err));
	return err;
}

static void recording_free(struct recording *recording)
{
	struct process_entry *next_process;
	struct thread_entry *next_thread;
	struct went_on_entry *went_on;

	for (struct process_entry *process = recording->sums.processes; process;
	     process = next_process) {
		next_process = process->next;
		for (struct thread_entry *thread = process->threads; thread;
		     thread = next_thread) {
			next_thread = thread->next;
			free(thread);
		}
		free(process->cmdline);
		free(process);
	}
	while ((went_on = recording->sums.went_on)) {
		recording->sums.went_on = went_on->next;
		free(went_on);
	}
	who_free(&recording->who);
	wakes_free(&recording->setup.wakes);
	function_table_release(&recording->functions);
	async_table_release(&recording->async);
	stack_profile_free(&recording->setup.profiles.wall);
	stack_profile_free(&recording->setup.profiles.cpu);
	stack_profile_free(&recording->setup.profiles.offcpu);
	stack_profile_free(&recording->setup.profiles.offcpu_rest);
	cpu_account_free(&recording->setup.cpu_account);
	filter_matches_free(&recording->setup.matches);
	triggers_free(&recording->setup.triggers);
	flight_queue_free(&recording->setup.flight);
	stack_profile_free(&recording->setup.profiles.heap);
	stack_profile_free(&recording->setup.profiles.heap_peak);
	stack_profile_free(&recording->setup.profiles.span);
	symbol_cache_put(&recording->setup.symbols);
	recording_give_room_back(recording);
	/* Still open if nobody has finished it. */
	if (recording->setup.trace)
		(void)trace_file_close(&recording->setup.trace);
	if (recording->setup.dir_fd >= 0)
		close(recording->setup.dir_fd);
	jobs_free(&recording->setup.jobs);
	lock_destroy(&recording->lock);
	while (recording->sums.notes)
		free(recording->sums.note[--recording->sums.notes]);
	free(recording->sums.lossy);
	free(recording->path);
	free(recording);
}

static int new_stack_profiles(const struct collector *collector,
			      struct recording *recording)
{
	const struct collect_options *options = collector->options;
	struct symbol_cache *symbols = recording->setup.symbols;
	struct budget *budget = &recording->budget;
	bool heap = options->alloc != ALLOC_OFF;
	int err = 0;

	if (heap)
		err = stack_profile_new(&stack_profile_heap, symbols, budget,
					&recording->setup.profiles.heap);
	if (heap && !err)
		err = stack_profile_new(&stack_profile_heap, symbols, budget,
					&recording->setup.profiles.heap_peak);
	if ((heap || options->cpu_hz || options->sched || options->faults ||
	     collector->counters) &&
	    !err)
		err = stack_profile_new(&stack_profile_span, symbols, budget,
					&recording->setup.profiles.span);
	return err;
}

static int new_matches(const struct collect_options *options,
		       struct filter_matches **out)
{
	const struct filter_patterns patterns[FILTER_OPTIONS] = {
		[FILTER_ONLY] = { options->filter.only,
				  options->filter.only_count },
		[FILTER_EXCEPT] = { options->filter.except,
				    options->filter.except_count },
		[FILTER_COUNT] = { options->count, options->count_count },
		[FILTER_ARGS] = { options->args_given, options->args_count },
		[FILTER_CALLS] = { options->calls_to, options->calls_to_count },
		[FILTER_PATCH] = { options->patch_globs,
				   options->patch_glob_count },
	};

	return filter_matches_new(patterns, out);
}

/* A foreign file in the folder keeps the folder. */
static void remove_recording_folder(struct recording *recording)
{
	if (recording->setup.dir_fd >= 0) {
		(void)unlinkat(recording->setup.dir_fd, TRACE_NAME, 0);
		(void)unlinkat(recording->setup.dir_fd, INDEX_NAME, 0);
	}
	(void)rmdir(recording->path);
}

static int new_offcpu_profiles(struct recording *recording)
{
	struct recording_setup *setup = &recording->setup;
	int err =
		stack_profile_new(&stack_profile_offcpu, setup->symbols,
				  &recording->budget, &setup->profiles.offcpu);

	return err
		       ?: stack_profile_new(&stack_profile_offcpu,
					    setup->symbols, &recording->budget,
					    &setup->profiles.offcpu_rest);
}

static int new_flight(const struct flight_options *options,
		      struct recording_setup *setup)
{
	setup->flight = flight_queue_new();
	if (!setup->flight)
		return -ENOMEM;
	return triggers_new(options->triggers, options->trigger_count,
			    setup->flight, &setup->triggers);
}

int recording_new(const struct collector *collector, const char *path,
		  bool exclusive, struct recording **out)
{
	struct recording *recording = calloc(1, sizeof(*recording));
	bool has_folder;
	int err = -ENOMEM;

	if (!recording)
		return err;
	*recording = (struct recording){
		.refs = 1,
		.finish = collector->finish_recording,
		.room_fd = -1,
		.path = strdup(path),
		.budget = { .left = BUDGET_BYTES },
		.histogram_budget = { .left = HISTOGRAM_BYTES,
				      .whole = &recording->budget },
		.last_sequence = 1, /* sequence 1 has packets of no thread */
		.last_process = &recording->sums.processes,
	};
	recording->setup = (struct recording_setup){
		.options = collector->options,
		.path = recording->path,
		.dir_fd = -1,
		.ticks = collector->ticks,
		.span_ns = collector->span_ns,
		.halves = collector->halves,
		.start_ns = clock_boottime_ns(),
		.started = time(NULL),
		.budget = &recording->budget,
		.histogram_budget = &recording->histogram_budget,
		.push = collector->push,
	};
	lock_init(&recording->lock, LOCK_RECORDING);
	if (recording->path)
		err = symbol_cache_share(collector->symbols, path,
					 &recording->setup.symbols);
	if (!err)
		err = stack_profile_new(
			&stack_profile_wall, recording->setup.symbols,
			&recording->budget, &recording->setup.profiles.wall);
	if (!err && collector->options->cpu_hz)
		err = stack_profile_new(
			&stack_profile_cpu, recording->setup.symbols,
			&recording->budget, &recording->setup.profiles.cpu);
	if (!err && collector->options->sched)
		err = new_offcpu_profiles(recording);
	if (!err && collector->options->cpu_hz &&
	    collector->options->cpu_engine == CPU_PERF)
		err = cpu_account_new(&recording->setup.cpu_account);
	if (!err)
		err = new_matches(collector->options, &recording->setup.matches)
			      ?: new_stack_profiles(collector, recording);
	if (!err && collect_options_record_wakers(collector->options))
		err = wakes_new(&recording->budget, &recording->setup.wakes);
	if (!err && collector->options->flight.on)
		err = new_flight(&collector->options->flight,
				 &recording->setup);
	if (!err)
		err = open_recording_folder(path, exclusive,
					    &recording->setup.dir_fd);
	has_folder = !err;
	if (!err)
		recording->room_fd =
			set_disk_room_aside(recording->setup.dir_fd);
	if (!err)
		err = open_trace(collector, recording);
	if (!err)
		err = start_jobs(collector, recording);
	if (err) {
		if (exclusive && has_folder)
			remove_recording_folder(recording);
		recording_free(recording);
		return err;
	}
	write_preamble(recording);
	*out = recording;
	return 0;
}

void recording_set_nice(struct recording *recording, int nice)
{
	nice = MIN(nice, NICE_MOST);
	recording->setup.nice = nice;
	jobs_set_nice(recording->setup.jobs, nice);
	trace_file_set_nice(recording->setup.trace, nice);
}

struct recording *recording_get(struct recording *recording)
{
	/* relaxed: the caller already has a reference */
	atom_add_rlx(&recording->refs, 1);
	return recording;
}

bool recording_get_if(struct recording *recording)
{
	uint32_t refs;

	do {
		/* relaxed: compared again below */
		refs = atom_load_rlx(&recording->refs);
		if (!refs)
			return false;
		/* order: sc, REFS: the recording does not end meanwhile */
	} while (!atom_cas_sc(&recording->refs, refs, refs + 1));
	return true;
}

void recording_discard(struct recording *recording)
{
	recording->is_discarded = true;
}

static void recording_end_job(struct job *job)
{
	struct recording *recording = (struct recording *)job;
	int err = -ECANCELED;

	if (recording->is_discarded)
		remove_recording_folder(recording);
	else if (recording->setup.trace && recording->finish)
		err = recording->finish(recording);
	if (recording->ended)
		recording->ended(recording, err, recording->ended_context);
	recording_free(recording);
}

void recording_put(struct recording **recording)
{
	struct recording *old = *recording;

	*recording = NULL;
	/* order: sc, REFS: all uses of it come before its end */
	if (!old || atom_add_sc(&old->refs, -1u) != 1)
		return;
	old->end_job.run = recording_end_job;
	if (old->setup.trace && old->setup.jobs)
		jobs_post(old->setup.jobs, &old->end_job);
	else
		recording_end_job(&old->end_job);
}

void recording_on_end(struct recording *recording,
		      void (*ended)(struct recording *recording, int err,
				    void *context),
		      void *context)
{
	recording->ended = ended;
	recording->ended_context = context;
}

const struct recording_setup *recording_setup(const struct recording *recording)
{
	return &recording->setup;
}

void recording_uses(const struct recording *recording,
		    struct recording_use out[BUDGET_KINDS])
{
	const struct symbol_cache_use names =
		symbol_cache_use(recording->setup.symbols);
	/* relaxed: a figure for display */
	uint64_t left = atom_load_rlx(&recording->budget.left);

	/* Briefly below 0 while budget_take() fails. */
	left = left > BUDGET_BYTES ? 0 : left;
	out[BUDGET_MEMORY] =
		(struct recording_use){ "memory", BUDGET_BYTES - left,
					BUDGET_BYTES,
					budget_full_ns(&recording->budget) };
	out[BUDGET_NAMES] =
		(struct recording_use){ "names", names.names, SYMBOL_NAMES_MAX,
					names.names_full_ns };
	out[BUDGET_TABLES] =
		(struct recording_use){ "symbol tables", names.tables,
					SYMBOL_TABLES_MAX,
					names.tables_full_ns };
}

int recording_close_trace(struct recording *recording)
{
	return trace_file_close(&recording->setup.trace);
}

struct totals *recording_lock(struct recording *recording)
{
	lock_acquire(&recording->lock);
	return &recording->sums.totals;
}

void recording_unlock(struct recording *recording)
{
	lock_release(&recording->lock);
}

void recording_add_function(struct recording *recording,
			    const struct function_total *total)
{
	lock_acquire(&recording->lock);
	if (function_table_add(&recording->functions, total) < 0 &&
	    !recording->sums.totals.unlisted_functions++)
		log_err("out of memory: '%s' is not in the summary, and others "
			"may be missing as well",
			total->name);
	lock_release(&recording->lock);
}

void recording_add_durations(struct recording *recording, const char *name,
			     const char *module, struct histogram *durations)
{
	lock_acquire(&recording->lock);
	function_table_add_durations(&recording->functions, name, module,
				     durations);
	lock_release(&recording->lock);
}

void recording_add_async(struct recording *recording,
			 const struct async_total *total)
{
	lock_acquire(&recording->lock);
	if (async_table_add(&recording->async, total) < 0)
		recording->sums.totals.unlisted_async += total->sums.count;
	lock_release(&recording->lock);
}

const struct async_total *recording_sort_async(struct recording *recording,
					       size_t *count)
{
	return async_table_sort(&recording->async, count);
}

struct process_heap **recording_heaps(struct recording *recording)
{
	return &recording->heaps;
}

void recording_set_ring_cells(struct recording *recording, uint32_t cells)
{
	lock_acquire(&recording->lock);
	recording->sums.ring_cells = cells;
	lock_release(&recording->lock);
}

void recording_set_command_end(struct recording *recording,
			       const struct command_end *end)
{
	recording->sums.command_end = *end;
}

const struct recording_sums *recording_sums(const struct recording *recording)
{
	return &recording->sums;
}

void recording_correct_functions(struct recording *recording,
				 const struct own_costs *costs,
				 struct true_time_sums *sums)
{
	function_table_correct(&recording->functions, costs, sums);
}

void recording_doubt_functions(struct recording *recording, double part)
{
	function_table_doubt(&recording->functions, part);
}

const struct function_total *recording_functions(
	const struct recording *recording, size_t *count)
{
	return function_table_all(&recording->functions, count);
}

struct function_table *recording_function_table(struct recording *recording)
{
	return &recording->functions;
}

const struct function_total *recording_sort_functions(
	struct recording *recording, size_t *count)
{
	return function_table_sort(&recording->functions, count);
}

uint32_t recording_sequence(struct recording *recording)
{
	/* relaxed: only uniqueness matters */
	return atom_add_rlx(&recording->last_sequence, 1) + 1;
}

uint32_t *recording_heap_busy(struct recording *recording)
{
	return &recording->heap_busy;
}

uint32_t *recording_windows_busy(struct recording *recording)
{
	return &recording->windows_busy;
}

uint32_t recording_jobs_sequence(struct recording *recording)
{
	uint8_t packet[PACKET_BYTES];
	uint32_t sequence = recording->value_sequence;

	if (sequence)
		return sequence;
	sequence = recording_sequence(recording);
	recording->value_sequence = sequence;
	trace_file_append(recording->setup.trace, sequence, packet,
			  out_track_sequence(packet, sizeof(packet), sequence));
	return sequence;
}

void recording_add_live(struct recording *recording, uint64_t spans,
			uint64_t dropped)
{
	/* relaxed: figures for display */
	atom_add_rlx(&recording->live.spans, spans);
	atom_add_rlx(&recording->live.dropped, dropped);
}

struct recording_live recording_live(const struct recording *recording)
{
	/* relaxed: figures for display */
	return (struct recording_live){
		.spans = atom_load_rlx(&recording->live.spans),
		.dropped = atom_load_rlx(&recording->live.dropped),
	};
}

struct snapshots **recording_snapshots(struct recording *recording)
{
	return &recording->snapshots;
}

struct who **recording_who(struct recording *recording)
{
	return &recording->who;
}

struct flight_recorder **recording_flight(struct recording *recording)
{
	return &recording->flight;
}

struct windows **recording_windows(struct recording *recording)
{
	return &recording->windows;
}

void recording_say_unwritten(struct recording *recording, const char *name,
			     int err)
{
	unwritten_say(&recording->said_err, recording->path, name, err);
}

bool recording_list_process(struct recording *recording,
			    struct process_entry *entry)
{
	/* Never given back: the entry belongs to the recording. */
	uint64_t bytes = sizeof(*entry) + entry->cmdline_bytes;
	bool room;

	lock_acquire(&recording->lock);
	recording->sums.totals.processes++;
	room = recording->listed < LISTED_MAX &&
	       budget_take(&recording->budget, bytes);
	if (room) {
		recording->listed++;
		*recording->last_process = entry;
		recording->last_process = &entry->next;
	}
	lock_release(&recording->lock);
	return room;
}

void recording_list_thread(struct recording *recording,
			   struct process_entry *process,
			   const struct thread_entry *entry)
{
	struct thread_entry *copy = NULL;

	if (recording->listed < LISTED_MAX)
		copy = malloc(sizeof(*copy));
	if (!copy) {
		recording->sums.totals.unlisted_threads++;
		return;
	}
	*copy = *entry;
	copy->next = NULL;
	recording->listed++;
	*process->last_thread = copy;
	process->last_thread = &copy->next;
}

bool recording_list_went_on(struct recording *recording, pid_t pid,
			    const char *name)
{
	struct went_on_entry *entry;

	lock_acquire(&recording->lock);
	for (entry = recording->sums.went_on; entry; entry = entry->next)
		if (entry->pid == pid)
			break;
	if (!entry && recording->sums.totals.went_on < WENT_ON_MAX &&
	    (entry = malloc(sizeof(*entry)))) {
		entry->pid = pid;
		snprintf(entry->name, sizeof(entry->name), "%s", name);
		entry->next = recording->sums.went_on;
		recording->sums.went_on = entry;
		recording->sums.totals.went_on++;
		lock_release(&recording->lock);
		return true;
	}
	lock_release(&recording->lock);
	return false;
}

void recording_refuse(struct recording *recording, pid_t pid, const char *why)
{
	struct refused_entry *entry = recording->sums.refused;
	struct refused_entry *end = entry + RECORDING_REFUSED_MAX - 1;
	char name[sizeof(entry->name)] = "";

	if (pid > 0)
		proc_read(pid, "comm", name, sizeof(name));
	name[strcspn(name, "\n")] = '\0';
	lock_acquire(&recording->lock);
	recording->sums.totals.refused_programs++;
	/* The last entry collects all further reasons. */
	while (entry < end && entry->why && entry->why != why)
		entry++;
	if (!entry->why) {
		entry->why = why;
		memcpy(entry->name, name, sizeof(name));
		recording->sums.refused_count++;
	}
	entry->programs++;
	lock_release(&recording->lock);
}

void recording_list_loss(struct recording *recording, uint32_t sequence)
{
	if (recording->sums.lossy_count == LOSSY_MAX ||
	    grow_array(recording->sums.lossy, recording->lossy_room,
		       recording->sums.lossy_count + 1))
		return;
	recording->sums.lossy[recording->sums.lossy_count++] = sequence;
}

void recording_note(struct recording *recording, const char *text)
{
	uint32_t i;

	lock_acquire(&recording->lock);
	for (i = 0; i < recording->sums.notes; i++)
		if (!strcmp(recording->sums.note[i], text))
			break;
	if (i == recording->sums.notes && i < RECORDING_NOTES_MAX) {
		recording->sums.note[i] = strdup(text);
		if (recording->sums.note[i]) {
			recording->sums.notes++;
			log_at(recording->setup.options->quiet_notes ? LOG_DBG
								     : LOG_WARN,
			       "%s", text);
		}
	}
	lock_release(&recording->lock);
}
