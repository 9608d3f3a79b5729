/* SPDX-License-Identifier: Apache-2.0
 *
 * wait_poller - for each thread that has been blocked for a millisecond, once
 * in each wait: the poller reads the file "syscall" of the thread, then the
 * object and the stack of the wait, then the file again. If the file is
 * unchanged, all of it belongs to one wait; otherwise the thread has run
 * meanwhile and is "left".
 *
 * A wait has only the stack pointer and the instruction pointer; the sampler's
 * thread unwinds it (unwind.c describes the limits).
 *
 * A process may refuse: it has changed its credentials, is not dumpable, or
 * Yama does not permit it. The poller asks it again after a second, then after
 * two, up to a minute.
 */
#include "collector/samples/wait_poller.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "collector/base/clock.h"
#include "collector/base/log.h"
#include "collector/base/pulse.h"
#include "collector/base/task_times.h"
#include "collector/replay/kernel_event.h"
#include "collector/samples/cpu_samples.h"
#include "collector/samples/samples.h"
#include "collector/samples/wait_files.h"
#include "collector/samples/wait_memory.h"
#include "collector/samples/wait_object.h"
#include "collector/samples/wait_pace.h"
#include "collector/samples/wait_peers.h"
#include "shared/atomic.h"
#include "shared/compiler.h"

#define ROOM 64u
/* The number of short waits per reading, and its interval. With 10 us for each,
 * that is less than 1 % of a CPU. */
#define SHORT_ROOM 8u
#define SHORT_NS 10000000u
#define ANCHOR_NS 20000000u /* between two anchors of a thread */
#define REFUSALS 64u /* a power of two */
#define REFUSED_NS UINT64_C(1000000000)
#define REFUSED_MOST_NS (64 * REFUSED_NS)
#define NS_PER_S 1000000000u
#define STUCK_NS NS_PER_S /* a read takes microseconds */
#define STUCK_REFUSED_NS (3600 * REFUSED_NS)

enum reader_word {
	READER_FREE,
	READER_READS, /* the memory of a program */
	READER_LEAVING, /* the main thread takes its data */
	READER_LEFT, /* nobody waits for it any more; it owns itself */
};

struct refusals {
	struct refusal {
		pid_t pid;
		uint64_t until_ns; /* MONOTONIC */
		uint64_t pause_ns; /* the last one */
	} one[REFUSALS]; /* by pid: the last one there */
};

struct wait_reader {
	struct wait_poller *poller; /* not to be used while it reads */
	uint32_t stack_bytes;
	pthread_t thread;
	uint32_t word; /* enum reader_word */
	uint64_t since_ns; /* relaxed: start of its read, MONOTONIC */
	pid_t tid; /* relaxed; 0: not started yet */

	/* The thread's from here on; the main thread's if word is
	 * READER_LEAVING. */
	struct wait_objects *objects;
	struct wait_files files;
	struct wait_pace pace;
	uint64_t switches; /* at the last pass */
	uint64_t short_ns; /* last time it took short waits, BOOTTIME */
	struct cpu_blocked blocked[ROOM + SHORT_ROOM];
	size_t at, count; /* in blocked: the next one, and the end */
	struct refusals refusals;
	struct wait_wakers wakers; /* of the last wait */
	uint8_t stack[]; /* stack_bytes */
};

struct wait_poller {
	struct wait_source source;
	uint32_t stack_bytes;
	int wake_fd;
	bool closing; /* relaxed: wake_fd tells */
	struct wait_poller_counts counts; /* relaxed: independent words */
	struct wait_reader *reader; /* NULL: too many are stuck */
	struct refusals refusals; /* for the next reader if there is none */
};

/* Abandoned readers that are still stuck. Static: they may outlive the poller.
 * Relaxed. */
static uint32_t g_stuck;

/* --- refusals ------------------------------------------------------------ */

static struct refusal *refusal_of(struct wait_reader *reader, pid_t pid)
{
	return &reader->refusals.one[(uint32_t)pid % REFUSALS];
}

static void note_refusal(struct wait_reader *reader, pid_t pid)
{
	struct refusal *refusal = refusal_of(reader, pid);

	if (refusal->pid != pid)
		*refusal = (struct refusal){ .pid = pid };
	refusal->pause_ns =
		refusal->pause_ns ? MIN(2 * refusal->pause_ns, REFUSED_MOST_NS)
				  : REFUSED_NS;
	refusal->until_ns = clock_monotonic_ns() + refusal->pause_ns;
}

