/* SPDX-License-Identifier: Apache-2.0
 *
 * attach - runs on the main thread between a hello and its reply. The program
 * waits for the reply, so nothing here may take longer than a few milliseconds.
 * The program's files are opened at once, because a short program is soon gone;
 * symbol tables are read later. With --filter or --exclude, or if opening a
 * file would block on a file system, the reply is sent at once and control
 * stays at HOLD until the jobs thread has finished.
 */
#include "collector/serve/attach.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/base/log.h"
#include "collector/base/proc.h"
#include "collector/base/random.h"
#include "collector/base/thread_nice.h"
#include "collector/drain/drain.h"
#include "collector/drain/filter_names.h"
#include "collector/drain/process_meet.h"
#include "collector/names/modules.h"
#include "collector/names/sites.h"
#include "collector/options/categories.h"
#include "collector/options/collect_options.h"
#include "collector/record/arena.h"
#include "collector/record/collector.h"
#include "collector/record/process.h"
#include "collector/record/recording.h"
#include "collector/record/task_bases.h"
#include "collector/record/triggers.h"
#include "collector/samples/cpu_samples.h"
#include "collector/samples/perf_counters.h"
#include "collector/serve/session.h"
#include "collector/states/states.h"

#define FOLDER_TRIES 100

static enum wire_status refuse_program(struct collector *collector,
				       const struct peer *peer,
				       enum wire_status status, const char *why)
{
	session_log_refusal(collector, peer->pid, why);
	return status;
}

static const char *explain_attach_failure(const struct peer *peer, int err)
{
	bool there = kill(peer->pid, 0) == 0 || errno == EPERM;

	switch (err) {
	case -EACCES:
	case -EPERM:
		/* The kernel shows such a process only to root. */
		return "its executable cannot be read, it has made itself "
		       "undumpable (chmod +r it, or record as root), or it has "
		       "more rights than its user (set-user-ID)";
	case -ENOENT:
	case -ESRCH:
		return there ? "/proc does not show it (is that mounted with "
			       "hidepid?)"
			     : "it ended before the collector could "
			       "answer";
	case -EEXIST:
		return "there are too many folders of its name already";
	case -EMFILE:
	case -ENFILE:
		return "too many files are open (see ulimit -n)";
	default:
		return strerror(-err);
	}
}

static int new_folder(struct collector *collector, pid_t pid,
		      struct recording **out)
{
	char path[4096], comm[64], name[32] = "";
	FILE *file;
	int err = -EEXIST;

	snprintf(comm, sizeof(comm), "/proc/%d/comm", (int)pid);
	file = fopen(comm, "re");
	if (file && fgets(name, sizeof(name), file))
		name[strcspn(name, "\n")] = '\0';
	if (file)
		fclose(file);
	for (char *at = name; *at; at++)
		if (!isalnum((unsigned char)*at) && !strchr("_-+", *at))
			*at = '_';
	for (int try = 0; try < FOLDER_TRIES && err == -EEXIST; try++) {
		char suffix[16] = "";

		if (try)
			snprintf(suffix, sizeof(suffix), ".%d", try);
		if (snprintf(path, sizeof(path), "%s/%s-%d%s",
			     collector->options->output,
			     name[0] ? name : "program", (int)pid,
			     suffix) >= (int)sizeof(path))
			return -ENAMETOOLONG;
		err = recording_new(collector, path, true, out);
	}
	if (!err)
		log_info("recording '%s'", path);
	return err;
}

/*
 * Ends the previous image of process @peer->pid. Returns the flow that links
 * the two images in the trace, or 0. Sets *@inside if the old image still
 * exists and contains the new one: an emulator runs it, or the library is in
 * another namespace of the linker. Then both continue, and the old image owns
 * the CPU time of the process. A map that is too long to be read here and does
 * not start with the old arena counts as inside.
 */
