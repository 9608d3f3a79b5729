/* SPDX-License-Identifier: Apache-2.0
 *
 * process_meet - the main thread meets a process with its hello. A drain worker
 * meets a forked child, which shares its parent's arena, when a slot has an
 * unknown process id.
 *
 * A child that has not recorded yet is unknown, and may outlive all known
 * processes, like a service that has put itself into the background. family.c
 * keeps the facts that such a child inherits from processes that have ended.
 *
 * A slot holds ids of the program's own pid namespace (inner_pid); the trace
 * has ids of the collector's namespace (pid). They differ only if the program
 * runs in a container. Then process_meet searches /proc for a child with that
 * inner id that maps the arena. Two children of one arena with the same inner
 * id, in two namespaces, count as one.
 *
 * Process ids in slots are the program's word. They are checked only against
 * harm from a lie: a process of another user is refused. A process of the same
 * user only gets a wrong label in the recording, and the liar could choose that
 * label anyway. But the recording does not wait for the end of a process
 * outside it.
 */
#include "collector/drain/process_meet.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collector/base/budget.h"
#include "collector/base/clock.h"
#include "collector/base/proc.h"
#include "collector/base/random.h"
#include "collector/drain/drain.h"
#include "collector/drain/process_crash.h"
#include "collector/drain/process_describe.h"
#include "collector/drain/process_reap.h"
#include "collector/drain/process_who.h"
#include "collector/drain/thread.h"
#include "collector/names/map_log.h"
#include "collector/names/modules.h"
#include "collector/names/outer_ids.h"
#include "collector/record/arena.h"
#include "collector/record/collector.h"
#include "collector/record/family.h"
#include "collector/record/process.h"
#include "collector/record/tracks.h"
#include "collector/record/watches.h"
#include "collector/samples/samples.h"
#include "collector/states/states.h"
#include "shared/atomic.h"
#include "shared/compiler.h"

#define NS_PER_S UINT64_C(1000000000)
/* The length of the pause after a search, in durations of the search. */
#define SEARCH_PAUSE 3
/* Meeting a child with a long /proc/PID/maps takes long (20 ms for 65,000
 * mappings), and the other recordings wait. After a meeting of at least
 * MEET_LONG_NS the arena meets no child for MEET_PAUSE times as long. */
#define MEET_LONG_NS 500000
#define MEET_PAUSE 9
/* The pause after a child lacked a descriptor or memory. */
#define LACK_PAUSE_NS 50000000

static void end_process(struct process *process, enum process_end why)
{
	process_end(process, why);
	drain_kick(process_setup(process)->collector->drain);
}

static void process_exited(struct process *process)
{
	end_process(process, PROCESS_EXITED);
	process_crash_look(process);
}

/* Copies the command line from the page of the shim; forked children share it.
 * Reading /proc/PID/cmdline could block on the program. */
static void copy_arguments(struct process_entry *entry,
			   const struct page_shm *page)
{
	/* relaxed: written before the hello; the program's word */
	size_t count = MIN(atom_load_rlx(&page->argument_bytes),
			   sizeof(page->arguments));

	if (!count)
		return;
	entry->cmdline = malloc(count + 1);
	if (!entry->cmdline)
		return;
	memcpy(entry->cmdline, page->arguments, count);
	entry->cmdline[count] = '\0';
	entry->cmdline_bytes = count + 1;
}

static void describe_new_process(struct process_setup *setup, pid_t pid)
{
	struct process_entry *entry = setup->entry;
	char text[PROC_STATUS_BYTES];
	pid_t inner;
	size_t length =
		proc_read(pid, "comm", entry->name, sizeof(entry->name));

	if (length && entry->name[length - 1] == '\n')
		entry->name[length - 1] = '\0';
	copy_arguments(entry, setup->arena_setup->page);
	setup->foreign = setup->inner_pid != pid;
	if (proc_read(pid, "status", text, sizeof(text))) {
		setup->foreign = proc_status_inner(text, &inner) > 1;
		entry->parent = (pid_t)proc_status_number(text, "PPid:");
	}
	entry->pid = pid;
	entry->rank = (int64_t)setup->arena_setup->rank - 1;
	entry->start_ns = clock_boottime_ns();
	entry->last_thread = &entry->threads;
}