/* --- one thread ---------------------------------------------------------- */

static struct sample *make_wait_sample(struct wait_reader *reader,
				       const struct cpu_blocked *blocked,
				       const struct wait_call *call,
				       const char *text)
{
	size_t bytes = wait_memory_read(blocked->pid, call->sp, reader->stack,
					reader->stack_bytes);
	struct sample *sample = sample_new_blocked((uint32_t)bytes, text);

	if (!sample)
		return NULL;
	sample->tid = blocked->tid;
	sample->ns = blocked->since_ns;
	sample->generation = blocked->generation;
	if (call->in_call)
		sample->call = (uint32_t)call->number + 1;
	if (!bytes)
		sample->flags = SAMPLE_NO_STACK;
	else if (bytes == reader->stack_bytes)
		sample->flags = SAMPLE_STACK_CUT;
	sample->reg[RECORD_REG_SP] = call->sp;
	sample->reg[RECORD_REG_IP] = call->pc;
	memcpy(sample->stack, reader->stack, bytes);
	return sample;
}

static enum samples_unread why_unread(int err)
{
	switch (err) {
	case -EACCES:
	case -EPERM:
		return SAMPLES_REFUSED;
	case -EAGAIN: /* it runs */
	case -ENOENT:
	case -ESRCH:
	case 0: /* it ends */
		return SAMPLES_LEFT;
	default:
		return SAMPLES_ODD;
	}
}

/* Reads the wait of @blocked. NULL: unreadable, *@why has the reason. */
static struct sample *read_blocked_wait(struct wait_reader *reader,
					const struct cpu_blocked *blocked,
					enum samples_unread *why)
{
	const struct wait_thread thread = {
		.pid = blocked->pid,
		.tid = blocked->tid,
	};
	char before[WAIT_CALL_BYTES], after[WAIT_CALL_BYTES];
	char text[WAIT_TEXT_BYTES];
	struct wait_call call;
	struct sample *sample;
	struct wait_files_thread *files =
		wait_files_thread(&reader->files, blocked->pid, blocked->tid);
	int got =
		wait_files_read(files, WAIT_FILE_CALL, before, sizeof(before));

	if (got > 0)
		got = wait_call_parse(before, &call) ?: 1;
	*why = why_unread(got);
	if (got <= 0)
		return NULL;
	wait_object_name(reader->objects, &thread, &call, text);
	wait_object_wakers(reader->objects, &thread, &call, &reader->wakers);
	sample = make_wait_sample(reader, blocked, &call, text);
	got = wait_files_read(files, WAIT_FILE_CALL, after, sizeof(after));
	if (sample && got > 0 && !strcmp(before, after))
		return sample;
	free(sample);
	*why = SAMPLES_LEFT;
	return NULL;
}

static void count_one(uint64_t *count)
{
	/* relaxed: one thread changes it */
	atom_store_rlx(count, *count + 1);
}

struct anchor {
	bool read;
	unsigned long long on_ns, delay_ns;
};

/* Reads the kernel's counts of @blocked up to now. Times spread between close
 * anchors are more exact, but a read doubles the cost of a wait. */
static struct anchor read_anchor(struct wait_reader *reader,
				 const struct cpu_blocked *blocked)
{
	struct wait_files_thread *files =
		wait_files_thread(&reader->files, blocked->pid, blocked->tid);
	uint64_t now = clock_monotonic_ns();
	struct anchor anchor = { .read = false };
	char text[80];

	if (now - files->sums_ns < ANCHOR_NS)
		return anchor;
	files->sums_ns = now;
	anchor.read =
		wait_files_read(files, WAIT_FILE_SUMS, text, sizeof(text)) >
			0 &&
		sscanf(text, "%llu %llu", &anchor.on_ns, &anchor.delay_ns) == 2;
	return anchor;
}

/* Reads the wait of @blocked. Returns false if it took so long that the main
 * thread has abandoned @reader. */
