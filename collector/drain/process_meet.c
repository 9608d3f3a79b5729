/* SPDX-License-Identifier: Apache-2.0
 *
 * process_meet - a process is met on the main thread, with its hello, or on a
 * drain worker that finds a slot claimed by a process id it does not know: a
 * forked child, which shares its parent's arena.
 *
 * A child that has not recorded yet is known to nobody, and may outlive all who
 * are known: a service that has put itself into the background. What such a
 * child starts with is kept of those that have ended (family.c).
 *
 * A slot holds ids of the program's own pid namespace (inner_pid); the trace
 * has ids of the collector's namespace (pid). They are the same unless the
 * program is in a container. Then a child is looked for in /proc by what it
 * calls itself, and it must have the arena mapped. Two children of one arena
 * that call themselves the same, in two namespaces, are taken for one.
 *
 * Process ids in slots are the program's word. They are checked only for what a
 * lie could reach: a process of another user is refused. A process of the same
 * user gives the recording a wrong label, which the liar could have had anyway;
 * but the recording does not wait for the end of a process that has no part in
 * it.
 */
#include "collector/drain/process_crash.h"
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
#include "collector/drain/process_reap.h"
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
#include "collector/trace/out_perfetto.h"
#include "collector/trace/trace_file.h"
#include "shared/atomic.h"
#include "shared/compiler.h"

#define NS_PER_S UINT64_C(1000000000)
#define CMDLINE_BYTES_MAX 4096
#define ARGUMENTS_MAX 256
#define PACKET_BYTES (CMDLINE_BYTES_MAX + 4 * ARGUMENTS_MAX + 512)
/* The pause between two searches is so many times as long as a search takes. */
#define SEARCH_PAUSE 3
/* A child whose /proc/PID/maps is long takes long to meet (20 ms for 65,000
 * mappings), and the other recordings wait. After one that took this long, no
 * child of the arena is met for so many times as long. */
#define MEET_LONG_NS 500000
#define MEET_PAUSE 9
/* When there is no descriptor or memory for a child, none is met for so long.
 */
#define LACK_PAUSE_NS 50000000

static void describe_process(struct process_setup *setup, pid_t pid)
{
	struct process_entry *entry = setup->entry;
	char text[CMDLINE_BYTES_MAX + 1];
	pid_t inner;
	size_t length =
		proc_read(pid, "comm", entry->name, sizeof(entry->name));

	if (length && entry->name[length - 1] == '\n')
		entry->name[length - 1] = '\0';
	length = proc_read(pid, "cmdline", text, sizeof(text));
	if (length) {
		entry->cmdline = malloc(length + 1);
		if (entry->cmdline)
			memcpy(entry->cmdline, text, length + 1);
		entry->cmdline_bytes = entry->cmdline ? length + 1 : 0;
	}
	setup->foreign = setup->inner_pid != pid;
	if (proc_read(pid, "status", text, sizeof(text))) {
		setup->foreign = proc_status_inner(text, &inner) > 1;
		entry->parent = (pid_t)proc_status_number(text, "PPid:");
	}
	entry->pid = pid;
	entry->start_ns = clock_boottime_ns();
	entry->last_thread = &entry->threads;
}

static void write_process_descriptor(const struct process_setup *process)
{
	const struct process_entry *entry = process->entry;
	char *arguments[ARGUMENTS_MAX + 1] = { NULL };
	const struct recording_setup *setup =
		recording_setup(process->arena_setup->recording);
	uint8_t packet[PACKET_BYTES];
	size_t offset = 0, count = 0;
	struct out_process out = {
		.uuid = process->uuid,
		.pid = process->pid,
		.name = entry->name,
		.cmdline = arguments,
		.start_ns = entry->start_ns,
	};

	while (offset + 1 < entry->cmdline_bytes && count < ARGUMENTS_MAX) {
		arguments[count] = entry->cmdline + offset;
		offset += strlen(arguments[count++]) + 1;
	}
	trace_file_append(setup->trace, 1, packet,
			  out_perfetto_process(packet, sizeof(packet), &out));
}

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

/* The setup of a process, without modules and samples. @above: the tracks of
 * its parent, or NULL. 0, or -ENOMEM: then there is nothing to give back. Any
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
	describe_process(out, pid);
	return 0;
}

/* Without memory for them, or where no samples are wanted, it has none. */
static void start_samples(struct process_setup *setup)
{
	struct sampler *sampler = setup->collector->sampler;

	if (sampler)
		(void)samples_new(sampler, setup->arena_setup->recording,
				  setup->modules, setup->pid,
				  setup->entry->name, &setup->samples);
}