/* Fills the setup of a process, without modules and samples. @above: the tracks
 * of its parent, or NULL. Returns 0, or -ENOMEM; then @out holds nothing. Any
 * thread. */
static int make_setup(struct collector *collector, struct arena *arena,
		      pid_t pid, pid_t inner_pid, struct tracks *above,
		      struct process_setup *out)
{
	const struct arena_setup *shared = arena_setup(arena);
	const struct recording_setup *setup =
		recording_setup(shared->recording);

	*out = (struct process_setup){
		.collector = collector,
		.arena = arena_get(arena),
		.arena_setup = shared,
		.entry = calloc(1, sizeof(*out->entry)),
		.pid = pid,
		.inner_pid = inner_pid,
		.uuid = random_u64(),
	};
	if (!out->entry ||
	    tracks_new(out->uuid, above, shared->sites, setup->trace,
		       setup->budget, &out->tracks) < 0) {
		process_setup_release(out);
		return -ENOMEM;
	}
	describe_new_process(out, pid);
	return 0;
}

/* Creates the process of @setup, writes it to the trace and lists it. Returns 0
 * or -errno; after an error the caller still owns @setup and @pidfd. Under the
 * arena's lock. */
static int publish_process(struct process_setup *setup, int pidfd,
			   struct process **out)
{
	static const struct process_calls calls = {
		.exited = process_exited,
		.drained = process_reap_finish,
	};
	int err;
	struct sampler *sampler = setup->collector->sampler;

	/* Without memory, or if the recording takes no samples, it has none. */
	if (sampler)
		(void)samples_new(sampler, setup->arena_setup->recording,
				  setup->modules, setup->pid,
				  setup->entry->name, &setup->samples);
	err = process_new(setup, pidfd, &calls, out);
	if (err) {
		if (setup->samples)
			samples_put(&setup->samples);
		return err;
	}
	process_describe(
		&(struct process_card){ setup->entry, setup->pid, setup->uuid },
		setup->arena_setup->recording, NULL);
	process_list(*out);
	return 0;
}

int process_meet_hello(struct collector *collector, struct arena *arena,
		       pid_t pid, pid_t inner_pid, int pidfd)
{
	struct process_setup setup;
	struct process *process;
	int err = make_setup(collector, arena, pid, inner_pid, NULL, &setup);

	if (err) {
		close(pidfd);
		return err;
	}
	watches_take_root(collector);
	setup.watched = true;
	err = modules_new(
		pid, inner_pid, arena_setup(arena)->map_log,
		recording_setup(arena_setup(arena)->recording)->symbols,
		&setup.modules);
	if (!err && !proc_is_of_user(pid, arena_setup(arena)->uid))
		err = -EPERM;
	if (!err) {
		modules_set_sites(setup.modules, arena_setup(arena)->sites);
		arena_lock(arena);
		err = publish_process(&setup, pidfd, &process);
		if (!err) {
			states_process_begin(process);
			process_who_begin(process);
		}
		arena_unlock(arena);
	}
	if (err) {
		process_setup_release(&setup);
		close(pidfd);
	}
	return err;
}

static bool is_lack(int err)
{
	return err == -EMFILE || err == -ENFILE || err == -ENOMEM;
}

/* Returns 0 if process @pid is a child as open_child() requires, or its -errno.
 */
static int check_child(const struct arena *arena, pid_t pid)
{
	char status[PROC_STATUS_BYTES];

	errno = 0;
	if (!proc_read(pid, "status", status, sizeof(status)))
		return is_lack(-errno) ? -errno : -ESRCH;
	/* Its parent may have reaped it since. */
	if (!proc_is_of_user(pid, arena_setup(arena)->uid))
		return proc_read(pid, "status", status, sizeof(status))
			       ? -EPERM
			       : -ESRCH;
	errno = 0;
	if (arena_is_mapped_by(arena, pid))
		return 0;
	if (is_lack(-errno))
		return -errno;
	/* A process that has exited meanwhile maps no memory either. */
	if (!proc_read(pid, "status", status, sizeof(status)) ||
	    proc_status_number(status, "VmSize:") < 0)
		return -ESRCH;
	return -ENOEXEC;
}

