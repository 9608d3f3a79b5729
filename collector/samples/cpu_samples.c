/* SPDX-License-Identifier: Apache-2.0
 *
 * cpu_samples - turns the kernel's records into samples of a process, ticks for
 * its spans, and a rest: time that is known, but was not sampled.
 *
 * The buffers are read under one lock, held for microseconds, by the thread
 * "perfrec-perf" and by drain workers. A worker must not replay a record before
 * it knows all older samples (thread_cpu.c).
 *
 * The kernel counts all CPU time of a thread, but a sample stands for a whole
 * period. Without permission to look into the kernel, there are no samples of
 * kernel time. When a thread ends, the kernel reports its running time (READ).
 * With a hidden kernel, whole periods without a sample were kernel time. Then
 * the samples are scaled to the thread's time (cpu_threads.c).
 *
 * A forked child belongs to its parent's group until it execs, because its
 * addresses mean the same as its parent's.
 *
 * Shots. Each thread begins with a whole period, so a thread that ends before
 * that has no sample. So each thread has a second event, disabled, which
 * samples each 100 us (perf_events_shoot()). While samples are owed for threads
 * that ended without one, the reading thread enables these events briefly at
 * random times: a shot. It samples every thread that runs then, however short
 * its life. The periods limit the number of samples, shots included; if all
 * threads are long, there are no shots. Two other ways failed. Drawing a new
 * period for new threads (PERF_EVENT_IOC_PERIOD) no longer reaches them once a
 * swap has moved the opened event to a thread that ended. An event per CPU
 * needs kernel.perf_event_paranoid 0.
 *
 * A program that `perfrec record` starts has a tree as well: events that only
 * count, from before its first exec, in every descendant, with or without a
 * hello (cpu_account.c has the reason). They must be separate from sampling
 * events. A sampling event must end with the image that said hello, because the
 * addresses of the next image are unknown. If that image says hello, it gets
 * events of its own.
 */
#include "collector/samples/cpu_samples.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include "collector/base/clock.h"
#include "collector/base/grow.h"
#include "collector/base/lock.h"
#include "collector/base/log.h"
#include "collector/base/perf_open.h"
#include "collector/base/perf_wakings.h"
#include "collector/base/proc.h"
#include "collector/base/search.h"
#include "collector/names/kernel_names.h"
#include "collector/options/collect_options.h"
#include "collector/record/arena.h"
#include "collector/record/collector.h"
#include "collector/record/cpu_account.h"
#include "collector/record/process.h"
#include "collector/record/recording.h"
#include "collector/record/wakes.h"
#include "collector/replay/kernel_events.h"
#include "collector/samples/cpu_threads.h"
#include "collector/samples/perf_buffers.h"
#include "collector/samples/perf_counters.h"
#include "collector/samples/perf_events.h"
#include "collector/samples/perf_record.h"
#include "collector/samples/sched_trace.h"
#include "collector/samples/turns.h"
#include "collector/samples/wait_object.h"
#include "shared/atomic.h"
#include "shared/hash.h"

#define PASS_MS 50
#define NICE (-10)
/* The duration of a shot, without the kernel's timer slack of 50 us: with it, a
 * shot ends midway between two samples. Otherwise the second would catch the
 * wake-up of this thread. */
#define SHOT_NS (2 * PERF_SHOT_NS)
/* Shots come every few ms, and less often while they miss. */
#define SHOT_EVERY_MIN_MS 2u
#define SHOT_EVERY_MAX_MS 1000u
#define SHOT_MISSES 8u /* misses in a row that halve the rate */
/* A shot that took longer lost its CPU meanwhile, so the machine is busy. The
 * wait for the next shot is then shifted by SHOT_SLOW_SHIFT bits, and by one
 * more for each slow shot in a row. */
#define SHOT_SLOW_NS (8 * SHOT_NS)
#define SHOT_SLOW_SHIFT 4u
/* Passes until the counts of an ended thread are complete: they may be in other
 * buffers than the record of its end. */
#define SETTLE_PASSES 3
/* Passes until the ticks of an ended thread are dropped, if no drain worker
 * takes them. */
#define KEEP_PASSES 400
/* The number of threads at hello that get events. Opening them takes 0.25 ms a
 * thread, which delays all programs, and a program waits for 100 ms.
 * task_bases.h has the same limit. */
#define TASKS_MAX 256u
/* All events may use 1/ALL_FILES_PART of our descriptors, and those of one
 * program 1/PROGRAM_FILES_PART. */
#define ALL_FILES_PART 2u
#define PROGRAM_FILES_PART 8u
/* Processes of each other group in cpu_list_processes(). */
#define PROCESSES_OF_OTHERS 16u

struct cpu_sampler {
	struct collector *collector;
	struct perf_wanted wanted;
	struct perf_buffers *buffers; /* of all recordings */
	struct perf_buffers *tree_buffers; /* or NULL: see perf_open.c */
	int wake_fd;
	pthread_t thread;
	bool started;
	bool closing; /* relaxed: wake_fd orders it */
	uint32_t group_count; /* relaxed: a hint */
	/* In a row; the perf thread's, like the next. */
	uint32_t shot_misses, slow_shots;
	uint64_t next_shot_ns, next_settle_ns; /* BOOTTIME */