static bool look_at_blocked(struct wait_reader *reader,
			    const struct cpu_blocked *blocked)
{
	const struct refusal *refusal = refusal_of(reader, blocked->pid);
	bool refused = refusal->pid == blocked->pid &&
		       clock_monotonic_ns() < refusal->until_ns;
	enum samples_unread why = SAMPLES_REFUSED;
	struct wait_poller *poller = reader->poller;
	const struct wait_source *source;
	struct sample *wait = NULL;
	struct anchor anchor;

	/* relaxed: the word orders it */
	atom_store_rlx(&reader->since_ns, clock_monotonic_ns());
	/* order: rel, WAITREAD: since_ns and blocked come before it */
	atom_store_rel(&reader->word, READER_READS);
	anchor = read_anchor(reader, blocked);
	if (!refused)
		wait = read_blocked_wait(reader, blocked, &why);
	/* order: sc, WAITREAD: either this thread goes on, or the main thread
	 * has all its data */
	if (!atom_cas_sc(&reader->word, READER_READS, READER_FREE)) {
		free(wait);
		return false;
	}
	source = &poller->source;
	if (anchor.read)
		source->anchor(source->context, blocked, anchor.on_ns,
			       anchor.delay_ns);
	if (!refused && !wait && why == SAMPLES_REFUSED)
		note_refusal(reader, blocked->pid);
	count_one(&poller->counts.taken);
	if (wait) {
		count_one(&poller->counts.told);
		if (reader->wakers.files)
			source->wakers(source->context, blocked,
				       &reader->wakers);
		source->tell(source->context, blocked, wait);
	} else if (blocked->samples &&
		   !(blocked->is_short && why == SAMPLES_LEFT)) {
		samples_count_unread(blocked->samples, why);
	}
	return true;
}

/* --- the thread ---------------------------------------------------------- */

static uint64_t own_thread_cpu_ns(void)
{
	return clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
}

static void give_reader_back(struct wait_reader *reader)
{
	for (; reader->at < reader->count; reader->at++)
		if (reader->blocked[reader->at].samples)
			samples_put(&reader->blocked[reader->at].samples);
}

/* Takes threads that have been blocked for long enough, and at intervals some
 * that have not. Returns the sums of all. */
static struct cpu_wait_sums take_blocked_threads(struct wait_reader *reader)
{
	const struct wait_source *source = &reader->poller->source;
	uint64_t now = clock_boottime_ns();
	struct cpu_wait_sums sums;
	size_t longer;

	reader->at = 0;
	reader->count = source->take(source->context, now - CPU_LONG_NS,
				     reader->blocked, ROOM, &sums);
	if (now - reader->short_ns < SHORT_NS || reader->count == ROOM)
		return sums;
	reader->short_ns = now;
	longer = reader->count;
	reader->count +=
		source->take(source->context, now, reader->blocked + longer,
			     SHORT_ROOM, &sums);
	for (size_t i = longer; i < reader->count; i++)
		reader->blocked[i].is_short = true;
	return sums;
}

/* Takes threads and reads them. Sets *@pause_ns to the pause until the next
 * pass. Returns false if the main thread has abandoned @reader, which must not
 * use the poller any more. */
static bool run_pass(struct wait_reader *reader, uint64_t *pause_ns)
{
	struct wait_poller *poller = reader->poller;
	struct wait_pace_seen seen;
	struct cpu_wait_sums sums;

	wait_pace_begin(&reader->pace, clock_monotonic_ns(),
			own_thread_cpu_ns());
	sums = take_blocked_threads(reader);
	seen = (struct wait_pace_seen){
		.active = reader->count || sums.switches != reader->switches,
		.long_ns = sums.long_ns,
		.missed_ns = sums.missed_ns,
	};
	for (; reader->at < reader->count; reader->at++) {
		struct cpu_blocked *blocked = &reader->blocked[reader->at];

		/* relaxed: wake_fd orders it */
		if (atom_load_rlx(&poller->closing))
			break;
		if (!look_at_blocked(reader, blocked))
			return false;
		if (blocked->samples)
			samples_put(&blocked->samples);
	}
	give_reader_back(reader);
	/* Otherwise a daemon would keep files of threads that are gone. */
	if (!seen.active)
		wait_files_release(&reader->files);
	reader->switches = sums.switches;
	count_one(&poller->counts.passes);
	*pause_ns = wait_pace_end(&reader->pace, clock_monotonic_ns(),
				  own_thread_cpu_ns(), &seen);
	/* relaxed: for display */
	atom_store_rlx(&poller->counts.cpu_ns, reader->pace.cpu_ns);
	return true;
}

static void free_reader(struct wait_reader *reader)
{
	wait_objects_free(&reader->objects);
	wait_files_release(&reader->files);
	free(reader);
}