/* Returns a pidfd of process @pid, or: -ESRCH: it is gone. -ENOEXEC: it does
 * not map @arena, so it has called exec() or was never a process of @arena.
 * -EPERM: the program of @arena cannot have forked it. An error of is_lack():
 * unknown for now. */
static int open_child(const struct arena *arena, pid_t pid)
{
	int fd, err;

	if (pid <= 0)
		return -EPERM;
	fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (fd < 0)
		return -errno;
	err = check_child(arena, pid);
	if (!err)
		return fd;
	close(fd);
	return err;
}

static bool is_child_of_arena(const void *context, pid_t pid)
{
	return arena_is_mapped_by(context, pid);
}

/* Returns true if a child of @parent with the inner id @inner_pid may have
 * another id in our pid namespace. */
static bool may_be_in_other_namespace(const struct kin *parent, pid_t inner_pid)
{
	char own[64], children[64], path[64];
	ssize_t a, b;

	if (parent->foreign || inner_pid == 1)
		return true;
	snprintf(path, sizeof(path), "/proc/%d/ns/pid", (int)parent->pid);
	a = readlink(path, own, sizeof(own));
	snprintf(path, sizeof(path), "/proc/%d/ns/pid_for_children",
		 (int)parent->pid);
	b = readlink(path, children, sizeof(children));
	return a > 0 && b > 0 && (a != b || memcmp(own, children, (size_t)a));
}

/* Returns true if the recording ends while a process of @arena goes on. Once
 * its slots were read, a child that is not known by then counts as begun later.
 * Under the arena's lock. */
static bool is_stopping(struct arena *arena)
{
	for (const struct process *process = arena_first_process(arena);
	     process; process = process_next(process)) {
		const struct process_ending *ending = process_ending(process);

		if (ending && ending->why == PROCESS_RUNNING)
			return true;
	}
	return false;
}

/* Returns our id of the child @inner_pid in another pid namespace. 0: it is
 * gone. -EAGAIN: too soon after the last search of all processes; 0 instead if
 * the workers look at the slot for the last time. */
static pid_t find_in_other_namespace(struct arena *arena, pid_t inner_pid)
{
	uint64_t start = clock_boottime_ns();
	pid_t pid = 0;

	for (const struct process *process = arena_first_process(arena);
	     process && !pid; process = process_next(process))
		if (!process_is_ending(process))
			pid = outer_ids_child(process_setup(process)->pid,
					      inner_pid, is_child_of_arena,
					      arena);
	if (pid)
		return pid;
	if (start < arena_drain(arena)->search_after_ns && !is_stopping(arena))
		return arena_drain(arena)->leaving ? 0 : -EAGAIN;
	pid = outer_ids_any(inner_pid, is_child_of_arena, arena);
	arena_drain(arena)->search_after_ns =
		clock_boottime_ns() +
		SEARCH_PAUSE * (clock_boottime_ns() - start);
	return pid;
}

/* Like open_child(), for the child with inner id @inner_pid. Stores its id in
 * our namespace in *@pid, or 0 if that id is lost. -EAGAIN: ask again. */
static int find_child(struct arena *arena, const struct kin *parent,
		      pid_t inner_pid, pid_t *pid)
{
	pid_t found;
	int fd = -ESRCH;

	*pid = inner_pid;
	if (!parent->foreign)
		fd = open_child(arena, inner_pid);
	if (fd >= 0 || inner_pid <= 0 ||
	    !may_be_in_other_namespace(parent, inner_pid))
		return fd;
	found = find_in_other_namespace(arena, inner_pid);
	if (found < 0)
		return found;
	*pid = found;
	return found ? open_child(arena, found) : -ESRCH;
}

