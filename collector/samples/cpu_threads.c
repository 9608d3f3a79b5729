/* SPDX-License-Identifier: Apache-2.0
 *
 * cpu_threads - every thread in the kernel's records, from its first record
 * until it is settled. The records of one thread may be in the buffers of
 * several CPUs, so the record of its end may be read before its last samples.
 * Therefore a thread is settled some passes after its end.
 *
 * How long a thread ran. A sample stands for a whole period. The time of a
 * thread is the kernel's count (READ, when the thread ends), and its samples
 * are scaled to that (samples_total()). A thread without a sample, whose
 * process has some, is a short thread of that process. A process without any
 * sample is not in the profile, but in the account of the recording
 * (cpu_account.h).
 *
 * Silent threads. When two threads with equal events follow each other on a
 * CPU, the kernel swaps their events instead of switching them. Some events are
 * inherited, and some were opened by the collector, for the threads that
 * existed at hello. A thread that has an opened event at its end ends without a
 * READ. So there are as many silent threads as threads at hello, but not the
 * same ones. Silent threads stay until sampling ends. Then their time is known:
 * the opened events have the time of all threads, less the time that the other
 * threads reported. A thread has one READ per CPU; if the kernel dropped some,
 * the thread counts as silent.
 *
 * If the kernel reports switches, there is no READ (perf_open.c): a thread ran
 * from each switch to it until the next one away from it. It is silent if some
 * of these were lost, if it ran at hello, or if it went on as another image
 * without the end of its events.
 *
 * Exec. The kernel ends the events of a thread that calls exec()
 * (remove_on_exec), without a record. The thread would stay in its last state,
 * on a CPU. Events of the tree of processes go on (cpu_samples.c) and report
 * the exec: the thread ends there. A daemon has no tree; there the time since
 * the last event of such a thread is unknown.
 *
 * Displaced samples. With its events a thread also passes on the rest of its
 * period, so the other thread gets its next sample. A thread that ran for a
 * period without a sample has lost it that way. The samples of its process then
 * stand for its time as well.
 */
#include "collector/samples/cpu_threads.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/clock.h"
#include "collector/base/grow.h"
#include "collector/base/perf_open.h"
#include "collector/base/proc.h"
#include "collector/base/task_times.h"
#include "collector/names/map_log.h"
#include "collector/names/modules.h"
#include "collector/names/symbols.h"
#include "collector/record/arena.h"
#include "collector/record/collector.h"
#include "collector/record/cpu_account.h"
#include "collector/record/process.h"
#include "collector/record/recording.h"
#include "collector/replay/kernel_event.h"
#include "collector/replay/kernel_events.h"
#include "collector/samples/cpu_blocked.h"
#include "collector/samples/perf_record.h"
#include "collector/samples/samples.h"
#include "shared/compiler.h"

#define CHAINS_MIN 64u
#define FIRST_LOOKS 20
/* Shorter waits have no waker: they are not in the trace. */
#define WOKEN_NS_MIN 10000u
/* A thread may be woken that much before the record of its sleep. */
#define WOKEN_EARLY_NS 20000u
/* More silent threads mean lost records, and with them lost times of
 * threads. */
#define SILENT_MAX 4096u
/* Children without a sample that are kept until samples of other children stand
 * for their time. Further children count as short processes of the account at
 * once. */
#define UNSAMPLED_MAX 4096u

struct cpu_process {
	struct cpu_process *next;
	pid_t pid;
	struct modules *modules; /* a reference; NULL: not needed yet */
	struct samples *samples; /* a reference; NULL: no sample yet */
	struct map_log *log; /* a reference, or NULL */
	pid_t inner_pid; /* its id in the log */
	size_t log_index;
	uint32_t generation; /* from the log, when last read */
	uint32_t threads; /* not forgotten yet */
	bool execed; /* runs another image: not ours */
	bool left; /* its time goes on in another image */
	bool sampled;
	uint64_t posted_ns; /* of threads with samples */
	uint64_t short_ns; /* of threads too short for a sample */
	uint64_t displaced_ns; /* of longer threads without samples */
	uint64_t shots_ns; /* part of posted_ns: threads with shots only */
	uint32_t shots; /* samples of those shots */
	char name[16];
};

struct cpu_thread {
	struct cpu_thread *next;
	struct cpu_process *process;
	pid_t tid;
	char name[16];
	bool first; /* existed at hello */
	bool told; /* all its time is known */
	bool ended, settled;
	uint64_t exit_ns; /* its end; UINT64_MAX: not ended */
	bool silent; /* ended without all its time, and kept */
	uint32_t passes; /* since its end */
	uint32_t reads; /* READ records so far */
	uint64_t sampled_ns, counted_ns;
	uint64_t owed_ns; /* its part of owed_ns of all threads */
	uint32_t shots; /* samples from shots */
	bool missed; /* some of its switches are unknown */
	/* Start of its stretch on a CPU; 0: off the CPU, or unknown. */
	uint64_t on_ns;
	struct kernel_events events;
	uint32_t losses; /* of cpu_loss, already pushed to events */
	/* Its last wait, if the kernel reports switches: */
	int on_cpu; /* its CPU, if on_ns is not 0 */
	bool is_blocked; /* off the CPU, in a wait */
	/* The link to it in the list of blocked threads; NULL: not listed. */
	struct cpu_thread **blocked_link;
	uint64_t off_ns; /* start of its time off the CPU */
	struct sample *wait; /* known object of the wait, or NULL */
	struct cpu_waker {
		uint64_t ns; /* 0: none since it ran */
		pid_t pid, tid;
		bool in_interrupt;
		char name[16];
	} waker;
	struct cpu_thread *next_blocked;
};

/* --- lists --------------------------------------------------------------- */

static struct cpu_process *find_cpu_process(const struct cpu_threads *threads,
					    pid_t pid)
{
	struct cpu_process *process = threads->processes;

	while (process && process->pid != pid)
		process = process->next;
	return process;
}