static uint64_t replace_image(struct collector *collector,
			      const struct peer *peer, bool *inside)
{
	struct process *old = process_find(collector, peer->pid);
	uint64_t flow = 0;
	bool exited;

	*inside = old &&
		  arena_is_mapped_soon(process_setup(old)->arena, peer->pid);
	if (!old || *inside)
		return 0;
	/* The pid may have been reused. */
	exited = process_has_exited(old);
	if (!exited && collector->recording)
		flow = random_u64();
	if (exited)
		process_end(old, PROCESS_EXITED);
	else
		process_end_by_exec(old, flow);
	drain_kick(collector->drain);
	return flow;
}

/* Chooses how the program records blocks. --alloc=auto is exact if spans show
 * the allocating function, else sampled with stacks. */
static enum wire_alloc choose_alloc(const struct collect_options *options,
				    bool instrumented)
{
	switch (options->alloc) {
	case ALLOC_AUTO:
		return instrumented ? WIRE_ALLOC_EXACT : WIRE_ALLOC_SAMPLED;
	case ALLOC_EXACT:
		return WIRE_ALLOC_EXACT;
	case ALLOC_SAMPLED:
		return WIRE_ALLOC_SAMPLED;
	default:
		return WIRE_ALLOC_OFF;
	}
}

static bool may_use_ticks(const struct collector *collector,
			  const struct wire_hello *hello)
{
	return collector->ticks && hello->tsc_allowed;
}

static bool has_more_threads(pid_t pid)
{
	struct stat status;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	/* Two links, plus one for each thread (proc_task_getattr()). */
	return stat(path, &status) < 0 || status.st_nlink > 3;
}

static bool has_filter(const struct collector *collector)
{
	return filter_is_active(&collector->options->filter);
}

static bool needs_names(const struct collector *collector, struct arena *arena)
{
	const struct recording *recording = arena_setup(arena)->recording;

	return has_filter(collector) ||
	       triggers_of_calls(recording_setup(recording)->triggers);
}

static bool connects_functions(const struct collector *collector,
			       struct arena *arena)
{
	return arena_setup(arena)->states && !arena_setup(arena)->stackless &&
	       (states_are_wanted(collector->options) ||
		arena_setup(arena)->entry_build);
}

static struct modules *first_modules(struct arena *arena)
{
	return process_setup(arena_first_process(arena))->modules;
}

static void set_waits(const struct collector *collector, struct arena *arena)
{
	struct arena_session *session = arena_session(arena);

	session->waits_for_files = modules_are_behind(first_modules(arena));
	session->waits_for_names = needs_names(collector, arena);
	session->waits_for_text = connects_functions(collector, arena);
}

static void read_bases(struct arena *arena, const struct wire_hello *hello)
{
	struct process *process = arena_first_process(arena);
	const struct task_times said = {
		.user_ns = hello->user_ns,
		.system_ns = hello->system_ns,
		.minor_faults = hello->minor_faults,
		.major_faults = hello->major_faults,
	};

	arena_change_setup(arena)->bases = task_bases_new(
		process_setup(process)->pid,
		process_outer_thread(process, hello->tid), &said);
}