/* Postpones a child that @err delays. Returns true if the caller can ask again:
 * false when the workers look at its slot for the last time. */
static bool postpone(struct arena *arena, int err)
{
	struct arena_drain *drain = arena_drain(arena);
	const struct process *process = arena_first_process(arena);
	char text[256];

	if (!drain->lack_told) {
		drain->lack_told = true;
		snprintf(text, sizeof(text),
			 "children of '%s' wait until they are recorded: %s",
			 process ? process_setup(process)->entry->name : "?",
			 err == -ENOMEM ? "out of memory"
					: "too many files are open (raise the "
					  "hard limit of perfrec: ulimit -Hn)");
		recording_note(arena_setup(arena)->recording, text);
	}
	drain->meet_after_ns = clock_boottime_ns() + LACK_PAUSE_NS;
	return !drain->leaving;
}

struct child {
	pid_t inner_pid; /* in its own namespace */
	uint32_t claimed; /* generation of the load map at the claim */
	const struct slot_shm *slot; /* the first known slot of the child */
	pid_t pid; /* 0: lost */
	int pidfd; /* -1: none; or -ESRCH, -ENOEXEC: gone */
	bool watched;
	/* proc_began() of a running child without a watch, else 0 */
	uint64_t began;
};

/* Decides whether @child keeps its open pidfd (watches.h). Returns 0 or an
 * -errno of open_child(). Under the arena's lock. */
static int choose_watch(struct collector *collector, struct arena *arena,
			struct child *child)
{
	int err = 0;

	child->watched = watches_take(collector, *arena_watched(arena));
	if (child->watched)
		return 0;
	close(child->pidfd);
	child->pidfd = -1;
	child->began = proc_began(child->pid);
	if (child->began == PROC_UNKNOWN)
		err = -EMFILE;
	else if (!child->began)
		err = -ESRCH;
	return err;
}

/*
 * Finds the process of @child, whose inner_pid is set. Returns 0; -EPERM, also
 * for an invalid id; -EAGAIN: no descriptor or memory for now, or the pause
 * after a long search is not over, because searches of an arena may take at
 * most a tenth of the time. When the workers look at the slot for the last
 * time, the child counts as gone instead; when the recording stops, there is no
 * pause. Under the arena's lock.
 */
static int find_child_in_turn(struct collector *collector, struct arena *arena,
			      const struct kin *parent, struct child *child)
{
	struct arena_drain *drain = arena_drain(arena);
	uint64_t start = clock_boottime_ns(), took;
	int err = 0;

	child->pid = child->inner_pid;
	child->pidfd = -ESRCH;
	if (child->inner_pid <= 0)
		return -EPERM;
	if (start < drain->meet_after_ns && drain->leaving)
		return 0;
	if (start < drain->meet_after_ns && !is_stopping(arena))
		return -EAGAIN;
	child->pidfd = find_child(arena, parent, child->inner_pid, &child->pid);
	if (child->pidfd >= 0)
		err = choose_watch(collector, arena, child);
	else
		err = child->pidfd;
	took = clock_boottime_ns() - start;
	if (took > MEET_LONG_NS)
		drain->meet_after_ns = start + took + MEET_PAUSE * took;
	if (is_lack(err))
		err = postpone(arena, err) ? -EAGAIN : -ESRCH;
	if (err != -ESRCH && err != -ENOEXEC)
		return err;
	child->pidfd = err;
	return 0;
}

/* Returns the id of the process that forked the owner of slot @index, from the
 * first record of the slot. 0: no record yet, or the owner is not the first
 * thread of a child. */
static pid_t forker_of_slot(struct arena *arena, uint32_t index)
{
	struct ring_get *ring = arena_ring(arena, index);
	const struct record *first;
	uint64_t word;

	if (ring_get_look(ring) <= 0 || !ring_get_run(ring, 1, &first))
		return 0;
	/* relaxed: HEAD orders it */
	word = atom_load_rlx(&first->word);
	return record_kind(word) == RECORD_FORK ? (pid_t)record_payload(word)
						: 0;
}

