/* SPDX-License-Identifier: Apache-2.0
 *
 * The life of a process. The test plays the main thread, the drain workers and
 * the creator; the program is an idle child.
 */
#include "collector/record/process.h"

#include <errno.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/base/clock.h"
#include "collector/base/jobs.h"
#include "collector/base/lock.h"
#include "collector/base/loop.h"
#include "collector/base/proc.h"
#include "collector/drain/process_meet.h"
#include "collector/names/modules.h"
#include "collector/names/symbols.h"
#include "collector/options/collect_options.h"
#include "collector/record/arena_inner.h"
#include "collector/record/collector.h"
#include "collector/record/recording.h"
#include "collector/record/tracks.h"
#include "collector/record/watches.h"
#include "tests/suite.h"
#include "tests/unit/scratch.h"

#define INNER 7 /* pid of the child in its own namespace */
#define FLOW 0xf10

static struct {
	struct collect_options options;
	struct collector collector;
	struct recording *recording;
	struct arena *arena;
	pid_t pid;
	int pidfd;
	struct process *exited, *drained;
	int exits, drains;
} g;

static void told_exited(struct process *process)
{
	g.exited = process;
	g.exits++;
	process_end(process, PROCESS_EXITED);
}

static void told_drained(struct process *process)
{
	g.drained = process;
	g.drains++;
}

static void begin_program(void)
{
	g.pid = fork();
	ck_assert_int_ge(g.pid, 0);
	while (!g.pid)
		pause();
	g.pidfd = (int)syscall(SYS_pidfd_open, g.pid, 0);
	ck_assert_int_ge(g.pidfd, 0);
}

static void end_program(void)
{
	if (g.pid)
		kill(g.pid, SIGKILL);
	if (g.pid)
		waitpid(g.pid, NULL, 0);
	g.pid = 0;
}

static struct jobs_group g_endings;

static void set_up(void)
{
	scratch_enter();
	g.options = (struct collect_options){ .output = "out",
					      .max_bytes = 64 << 20 };
	g.collector = (struct collector){ .options = &g.options };
	g.collector.done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	g.collector.loop = loop_new();
	jobs_group_init(&g_endings);
	g.collector.endings = &g_endings;
	lock_init(&g.collector.lock, LOCK_COLLECTOR);
	ck_assert_int_eq(symbol_cache_new(&g.collector.symbols), 0);
	ck_assert_int_eq(recording_new(&g.collector, "out", true, &g.recording),
			 0);
	g.arena = calloc(1, sizeof(*g.arena));
	g.arena->refs = 1;
	g.arena->setup.recording = g.recording;
	g.arena->setup.start_flow = FLOW;
	lock_init(&g.arena->lock, LOCK_ARENA);
	g.exits = g.drains = 0;
	g.exited = g.drained = NULL;
	begin_program();
}

static void tear_down(void)
{
	end_program();
	jobs_wait(recording_setup(g.recording)->jobs);
	family_release(&g.arena->family);
	ck_assert_uint_eq(g.arena->refs, 1);
	free(g.arena);
	recording_put(&g.recording);
	jobs_group_wait(&g_endings);
	symbol_cache_put(&g.collector.symbols);
	close(g.collector.loop);
	close(g.collector.done_fd);
	scratch_leave();
}

static struct process *new_process_as(const struct process_setup *more,
				      int pidfd)
{
	static const struct process_calls calls = { told_exited, told_drained };
	const struct recording_setup *recording = recording_setup(g.recording);
	struct process_setup setup = {
		.collector = &g.collector,
		.arena = arena_get(g.arena),
		.arena_setup = &g.arena->setup,
		.entry = calloc(1, sizeof(*setup.entry)),
		.pid = g.pid,
		.inner_pid = INNER,
		.uuid = 1,
		.forked = more->forked,
		.watched = more->watched,
		.began = more->began,
		.foreign = true,
	};
	struct process *process;

	strcpy(setup.entry->name, "program");
	ck_assert_int_eq(modules_new(g.pid, INNER, NULL, g.collector.symbols,
				     &setup.modules),
			 0);
	ck_assert_int_eq(tracks_new(1, NULL, NULL, recording->trace,
				    recording->budget, &setup.tracks),
			 0);
	ck_assert_int_eq(process_new(&setup, pidfd, &calls, &process), 0);
	return process;
}