/* Returns the process @pid, and adds it if it is new. NULL: out of memory. */
static struct cpu_process *process_at(struct cpu_threads *threads, pid_t pid)
{
	struct cpu_process *process = find_cpu_process(threads, pid), *first;

	if (process)
		return process;
	process = calloc(1, sizeof(*process));
	if (!process)
		return NULL;
	first = threads->first;
	process->pid = process->inner_pid = pid;
	process->generation = first->generation;
	memcpy(process->name, first->name, sizeof(process->name));
	process->next = threads->processes;
	threads->processes = process;
	return process;
}

static void process_release(struct cpu_process *process)
{
	if (process->samples)
		samples_put(&process->samples);
	if (process->modules)
		modules_put(&process->modules);
	if (process->log)
		map_log_put(&process->log);
	free(process);
}

static struct cpu_thread **thread_chain(const struct cpu_threads *threads,
					pid_t tid)
{
	return &threads->table[(uint32_t)tid & threads->mask];
}

static struct cpu_thread *find_thread(const struct cpu_threads *threads,
				      pid_t tid)
{
	struct cpu_thread *thread = *thread_chain(threads, tid), *old = NULL;

	/* An ended thread may have left its id to another. */
	for (; thread; thread = thread->next) {
		if (thread->tid == tid && !thread->ended)
			return thread;
		if (thread->tid == tid && !old)
			old = thread;
	}
	return old;
}

/* Returns the thread that had the id @tid at @ns. If none is known, returns the
 * thread that has it now. */
static struct cpu_thread *find_thread_at(const struct cpu_threads *threads,
					 pid_t tid, uint64_t ns)
{
	struct cpu_thread *thread = *thread_chain(threads, tid), *first = NULL;

	for (; thread; thread = thread->next)
		if (thread->tid == tid && thread->exit_ns >= ns &&
		    (!first || thread->exit_ns < first->exit_ns))
			first = thread;
	return first ? first : find_thread(threads, tid);
}

static void grow_thread_table(struct cpu_threads *threads)
{
	struct cpu_threads bigger = { .mask = 2 * threads->mask + 1 };
	struct cpu_thread *next;

	bigger.table = calloc(bigger.mask + 1, sizeof(*bigger.table));
	if (!bigger.table)
		return;
	for (uint32_t i = 0; i <= threads->mask; i++)
		for (struct cpu_thread *thread = threads->table[i]; thread;
		     thread = next) {
			struct cpu_thread **to =
				thread_chain(&bigger, thread->tid);

			next = thread->next;
			thread->next = *to;
			*to = thread;
		}
	free(threads->table);
	threads->table = bigger.table;
	threads->mask = bigger.mask;
}

static struct cpu_thread *new_thread(struct cpu_threads *threads, pid_t pid,
				     pid_t tid)
{
	struct cpu_process *process = process_at(threads, pid);
	struct cpu_thread *thread = process ? calloc(1, sizeof(*thread)) : NULL;
	struct cpu_thread **chain;

	if (!thread)
		return NULL;
	if (threads->count++ > threads->mask)
		grow_thread_table(threads);
	chain = thread_chain(threads, tid);
	thread->tid = tid;
	thread->exit_ns = UINT64_MAX;
	thread->process = process;
	memcpy(thread->name, process->name, sizeof(thread->name));
	kernel_events_init(&thread->events,
			   recording_setup(threads->recording)->budget);
	thread->losses = threads->loss.count;
	process->threads++;
	thread->next = *chain;
	*chain = thread;
	return thread;
}

static struct cpu_thread *thread_at(struct cpu_threads *threads, pid_t pid,
				    pid_t tid)
{
	struct cpu_thread *thread = find_thread(threads, tid);

	if (thread && thread->process->pid == pid)
		return thread;
	return new_thread(threads, pid, tid);
}

static void unlist_blocked(struct cpu_threads *threads,
			   struct cpu_thread *thread)
{
	struct cpu_thread *next = thread->next_blocked;

	if (!thread->blocked_link)
		return;
	*thread->blocked_link = next;
	if (next)
		next->blocked_link = thread->blocked_link;
	else
		threads->blocked_end = thread->blocked_link;
	thread->blocked_link = NULL;
}

/* Returns the CPU time of @thread so far in ns, or 0 if it ended. */
static uint64_t read_runtime(const struct cpu_thread *thread)
{
	char file[48], text[128];

	snprintf(file, sizeof(file), "task/%d/schedstat", (int)thread->tid);
	if (!proc_read(thread->process->pid, file, text, sizeof(text)))
		return 0;
	return strtoull(text, NULL, 10);
}

/* Extends @track until now: the events of @thread have not ended. A thread that
 * ran at its last event may have called exec() then, so /proc must confirm its
 * running time. */
static void look_now(const struct cpu_thread *thread, struct sched_track *track)
{
	struct sched_stretches *sums = &track->sums;
	const struct sched_base *base = &track->base;
	struct sched_step step = sched_track_look(track, clock_boottime_ns());
	uint64_t ran, since, unseen;

	if (step.state != SCHED_RUNS)
		return;
	ran = read_runtime(thread);
	ran = base->known ? ran - MIN(ran, base->on_ns) : ran;
	since = base->known ? sums->on_ns - base->at.on_ns : sums->on_ns;
	unseen = MIN(since - MIN(since, ran), step.ns);
	sums->on_ns -= unseen;
	sums->unknown_ns += unseen;
}

/* Adds the times of @thread to the totals of the recording. It has recorded
 * nothing, so no drain worker has taken its events. */
static void tell_silent(const struct cpu_threads *threads,
			const struct cpu_thread *thread)
{
	struct sched_track track = kernel_events_sum(&thread->events);
	struct sched_totals *sched;

	if (track.state == SCHED_NONE)
		return;
	if (!thread->ended)
		look_now(thread, &track);
	sched = &recording_lock(threads->recording)->sched;
	sched->silent_threads++;
	sched->silent_on_ns += track.sums.on_ns;
	sched->silent_runnable_ns += track.sums.preempted_ns;
	sched->silent_blocked_ns += track.sums.blocked_ns;
	sched->silent_unknown_ns += track.sums.unknown_ns;
	recording_unlock(threads->recording);
}