static int begin_program(struct collector *collector, struct arena *arena,
			 const struct wire_hello *hello, struct peer *peer)
{
	struct arena_setup *setup = arena_change_setup(arena);
	int pidfd = peer->pidfd, err;
	bool inside, has_spans;

	setup->uid = peer->uid;
	setup->pid = peer->pid;
	setup->start_flow = replace_image(collector, peer, &inside);
	if (collector->recording) {
		setup->recording = recording_get(collector->recording);
	} else {
		err = new_folder(collector, peer->pid, &setup->recording);
		if (err)
			return err;
	}
	err = session_open(collector, arena, !collector->recording);
	if (err)
		return err;
	/* The collector must not raise the priority of a nice program's
	 * work. */
	if (!collector->recording)
		recording_set_nice(setup->recording, thread_nice_of(peer->pid));
	setup->clock = may_use_ticks(collector, hello) ? WIRE_CLOCK_TSC
						       : WIRE_CLOCK_BOOTTIME;
	has_spans = hello->instrumented ||
		    collect_options_add_calls(collector->options);
	setup->alloc = choose_alloc(collector->options, has_spans);
	setup->stackless = !has_spans;
	setup->entry_build = hello->entry_build;
	setup->rank = hello->rank;
	recording_lock(setup->recording)->entry_build |= hello->entry_build;
	recording_unlock(setup->recording);
	setup->late = has_more_threads(peer->pid);
	recording_set_ring_cells(setup->recording, setup->ring_cells);
	setup->jobs = recording_setup(setup->recording)->jobs;
	categories_write(setup->page, collector->categories);
	err = sites_new(setup->page, recording_setup(setup->recording)->symbols,
			&setup->sites);
	if (err)
		return err;
	err = drain_add(collector->drain, arena);
	if (err)
		return err;
	if (collector->states)
		err = states_begin(collector->states, arena);
	if (err)
		return err;
	peer->pidfd = -1;
	err = process_meet_hello(collector, arena, peer->pid, hello->pid,
				 pidfd);
	if (err)
		return err;
	if (collector->options->sched)
		read_bases(arena, hello);
	if (collector->cpu && !inside)
		setup->cpu = cpu_group_new(collector->cpu,
					   arena_first_process(arena));
	else if (collector->cpu_err)
		cpu_explain(setup->recording, collector->cpu_err);
	if (collector->cpu_note[0])
		recording_note(setup->recording, collector->cpu_note);
	perf_counters_explain(setup->recording,
			      collector->options->counters &
				      ~collector->counters,
			      collector->counters_err);
	session_begin(collector, arena);
	set_waits(collector, arena);
	arena_link(arena, &collector->arenas);
	if (collector->paused)
		session_pause(arena, true);
	return 0;
}

static enum wire_status accept_program(struct collector *collector,
				       const struct wire_hello *hello,
				       const int *fds, struct peer *peer,
				       struct arena **out)
{
	struct arena *arena;
	const char *why;
	int err;

	if (hello->version != WIRE_VERSION)
		return refuse_program(
			collector, peer, WIRE_REFUSED_VERSION,
			"it has another version of perfrec preloaded");
	if (collector->closing)
		return WIRE_REFUSED_CLOSING;
	why = session_refuse(collector, peer->uid, peer->pid,
			     hello->arena_bytes);
	if (why)
		return refuse_program(collector, peer, WIRE_REFUSED_LIMIT, why);
	if (!may_use_ticks(collector, hello) &&
	    proc_has_other_clocks(peer->pid))
		return refuse_program(
			collector, peer, WIRE_REFUSED_LIMIT,
			"it is in another time namespace than the collector, "
			"and the CPU's counter may not be used as a clock "
			"(record it from inside of its namespace)");
	if (arena_map(fds[0], hello, &arena, &why) < 0)
		return refuse_program(collector, peer, WIRE_REFUSED_ARENA, why);
	arena_adopt_fds(arena, hello, fds + 1);
	err = begin_program(collector, arena, hello, peer);
	if (err) {
		if (!collector->recording && arena_setup(arena)->recording)
			recording_discard(arena_setup(arena)->recording);
		drain_remove(collector->drain, arena);
		states_end(arena);
		arena_put(&arena);
		return refuse_program(collector, peer,
				      err == -EACCES || err == -EPERM
					      ? WIRE_REFUSED_ARENA
					      : WIRE_REFUSED_LIMIT,
				      explain_attach_failure(peer, err));
	}
	*out = arena;
	return WIRE_ACCEPTED;
}

static uint32_t what_to_ask(const struct collector *collector)
{
	uint32_t asks = collector->options->calls_to ? WIRE_ASK_BIND : 0;

	if (collector->options->sched)
		asks |= WIRE_ASK_END;
	if (collect_options_record_wakers(collector->options))
		asks |= WIRE_ASK_SYNC;
	/* Waits are only read if the kernel reports context switches. */
	if (collector->options->sched && collector->cpu)
		asks |= WIRE_ASK_LOOK;
	/* A slot must be relocated before it is connected. */
	if (collector->options->patch && !collector->options->calls_to)
		asks |= WIRE_ASK_OPENING;
	return asks;
}