/* Begin the process of @setup, and put it into the trace and into all lists.
 * 0 or -errno: then @setup and @pidfd are still the caller's. Under the arena's
 * lock. */
static int publish_process(struct process_setup *setup, int pidfd,
			   struct process **out)
{
	static const struct process_calls calls = {
		.exited = process_exited,
		.drained = process_reap_finish,
	};
	int err;

	start_samples(setup);
	err = process_new(setup, pidfd, &calls, out);
	if (err) {
		if (setup->samples)
			samples_put(&setup->samples);
		return err;
	}
	write_process_descriptor(setup);
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
		if (!err)
			states_process_begin(process);
		arena_unlock(arena);
	}
	if (err) {
		process_setup_release(&setup);
		close(pidfd);
	}
	return err;
}

/* Whether @err says that this is no time for a child, as there is too little of
 * something. */
static bool is_lack(int err)
{
	return err == -EMFILE || err == -ENFILE || err == -ENOMEM;
}

/* Whether process @pid is a child as open_child() wants it: 0 or -errno. */
static int check_child(const struct arena *arena, pid_t pid)
{
	char status[PROC_STATUS_BYTES];

	errno = 0;
	if (!proc_read(pid, "status", status, sizeof(status)))
		return is_lack(-errno) ? -errno : -ESRCH;
	if (!proc_is_of_user(pid, arena_setup(arena)->uid))
		return -EPERM;
	errno = 0;
	if (arena_is_mapped_by(arena, pid))
		return 0;
	if (is_lack(-errno))
		return -errno;
	/* One that has exited meanwhile has no memory, either. */
	if (!proc_read(pid, "status", status, sizeof(status)) ||
	    proc_status_number(status, "VmSize:") < 0)
		return -ESRCH;
	return -ENOEXEC;
}

/* A pidfd of process @pid; -ESRCH when it is gone; -ENOEXEC when it does not
 * have @arena mapped, so that it has called exec(), or was never a process of
 * @arena; -EPERM when the program of @arena cannot have forked it; what
 * is_lack() knows when that cannot be found out now. */
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

/* Whether a child of @parent that calls itself @inner_pid may have another id
 * in our pid namespace. */
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

/* Our id for the child in another pid namespace that calls itself @inner_pid. 0
 * when it is gone. -EAGAIN when it is too soon after the last search of all
 * processes; but when the workers look at the slot for the last time, it is 0
 * instead. */
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
	if (start < arena_drain(arena)->search_after_ns)
		return arena_drain(arena)->leaving ? 0 : -EAGAIN;
	pid = outer_ids_any(inner_pid, is_child_of_arena, arena);
	arena_drain(arena)->search_after_ns =
		clock_boottime_ns() +
		SEARCH_PAUSE * (clock_boottime_ns() - start);
	return pid;
}

/* As open_child(), for the child that calls itself @inner_pid; *@pid is its id
 * in our namespace, or 0 if that is not known any more. -EAGAIN: ask again. */
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

/* Children of @arena have to wait, for want of what @err says. */
static void note_lack(struct arena *arena, int err)
{
	const struct process *process = arena_first_process(arena);
	char text[256];

	if (arena_drain(arena)->lack_told)
		return;
	arena_drain(arena)->lack_told = true;
	snprintf(text, sizeof(text),
		 "children of '%s' wait until they are recorded: %s",
		 process ? process_setup(process)->entry->name : "?",
		 err == -ENOMEM ? "out of memory"
				: "too many files are open (raise the hard "
				  "limit of perfrec: ulimit -Hn)");
	recording_note(arena_setup(arena)->recording, text);
}

/* A child cannot be met now, for want of what @err says. Whether it can be
 * asked for again: no more when the workers look at its slot for the last time.
 */
static bool postpone(struct arena *arena, int err)
{
	struct arena_drain *drain = arena_drain(arena);

	note_lack(arena, err);
	drain->meet_after_ns = clock_boottime_ns() + LACK_PAUSE_NS;
	return !drain->leaving;
}

/* A child that a slot names. */
struct child {
	pid_t inner_pid; /* as it calls itself */
	uint32_t claimed; /* generation of the load map then */
	const struct slot_shm *slot; /* that it claimed first, as we know */
	pid_t pid; /* 0: not known any more */
	int pidfd; /* -1: it has none; or -ESRCH, -ENOEXEC: it is gone */
	bool watched;
	uint64_t began; /* proc_began(), of one that goes on and is not watched;
			 * else 0 */
};