static void forget_thread(struct cpu_threads *threads, struct cpu_thread **link)
{
	struct cpu_thread *thread = *link;
	struct cpu_process *process = thread->process, **of;

	if (threads->switches && !thread->events.wanted)
		tell_silent(threads, thread);
	*link = thread->next;
	threads->count--;
	threads->silent -= thread->silent;
	/* The first process stays. */
	if (!--process->threads && process->next) {
		for (of = &threads->processes; *of != process;)
			of = &(*of)->next;
		*of = process->next;
		process_release(process);
	}
	unlist_blocked(threads, thread);
	free(thread->wait);
	kernel_events_release(&thread->events);
	free(thread);
}

/* --- events -------------------------------------------------------------- */

/* Pushes the losses that @thread has not got yet: from the oldest on, its state
 * is unknown. */
static void tell_losses(const struct cpu_threads *threads,
			struct cpu_thread *thread)
{
	const struct cpu_loss *loss = &threads->loss;
	const uint32_t kept = ARRAY_SIZE(loss->from_ns);
	struct kernel_event unknown = { .kind = KERNEL_UNKNOWN };

	if (likely(thread->losses == threads->loss.count))
		return;
	/* A loss may be overwritten. */
	unknown.ns = loss->count - thread->losses > kept
			     ? thread->events.last_ns
			     : loss->from_ns[thread->losses % kept];
	thread->losses = threads->loss.count;
	kernel_events_push(&thread->events, &unknown);
	thread->is_blocked = false;
	thread->missed = true;
	thread->on_ns = 0;
}

static void push_event(const struct cpu_threads *threads,
		       struct cpu_thread *thread, enum kernel_event_kind kind,
		       uint64_t ns, uint64_t value)
{
	const struct kernel_event event = { .ns = ns,
					    .value = value,
					    .kind = (uint8_t)kind };

	tell_losses(threads, thread);
	kernel_events_push(&thread->events, &event);
}

/* --- start and end ------------------------------------------------------- */

int cpu_threads_init(struct cpu_threads *threads, const struct process *process,
		     const struct perf_wanted *wanted, size_t reads)
{
	const struct process_setup *setup = process_setup(process);
	struct cpu_process *first = calloc(1, sizeof(*first));

	*threads = (struct cpu_threads){
		.sampler = setup->collector->sampler,
		.recording = setup->arena_setup->recording,
		.period_ns = wanted->period_ns,
		.no_kernel = wanted->no_kernel,
		.switches = wanted->switches,
		.reads = reads,
		.begun_ns = clock_boottime_ns(),
		.mask = CHAINS_MIN - 1,
		.table = calloc(CHAINS_MIN, sizeof(*threads->table)),
		.processes = first,
		.first = first,
	};
	if (!first || !threads->table)
		return -ENOMEM;
	first->pid = setup->pid;
	first->inner_pid = setup->inner_pid;
	first->modules = modules_get(setup->modules);
	if (setup->samples)
		first->samples = samples_get(setup->samples);
	if (setup->arena_setup->map_log)
		first->log = map_log_get(setup->arena_setup->map_log);
	memcpy(first->name, setup->entry->name, sizeof(first->name));
	return 0;
}

void cpu_threads_release(struct cpu_threads *threads)
{
	struct cpu_process *next;

	for (uint32_t i = 0; threads->table && i <= threads->mask; i++)
		while (threads->table[i])
			forget_thread(threads, &threads->table[i]);
	for (struct cpu_process *process = threads->processes; process;
	     process = next) {
		next = process->next;
		process_release(process);
	}
	free(threads->table);
	free(threads->unsampled);
	*threads = (struct cpu_threads){ 0 };
}

/* Sets the state and counts of a thread that existed at hello. The state of a
 * running thread is unknown until its first switch. */
static void begin_first(const struct cpu_threads *threads,
			struct cpu_thread *thread)
{
	int looks = threads->count == 1 ? FIRST_LOOKS : 1, err;
	struct task_times times;
	uint64_t now;
	bool waits;

	thread->missed = true;
	/* The first thread waits for the reply to its hello, or is about to: a
	 * few looks find it blocked. */
	do {
		err = task_times_read(thread->process->pid, thread->tid,
				      &times);
	} while (!err && times.state == 'R' && --looks && !sched_yield());
	if (err)
		return;
	now = clock_boottime_ns();
	/* A stopped thread waits for SIGCONT or its tracer. */
	waits = times.state && strchr("SDTt", times.state);
	thread->missed = !waits;
	push_event(threads, thread, waits ? KERNEL_BLOCKED : KERNEL_UNKNOWN,
		   now, 0);
	if (!times.has_delay)
		return;
	push_event(threads, thread, KERNEL_DELAY, now, times.delay_ns);
	push_event(threads, thread, KERNEL_ANCHOR, now, times.on_cpu_ns);
}

void cpu_threads_add_first(struct cpu_threads *threads, pid_t pid, pid_t tid)
{
	struct cpu_thread *thread = thread_at(threads, pid, tid);
	char name[32], file[48];

	if (!thread)
		return;
	thread->first = true;
	if (threads->switches)
		begin_first(threads, thread);
	snprintf(file, sizeof(file), "task/%d/comm", (int)tid);
	if (!proc_read(pid, file, name, sizeof(name)))
		return;
	name[strcspn(name, "\n")] = '\0';
	snprintf(thread->name, sizeof(thread->name), "%.15s", name);
}

/* --- samples ------------------------------------------------------------- */

/* Returns the samples of @process; those of a child are made at its first
 * sample. NULL: sampling is off, or out of memory. */