	struct perf_events wakings; /* main thread */

	struct lock lock; /* guards all below, and the lists of groups */
	struct perf_events tree;
	struct cpu_account
		*account; /* of the tree; its recording outlives us */
	struct cpu_group *groups;
	struct turns turns; /* of groups, for cpu_take_blocked() */
	uint32_t shots; /* so far, also the number of the last one */
	uint32_t *shot_of_cpu; /* the last shot with a sample, by CPU */
	size_t cpus; /* of shot_of_cpu */
	uint64_t shot_hits; /* samples from shots */
	struct group_trace {
		struct group_trace *next;
		const struct recording *recording;
		struct sched_trace *sched;
		uint32_t groups;
		size_t taken; /* for turns.h */
	} * traces;
	struct event_owner {
		uint64_t id;
		struct cpu_group *group;
		enum perf_event_kind kind;
		uint32_t number; /* of a counter */
	} * owner; /* sorted by id */
	size_t owners, owner_room;
};

struct cpu_group {
	struct cpu_sampler *sampler;
	struct cpu_group *next;
	struct recording *recording; /* a reference */
	struct perf_events events;
	struct cpu_threads threads;
	struct group_trace *trace; /* of its recording; NULL: none */
	struct turn turn;
	bool throttled; /* the note was written */
	bool paused; /* under the sampler's lock */
	uint64_t lost; /* records, perhaps of it */
};

/* --- records ------------------------------------------------------------- */

/* Reports a loss to all groups and traces: the full buffer had records of
 * any. */
static void tell_loss(const struct cpu_sampler *sampler,
		      const struct perf_record *record)
{
	if (!sampler->wanted.switches)
		return;
	for (struct cpu_group *group = sampler->groups; group;
	     group = group->next) {
		cpu_threads_lose(&group->threads, record->before_ns);
		group->lost += record->value;
	}
	for (struct group_trace *trace = sampler->traces; trace;
	     trace = trace->next)
		sched_trace_lose(trace->sched, record->cpu, record->before_ns);
}

static void take_tree_record(void *context, const struct perf_record *record)
{
	const struct cpu_sampler *sampler = context;
	struct cpu_account *account = sampler->account;
	size_t i = 0;

	while (i < sampler->tree.count &&
	       sampler->tree.event[i].id != record->id)
		i++;
	if (i == sampler->tree.count)
		return;
	switch (record->type) {
	case PERF_RECORD_FORK:
		cpu_account_fork(account, record->pid, record->tid,
				 record->parent_pid);
		break;
	case PERF_RECORD_COMM:
		cpu_account_name(account, record->pid, record->tid,
				 record->name, record->ns, record->exec);
		/* The events of a thread end at its exec without a report. */
		for (struct cpu_group *group = sampler->groups;
		     record->exec && group; group = group->next)
			cpu_threads_exec(&group->threads, record->pid,
					 record->ns);
		break;
	case PERF_RECORD_READ:
		cpu_account_count(account, record->pid, record->value);
		break;
	case PERF_RECORD_EXIT:
		cpu_account_exit(account, record->pid);
		break;
	case PERF_RECORD_LOST:
		cpu_account_lose(account, record->value);
		break;
	}
}

static void trace_switch(const struct cpu_group *group,
			 const struct perf_record *record)
{
	if (group->trace)
		sched_trace_take(group->trace->sched, record);
}

/* Counts one sample per CPU and shot: a thread that comes to its CPU late,
 * because the shooting thread was there, would otherwise have fewer samples. */
static void take_shot_sample(const struct event_owner *owner,
			     const struct perf_record *record)
{
	struct cpu_sampler *sampler = owner->group->sampler;

	if ((size_t)record->cpu >= sampler->cpus ||
	    sampler->shot_of_cpu[record->cpu] == sampler->shots)
		return;
	sampler->shot_of_cpu[record->cpu] = sampler->shots;
	sampler->shot_hits += cpu_threads_shot(&owner->group->threads, record);
}

static void take_cpu_sample(const struct event_owner *owner,
			    const struct perf_record *record)
{
	const struct cpu_sampler *sampler = owner->group->sampler;
	struct cpu_threads *threads = &owner->group->threads;

	if (owner->kind == PERF_EVENT_TIME && !record->counted)
		cpu_threads_sample(threads, record);
	else if (owner->kind == PERF_EVENT_SHOT && !record->counted)
		take_shot_sample(owner, record);
	else if (owner->kind == PERF_EVENT_FAULTS && record->counted)
		cpu_threads_counted(threads, record, KERNEL_FAULT, 0);
	else if (owner->kind == PERF_EVENT_COUNTER && record->counted)
		cpu_threads_counted(threads, record, KERNEL_COUNTER,
				    perf_counter_place(sampler->wanted.counters,
						       owner->number));
}

/* Handles a wake-up of any thread of this machine. Short-lived wakers are
 * remembered by name at once. */
