/* SPDX-License-Identifier: Apache-2.0
 *
 * wait_poller - for each thread that has been blocked for a millisecond, once
 * in each wait: the file "syscall" of the thread is read, then what it waits on
 * and its stack, then the file again. If it is the same as before, all of that
 * was of one wait; a thread that has run meanwhile is "left".
 *
 * A wait is told with the stack pointer and the instruction pointer only; the
 * sampler's thread unwinds it (unwind.c says how far that goes).
 *
 * A process may refuse: it has changed its credentials, is not dumpable, or
 * Yama does not permit it. It is asked again after a second, then after two, up
 * to a minute.
 */
#include "collector/waits/wait_poller.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "collector/base/clock.h"
#include "collector/base/log.h"
#include "collector/base/proc.h"
#include "collector/base/pulse.h"
#include "collector/samples/cpu_samples.h"
#include "collector/samples/samples.h"
#include "collector/waits/wait_files.h"
#include "collector/waits/wait_memory.h"
#include "collector/waits/wait_object.h"
#include "collector/waits/wait_pace.h"
#include "collector/waits/wait_peers.h"
#include "shared/atomic.h"
#include "shared/compiler.h"

#define ROOM 64u
#define ANCHOR_NS 20000000u /* between two anchors of a thread */
#define REFUSALS 64u /* a power of two */
#define REFUSED_NS UINT64_C(1000000000)
#define REFUSED_MOST_NS (64 * REFUSED_NS)
#define NS_PER_S 1000000000u

struct wait_poller {
	struct wait_source source;
	uint32_t stack_bytes;
	int wake_fd;
	pthread_t thread;
	bool started;
	bool closing; /* relaxed: wake_fd tells */
	struct wait_poller_counts counts; /* relaxed: each a word of its own */

	/* The thread's from here on. */
	struct wait_objects *objects;
	struct wait_files files;
	struct wait_pace pace;
	uint64_t switches; /* at the last pass */
	struct cpu_blocked blocked[ROOM];
	struct refusal {
		pid_t pid;
		uint64_t until_ns; /* MONOTONIC */
		uint64_t pause_ns; /* of the last time */
	} refusal[REFUSALS]; /* by pid: the last one there */
	uint8_t stack[]; /* stack_bytes */
};

/* --- refusals ---------------------------------------------------------------
 */

static struct refusal *refusal_of(struct wait_poller *poller, pid_t pid)
{
	return &poller->refusal[(uint32_t)pid % REFUSALS];
}

static bool has_refused(struct wait_poller *poller, pid_t pid)
{
	const struct refusal *refusal = refusal_of(poller, pid);

	return refusal->pid == pid && clock_monotonic_ns() < refusal->until_ns;
}

static void note_refusal(struct wait_poller *poller, pid_t pid)
{
	struct refusal *refusal = refusal_of(poller, pid);

	if (refusal->pid != pid)
		*refusal = (struct refusal){ .pid = pid };
	refusal->pause_ns =
		refusal->pause_ns ? MIN(2 * refusal->pause_ns, REFUSED_MOST_NS)
				  : REFUSED_NS;
	refusal->until_ns = clock_monotonic_ns() + refusal->pause_ns;
}

/* --- one thread -------------------------------------------------------------
 */

static struct sample *make_sample(struct wait_poller *poller,
				  const struct cpu_blocked *blocked,
				  const struct wait_call *call,
				  const char *text)
{
	size_t bytes = wait_memory_read(blocked->pid, call->sp, poller->stack,
					poller->stack_bytes);
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
	else if (bytes == poller->stack_bytes)
		sample->flags = SAMPLE_STACK_CUT;
	sample->reg[RECORD_REG_SP] = call->sp;
	sample->reg[RECORD_REG_IP] = call->pc;
	memcpy(sample->stack, poller->stack, bytes);
	return sample;
}

/* Why a read of the file "syscall" said @err. */
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