static struct samples *samples_of(struct cpu_threads *threads,
				  struct cpu_process *process)
{
	struct cpu_process *first = threads->first;

	if (process->samples || !first->samples)
		return process->samples;
	if (!process->modules &&
	    modules_fork(first->modules, process->pid, process->inner_pid,
			 process->generation, &process->modules) < 0)
		return NULL;
	if (first->log)
		process->log = map_log_get(first->log);
	if (samples_new(threads->sampler, threads->recording, process->modules,
			process->pid, process->name, &process->samples) < 0)
		return NULL;
	return process->samples;
}

/* Returns the current generation of the load map. It is close enough to that of
 * the sample. */
static uint32_t generation_of(struct cpu_process *process)
{
	struct map_event event;

	if (!process->log)
		return process->generation;
	map_log_read(process->log);
	while (map_log_next(process->log, process->inner_pid,
			    &process->log_index, &event))
		if (event.kind == MAP_UNLOAD)
			process->generation = event.generation;
	return process->generation;
}

/* Fills in a new @sample, which may be NULL, of @thread. Returns it. */
static struct sample *fill_sample(struct sample *sample,
				  struct cpu_process *process,
				  const struct cpu_thread *thread, uint64_t ns)
{
	if (!sample)
		return NULL;
	sample->tid = thread->tid;
	memcpy(sample->thread, thread->name, sizeof(sample->thread));
	sample->ns = ns;
	sample->generation = generation_of(process);
	return sample;
}

void cpu_threads_counted(struct cpu_threads *threads,
			 const struct perf_record *record,
			 enum kernel_event_kind kind, uint8_t flag)
{
	struct cpu_thread *thread =
		thread_at(threads, record->pid, record->tid);
	const struct kernel_event event = { .ns = record->ns,
					    .value = record->value,
					    .kind = (uint8_t)kind,
					    .flag = flag };

	if (!thread || thread->process->execed)
		return;
	tell_losses(threads, thread);
	kernel_events_push(&thread->events, &event);
}

/* Returns true if swaps may have moved the samples for @ns of CPU time out
 * of a thread: each thread that ends without a sample takes away a part of a
 * period. */
static bool swaps_may_lose(const struct cpu_threads *threads, uint64_t ns)
{
	return threads->unsampled_ends * threads->period_ns >= ns;
}

/* Returns true if at least two periods of CPU time of @thread have no sample,
 * and either it has none yet, or swaps moved its samples to threads that have
 * ended. Otherwise it ran in a hidden kernel, or while the host had the CPU. */
static bool lacks_samples(const struct cpu_threads *threads,
			  const struct cpu_thread *thread)
{
	uint64_t rest = thread->counted_ns -
			MIN(thread->counted_ns, thread->sampled_ns);

	return rest >= 2 * threads->period_ns &&
	       (!thread->sampled_ns || swaps_may_lose(threads, rest));
}

/* Updates what @thread adds to owed_ns of all threads: its time without
 * samples. If it has @ended without a sample, that is its whole time. */
static void owe_samples(struct cpu_threads *threads, struct cpu_thread *thread,
			bool ended)
{
	uint64_t owed = 0;

	if (lacks_samples(threads, thread))
		owed = thread->counted_ns - thread->sampled_ns;
	else if (ended && !thread->sampled_ns)
		owed = thread->counted_ns;
	threads->unsampled_ends += ended && !thread->sampled_ns;
	if (owed <= thread->owed_ns)
		return;
	threads->owed_ns += (int64_t)(owed - thread->owed_ns);
	thread->owed_ns = owed;
}

static void count_stretch(struct cpu_threads *threads,
			  struct cpu_thread *thread, uint64_t ns)
{
	uint64_t ran = thread->on_ns ? ns - MIN(ns, thread->on_ns) : 0;

	thread->on_ns = 0;
	thread->counted_ns += ran;
	threads->counted_ns += ran;
	if (threads->period_ns)
		owe_samples(threads, thread, false);
}

static void count_until(struct cpu_threads *threads, struct cpu_thread *thread,
			uint64_t ns)
{
	if (!thread->on_ns || ns <= thread->on_ns)
		return;
	count_stretch(threads, thread, ns);
	thread->on_ns = ns;
}

/* Posts the sample in @record. Returns false if it was not posted; then its
 * time stays in the rest. */
static bool post_cpu_sample(struct cpu_threads *threads,
			    struct cpu_thread *thread,
			    const struct perf_record *record)
{
	uint32_t bytes = record->has_user ? record->stack_bytes : 0;
	struct samples *samples = samples_of(threads, thread->process);
	struct sample *sample;
	const struct kernel_event event = { .ns = record->ns,
					    .value = 1,
					    .kind = KERNEL_TICK,
					    .flag = record->in_kernel };

	tell_losses(threads, thread);
	kernel_events_push(&thread->events, &event);
	if (!samples)
		return false;
	sample = fill_sample(record->in_kernel
				     ? sample_new_kernel(bytes, record->kernel,
							 record->kernel_count)
				     : sample_new(bytes),
			     thread->process, thread, record->ns);
	if (!sample)
		return false;
	thread->process->sampled = true;
	sample->kind = record->in_kernel ? SAMPLE_KERNEL : SAMPLE_CPU;
	sample->count = 1;
	sample->weight_ns = threads->period_ns;
	if (!record->has_user)
		sample->flags = SAMPLE_NO_STACK;
	else if (bytes && bytes >= record->stack_asked)
		sample->flags = SAMPLE_STACK_CUT;
	memcpy(sample->reg, record->reg, sizeof(sample->reg));
	if (bytes)
		memcpy(sample->stack, record->stack, bytes);
	samples_post(samples, sample);
	return true;
}

void cpu_threads_sample(struct cpu_threads *threads,
			const struct perf_record *record)
{
	struct cpu_thread *thread =
		thread_at(threads, record->pid, record->tid);

	if (!thread || thread->process->execed)
		return;
	if (post_cpu_sample(threads, thread, record))
		thread->sampled_ns += threads->period_ns;
	count_until(threads, thread, record->ns);
}