static struct process *new_process(bool forked, int pidfd)
{
	return new_process_as(&(struct process_setup){ .forked = forked },
			      pidfd);
}

static void list(struct process *process)
{
	lock_acquire(&g.arena->lock);
	process_list(process);
	lock_release(&g.arena->lock);
}

static void unlist_and_free(struct process *process)
{
	process_unlist(process);
	process_free(process);
}

FIXTURE(set_up, tear_down);

TEST(exit_is_told_once)
{
	struct process *process = new_process(false, g.pidfd);
	uint64_t before;

	ck_assert(process_is_running(process));
	ck_assert(!process_has_exited(process));
	ck_assert_ptr_null(process_ending(process));
	before = clock_boottime_ns();
	kill(g.pid, SIGKILL);
	while (!g.exits)
		loop_run_once(g.collector.loop, -1);
	ck_assert_ptr_eq(g.exited, process);
	ck_assert(!process_is_running(process));
	ck_assert(process_has_exited(process));
	ck_assert(process_is_gone(process));
	ck_assert_int_eq(process_ending(process)->why, PROCESS_EXITED);
	ck_assert_uint_ge(process_ending(process)->ns, before);
	/* its pidfd stays readable but is no longer watched */
	loop_run_once(g.collector.loop, 0);
	ck_assert_int_eq(g.exits, 1);
	process_free(process);
}

static struct process *new_unwatched(uint64_t began)
{
	struct process *process = new_process_as(
		&(struct process_setup){ .forked = true, .began = began }, -1);

	list(process);
	return process;
}

TEST(process_without_pidfd_is_looked_for)
{
	struct process *process = new_unwatched(proc_began(g.pid));

	ck_assert(process_is_running(process));
	process_look(&g.collector);
	ck_assert_int_eq(g.exits, 0);
	end_program();
	ck_assert(!process_is_running(process));
	process_look(&g.collector);
	ck_assert_int_eq(g.exits, 1);
	ck_assert_int_eq(process_ending(process)->why, PROCESS_EXITED);
	process_look(&g.collector);
	ck_assert_int_eq(g.exits, 1);
	unlist_and_free(process);
	process_look(&g.collector);
}

TEST(process_without_pidfd_has_exited_as_a_zombie)
{
	struct process *process = new_unwatched(proc_began(g.pid));
	siginfo_t info;

	kill(g.pid, SIGKILL);
	waitid(P_PID, (id_t)g.pid, &info, WEXITED | WNOWAIT);
	ck_assert(process_has_exited(process));
	process_look(&g.collector);
	ck_assert_int_eq(g.exits, 1);
	unlist_and_free(process);
}

/* A different start time, as if the pid had been reused. */
TEST(process_without_pidfd_is_no_later_one_of_its_id)
{
	struct process *process = new_unwatched(proc_began(g.pid) - 1);

	process_look(&g.collector);
	ck_assert_int_eq(g.exits, 1);
	unlist_and_free(process);
}

#define MANY 200 /* above the number of close looks at a time */

TEST(all_processes_without_pidfd_have_their_turn)
{
	struct process *process[MANY];
	siginfo_t info;
	int looks = 0;

	for (int i = 0; i < MANY; i++)
		process[i] = new_unwatched(proc_began(g.pid));
	kill(g.pid, SIGKILL);
	waitid(P_PID, (id_t)g.pid, &info, WEXITED | WNOWAIT);
	for (; g.exits < MANY && looks < MANY; looks++)
		process_look(&g.collector);
	ck_assert_int_eq(g.exits, MANY);
	ck_assert_int_gt(looks, 1);
	for (int i = 0; i < MANY; i++)
		unlist_and_free(process[i]);
}