static void take_waking(const struct cpu_sampler *sampler,
			const struct perf_record *record)
{
	struct cpu_group *group = sampler->groups;
	const char *known = NULL;
	char name[16] = "";

	for (; group && !known && !record->in_interrupt; group = group->next)
		known = cpu_threads_name_of(&group->threads, record->pid,
					    record->tid);
	if (known)
		memcpy(name, known, sizeof(name));
	group = sampler->groups;
	while (group && !cpu_threads_woken(&group->threads, record, name))
		group = group->next;
}

static void take_perf_record(void *context, const struct perf_record *record)
{
	const struct cpu_sampler *sampler = context;
	const struct event_owner *owner = sampler->owner;
	size_t at = search_first(i, sampler->owners, owner[i].id >= record->id);
	struct cpu_threads *threads;
	struct cpu_group *group = NULL;
	int was_on;

	if (record->type == PERF_RECORD_SAMPLE && record->woken_tid) {
		take_waking(sampler, record);
		return;
	}
	if (at < sampler->owners && owner[at].id == record->id) {
		owner += at;
		group = owner->group;
	}
	if (record->type == PERF_RECORD_LOST)
		tell_loss(sampler, record);
	if (!group) {
		take_tree_record(context, record);
		return;
	}
	threads = &group->threads;
	switch (record->type) {
	case PERF_RECORD_SAMPLE:
		take_cpu_sample(owner, record);
		break;
	case PERF_RECORD_SWITCH:
		was_on = cpu_threads_switch(threads, record);
		/* The record of leaving that CPU was lost. */
		if (was_on >= 0 && group->trace)
			sched_trace_gone(group->trace->sched, was_on,
					 record->tid);
		trace_switch(group, record);
		break;
	case PERF_RECORD_FORK:
		cpu_threads_fork(threads, record);
		break;
	case PERF_RECORD_COMM:
		cpu_threads_name(threads, record);
		break;
	case PERF_RECORD_READ:
		cpu_threads_count(threads, record);
		break;
	case PERF_RECORD_EXIT:
		cpu_threads_exit(threads, record);
		trace_switch(group, record);
		break;
	case PERF_RECORD_LOST:
		recording_lock(group->recording)->lost_cpu_samples +=
			record->value;
		recording_unlock(group->recording);
		break;
	case PERF_RECORD_THROTTLE:
		if (group->throttled)
			break;
		group->throttled = true;
		recording_note(
			group->recording,
			"the kernel dropped CPU samples for a while, because "
			"they came too often (lower --cpu, or raise sysctl "
			"kernel.perf_event_max_sample_rate)");
		break;
	}
}

static void pull_locked(struct cpu_sampler *sampler)
{
	uint64_t now_ns = clock_boottime_ns();

	perf_buffers_read(sampler->buffers, now_ns, take_perf_record, sampler);
	if (sampler->tree_buffers)
		perf_buffers_read(sampler->tree_buffers, now_ns,
				  take_tree_record, sampler);
}

void cpu_pull(struct cpu_group *group)
{
	struct cpu_sampler *sampler = group->sampler;

	if (!perf_buffers_ready(sampler->buffers) &&
	    !(sampler->tree_buffers &&
	      perf_buffers_ready(sampler->tree_buffers)))
		return;
	lock_acquire(&sampler->lock);
	pull_locked(sampler);
	lock_release(&sampler->lock);
}

size_t cpu_take(struct cpu_group *group, pid_t tid, uint64_t alive_ns,
		struct kernel_event *out, size_t room,
		struct sched_track *before)
{
	return LOCKED(&group->sampler->lock,
		      cpu_threads_take(&group->threads, tid, alive_ns, out,
				       room, before));
}

void cpu_take_no_more(struct cpu_group *group, pid_t tid, uint64_t alive_ns)
{
	lock_acquire(&group->sampler->lock);
	cpu_threads_take_no_more(&group->threads, tid, alive_ns);
	lock_release(&group->sampler->lock);
}

/* --- blocked threads ----------------------------------------------------- */

struct blocked_room {
	uint64_t before_ns;
	struct cpu_blocked *out;
};

static size_t take_of_group(void *context, void *group, size_t count,
			    size_t room)
{
	const struct blocked_room *blocked = context;
	struct cpu_group *from = group;
	struct cpu_blocked *out = blocked->out + count;
	size_t got = cpu_threads_take_blocked(&from->threads,
					      blocked->before_ns, out, room);

	for (size_t i = 0; i < got; i++)
		out[i].group = from;
	return got;
}

size_t cpu_take_blocked(struct cpu_sampler *sampler, uint64_t before_ns,
			struct cpu_blocked *out, size_t room,
			struct cpu_wait_sums *sums)
{
	struct blocked_room blocked = { before_ns, out };
	size_t recordings = 0, count;

	*sums = (struct cpu_wait_sums){ 0 };
	lock_acquire(&sampler->lock);
	pull_locked(sampler);
	for (const struct group_trace *trace = sampler->traces; trace;
	     trace = trace->next)
		recordings++;
	count = turns_take(&sampler->turns, MAX(recordings, (size_t)1), room,
			   take_of_group, &blocked);
	for (struct cpu_group *group = sampler->groups; group;
	     group = group->next) {
		sums->switches += group->threads.switch_count;
		sums->long_ns += group->threads.long_ns;
		sums->missed_ns += group->threads.missed_ns;
	}
	lock_release(&sampler->lock);
	return count;
}