/* Whether @child, whose pidfd is open, keeps it: watches.h. 0 or -errno: as
 * open_child(). Under the arena's lock. */
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
 * Find the process of @child, whose inner_pid is set. 0; -EPERM, also for what
 * is no process id; -EAGAIN: the pause after a long search is not over, as the
 * searches of an arena take a tenth of the time at most; or it is no time for a
 * child. When the workers look at the slot for the last time, it counts as gone
 * instead. Under the arena's lock.
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
	if (start < drain->meet_after_ns)
		return drain->leaving ? 0 : -EAGAIN;
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

/* The process that has forked the owner of slot @index, as the first record of
 * the slot says. 0: there is no record yet, or the owner is not the first
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

static struct budget *budget_of(struct arena *arena)
{
	return recording_setup(arena_setup(arena)->recording)->budget;
}

/* When @child began, or a little earlier: no record of it may be before that.
 * Its first thread claims a slot as soon as the child runs. Where another
 * thread was met first, the kernel's start of the process is the bound, in
 * ticks. */
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

/* Begin the process of @child, as process_fork() says. NULL: there is no memory
 * for it, or the recording has used up its own; then what @child has is given
 * back. */
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
	if (!err && !budget_take(budget_of(arena), PROCESS_BYTES))
		err = -ENOMEM;
	setup.paid = !err;
	if (!err)
		setup.entry->start_ns = began_ns(collector, arena, child);
	if (!err && !setup.entry->name[0])
		memcpy(setup.entry->name, parent->name,
		       sizeof(setup.entry->name));
	/* One that is not watched is known by what its parent has mapped. */
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

static void count_unwatched(struct arena *arena)
{
	struct recording *recording = arena_setup(arena)->recording;

	recording_lock(recording)->unwatched_processes++;
	recording_unlock(recording);
}

/* Meet @child, which @parent or a descendant of it has forked: inner_pid and
 * claimed are set. NULL: *@why says why. Under the arena's lock. */
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
	if (child->began)
		count_unwatched(arena);
	/* Gone already: it ends with what is in its slots now. At once: the
	 * main thread, when it ends all processes, takes one that is listed and
	 * not ending for one that goes on. */
	if (child->pidfd < -1)
		end_process(process, child->pidfd == -ENOEXEC ? PROCESS_EXECED
							      : PROCESS_EXITED);
	else
		states_process_begin(process);
	return process;
}

/* The oldest process that runs, or else one that is ending, or NULL. */
static struct process *any_process_of_arena(struct arena *arena)
{
	struct process *any = NULL;

	for (struct process *process = arena_first_process(arena); process;
	     process = process_next(process))
		if (!process_is_ending(process) || !any)
			any = process;
	return any;
}

/* The process of @arena that has forked the owner of slot @index. If that is
 * not known, a process that is related to it. False: there is none. */
static bool find_parent(struct arena *arena, uint32_t index, struct kin *out)
{
	pid_t forker = forker_of_slot(arena, index);
	struct process *parent = process_find_inner(arena, forker);
	const struct kin *kin =
		parent ? NULL : family_find(arena_family(arena), forker);

	if (!parent && !kin)
		parent = any_process_of_arena(arena);
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
	/* Once it is cut off, whatever comes is of one that went on. */
	if (!process && arena_is_cut(arena))
		err = -EALREADY;
	else if (!process && find_parent(arena, index, &parent))
		process = process_fork(collector, arena, &parent, &child, &err);
	/* Asked under the lock: once all workers have drained it, nothing but
	 * the lock keeps the main thread from freeing it. */
	if (process)
		err = process_is_drained(process, worker) ? -EALREADY : 0;
	arena_unlock(arena);
	if (!err)
		*out = process;
	return err;
}

/* --- the load map -----------------------------------------------------------
 */

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

/* Whether one of the loads from event @from to @to is that of an entry build.
 */
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
	/* order: sc, ASLEEP: a call that is not seen here sees us asleep */
	return atom_load_sc(&arena_setup(arena)->page->dlopens) !=
	       arena_drain(arena)->loads.dlopens;
}

void process_meet_modules(struct arena *arena)
{
	struct arena_loads *loads = &arena_drain(arena)->loads;
	size_t events = map_log_read(arena_setup(arena)->map_log);
	/* relaxed: who opened what is the business of others */
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