/* Returns when @child began, or slightly earlier: none of its records may be
 * older. Its first thread claims a slot as soon as the child runs. If the
 * worker found another thread first, the kernel's start time of the process, in
 * clock ticks, is the bound. */
static uint64_t began_ns(const struct collector *collector,
			 const struct arena *arena, const struct child *child)
{
	uint64_t claimed_ns =
		thread_claimed_ns(collector, arena_setup(arena), child->slot);
	/* relaxed: STATE orders it */
	bool is_first = atom_load_rlx(&child->slot->tid) == child->inner_pid;
	uint64_t ticks = is_first ? 0 : proc_began(child->pid);
	uint64_t ns;

	if (!ticks || ticks == PROC_UNKNOWN)
		return claimed_ns;
	ns = ticks * (NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK));
	return MIN(
		claimed_ns,
		MAX(ns,
		    recording_setup(arena_setup(arena)->recording)->start_ns));
}

/* Creates the process of @child for process_fork(). NULL: out of memory, or the
 * recording's budget is used up; then frees the resources of @child. */
static struct process *begin_child(struct collector *collector,
				   struct arena *arena,
				   const struct kin *parent,
				   const struct child *child)
{
	struct process_setup setup;
	struct process *process = NULL;
	int err = make_setup(collector, arena, child->pid, child->inner_pid,
			     parent->tracks, &setup);

	if (err)
		setup = (struct process_setup){ .collector = collector };
	else if (!child->pid)
		setup.pid = setup.entry->pid = child->inner_pid;
	setup.watched = child->watched;
	setup.began = child->began;
	setup.forked = true;
	if (!err &&
	    !budget_take(recording_setup(arena_setup(arena)->recording)->budget,
			 PROCESS_BYTES))
		err = -ENOMEM;
	setup.paid = !err;
	if (!err)
		setup.entry->start_ns = began_ns(collector, arena, child);
	if (!err && !setup.entry->name[0])
		memcpy(setup.entry->name, parent->name,
		       sizeof(setup.entry->name));
	/* An unwatched child gets the mappings of its parent. */
	if (!err)
		err = modules_fork(
			parent->modules, child->began ? 0 : child->pid,
			child->inner_pid, child->claimed, &setup.modules);
	if (!err)
		err = publish_process(&setup, MAX(child->pidfd, -1), &process);
	if (!err)
		return process;
	process_setup_release(&setup);
	if (child->pidfd >= 0)
		close(child->pidfd);
	return NULL;
}

/* Meets @child, which @parent or one of its descendants forked; inner_pid and
 * claimed are set. NULL: *@why has the error. Under the arena's lock. */
static struct process *process_fork(struct collector *collector,
				    struct arena *arena,
				    const struct kin *parent,
				    struct child *child, int *why)
{
	struct process *process;

	*why = find_child_in_turn(collector, arena, parent, child);
	if (*why)
		return NULL;
	process = begin_child(collector, arena, parent, child);
	if (!process) {
		*why = postpone(arena, -ENOMEM) ? -EAGAIN : -ENOMEM;
		return NULL;
	}
	if (child->began) {
		struct recording *recording = arena_setup(arena)->recording;

		recording_lock(recording)->unwatched_processes++;
		recording_unlock(recording);
	}
	/* The child is gone: it ends now, with the records in its slots. Must
	 * happen at once: when the main thread ends all processes, a listed
	 * process that is not ending counts as running. */
	if (child->pidfd < -1)
		end_process(process, child->pidfd == -ENOEXEC ? PROCESS_EXECED
							      : PROCESS_EXITED);
	else
		states_process_begin(process);
	return process;
}

/* Finds the process of @arena that forked the owner of slot @index, or else a
 * related process. Returns false if there is none. */