size_t cpu_list_processes(struct cpu_sampler *sampler, pid_t pid, pid_t *out,
			  size_t room)
{
	struct cpu_group *own;
	size_t count = 0;

	lock_acquire(&sampler->lock);
	own = sampler->groups;
	while (own && !cpu_threads_have(&own->threads, pid))
		own = own->next;
	if (own)
		count = cpu_threads_list(&own->threads, out, room);
	for (struct cpu_group *group = sampler->groups; group;
	     group = group->next)
		if (group != own)
			count += cpu_threads_list(
				&group->threads, out + count,
				MIN(room - count, PROCESSES_OF_OTHERS));
	lock_release(&sampler->lock);
	return count;
}

/* Returns the group of @blocked, or NULL if it was freed. Under the lock. */
static struct cpu_group *group_of_blocked(const struct cpu_sampler *sampler,
					  const struct cpu_blocked *blocked)
{
	struct cpu_group *group = sampler->groups;

	while (group && group != blocked->group)
		group = group->next;
	return group;
}

void cpu_tell_wait(struct cpu_sampler *sampler,
		   const struct cpu_blocked *blocked, struct sample *wait)
{
	struct cpu_group *group;
	bool taken;

	lock_acquire(&sampler->lock);
	/* The thread may have run meanwhile, and left that wait. */
	pull_locked(sampler);
	group = group_of_blocked(sampler, blocked);
	taken = group && cpu_threads_tell_wait(&group->threads, blocked, wait);
	lock_release(&sampler->lock);
	if (!taken)
		free(wait);
}

void cpu_tell_anchor(struct cpu_sampler *sampler,
		     const struct cpu_blocked *blocked, uint64_t on_ns,
		     uint64_t delay_ns)
{
	struct cpu_group *group;

	lock_acquire(&sampler->lock);
	pull_locked(sampler);
	group = group_of_blocked(sampler, blocked);
	if (group)
		cpu_threads_tell_anchor(&group->threads, blocked, on_ns,
					delay_ns);
	lock_release(&sampler->lock);
}

/* Marks @holder as a descriptor whose other end a thread waits at. */
static void mark_awaited(struct collector *collector,
			 const struct wait_holder *holder)
{
	const struct process_setup *setup;

	if (holder->fd < 0 || holder->fd >= AWAITED_MAX)
		return;
	lock_acquire(&collector->lock);
	for (struct process *process = collector->processes; process;
	     process = process_next_all(process)) {
		setup = process_setup(process);
		if (setup->pid != holder->pid)
			continue;
		/* relaxed: a hint */
		atom_or_rlx(&setup->arena_setup->page->awaited[holder->fd / 8],
			    (uint8_t)(1u << holder->fd % 8));
	}
	lock_release(&collector->lock);
}

void cpu_tell_wakers(struct cpu_sampler *sampler,
		     const struct cpu_blocked *blocked,
		     const struct wait_wakers *wakers)
{
	struct wakes *wakes = NULL;
	struct cpu_group *group;

	lock_acquire(&sampler->lock);
	group = group_of_blocked(sampler, blocked);
	if (group)
		wakes = recording_setup(group->recording)->wakes;
	if (wakes)
		wakes_expect(wakes, blocked->tid, blocked->since_ns,
			     wakers->file, wakers->files);
	lock_release(&sampler->lock);
	for (uint32_t i = 0; wakes && i < wakers->holders; i++)
		mark_awaited(sampler->collector, &wakers->holder[i]);
}

/* --- the thread ---------------------------------------------------------- */

/* Begins (@on) or ends a shot in all groups. Returns the number of samples from
 * shots so far. */
static uint64_t shoot_groups(struct cpu_sampler *sampler, bool on)
{
	uint64_t hits;

	lock_acquire(&sampler->lock);
	sampler->shots += on;
	for (struct cpu_group *group = sampler->groups; group;
	     group = group->next)
		if (!on || !group->paused)
			perf_events_shoot(&group->events, on);
	if (!on)
		pull_locked(sampler);
	hits = sampler->shot_hits;
	lock_release(&sampler->lock);
	return hits;
}

static bool owes_samples(struct cpu_sampler *sampler)
{
	int64_t owed_ns = 0;

	if (!perf_wants_shots(&sampler->wanted))
		return false;
	lock_acquire(&sampler->lock);
	for (const struct cpu_group *group = sampler->groups; group;
	     group = group->next)
		owed_ns += MAX(group->threads.owed_ns, (int64_t)0);
	lock_release(&sampler->lock);
	return owed_ns >= (int64_t)sampler->wanted.period_ns;
}

/* Takes a shot if its time has come. Returns how many ms to wait at most for
 * the next one. */