TEST(watched_processes_of_an_arena_are_counted)
{
	const struct process_setup watched = { .forked = true,
					       .watched = true };
	struct process *a, *b;

	g.collector.watches.most = 10;
	ck_assert(watches_take(&g.collector, 0));
	ck_assert(watches_take(&g.collector, 1));
	a = new_process_as(&watched, g.pidfd);
	b = new_process_as(&watched, -1);
	list(a);
	list(b);
	ck_assert_uint_eq(*arena_watched(g.arena), 2);
	unlist_and_free(b);
	ck_assert_uint_eq(*arena_watched(g.arena), 1);
	unlist_and_free(a);
	ck_assert_uint_eq(*arena_watched(g.arena), 0);
	ck_assert_uint_eq(g.collector.watches.taken, 0);
}

/* Takes all watches for a family with @held. Returns its new total. */
static uint32_t take_all(uint32_t held)
{
	while (watches_take(&g.collector, held))
		held++;
	return held;
}

TEST(watches_leave_as_many_as_a_family_has)
{
	ck_assert_uint_eq(watches_most(1024), 64);
	g.collector.watches.most = 100;
	ck_assert_uint_eq(take_all(0), 50);
	/* A second family, and a third. */
	ck_assert_uint_eq(take_all(0), 25);
	ck_assert_uint_eq(take_all(0), 13);
	ck_assert_uint_eq(take_all(50), 50);
	for (int i = 0; i < 50; i++)
		watches_give(&g.collector);
	ck_assert_uint_eq(take_all(25), 44);
	/* A program that says hello always gets a watch. */
	g.collector.watches.taken = 100;
	watches_take_root(&g.collector);
	ck_assert_uint_eq(take_all(0), 0);
}

TEST(watches_of_perfrec_record_are_for_one_family)
{
	g.collector.recording = g.recording;
	g.collector.watches.most = 100;
	ck_assert_uint_eq(take_all(0), 100);
	g.collector.recording = NULL;
}

TEST(first_reason_to_end_stays)
{
	struct process *process = new_process(true, -1);

	ck_assert(!process_is_running(process));
	ck_assert(!process_has_exited(process));
	process_end_by_exec(process, FLOW);
	process_end(process, PROCESS_BROKE);
	process_stop(process);
	ck_assert_int_eq(process_ending(process)->why, PROCESS_EXECED);
	ck_assert_uint_eq(process_ending(process)->exec_flow, FLOW);
	ck_assert(process_is_gone(process));
	process_free(process);
}

TEST(flow_and_track_are_made_once)
{
	struct process *process = new_process(false, g.pidfd);
	struct process *child = new_process(true, -1);
	uint64_t track;
	bool first;

	ck_assert_uint_eq(process_take_start_flow(process), FLOW);
	ck_assert_uint_eq(process_take_start_flow(process), 0);
	/* the parent has used the image's flow */
	ck_assert_uint_eq(process_take_start_flow(child), 0);
	track = process_rss_track(process, &first);
	ck_assert(first && track);
	ck_assert_uint_eq(process_rss_track(process, &first), track);
	ck_assert(!first);
	process_free(child);
	process_free(process);
}

TEST(last_worker_has_it_summed_up)
{
	struct process *process = new_process(false, g.pidfd);

	process_end(process, PROCESS_BROKE);
	process_drained(process, 1, 2);
	ck_assert(process_is_drained(process, 1));
	ck_assert(!process_is_drained(process, 0));
	process_drained(process, 0, 2);
	process_drained(process, 1, 2);
	jobs_wait(recording_setup(g.recording)->jobs);
	ck_assert_int_eq(g.drains, 1);
	ck_assert_ptr_eq(g.drained, process);
	process_free(process);
}

TEST(what_is_done_is_taken_once)
{
	struct process *a = new_process(false, g.pidfd);
	struct process *b = new_process(true, -1), *first, *second;
	uint64_t woken;

	ck_assert_ptr_null(process_take_done(&g.collector));
	process_done(a);
	process_done(b);
	ck_assert_int_eq(read(g.collector.done_fd, &woken, sizeof(woken)),
			 sizeof(woken));
	ck_assert_uint_eq(woken, 2);
	first = process_take_done(&g.collector);
	second = process_take_done(&g.collector);
	ck_assert((first == a && second == b) || (first == b && second == a));
	ck_assert_ptr_null(process_take_done(&g.collector));
	process_free(a);
	process_free(b);
}