/* Runs passes until the poller closes. Returns false as run_pass(). */
static bool run_passes(struct wait_reader *reader)
{
	struct wait_poller *poller = reader->poller;
	struct pollfd wake = { .fd = poller->wake_fd, .events = POLLIN };
	bool waited_for = true;

	/* relaxed: wake_fd orders it */
	while (waited_for && !atom_load_rlx(&poller->closing)) {
		struct timespec pause = { 0 };
		uint64_t ns = 0;

		pulse_begin("reads what threads wait on");
		waited_for = run_pass(reader, &ns);
		pulse_end();
		pause.tv_sec = (time_t)(ns / NS_PER_S);
		pause.tv_nsec = (long)(ns % NS_PER_S);
		if (waited_for)
			ppoll(&wake, 1, &pause, NULL);
	}
	return waited_for;
}

static void *reader_thread(void *context)
{
	struct wait_reader *reader = context;

	pthread_setname_np(pthread_self(), "perfrec-waits");
	/* relaxed: users of it have seen the word */
	atom_store_rlx(&reader->tid, gettid());
	if (!run_passes(reader)) {
		/* order: acq, WAITREAD: the main thread's uses come before the
		 * end of @reader */
		while (atom_load_acq(&reader->word) != READER_LEFT)
			sched_yield();
		free_reader(reader);
		/* relaxed: a limit */
		atom_add_rlx(&g_stuck, -1u);
	}
	return NULL;
}

/* --- life ---------------------------------------------------------------- */

/* Calls the source's list(), unless the main thread has abandoned the reader:
 * then the source may be freed. */
static size_t list_of_source(void *context, pid_t pid, pid_t *out, size_t room)
{
	struct wait_reader *reader = context;
	const struct wait_source *source = &reader->poller->source;

	/* relaxed, both: a reader is abandoned only after a long read */
	atom_store_rlx(&reader->since_ns, clock_monotonic_ns());
	if (atom_load_rlx(&reader->word) != READER_READS)
		return 0;
	return source->list(source->context, pid, out, room);
}

static int start_wait_reader(struct wait_poller *poller)
{
	struct wait_reader *reader =
		calloc(1, sizeof(*reader) + poller->stack_bytes);
	const struct wait_processes processes = { list_of_source, reader };
	int err;

	if (!reader)
		return -ENOMEM;
	reader->poller = poller;
	reader->stack_bytes = poller->stack_bytes;
	reader->refusals = poller->refusals;
	wait_files_init(&reader->files);
	err = wait_objects_new(&processes, &reader->objects);
	if (!err)
		err = -pthread_create(&reader->thread, NULL, reader_thread,
				      reader);
	if (err)
		free_reader(reader);
	else
		poller->reader = reader;
	return err;
}

/* Returns true if the reader only lacks a CPU: on a busy machine it may get
 * none for seconds. */
static bool can_run(const struct wait_reader *reader)
{
	struct task_times times;
	/* relaxed: as in reader_thread() */
	pid_t tid = atom_load_rlx(&reader->tid);

	return task_times_read(getpid(), tid, &times) < 0 || times.state == 'R';
}

static bool leave_stuck(struct wait_poller *poller)
{
	struct wait_reader *reader = poller->reader;
	struct refusal *refusal;
	uint64_t since_ns;
	pid_t pid;

	/* order: acq, WAITREAD: since_ns is not that of an earlier read */
	if (atom_load_acq(&reader->word) != READER_READS)
		return false;
	/* relaxed: a hint. Before the clock is read: a next read that starts in
	 * between would have a later time. */
	since_ns = atom_load_rlx(&reader->since_ns);
	if (clock_monotonic_ns() - since_ns < STUCK_NS || can_run(reader))
		return false;
	/* relaxed: a limit */
	atom_add_rlx(&g_stuck, 1);
	/* order: sc, WAITREAD: its data is whole, and ours */
	if (!atom_cas_sc(&reader->word, READER_READS, READER_LEAVING)) {
		/* relaxed: as above */
		atom_add_rlx(&g_stuck, -1u);
		return false;
	}
	pid = reader->blocked[reader->at].pid;
	refusal = refusal_of(reader, pid);
	*refusal = (struct refusal){ .pid = pid };
	refusal->until_ns = clock_monotonic_ns() + STUCK_REFUSED_NS;
	poller->refusals = reader->refusals;
	give_reader_back(reader);
	pthread_detach(reader->thread);
	poller->reader = NULL;
	/* order: rel, WAITREAD: the last use of it */
	atom_store_rel(&reader->word, READER_LEFT);
	log_warn("reading the memory of process %d blocks: its waits have no "
		 "objects",
		 (int)pid);
	return true;
}