static int take_shot(struct cpu_sampler *sampler)
{
	const struct timespec shot = { 0, SHOT_NS };
	uint64_t now_ns = clock_boottime_ns(), hits, wait_ns;
	uint32_t shift;
	uint32_t every = (uint32_t)(sampler->wanted.period_ns / 2000000);

	if (!owes_samples(sampler))
		return PASS_MS;
	if (now_ns < sampler->next_shot_ns)
		return (int)MIN((sampler->next_shot_ns - now_ns) / 1000000 + 1,
				(uint64_t)PASS_MS);
	hits = shoot_groups(sampler, true);
	nanosleep(&shot, NULL);
	if (shoot_groups(sampler, false) > hits)
		sampler->shot_misses = 0;
	else
		sampler->shot_misses++;
	sampler->slow_shots = clock_boottime_ns() - now_ns > SHOT_SLOW_NS
				      ? sampler->slow_shots + 1
				      : sampler->slow_shots / 2;
	shift = sampler->shot_misses / SHOT_MISSES;
	if (sampler->slow_shots)
		shift += SHOT_SLOW_SHIFT + sampler->slow_shots;
	every = MAX(every, SHOT_EVERY_MIN_MS) << MIN(shift, 9u);
	/* Random, because programs may be periodic. */
	wait_ns = MIN(every, SHOT_EVERY_MAX_MS) * 500000ULL;
	wait_ns += (now_ns * HASH_MULTIPLIER >> 32) % (2 * wait_ns);
	sampler->next_shot_ns = clock_boottime_ns() + wait_ns;
	return (int)MIN(wait_ns / 1000000 + 1, (uint64_t)PASS_MS);
}

static void *perf_thread(void *context)
{
	struct cpu_sampler *sampler = context;
	struct pollfd wait[2] = {
		{ .fd = perf_buffers_fd(sampler->buffers), .events = POLLIN },
		{ .fd = sampler->wake_fd, .events = POLLIN },
	};
	int wait_ms = PASS_MS;
	uint64_t count, now_ns;

	pthread_setname_np(pthread_self(), "perfrec-perf");
	/* If permitted: the thread works little, and records that it reads late
	 * are lost. */
	(void)setpriority(PRIO_PROCESS, 0, NICE);
	/* relaxed: wake_fd orders it */
	while (!atom_load_rlx(&sampler->closing)) {
		/* relaxed: every change is followed by a wake */
		bool idle = !atom_load_rlx(&sampler->group_count);

		poll(wait, 2, idle ? -1 : wait_ms);
		if (wait[1].revents & POLLIN)
			(void)!read(sampler->wake_fd, &count, sizeof(count));
		lock_acquire(&sampler->lock);
		pull_locked(sampler);
		/* Not at each wake-up: drain workers need the time to take
		 * events before settling drops them. */
		now_ns = clock_boottime_ns();
		if (now_ns >= sampler->next_settle_ns) {
			sampler->next_settle_ns = now_ns + PASS_MS * 1000000ULL;
			for (struct cpu_group *group = sampler->groups; group;
			     group = group->next)
				cpu_threads_settle(&group->threads,
						   SETTLE_PASSES, KEEP_PASSES);
		}
		lock_release(&sampler->lock);
		wait_ms = take_shot(sampler);
	}
	return NULL;
}

static void wake_perf_thread(struct cpu_sampler *sampler)
{
	uint64_t one = 1;

	(void)!write(sampler->wake_fd, &one, sizeof(one));
}

/* --- start and end ------------------------------------------------------- */

static long sysctl_number(const char *name, long otherwise)
{
	char path[96];
	long value = otherwise;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/sys/kernel/%s", name);
	file = fopen(path, "re");
	if (file) {
		if (fscanf(file, "%ld", &value) != 1)
			value = otherwise;
		fclose(file);
	}
	return value;
}

uint32_t cpu_permitted_hz(uint32_t hz)
{
	long most = sysctl_number("perf_event_max_sample_rate", CPU_HZ_MAX);

	if (most > 0 && hz > (uint64_t)most) {
		log_warn("the kernel allows %ld samples a second, not %u "
			 "(sysctl kernel.perf_event_max_sample_rate)",
			 most, hz);
		hz = (uint32_t)most;
	}
	return hz;
}

/* Opens the buffers of the tree first: the others take the rest of the memory
 * that this user may lock. If there is room for only one set, the tree goes
 * without: it only adds the CPU time of programs without a hello. */
static int open_all_buffers(struct cpu_sampler *sampler)
{
	const struct perf_wanted tree = { .tree = true };
	int err;

	if (sampler->wanted.switches &&
	    sampler->collector->options->control_fd >= 0)
		(void)perf_buffers_new(&tree, &sampler->tree_buffers);
	err = perf_buffers_new(&sampler->wanted, &sampler->buffers);
	if (err != -EPERM || !sampler->tree_buffers)
		return err;
	perf_buffers_free(&sampler->tree_buffers);
	return perf_buffers_new(&sampler->wanted, &sampler->buffers);
}

static int open_wakings(struct cpu_sampler *sampler)
{
	struct perf_event_attr attr;
	int err = perf_wakings_attributes(&attr);

	return err ? err
		   : perf_events_open_wakings(&sampler->wakings,
					      sampler->buffers, &attr);
}