/* What @blocked waits on; NULL: that could not be read, *@why. */
static struct sample *read_wait(struct wait_poller *poller,
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
		wait_files_thread(&poller->files, blocked->pid, blocked->tid);
	int got =
		wait_files_read(files, WAIT_FILE_CALL, before, sizeof(before));

	if (got > 0)
		got = wait_call_parse(before, &call) ?: 1;
	*why = why_unread(got);
	if (got <= 0)
		return NULL;
	wait_object_name(poller->objects, &thread, &call, text);
	sample = make_sample(poller, blocked, &call, text);
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

/* Tells what the kernel has counted of @blocked up to now. What is spread
 * between two anchors of a thread is more exact where they are near, so each
 * wait would do; but a read costs as much as all the rest. */
static void tell_anchor(struct wait_poller *poller,
			const struct cpu_blocked *blocked)
{
	const struct wait_source *source = &poller->source;
	struct wait_files_thread *files =
		wait_files_thread(&poller->files, blocked->pid, blocked->tid);
	uint64_t now = clock_monotonic_ns();
	unsigned long long on_ns, delay_ns;
	char text[80];

	if (now - files->sums_ns < ANCHOR_NS)
		return;
	files->sums_ns = now;
	if (wait_files_read(files, WAIT_FILE_SUMS, text, sizeof(text)) > 0 &&
	    sscanf(text, "%llu %llu", &on_ns, &delay_ns) == 2)
		source->anchor(source->context, blocked, on_ns, delay_ns);
}

static void look_at(struct wait_poller *poller,
		    const struct cpu_blocked *blocked)
{
	const struct wait_source *source = &poller->source;
	enum samples_unread why = SAMPLES_REFUSED;
	struct sample *wait = NULL;

	tell_anchor(poller, blocked);
	if (!has_refused(poller, blocked->pid)) {
		wait = read_wait(poller, blocked, &why);
		if (!wait && why == SAMPLES_REFUSED)
			note_refusal(poller, blocked->pid);
	}
	count_one(&poller->counts.taken);
	if (wait) {
		count_one(&poller->counts.told);
		source->tell(source->context, blocked, wait);
	} else if (blocked->samples) {
		samples_count_unread(blocked->samples, why);
	}
}

/* --- the thread -------------------------------------------------------------
 */

static uint64_t own_cpu_ns(void)
{
	return clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* Looks at all threads that have been blocked for long enough. Returns after
 * how many ns to do so again. */
static uint64_t run_pass(struct wait_poller *poller)
{
	const struct wait_source *source = &poller->source;
	uint64_t before = clock_boottime_ns() - CPU_LONG_NS, pause;
	struct wait_pace_seen seen;
	struct cpu_wait_sums sums;
	size_t count;

	wait_pace_begin(&poller->pace, clock_monotonic_ns(), own_cpu_ns());
	count = source->take(source->context, before, poller->blocked, ROOM,
			     &sums);
	seen = (struct wait_pace_seen){
		.active = count || sums.switches != poller->switches,
		.long_ns = sums.long_ns,
		.missed_ns = sums.missed_ns,
	};
	for (size_t i = 0; i < count; i++) {
		look_at(poller, &poller->blocked[i]);
		if (poller->blocked[i].samples)
			samples_put(&poller->blocked[i].samples);
	}
	poller->switches = sums.switches;
	count_one(&poller->counts.passes);
	pause = wait_pace_end(&poller->pace, clock_monotonic_ns(), own_cpu_ns(),
			      &seen);
	/* relaxed: for who looks */
	atom_store_rlx(&poller->counts.cpu_ns, poller->pace.cpu_ns);
	return pause;
}

static void *poller_thread(void *context)
{
	struct wait_poller *poller = context;
	struct pollfd wake = { .fd = poller->wake_fd, .events = POLLIN };

	pthread_setname_np(pthread_self(), "perfrec-waits");
	/* relaxed: wake_fd orders it */
	while (!atom_load_rlx(&poller->closing)) {
		struct timespec pause = { 0 };
		uint64_t ns;

		pulse_begin("reads what threads wait on");
		ns = run_pass(poller);
		pulse_end();
		pause.tv_sec = (time_t)(ns / NS_PER_S);
		pause.tv_nsec = (long)(ns % NS_PER_S);
		ppoll(&wake, 1, &pause, NULL);
	}
	return NULL;
}

/* --- life -------------------------------------------------------------------
 */

int wait_poller_new(const struct wait_source *source, uint32_t stack_bytes,
		    struct wait_poller **out)
{
	const struct wait_processes processes = { source->list,
						  source->context };
	struct wait_poller *poller = calloc(1, sizeof(*poller) + stack_bytes);
	int err;

	*out = NULL;
	if (!poller)
		return -ENOMEM;
	poller->source = *source;
	poller->stack_bytes = stack_bytes;
	wait_files_init(&poller->files);
	poller->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	err = poller->wake_fd < 0 ? -errno : 0;
	if (!err)
		err = wait_objects_new(&processes, &poller->objects);
	if (!err)
		err = -pthread_create(&poller->thread, NULL, poller_thread,
				      poller);
	poller->started = !err;
	if (err)
		wait_poller_free(&poller);
	*out = poller;
	return err;
}

static void log_counts(const struct wait_poller *poller)
{
	const struct wait_poller_counts *counts = &poller->counts;

	log_dbg("what threads wait on: %llu of %llu waits were read, in %llu "
		"passes that took %llu us of CPU time",
		(unsigned long long)counts->told,
		(unsigned long long)counts->taken,
		(unsigned long long)counts->passes,
		(unsigned long long)(counts->cpu_ns / 1000));
}

void wait_poller_free(struct wait_poller **poller)
{
	struct wait_poller *old = *poller;
	uint64_t one = 1;

	*poller = NULL;
	if (!old)
		return;
	if (old->started) {
		/* relaxed: wake_fd orders it */
		atom_store_rlx(&old->closing, true);
		(void)!write(old->wake_fd, &one, sizeof(one));
		pthread_join(old->thread, NULL);
		log_counts(old);
	}
	wait_objects_free(&old->objects);
	wait_files_release(&old->files);
	if (old->wake_fd >= 0)
		close(old->wake_fd);
	free(old);
}

struct wait_poller_counts wait_poller_counts(const struct wait_poller *poller)
{
	/* relaxed: each for itself */
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

/* --- the sampler as a source ------------------------------------------------
 */

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

static void tell_sums(void *context, const struct cpu_blocked *blocked,
		      uint64_t on_ns, uint64_t delay_ns)
{
	cpu_tell_anchor(context, blocked, on_ns, delay_ns);
}

static size_t list_processes(void *context, pid_t pid, pid_t *out, size_t room)
{
	return cpu_list_processes(context, pid, out, room);
}

struct wait_source wait_source_of(struct cpu_sampler *sampler)
{
	return (struct wait_source){ .take = take_blocked,
				     .tell = tell_wait,
				     .anchor = tell_sums,
				     .list = list_processes,
				     .context = sampler };
}