void wait_poller_check(struct wait_poller *poller)
{
	if (!poller || (poller->reader && !leave_stuck(poller)))
		return;
	/* relaxed: a limit. Without memory, the next check tries again. */
	if (atom_load_rlx(&g_stuck) < WAIT_POLLER_STUCK_MAX)
		(void)start_wait_reader(poller);
}

uint32_t wait_poller_stuck(void)
{
	/* relaxed: for display */
	return atom_load_rlx(&g_stuck);
}

int wait_poller_new(const struct wait_source *source, uint32_t stack_bytes,
		    struct wait_poller **out)
{
	struct wait_poller *poller = calloc(1, sizeof(*poller));
	int err;

	*out = NULL;
	if (!poller)
		return -ENOMEM;
	poller->source = *source;
	poller->stack_bytes = stack_bytes;
	poller->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	err = poller->wake_fd < 0 ? -errno : 0;
	if (!err)
		err = start_wait_reader(poller);
	if (err)
		wait_poller_free(&poller);
	*out = poller;
	return err;
}

static void end_reader(struct wait_poller *poller)
{
	struct timespec until;
	uint64_t one = 1;

	/* relaxed: wake_fd orders it */
	atom_store_rlx(&poller->closing, true);
	(void)!write(poller->wake_fd, &one, sizeof(one));
	do {
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_sec++;
		if (!pthread_timedjoin_np(poller->reader->thread, NULL,
					  &until)) {
			free_reader(poller->reader);
			poller->reader = NULL;
			return;
		}
	} while (!leave_stuck(poller));
}

void wait_poller_free(struct wait_poller **poller)
{
	struct wait_poller *old = *poller;
	const struct wait_poller_counts *counts;

	*poller = NULL;
	if (!old)
		return;
	if (old->reader)
		end_reader(old);
	counts = &old->counts;
	log_dbg("what threads wait on: %llu of %llu waits were read, in %llu "
		"passes that took %llu us of CPU time",
		(unsigned long long)counts->told,
		(unsigned long long)counts->taken,
		(unsigned long long)counts->passes,
		(unsigned long long)(counts->cpu_ns / 1000));
	if (old->wake_fd >= 0)
		close(old->wake_fd);
	free(old);
}

struct wait_poller_counts wait_poller_counts(const struct wait_poller *poller)
{
	/* relaxed: independent counters */
	return (struct wait_poller_counts){
		/* relaxed: as above */
		.passes = atom_load_rlx(&poller->counts.passes),
		/* relaxed: as above */
		.taken = atom_load_rlx(&poller->counts.taken),
		/* relaxed: as above */
		.told = atom_load_rlx(&poller->counts.told),
		/* relaxed: as above */
		.cpu_ns = atom_load_rlx(&poller->counts.cpu_ns),
	};
}

/* --- the sampler as a source --------------------------------------------- */

static size_t take_blocked(void *context, uint64_t before_ns,
			   struct cpu_blocked *out, size_t room,
			   struct cpu_wait_sums *sums)
{
	return cpu_take_blocked(context, before_ns, out, room, sums);
}

static void tell_wait(void *context, const struct cpu_blocked *blocked,
		      struct sample *wait)
{
	cpu_tell_wait(context, blocked, wait);
}

static void tell_wakers(void *context, const struct cpu_blocked *blocked,
			const struct wait_wakers *wakers)
{
	cpu_tell_wakers(context, blocked, wakers);
}

static void tell_blocked_sums(void *context, const struct cpu_blocked *blocked,
			      uint64_t on_ns, uint64_t delay_ns)
{
	cpu_tell_anchor(context, blocked, on_ns, delay_ns);
}

static size_t list_blocked_processes(void *context, pid_t pid, pid_t *out,
				     size_t room)
{
	return cpu_list_processes(context, pid, out, room);
}

struct wait_source wait_source_of(struct cpu_sampler *sampler)
{
	return (struct wait_source){ .take = take_blocked,
				     .tell = tell_wait,
				     .wakers = tell_wakers,
				     .anchor = tell_blocked_sums,
				     .list = list_blocked_processes,
				     .context = sampler };
}