static int start_perf_thread(struct cpu_sampler *sampler)
{
	int err;

	sampler->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (sampler->wake_fd < 0)
		return -errno;
	sampler->wanted.no_kernel = !perf_events_kernel();
	sampler->wanted.kernel_stacks = sampler->collector->options->kernel &&
					!sampler->wanted.no_kernel &&
					kernel_names_are_shown();
	sampler->cpus = (size_t)sysconf(_SC_NPROCESSORS_CONF);
	sampler->shot_of_cpu =
		calloc(sampler->cpus, sizeof(*sampler->shot_of_cpu));
	if (!sampler->shot_of_cpu)
		return -ENOMEM;
	err = open_all_buffers(sampler);
	if (!err && sampler->wanted.wakings)
		err = open_wakings(sampler);
	if (err)
		return err;
	err = -pthread_create(&sampler->thread, NULL, perf_thread, sampler);
	sampler->started = !err;
	return err;
}

int cpu_sampler_new(struct collector *collector, struct cpu_sampler **out)
{
	const struct collect_options *options = collector->options;
	struct cpu_sampler *sampler;
	bool samples = options->cpu_hz && options->cpu_engine == CPU_PERF;
	int err;

	*out = NULL;
	if (!samples && !options->sched && !options->faults &&
	    !collector->counters)
		return 0;
	sampler = calloc(1, sizeof(*sampler));
	if (!sampler)
		return -ENOMEM;
	sampler->collector = collector;
	if (samples)
		sampler->wanted.period_ns = 1000000000 / options->cpu_hz;
	sampler->wanted.switches = options->sched;
	sampler->wanted.wakings = options->kernel_wakers;
	sampler->wanted.faults = options->faults;
	sampler->wanted.counters = collector->counters;
	sampler->wanted.stack_bytes = options->stack_bytes;
	sampler->wake_fd = -1;
	lock_init(&sampler->lock, LOCK_CPU_SAMPLER);
	err = start_perf_thread(sampler);
	if (err)
		cpu_sampler_free(&sampler);
	*out = sampler;
	return err;
}

void cpu_tree_start(struct cpu_sampler *sampler, struct recording *recording,
		    pid_t pid)
{
	const struct recording_setup *setup = recording_setup(recording);
	struct perf_wanted wanted = { .tree = true };
	struct perf_events events = { 0 };
	struct perf_buffers *buffers;

	if (!sampler || !setup->cpu_account || sampler->account)
		return;
	wanted.no_kernel = sampler->wanted.no_kernel;
	buffers = sampler->wanted.switches ? sampler->tree_buffers
					   : sampler->buffers;
	if (!buffers)
		return;
	if (perf_events_open(&events, buffers, &wanted, pid) < 0)
		return;
	cpu_account_root(setup->cpu_account, pid, (uint32_t)events.count);
	lock_acquire(&sampler->lock);
	sampler->tree = events;
	sampler->account = setup->cpu_account;
	lock_release(&sampler->lock);
	perf_events_enable(&events, true);
	/* relaxed: a hint, and the eventfd orders it */
	atom_add_rlx(&sampler->group_count, 1);
	wake_perf_thread(sampler);
}

void cpu_sampler_free(struct cpu_sampler **sampler)
{
	struct cpu_sampler *old = *sampler;

	*sampler = NULL;
	if (!old)
		return;
	if (old->started) {
		/* relaxed: wake_fd orders it */
		atom_store_rlx(&old->closing, true);
		wake_perf_thread(old);
		pthread_join(old->thread, NULL);
	}
	/* Like cpu_group_free(). No other thread reads any more. */
	if (old->account) {
		perf_events_enable(&old->tree, false);
		cpu_account_total(old->account, perf_events_total(&old->tree));
		pull_locked(old);
		perf_events_close(&old->tree);
	}
	perf_events_close(&old->wakings);
	perf_buffers_free(&old->buffers);
	perf_buffers_free(&old->tree_buffers);
	if (old->wake_fd >= 0)
		close(old->wake_fd);
	lock_destroy(&old->lock);
	free(old->owner);
	free(old->shot_of_cpu);
	free(old);
}

/* --- groups -------------------------------------------------------------- */

void cpu_explain(struct recording *recording, int err)
{
	long paranoid = sysctl_number("perf_event_paranoid", -1);
	char text[256];

	if ((err == -EACCES || err == -EPERM) && paranoid > 2)
		snprintf(text, sizeof(text),
			 "no CPU samples: perf_event_open is not permitted "
			 "(kernel.perf_event_paranoid is %ld): use "
			 "--cpu=99,signal, or sysctl "
			 "kernel.perf_event_paranoid=2",
			 paranoid);
	else if (err == -EACCES || err == -EPERM)
		snprintf(text, sizeof(text),
			 "no CPU samples: perf_event_open is not permitted "
			 "here (a container's filter, or not our program): "
			 "use --cpu=99,signal");
	else if (err == -ENOSYS || err == -ENOENT || err == -EOPNOTSUPP)
		snprintf(text, sizeof(text),
			 "no CPU samples: the kernel has no perf_event_open: "
			 "use --cpu=99,signal");
	else if (err == -EMFILE || err == -ENFILE)
		snprintf(text, sizeof(text),
			 "no CPU samples of all programs: too many files are "
			 "open (see ulimit -n), or use --cpu=99,signal");
	else
		snprintf(text, sizeof(text),
			 "no CPU samples: perf_event_open: %s (or use "
			 "--cpu=99,signal)",
			 strerror(-err));
	recording_note(recording, text);
}