static bool find_parent(struct arena *arena, uint32_t index, struct kin *out)
{
	pid_t forker = forker_of_slot(arena, index);
	struct process *parent = process_find_inner(arena, forker);
	const struct kin *kin =
		parent ? NULL : family_find(arena_family(arena), forker);

	if (!parent && !kin) {
		/* The oldest running process, or else an ending process. */
		for (struct process *process = arena_first_process(arena);
		     process; process = process_next(process))
			if (!process_is_ending(process) || !parent)
				parent = process;
	}
	if (!parent && !kin)
		kin = family_any(arena_family(arena));
	if (!parent && !kin)
		return false;
	*out = parent ? process_kin(parent) : *kin;
	return true;
}

int process_meet_slot(struct collector *collector, struct arena *arena,
		      uint32_t index, uint32_t worker, struct process **out)
{
	const struct slot_shm *slot = arena_slot_shm(arena, index);
	/* relaxed, both: STATE orders them */
	struct child child = { .inner_pid = atom_load_rlx(&slot->pid),
			       .claimed = atom_load_rlx(&slot->claim_map),
			       .slot = slot };
	struct process *process;
	struct kin parent;
	int err = -ESRCH;

	arena_lock(arena);
	process = process_find_inner(arena, child.inner_pid);
	/* After the cut, new records belong to a process that ran on. */
	if (!process && arena_is_cut(arena))
		err = -EALREADY;
	else if (!process && find_parent(arena, index, &parent))
		process = process_fork(collector, arena, &parent, &child, &err);
	/* Checked under the lock: once all workers have drained the process,
	 * only the lock keeps the main thread from freeing it. */
	if (process)
		err = process_is_drained(process, worker) ? -EALREADY : 0;
	arena_unlock(arena);
	if (!err)
		*out = process;
	return err;
}

/* --- the load map -------------------------------------------------------- */

static void open_module_files(struct arena *arena, pid_t inner_pid)
{
	struct modules *modules = NULL;

	arena_lock(arena);
	for (struct process *process = arena_first_process(arena);
	     process && !modules; process = process_next(process))
		if (process_setup(process)->inner_pid == inner_pid)
			modules = modules_get(process_setup(process)->modules);
	arena_unlock(arena);
	if (modules)
		modules_follow(modules);
	modules_put(&modules);
}

static void open_told_modules(struct job *job)
{
	struct arena_loads *loads =
		(struct arena_loads *)((char *)job -
				       offsetof(struct arena_loads, job));
	struct arena *arena = loads->arena;
	struct map_event event;

	arena_lock(arena);
	loads->posted = false;
	arena_unlock(arena);
	while (map_log_event(arena_setup(arena)->map_log, loads->opened,
			     &event)) {
		loads->opened++;
		open_module_files(arena, event.pid);
	}
	arena_put(&arena);
}

static bool has_entry_build(struct arena *arena, size_t from, size_t to)
{
	struct map_event event;

	for (; from < to; from++)
		if (map_log_event(arena_setup(arena)->map_log, from, &event) &&
		    event.entry_build)
			return true;
	return false;
}

bool process_meet_has_modules(struct arena *arena)
{
	/* order: sc, ASLEEP: a dlopen() missed here sees us asleep */
	return atom_load_sc(&arena_setup(arena)->page->dlopens) !=
	       arena_drain(arena)->loads.dlopens;
}

void process_meet_modules(struct arena *arena)
{
	struct arena_loads *loads = &arena_drain(arena)->loads;
	size_t events = map_log_read(arena_setup(arena)->map_log);
	/* relaxed: only the count of calls matters here */
	uint32_t dlopens = atom_load_rlx(&arena_setup(arena)->page->dlopens);
	bool post, entry_build;

	if (events == loads->events && dlopens == loads->dlopens)
		return;
	entry_build = has_entry_build(arena, loads->events, events);
	if (dlopens != loads->dlopens || entry_build)
		states_look(arena, entry_build);
	loads->dlopens = dlopens;
	if (events == loads->events)
		return;
	loads->events = events;
	arena_lock(arena);
	post = !loads->posted;
	loads->posted = true;
	arena_unlock(arena);
	if (!post)
		return;
	loads->arena = arena_get(arena);
	loads->job.run = open_told_modules;
	jobs_post(arena_setup(arena)->jobs, &loads->job);
}