void attach_hello(struct collector *collector, const struct wire_hello *hello,
		  const int *fds, struct peer *peer, struct wire_reply *reply,
		  struct arena **out)
{
	const struct collect_options *options = collector->options;

	*out = NULL;
	*reply = (struct wire_reply){
		.magic = WIRE_REPLY_MAGIC,
		.version = WIRE_VERSION,
		.on_full = options->on_full,
		.block_ns = options->block_ns,
		.depth = options->depth,
		.cpu_hz =
			options->cpu_engine == CPU_SIGNAL ? options->cpu_hz : 0,
		.stack_bytes = options->stack_bytes,
		.asks = what_to_ask(collector),
	};
	reply->status = accept_program(collector, hello, fds, peer, out);
	if (*out) {
		reply->clock = arena_setup(*out)->clock;
		reply->alloc = arena_setup(*out)->alloc;
		if (arena_setup(*out)->alloc == WIRE_ALLOC_SAMPLED ||
		    arena_setup(*out)->stackless)
			reply->alloc_period = options->alloc_period;
		if (!arena_session(*out)->waits_for_files &&
		    !arena_session(*out)->waits_for_names &&
		    !arena_session(*out)->waits_for_text)
			session_release(*out);
	}
}

void attach_child(struct collector *collector, const struct wire_child *child,
		  int mem, const struct peer *peer)
{
	struct arena *arena = collector->arenas;
	int mapped;

	while (arena && !arena_is_file(arena, child->device, child->inode))
		arena = arena_next(arena);
	mapped = arena ? arena_is_mapped_soon(arena, peer->pid) : 0;
	if (mapped)
		states_child_memory(arena, peer->pid, child->pid, mem,
				    mapped > 0);
}

/* --- slow parts of a start ----------------------------------------------- */

struct start_job { /* work that a program at HOLD waits for */
	struct job job; /* must be first */
	const struct collector *collector;
	struct arena *arena;
	struct modules *modules;
};

static void connect_or_release(const struct collector *collector,
			       struct arena *arena)
{
	if (connects_functions(collector, arena)) {
		states_connect(arena, session_release);
		return;
	}
	session_release(arena);
	if (arena_setup(arena)->stackless)
		states_connect(arena, NULL);
}

static void run_start_job(struct job *job)
{
	struct start_job *start = (struct start_job *)job;
	const struct arena_setup *setup = arena_setup(start->arena);

	if (modules_are_behind(start->modules))
		(void)modules_refresh(start->modules);
	if (has_filter(start->collector)) {
		filter_publish(&start->collector->options->filter,
			       start->modules, setup->page, FILTER_ENTRIES,
			       recording_setup(setup->recording)->matches);
	}
	if (needs_names(start->collector, start->arena)) {
		modules_read_tables(start->modules);
		filter_names_done(start->arena);
	}
	connect_or_release(start->collector, start->arena);
	modules_put(&start->modules);
	arena_put(&start->arena);
	free(start);
}

/* Makes the jobs thread open files and resolve filters. The program waits at
 * HOLD until then. */
static void post_start_job(struct collector *collector, struct arena *arena)
{
	struct start_job *start = calloc(1, sizeof(*start));

	if (!start) {
		/* Without the filter table, replay withholds the excluded
		 * functions. */
		connect_or_release(collector, arena);
		return;
	}
	start->collector = collector;
	start->job.run = run_start_job;
	start->arena = arena_get(arena);
	start->modules = modules_get(first_modules(arena));
	if (needs_names(collector, arena))
		filter_names_begin(arena);
	jobs_post(arena_setup(arena)->jobs, &start->job);
}

void attach_complete(struct collector *collector, struct arena *arena)
{
	if (needs_names(collector, arena) ||
	    arena_session(arena)->waits_for_files)
		post_start_job(collector, arena);
	else if (connects_functions(collector, arena))
		states_connect(arena, session_release);
	else if (arena_setup(arena)->stackless)
		states_connect(arena, NULL);
}