/* Returns how many events one more program may have. Each takes a
 * descriptor. */
static size_t events_allowed(struct cpu_sampler *sampler)
{
	struct rlimit files = { 0 };
	size_t most, all, used;

	getrlimit(RLIMIT_NOFILE, &files);
	most = (size_t)MIN(files.rlim_cur, (rlim_t)UINT32_MAX);
	all = most / ALL_FILES_PART;
	/* A single program may use the share of all. */
	most = sampler->collector->recording ? all : most / PROGRAM_FILES_PART;
	lock_acquire(&sampler->lock);
	used = sampler->owners;
	lock_release(&sampler->lock);
	return MIN(most, all - MIN(all, used));
}

static size_t list_tasks(pid_t pid, pid_t *tid, size_t room)
{
	struct dirent *entry;
	size_t count = 0;
	char path[64];
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		if (count < room)
			tid[count] = atoi(entry->d_name);
		count++;
	}
	if (dir)
		closedir(dir);
	return count;
}

/* Opens events for the existing threads of @pid, within the limits. Threads
 * created later inherit them, even during this loop. */
static int open_tasks(struct cpu_group *group, pid_t pid)
{
	struct cpu_sampler *sampler = group->sampler;
	size_t allowed = events_allowed(sampler);
	size_t opened = 0, count, last = 0;
	pid_t tid[TASKS_MAX];
	int err = 0;
	char text[192];

	count = list_tasks(pid, tid, TASKS_MAX);
	for (size_t i = 0;
	     i < MIN(count, (size_t)TASKS_MAX) && (!err || err == -ESRCH) &&
	     group->events.count + last <= allowed;
	     i++) {
		size_t before = group->events.count;

		err = perf_events_open(&group->events, sampler->buffers,
				       &sampler->wanted, tid[i]);
		if (err)
			continue;
		last = group->events.count - before;
		cpu_threads_add_first(&group->threads, pid, tid[i]);
		opened++;
	}
	if (err && err != -ESRCH)
		return err;
	if (!opened)
		return err ? err : count ? -EMFILE : -ESRCH;
	if (opened < count &&
	    (count > TASKS_MAX || group->events.count + last > allowed)) {
		snprintf(text, sizeof(text),
			 "some threads have no CPU samples and no switches: "
			 "perfrec observes only %zu of the %zu threads that "
			 "existed at the start",
			 opened, count);
		recording_note(group->recording, text);
	}
	return 0;
}

static int add_owners(struct cpu_sampler *sampler, struct cpu_group *group)
{
	if (grow_array(sampler->owner, sampler->owner_room,
		       sampler->owners + group->events.count))
		return -ENOMEM;
	/* The kernel's ids only grow, so the array stays sorted. */
	for (size_t i = 0; i < group->events.count; i++) {
		const struct perf_event *event = &group->events.event[i];

		sampler->owner[sampler->owners++] =
			(struct event_owner){ event->id, group, event->kind,
					      event->number };
	}
	group->next = sampler->groups;
	sampler->groups = group;
	group->turn.group = group;
	turns_add(&sampler->turns, &group->turn);
	return 0;
}

/* Joins the trace of the recording of @group; the first group makes it. Without
 * memory the timeline has no switches. Under the lock. */
static void join_trace(struct cpu_sampler *sampler, struct cpu_group *group)
{
	struct group_trace *trace = sampler->traces;

	if (!sampler->wanted.switches)
		return;
	while (trace && trace->recording != group->recording)
		trace = trace->next;
	if (!trace) {
		trace = calloc(1, sizeof(*trace));
		if (!trace)
			return;
		if (sched_trace_new(group->recording, &trace->sched) < 0) {
			free(trace);
			return;
		}
		trace->recording = group->recording;
		trace->next = sampler->traces;
		sampler->traces = trace;
	}
	trace->groups++;
	group->trace = trace;
	group->turn.taken = &trace->taken;
}

/* Leaves the trace of the recording; the last group frees it. Under the
 * lock. */
static void leave_trace(struct cpu_sampler *sampler, struct cpu_group *group)
{
	struct group_trace **link = &sampler->traces, *trace = group->trace;

	group->trace = NULL;
	if (!trace || --trace->groups)
		return;
	while (*link != trace)
		link = &(*link)->next;
	*link = trace->next;
	sched_trace_free(&trace->sched, clock_boottime_ns());
	free(trace);
}

/* Begins to sample @process. The events are enabled only after the group is
 * known as their owner: records without an owner are dropped. */