bool cpu_threads_shot(struct cpu_threads *threads,
		      const struct perf_record *record)
{
	struct cpu_thread *thread =
		thread_at(threads, record->pid, record->tid);

	if (!thread || thread->process->execed)
		return false;
	count_until(threads, thread, record->ns);
	if (thread->sampled_ns && !lacks_samples(threads, thread))
		return false;
	if (!post_cpu_sample(threads, thread, record))
		return false;
	thread->shots++;
	threads->owed_ns -= (int64_t)threads->period_ns;
	return true;
}

/* Posts a sample of time in the kernel, which may not be sampled: the whole
 * periods of @thread that have no sample. */
static void post_kernel(struct cpu_threads *threads, struct cpu_thread *thread)
{
	uint64_t sampled =
		thread->sampled_ns + thread->shots * threads->period_ns;
	uint64_t ns = thread->counted_ns - MIN(thread->counted_ns, sampled);
	struct samples *samples = samples_of(threads, thread->process);
	struct sample *sample;

	/* The time after an exec may belong to another recorder. */
	if (!threads->no_kernel || thread->process->execed ||
	    swaps_may_lose(threads, ns))
		return;
	ns -= ns % threads->period_ns;
	if (!ns || !samples)
		return;
	sample = fill_sample(sample_new_kernel(0, NULL, 0), thread->process,
			     thread, clock_boottime_ns());
	if (!sample)
		return;
	sample->flags = SAMPLE_NO_STACK;
	sample->count = ns / threads->period_ns;
	sample->weight_ns = ns;
	thread->sampled_ns += ns;
	thread->process->sampled = true;
	samples_post(samples, sample);
}

/* --- other records ------------------------------------------------------- */

void cpu_threads_fork(struct cpu_threads *threads,
		      const struct perf_record *record)
{
	const struct cpu_thread *parent =
		find_thread(threads, record->parent_tid);
	struct cpu_thread *thread =
		thread_at(threads, record->pid, record->tid);

	if (!thread)
		return;
	if (thread->ended)
		thread = new_thread(threads, record->pid, record->tid);
	if (thread && threads->switches)
		push_event(threads, thread, KERNEL_START, record->ns,
			   (uint64_t)record->parent_tid);
	if (!thread || !parent)
		return;
	memcpy(thread->name, parent->name, sizeof(thread->name));
	if (record->pid == record->tid)
		memcpy(thread->process->name, parent->process->name,
		       sizeof(thread->process->name));
}

static void end_cpu_thread(struct cpu_threads *threads,
			   struct cpu_thread *thread, uint64_t ns)
{
	thread->ended = true;
	thread->exit_ns = ns;
	if (!threads->switches)
		return;
	push_event(threads, thread, KERNEL_EXIT, ns, 0);
	count_stretch(threads, thread, ns);
	thread->told = !thread->missed;
}

void cpu_threads_exec(struct cpu_threads *threads, pid_t pid, uint64_t ns)
{
	struct cpu_process *process = find_cpu_process(threads, pid);

	/* The next image may have said hello by now. */
	if (!process || process->execed || ns < threads->begun_ns)
		return;
	process->left = true;
	for (uint32_t i = 0; i <= threads->mask; i++)
		for (struct cpu_thread *thread = threads->table[i]; thread;
		     thread = thread->next)
			if (thread->process == process && !thread->ended)
				end_cpu_thread(threads, thread, ns);
}

void cpu_threads_name(struct cpu_threads *threads,
		      const struct perf_record *record)
{
	struct cpu_thread *thread =
		thread_at(threads, record->pid, record->tid);

	if (!thread)
		return;
	if (record->exec) {
		/* Only a kernel whose events do not end with an exec reports
		 * this (perf_open.c). */
		thread->process->execed = true;
		if (threads->switches) {
			push_event(threads, thread, KERNEL_EXIT, record->ns, 0);
			count_stretch(threads, thread, record->ns);
		}
		snprintf(thread->process->name, sizeof(thread->process->name),
			 "%.15s", record->name);
	} else
		snprintf(thread->name, sizeof(thread->name), "%.15s",
			 record->name);
}

void cpu_threads_count(struct cpu_threads *threads,
		       const struct perf_record *record)
{
	struct cpu_thread *thread =
		thread_at(threads, record->pid, record->tid);

	threads->counted_ns += record->value;
	if (!thread)
		return;
	thread->counted_ns += record->value;
	thread->reads++;
	thread->told = thread->reads >= threads->reads;
}

void cpu_threads_exit(struct cpu_threads *threads,
		      const struct perf_record *record)
{
	struct cpu_thread *thread = find_thread(threads, record->tid);

	if (!thread || thread->process->pid != record->pid)
		return;
	end_cpu_thread(threads, thread, record->ns);
	if (threads->period_ns)
		owe_samples(threads, thread, true);
}

/* --- switches ------------------------------------------------------------ */

/* Ends the wait of @thread at the time of @event, a KERNEL_IN. Posts the known
 * object with the duration, and copies the object to @event. */
static void post_wait(struct cpu_threads *threads, struct cpu_thread *thread,
		      struct kernel_event *event)
{
	struct sample *wait = thread->wait;
	struct samples *samples;
	struct symbol_cache *texts;

	thread->wait = NULL;
	if (!wait)
		return;
	samples = samples_of(threads, thread->process);
	if (!samples) {
		free(wait);
		return;
	}
	/* The samples intern the same text, so it takes no memory. */
	texts = recording_setup(threads->recording)->symbols;
	event->value =
		(uintptr_t)symbol_cache_told_string(texts, sample_object(wait));
	event->call = wait->call;
	wait->count = 1;
	wait->weight_ns = event->ns - MIN(event->ns, thread->off_ns);
	event->flag = samples_post(samples, wait);
}