TEST(lists_have_it_until_it_is_taken_out)
{
	struct process *old = new_process(false, g.pidfd);
	struct process *new = new_process(true, -1);

	list(old);
	list(new);
	ck_assert_uint_eq(g.collector.process_count, 2);
	ck_assert_ptr_eq(g.arena->processes, new);
	ck_assert_ptr_eq(process_next(new), old);
	ck_assert_ptr_null(process_next(old));
	ck_assert_ptr_eq(process_next_all(g.collector.processes), old);
	ck_assert_ptr_eq(recording_sums(g.recording)->processes,
			 process_setup(old)->entry);
	ck_assert_ptr_eq(process_find(&g.collector, g.pid), new);
	process_end(new, PROCESS_EXITED);
	ck_assert_ptr_eq(process_find(&g.collector, g.pid), old);
	ck_assert_int_eq(process_outer_pid(g.arena, INNER), g.pid);
	process_end(old, PROCESS_EXITED);
	unlist_and_free(new);
	/* without a fork() nobody asks for it */
	ck_assert_ptr_null(family_any(&g.arena->family));
	ck_assert(!g.arena->idle_since_ns);
	unlist_and_free(old);
	ck_assert_int_eq(family_find(&g.arena->family, INNER)->pid, g.pid);
	ck_assert_str_eq(family_any(&g.arena->family)->name, "program");
	ck_assert_uint_eq(g.collector.process_count, 0);
	ck_assert_ptr_null(g.collector.processes);
	ck_assert_ptr_null(g.arena->processes);
	ck_assert(g.arena->idle_since_ns);
	ck_assert(!g.arena->cut);
}

/* The other pid namespace may give a child any positive pid. */
TEST(slot_of_no_process_id_is_refused)
{
	size_t bytes = arena_bytes(1, RING_CELLS_MIN,
				   function_numbers(RING_CELLS_MIN));
	struct process *parent = new_process(false, g.pidfd), *child = NULL;
	struct slot_shm *slot;

	list(parent);
	g.arena->setup.page = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(g.arena->setup.page, MAP_FAILED);
	g.arena->setup.slot_count = 1;
	g.arena->setup.ring_cells = RING_CELLS_MIN;
	g.arena->setup.functions_max = function_numbers(RING_CELLS_MIN);
	g.arena->setup.slots = calloc(1, sizeof(*g.arena->setup.slots));
	slot = arena_slot_shm(g.arena, 0);
	for (slot->pid = -1; slot->pid <= 0; slot->pid++)
		ck_assert_int_eq(
			process_meet_slot(&g.collector, g.arena, 0, 0, &child),
			-EPERM);
	ck_assert_ptr_null(child);
	ck_assert_ptr_eq(g.arena->processes, parent);
	process_end(parent, PROCESS_EXITED);
	unlist_and_free(parent);
	munmap(g.arena->setup.page, bytes);
	free(g.arena->setup.slots);
	g.arena->setup.page = NULL;
	g.arena->setup.slots = NULL;
}

TEST(child_that_has_forked_is_kept_and_a_stop_cuts)
{
	struct process *child = new_process(true, g.pidfd);

	list(child);
	process_note_fork(child);
	process_stop(child);
	ck_assert_int_eq(process_ending(child)->why, PROCESS_RUNNING);
	ck_assert(!process_is_gone(child));
	unlist_and_free(child);
	ck_assert_ptr_nonnull(family_find(&g.arena->family, INNER));
	ck_assert(g.arena->cut);
	/* its watch has gone as well */
	end_program();
	loop_run_once(g.collector.loop, 0);
	ck_assert_int_eq(g.exits, 0);
}

TEST(threads_have_ids_of_our_namespace)
{
	struct process *process = new_process(false, g.pidfd);

	ck_assert_int_eq(process_outer_thread(process, INNER), g.pid);
	/* id 0: a thread that may not ask for its id */
	ck_assert_int_eq(process_outer_thread(process, 0), g.pid);
	ck_assert_int_eq(process_outer_thread(process, INNER + 1), 0);
	process_free(process);
}