static int begin_group(struct cpu_group *group, struct process *process)
{
	struct cpu_sampler *sampler = group->sampler;
	struct totals *totals;
	int err;

	err = cpu_threads_init(&group->threads, process, &sampler->wanted,
			       sampler->buffers->count);
	if (!err)
		err = open_tasks(group, process_setup(process)->pid);
	if (!err && !proc_is_of_user(process_setup(process)->pid,
				     process_setup(process)->arena_setup->uid))
		err = -EPERM;
	if (err)
		return err;
	totals = recording_lock(group->recording);
	totals->faults |= sampler->wanted.faults;
	totals->counters = sampler->wanted.counters;
	recording_unlock(group->recording);
	perf_counters_explain(group->recording, group->events.refused,
			      group->events.refused_err);
	lock_acquire(&sampler->lock);
	err = add_owners(sampler, group);
	if (!err)
		join_trace(sampler, group);
	/* The events of the previous image ended with its exec (perf_open.c),
	 * perhaps while it was on a CPU: no record shows that it left. */
	if (!err && group->trace) {
		pull_locked(sampler);
		sched_trace_gone(group->trace->sched, -1,
				 process_setup(process)->pid);
	}
	lock_release(&sampler->lock);
	if (!err) {
		perf_events_enable(&sampler->wakings, true);
		perf_events_enable(&group->events, true);
	}
	return err;
}

struct cpu_group *cpu_group_new(struct cpu_sampler *sampler,
				struct process *process)
{
	struct recording *recording =
		process_setup(process)->arena_setup->recording;
	struct cpu_group *group = calloc(1, sizeof(*group));
	int err = -ENOMEM;

	if (group) {
		group->sampler = sampler;
		group->recording = recording_get(recording);
		err = begin_group(group, process);
	}
	if (!err) {
		/* relaxed: a hint, and the eventfd orders it */
		if (!atom_add_rlx(&sampler->group_count, 1))
			wake_perf_thread(sampler);
		return group;
	}
	if (err == -EACCES || err == -EPERM)
		recording_note(
			recording,
			"some processes have no CPU samples: the kernel "
			"permits no perf_event_open on them (they run as "
			"another user, or are not dumpable)");
	else if (err != -ESRCH) /* An ended process has nothing to sample. */
		cpu_explain(recording, err);
	if (group) {
		perf_events_close(&group->events);
		cpu_threads_release(&group->threads);
		recording_put(&group->recording);
		free(group);
	}
	return NULL;
}

void cpu_group_free(struct cpu_group **group)
{
	struct cpu_group *old = *group, **link;
	struct cpu_sampler *sampler;
	size_t kept = 0;
	uint64_t total;

	*group = NULL;
	if (!old)
		return;
	sampler = old->sampler;
	/* Stop, then count, then read: the buffers then have at most the
	 * counted time. */
	perf_events_enable(&old->events, false);
	total = perf_events_total(&old->events);
	lock_acquire(&sampler->lock);
	pull_locked(sampler);
	turns_remove(&sampler->turns, &old->turn);
	for (size_t i = 0; i < sampler->owners; i++)
		if (sampler->owner[i].group != old)
			sampler->owner[kept++] = sampler->owner[i];
	sampler->owners = kept;
	link = &sampler->groups;
	while (*link && *link != old)
		link = &(*link)->next;
	if (*link)
		*link = old->next;
	leave_trace(sampler, old);
	lock_release(&sampler->lock);
	/* relaxed: a hint */
	atom_add_rlx(&sampler->group_count, -1u);
	if (!sampler->groups)
		perf_events_enable(&sampler->wakings, false);
	perf_events_close(&old->events);
	cpu_threads_finish(&old->threads, total);
	recording_lock(old->recording)->sched.lost_records += old->lost;
	recording_unlock(old->recording);
	cpu_threads_release(&old->threads);
	recording_put(&old->recording);
	free(old);
}

void cpu_sampler_flush(struct cpu_sampler *sampler,
		       const struct recording *recording)
{
	const struct group_trace *trace;

	if (!sampler || !sampler->wanted.switches)
		return;
	lock_acquire(&sampler->lock);
	pull_locked(sampler);
	for (trace = sampler->traces; trace; trace = trace->next)
		if (trace->recording == recording)
			sched_trace_flush(trace->sched);
	lock_release(&sampler->lock);
}

struct pause_moment {
	struct sched_trace *sched;
	uint64_t ns;
};

static void end_state(void *context, pid_t tid, int cpu)
{
	const struct pause_moment *now = context;

	sched_trace_unknown(now->sched, cpu, tid, now->ns);
}

void cpu_group_pause(struct cpu_group *group, bool paused)
{
	struct cpu_sampler *sampler;
	struct cpu_account *account;
	struct pause_moment now;

	if (!group)
		return;
	sampler = group->sampler;
	lock_acquire(&sampler->lock);
	group->paused = paused;
	lock_release(&sampler->lock);
	perf_events_enable(&group->events, !paused);
	if (!paused)
		return;
	/* All states are unknown while the events are stopped. Were it reported
	 * as lost records, Perfetto would draw the last state of each thread
	 * until its next switch. */
	lock_acquire(&sampler->lock);
	pull_locked(sampler);
	now.ns = clock_boottime_ns();
	if (group->trace) {
		now.sched = group->trace->sched;
		cpu_threads_each_known(&group->threads, end_state, &now);
	}
	cpu_threads_lose(&group->threads, now.ns);
	lock_release(&sampler->lock);
	account = recording_setup(group->recording)->cpu_account;
	if (account)
		cpu_account_paused(account);
}