/* Returns the name of the waker of @thread for the trace, which the recording
 * owns, or NULL without memory. That of another process ends with its pid. */
static const char *name_of_waker(const struct cpu_threads *threads,
				 const struct cpu_thread *thread)
{
	const struct cpu_waker *waker = &thread->waker;
	char text[16 + 12 + 16], name[32];

	if (waker->in_interrupt)
		return "outside";
	snprintf(name, sizeof(name), "%.15s", waker->name);
	if (!*name && !proc_read(waker->pid, "comm", name, sizeof(name)))
		strcpy(name, "process");
	name[strcspn(name, "\n")] = '\0';
	if (waker->pid == thread->process->pid)
		snprintf(text, sizeof(text), "%s", name);
	else
		snprintf(text, sizeof(text), "%s %d", name, (int)waker->pid);
	return symbol_cache_told_string(
		recording_setup(threads->recording)->symbols, text);
}

/* Pushes who ended the wait of @thread, which comes to a CPU at @ns. */
static void tell_waker(struct cpu_threads *threads, struct cpu_thread *thread,
		       uint64_t ns)
{
	const struct cpu_waker *waker = &thread->waker;

	if (waker->ns && thread->is_blocked &&
	    waker->ns + WOKEN_EARLY_NS >= thread->off_ns &&
	    ns >= thread->off_ns + WOKEN_NS_MIN) {
		const struct kernel_event event = {
			.ns = waker->ns,
			.value = (uintptr_t)name_of_waker(threads, thread),
			.kind = KERNEL_WOKEN,
			.call = waker->in_interrupt ? 0 : (uint32_t)waker->tid,
		};

		kernel_events_push(&thread->events, &event);
	}
	thread->waker.ns = 0;
}

static void come_to_cpu(struct cpu_threads *threads, struct cpu_thread *thread,
			const struct perf_record *record)
{
	struct kernel_event event = { .ns = record->ns,
				      .cpu = (uint16_t)record->cpu,
				      .kind = KERNEL_IN };
	uint64_t long_ns = record->ns - MIN(record->ns, thread->off_ns);

	if (thread->is_blocked && long_ns >= CPU_LONG_NS) {
		threads->long_ns += long_ns;
		if (thread->blocked_link)
			threads->missed_ns += long_ns;
	}
	tell_waker(threads, thread, record->ns);
	post_wait(threads, thread, &event);
	kernel_events_push(&thread->events, &event);
	thread->missed |= thread->on_ns != 0;
	thread->on_ns = record->ns;
	thread->on_cpu = record->cpu;
	thread->is_blocked = false;
}

static void leave_cpu(struct cpu_threads *threads, struct cpu_thread *thread,
		      const struct perf_record *record)
{
	const struct kernel_event event = { .ns = record->ns,
					    .cpu = (uint16_t)record->cpu,
					    .kind = record->preempted
							    ? KERNEL_PREEMPTED
							    : KERNEL_BLOCKED };

	kernel_events_push(&thread->events, &event);
	thread->missed |= !thread->on_ns;
	count_stretch(threads, thread, record->ns);
	/* The end of the wait before this one was not reported. */
	free(thread->wait);
	thread->wait = NULL;
	thread->is_blocked = !record->preempted;
	thread->off_ns = record->ns;
	if (!thread->is_blocked || thread->blocked_link)
		return;
	/* Takers begin at the front. */
	thread->blocked_link =
		threads->blocked ? threads->blocked_end : &threads->blocked;
	thread->next_blocked = NULL;
	*thread->blocked_link = thread;
	threads->blocked_end = &thread->next_blocked;
}

int cpu_threads_switch(struct cpu_threads *threads,
		       const struct perf_record *record)
{
	struct cpu_thread *thread =
		thread_at(threads, record->pid, record->tid);
	int was_on = -1;

	/* A thread that calls exec() takes the id of the first thread, which
	 * has ended, some time before its events end. A switch before the end
	 * may be read after it, from the buffer of another CPU. */
	if (!thread || thread->process->execed ||
	    (thread->ended && record->ns > thread->exit_ns))
		return -1;
	threads->switch_count++;
	tell_losses(threads, thread);
	if (record->out) {
		leave_cpu(threads, thread, record);
	} else {
		was_on = thread->on_ns ? thread->on_cpu : -1;
		come_to_cpu(threads, thread, record);
	}
	return was_on;
}

bool cpu_threads_woken(struct cpu_threads *threads,
		       const struct perf_record *record, const char name[16])
{
	struct cpu_thread *thread = find_thread(threads, record->woken_tid);

	if (!thread || thread->ended || thread->process->execed)
		return false;
	thread->waker = (struct cpu_waker){
		.ns = record->ns,
		.pid = record->pid,
		.tid = record->tid,
		.in_interrupt = record->in_interrupt,
	};
	memcpy(thread->waker.name, name, sizeof(thread->waker.name));
	return true;
}

const char *cpu_threads_name_of(const struct cpu_threads *threads, pid_t pid,
				pid_t tid)
{
	const struct cpu_thread *thread = find_thread(threads, tid);

	return thread && thread->process->pid == pid ? thread->name : NULL;
}

void cpu_threads_each_known(const struct cpu_threads *threads,
			    cpu_threads_known *take, void *context)
{
	for (uint32_t i = 0; i <= threads->mask; i++)
		for (struct cpu_thread *thread = threads->table[i]; thread;
		     thread = thread->next)
			if ((thread->on_ns || thread->off_ns) &&
			    !thread->ended && !thread->process->execed &&
			    thread->losses == threads->loss.count)
				take(context, thread->tid, thread->on_cpu);
}

void cpu_threads_lose(struct cpu_threads *threads, uint64_t from_ns)
{
	struct cpu_loss *loss = &threads->loss;

	loss->from_ns[loss->count++ % ARRAY_SIZE(loss->from_ns)] = from_ns;
}

/* --- for drain workers --------------------------------------------------- */

size_t cpu_threads_take(struct cpu_threads *threads, pid_t tid,
			uint64_t alive_ns, struct kernel_event *out,
			size_t room, struct sched_track *before)
{
	struct cpu_thread *thread = find_thread_at(threads, tid, alive_ns);

	threads->events_wanted = true;
	if (!thread)
		return 0;
	tell_losses(threads, thread);
	return kernel_events_take(&thread->events, out, room, before);
}

void cpu_threads_take_no_more(struct cpu_threads *threads, pid_t tid,
			      uint64_t alive_ns)
{
	struct cpu_thread *thread = find_thread_at(threads, tid, alive_ns);

	if (thread)
		kernel_events_unwant(&thread->events);
}

/* --- blocked threads ----------------------------------------------------- */

size_t cpu_threads_take_blocked(struct cpu_threads *threads, uint64_t before_ns,
				struct cpu_blocked *out, size_t room)
{
	struct samples *samples;
	struct cpu_thread *next;
	size_t count = 0;

	for (struct cpu_thread *thread = threads->blocked;
	     thread && count < room; thread = next) {
		bool waits = thread->is_blocked && !thread->ended;

		next = thread->next_blocked;
		if (waits && thread->off_ns > before_ns)
			continue;
		unlist_blocked(threads, thread);
		if (!waits)
			continue;
		samples = samples_of(threads, thread->process);
		out[count++] = (struct cpu_blocked){
			.pid = thread->process->pid,
			.tid = thread->tid,
			.since_ns = thread->off_ns,
			.samples = samples ? samples_get(samples) : NULL,
			.generation = generation_of(thread->process),
		};
	}
	return count;
}

bool cpu_threads_have(const struct cpu_threads *threads, pid_t pid)
{
	const struct cpu_process *process = find_cpu_process(threads, pid);

	return process && !process->execed;
}

size_t cpu_threads_list(const struct cpu_threads *threads, pid_t *out,
			size_t room)
{
	size_t count = 0;

	for (const struct cpu_process *process = threads->processes;
	     process && count < room; process = process->next)
		if (!process->execed)
			out[count++] = process->pid;
	return count;
}

/* Returns the thread of @blocked, or NULL if that wait is over. */
static struct cpu_thread *find_blocked(const struct cpu_threads *threads,
				       const struct cpu_blocked *blocked)
{
	struct cpu_thread *thread = find_thread(threads, blocked->tid);

	return thread && thread->is_blocked && !thread->ended &&
			       thread->process->pid == blocked->pid &&
			       thread->off_ns == blocked->since_ns
		       ? thread
		       : NULL;
}

bool cpu_threads_tell_wait(struct cpu_threads *threads,
			   const struct cpu_blocked *blocked,
			   struct sample *wait)
{
	struct cpu_thread *thread = find_blocked(threads, blocked);

	if (!thread)
		return false;
	wait->tid = thread->tid;
	memcpy(wait->thread, thread->name, sizeof(wait->thread));
	wait->ns = blocked->since_ns;
	wait->generation = generation_of(thread->process);
	free(thread->wait);
	thread->wait = wait;
	return true;
}

void cpu_threads_tell_anchor(struct cpu_threads *threads,
			     const struct cpu_blocked *blocked, uint64_t on_ns,
			     uint64_t delay_ns)
{
	struct cpu_thread *thread = find_blocked(threads, blocked);

	if (!thread)
		return;
	push_event(threads, thread, KERNEL_DELAY, thread->off_ns, delay_ns);
	push_event(threads, thread, KERNEL_ANCHOR, thread->off_ns, on_ns);
}

/* --- times of threads and processes -------------------------------------- */

/* Keeps the time of @process, a child without a sample. Shots hit such children
 * by chance, so a child with a sample stands for others, but not for a child
 * that went on as another program: the account has one entry for both, and that
 * program would be missing. Returns false if it did not keep it. */
static bool keep_unsampled(struct cpu_threads *threads,
			   const struct cpu_process *process)
{
	struct cpu_unsampled *kept;

	if (process == threads->first || process->execed || process->left ||
	    threads->unsampled_count == UNSAMPLED_MAX ||
	    grow_array(threads->unsampled, threads->unsampled_room,
		       threads->unsampled_count + 1))
		return false;
	kept = &threads->unsampled[threads->unsampled_count++];
	kept->pid = process->pid;
	memcpy(kept->name, process->name, sizeof(kept->name));
	kept->ns = process->short_ns + process->displaced_ns;
	return true;
}

/* Lets samples from shots of @process also stand for kept children without a
 * sample, up to samples_shot_periods(). */
static void stand_for_unsampled(struct cpu_threads *threads,
				struct cpu_process *process,
				struct cpu_account *account)
{
	uint64_t hz = 1000000000 / threads->period_ns;
	uint64_t most =
		process->shots * threads->period_ns * samples_shot_periods(hz);
	uint64_t ns =
		process->shots_ns + process->short_ns + process->displaced_ns;

	while (threads->unsampled_count) {
		const struct cpu_unsampled *kept =
			&threads->unsampled[threads->unsampled_count - 1];

		if (ns + kept->ns > most)
			return;
		ns += kept->ns;
		process->short_ns += kept->ns;
		threads->unsampled_count--;
		cpu_account_tell(account, kept->pid, kept->name, 0, true);
	}
}

static void tell_process(struct cpu_threads *threads,
			 struct cpu_process *process)
{
	struct samples *samples = process->sampled ? process->samples : NULL;
	struct cpu_account *account =
		recording_setup(threads->recording)->cpu_account;

	if (account && !samples && keep_unsampled(threads, process))
		return;
	if (account && samples && process->shots)
		stand_for_unsampled(threads, process, account);
	if (samples)
		samples_short(samples, process->short_ns,
			      process->displaced_ns);
	if (account)
		cpu_account_tell(account, process->pid, process->name,
				 process->posted_ns + process->short_ns +
					 process->displaced_ns,
				 samples);
	process->posted_ns = process->short_ns = process->displaced_ns = 0;
	process->shots_ns = process->shots = 0;
}

static void settle_thread(struct cpu_threads *threads,
			  struct cpu_thread *thread)
{
	struct cpu_process *process = thread->process;

	thread->settled = true;
	if (!threads->period_ns)
		return;
	if (thread->sampled_ns || !thread->shots)
		post_kernel(threads, thread);
	if (!thread->sampled_ns && !thread->shots) {
		/* The first sample comes after a period. */
		if (thread->counted_ns < threads->period_ns)
			process->short_ns += thread->counted_ns;
		else
			process->displaced_ns += thread->counted_ns;
	} else if (!thread->counted_ns || process->execed) {
		process->posted_ns +=
			thread->sampled_ns + thread->shots * threads->period_ns;
	} else if (!thread->sampled_ns) {
		process->posted_ns += thread->counted_ns;
		process->shots_ns += thread->counted_ns;
		process->shots += thread->shots;
		samples_by_shots(process->samples, thread->tid,
				 thread->counted_ns);
	} else {
		process->posted_ns += thread->counted_ns;
		samples_total(process->samples, thread->tid,
			      thread->counted_ns);
	}
}

static bool must_wait_for_end(struct cpu_threads *threads,
			      struct cpu_thread *thread)
{
	if (thread->told || thread->settled)
		return false;
	if (!thread->silent && threads->silent < SILENT_MAX) {
		thread->silent = true;
		threads->silent++;
	}
	return thread->silent;
}

void cpu_threads_settle(struct cpu_threads *threads, uint32_t passes,
			uint32_t keep)
{
	struct cpu_thread **link, *thread;

	for (uint32_t i = 0; i <= threads->mask; i++) {
		link = &threads->table[i];
		while ((thread = *link)) {
			bool wanted =
				threads->events_wanted && thread->events.count;

			if (!thread->ended || thread->passes++ < passes ||
			    must_wait_for_end(threads, thread)) {
				link = &thread->next;
				continue;
			}
			if (!thread->settled)
				settle_thread(threads, thread);
			if (wanted && thread->passes < keep) {
				link = &thread->next;
				continue;
			}
			/* The first process is reported at the end. */
			if (thread->process->threads == 1 &&
			    thread->process->next)
				tell_process(threads, thread->process);
			forget_thread(threads, link);
		}
	}
}

struct sharing {
	uint64_t left_ns, weight;
};

/* Calls @visit for each thread that is not settled; @silent: only for those
 * without their full time. */
static void visit_threads(struct cpu_threads *threads, struct sharing *sharing,
			  bool silent,
			  void (*visit)(struct sharing *sharing,
					struct cpu_thread *thread))
{
	for (uint32_t i = 0; i <= threads->mask; i++)
		for (struct cpu_thread *thread = threads->table[i]; thread;
		     thread = thread->next)
			if (!thread->settled && !(silent && thread->told))
				visit(sharing, thread);
}

/* Reads the time of a running thread, unless it existed at hello: some of its
 * time is older. */
static void ask_running(struct sharing *sharing, struct cpu_thread *thread)
{
	uint64_t ns, more;

	if (thread->ended || thread->first)
		return;
	ns = read_runtime(thread);
	more = MIN(ns - MIN(ns, thread->counted_ns), sharing->left_ns);
	thread->counted_ns += more;
	thread->told = ns != 0;
	sharing->left_ns -= more;
}

/* Returns a thread's weight for a share of the rest: its time, if known; for a
 * silent thread, the time of its samples beyond its reported time. Plus 1,
 * because it may have run without a sample. */
static uint64_t weight_of_thread(const struct cpu_thread *thread)
{
	uint64_t sampled_ns = thread->sampled_ns;

	if (thread->told)
		return thread->counted_ns + 1;
	return sampled_ns - MIN(sampled_ns, thread->counted_ns) + 1;
}

static void add_weight(struct sharing *sharing, struct cpu_thread *thread)
{
	sharing->weight += weight_of_thread(thread);
}

static void give_thread_share(struct sharing *sharing,
			      struct cpu_thread *thread)
{
	uint64_t weight = weight_of_thread(thread);
	double part = (double)weight / (double)sharing->weight;
	uint64_t share = (uint64_t)((double)sharing->left_ns * part);

	share = MIN(share, sharing->left_ns);
	sharing->weight -= weight;
	thread->counted_ns += share;
	sharing->left_ns -= share;
}

static void share_among(struct cpu_threads *threads, struct sharing *sharing,
			bool silent)
{
	visit_threads(threads, sharing, silent, add_weight);
	visit_threads(threads, sharing, silent, give_thread_share);
}

void cpu_threads_finish(struct cpu_threads *threads, uint64_t total_ns)
{
	struct sharing sharing = {
		total_ns - MIN(total_ns, threads->counted_ns), 0
	};
	struct cpu_account *account =
		recording_setup(threads->recording)->cpu_account;

	/* The silent threads had the rest together; with only one, that is
	 * exact. If all times are known, the kernel lost records of switches of
	 * unknown threads, so all get a share. */
	visit_threads(threads, &sharing, true, ask_running);
	share_among(threads, &sharing, true);
	if (sharing.left_ns)
		share_among(threads, &sharing, false);
	threads->first->short_ns += sharing.left_ns;
	for (uint32_t i = 0; i <= threads->mask; i++)
		for (struct cpu_thread *thread = threads->table[i]; thread;
		     thread = thread->next)
			if (!thread->settled)
				settle_thread(threads, thread);
	for (struct cpu_process *process = threads->processes; process;
	     process = process->next)
		tell_process(threads, process);
	while (threads->unsampled_count) {
		const struct cpu_unsampled *kept =
			&threads->unsampled[--threads->unsampled_count];

		cpu_account_tell(account, kept->pid, kept->name, kept->ns,
				 false);
	}
}
