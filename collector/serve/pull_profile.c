/* SPDX-License-Identifier: Apache-2.0
 *
 * pull_profile - a request posts a job to the thread of each recording, which
 * adds up its profile. The request waits for these jobs up to a deadline and
 * skips late recordings. Then it merges the results, with the program as a
 * label, and writes the profile. For a profile of some seconds it runs the jobs
 * twice. It holds references to the recordings meanwhile, so programs that end
 * in between are included.
 */
#include "collector/serve/pull_profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "collector/base/budget.h"
#include "collector/base/clock.h"
#include "collector/base/jobs.h"
#include "collector/names/symbols.h"
#include "collector/options/collect_options.h"
#include "collector/profile/window_profile.h"
#include "collector/record/collector.h"
#include "collector/record/recording.h"
#include "collector/serve/session.h"

#define TIMED_MAX 8 /* requests with seconds, so that others find room */
#define SUM_NS 10000000000 /* for the recordings to add up */
/* For the profiles of all requests: those of recordings, and the answers. */
#define MEMORY_BYTES (256u << 20)
#define SECOND_NS 1000000000u

static struct {
	struct collector *collector;
	struct budget memory;
	struct lock lock; /* guards the following members and requests */
	pthread_cond_t change;
	bool stopping;
	unsigned int timed; /* profiles of some seconds in progress */
} g_profiles = { .memory.left = MEMORY_BYTES };

/* Returns false at @deadline_ns (CLOCK_BOOTTIME), or at shutdown. Lock held. */
static bool wait_for_change(uint64_t deadline_ns)
{
	return !g_profiles.stopping &&
	       pull_wait(&g_profiles.lock, &g_profiles.change, deadline_ns);
}

bool pull_wait(struct lock *lock, pthread_cond_t *change, uint64_t deadline_ns)
{
	uint64_t now = clock_boottime_ns(), until;
	struct timespec at;

	if (now >= deadline_ns)
		return false;
	until = clock_monotonic_ns() + (deadline_ns - now);
	at.tv_sec = (time_t)(until / SECOND_NS);
	at.tv_nsec = (long)(until % SECOND_NS);
	lock_wait_until(lock, change, &at);
	return true;
}

/* --- sums of recordings -------------------------------------------------- */

/* A recording in a request. Shared by its job and the request; the last user
 * frees it. */
struct pull_item {
	struct job job; /* the first member */
	struct pull_item *next; /* owned by the request */
	struct recording *recording; /* a reference */
	struct stack_profile *window;
	enum window_source source;
	char program[16];
	uint32_t refs; /* under the lock */
	bool done, has_sums; /* under the lock */
	bool late; /* missed the first sum; owned by the request */
};

static void put_pull_item(struct pull_item *item)
{
	bool last;

	lock_acquire(&g_profiles.lock);
	last = --item->refs == 0;
	lock_release(&g_profiles.lock);
	if (!last)
		return;
	stack_profile_free(&item->window);
	recording_put(&item->recording);
	free(item);
}

static void sum_job(struct job *job)
{
	struct pull_item *item = (struct pull_item *)job;
	bool has_sums =
		windows_sum(item->recording, g_profiles.collector->sampler,
			    item->source, item->window);

	lock_acquire(&g_profiles.lock);
	item->has_sums = has_sums;
	item->done = true;
	pthread_cond_broadcast(&g_profiles.change);
	lock_release(&g_profiles.lock);
	put_pull_item(item);
}

static void add_pull_item(struct pull_request *request,
			  struct recording *recording)
{
	const struct recording_setup *setup = recording_setup(recording);
	char program[16];
	struct pull_item *item;

	for (item = request->items; item; item = item->next)
		if (item->recording == recording)
			return;
	windows_program(recording, program);
	if ((request->program && strcmp(program, request->program) != 0) ||
	    !(request->source == SOURCE_CPU	? setup->profiles.cpu
	      : request->source == SOURCE_WAITS ? setup->profiles.offcpu
						: setup->profiles.heap))
		return;
	item = calloc(1, sizeof(*item));
	if (!item)
		return;
	if (window_profile_new(request->view->kind, setup->symbols,
			       &g_profiles.memory, &item->window)) {
		free(item);
		return;
	}
	item->recording = recording_get(recording);
	item->source = request->source;
	memcpy(item->program, program, sizeof(program));
	item->refs = 1;
	item->done = true;
	item->job.run = sum_job;
	item->next = request->items;
	request->items = item;
}

/* Returns 0, or -ENOENT if no recorded program matches @request. */
static int add_items(struct pull_request *request)
{
	struct recording **list;
	size_t count = session_open_recordings(g_profiles.collector, &list);

	for (size_t i = 0; i < count; i++)
		add_pull_item(request, list[i]);
	session_put_recordings(&list, count);
	return request->program && !request->items ? -ENOENT : 0;
}

static void put_pull_items(struct pull_request *request)
{
	while (request->items) {
		struct pull_item *item = request->items;

		request->items = item->next;
		put_pull_item(item);
	}
}

/* Adds up all recordings and waits for the results. Returns as add_items(). */
static int sum_all(struct pull_request *request)
{
	uint64_t deadline_ns = clock_boottime_ns() + SUM_NS;
	int err = add_items(request);

	lock_acquire(&g_profiles.lock);
	for (struct pull_item *item = request->items; item; item = item->next) {
		if (item->late)
			continue;
		item->done = false;
		item->refs++;
		jobs_post(recording_setup(item->recording)->jobs, &item->job);
	}
	for (struct pull_item *item = request->items; item; item = item->next)
		while (!item->late && !item->done &&
		       wait_for_change(deadline_ns))
			;
	lock_release(&g_profiles.lock);
	return err;
}

static bool is_ready(const struct pull_item *item)
{
	return LOCKED(&g_profiles.lock, item->done && item->has_sums);
}

/* Waits for the @seconds of the profile. Returns 0, -ESHUTDOWN or -ENOENT. */
static int pass_time(struct pull_request *request, uint64_t seconds)
{
	uint64_t end_ns;
	int err = sum_all(request);

	if (err)
		return err;
	end_ns = clock_boottime_ns() + seconds * SECOND_NS;
	request->begin_ns = clock_read_ns(CLOCK_REALTIME);
	for (struct pull_item *item = request->items; item; item = item->next) {
		item->late = !is_ready(item);
		if (item->late)
			continue;
		(void)window_profile_end(item->window);
		window_profile_start(item->window);
	}
	lock_acquire(&g_profiles.lock);
	while (wait_for_change(end_ns))
		;
	err = g_profiles.stopping ? -ESHUTDOWN : 0;
	lock_release(&g_profiles.lock);
	return err;
}

static int write_pull_items(const struct pull_request *request, int fd)
{
	const struct stack_profile_header header = {
		.start_ns = request->begin_ns,
		.duration_ns = request->end_ns - request->begin_ns,
		.period = windows_period(g_profiles.collector->options,
					 request->source),
		.program = request->items ? request->items->program : NULL,
	};
	struct stack_profile *all = NULL;
	struct symbol_cache *names;
	int err = symbol_cache_share(g_profiles.collector->symbols, "--listen",
				     &names);

	if (err)
		return err;
	err = window_profile_new(request->view->kind, names, &g_profiles.memory,
				 &all);
	for (struct pull_item *item = request->items; item && !err;
	     item = item->next) {
		if (item->late || !is_ready(item))
			continue;
		(void)window_profile_end(item->window);
		/* The profile counts data without room. */
		(void)window_profile_add(all, item->window, item->program);
	}
	if (!err) {
		(void)window_profile_end(all);
		err = window_profile_write(all, request->view, &header, fd,
					   NULL);
	}
	stack_profile_free(&all);
	symbol_cache_put(&names);
	return err;
}

/* Creates the profile of the next @seconds, or of all time for 0. Returns a
 * descriptor or -errno. */
static int make_profile(struct pull_request *request, uint64_t seconds)
{
	int fd, err = 0;

	if (seconds)
		err = pass_time(request, seconds);
	if (!err)
		err = sum_all(request);
	request->end_ns = clock_read_ns(CLOCK_REALTIME);
	/* As in Go. Servers use the start as the time of the profile, and
	 * reject old ones. */
	if (!seconds || request->end_ns < request->begin_ns)
		request->begin_ns = request->end_ns;
	fd = err ? err : memfd_create("perfrec-pull", MFD_CLOEXEC);
	if (fd < 0)
		err = err ? err : -errno;
	if (!err)
		err = write_pull_items(request, fd);
	put_pull_items(request);
	if (err && fd >= 0)
		close(fd);
	return err ? err : fd;
}

int pull_profile_make(struct pull_request *request, uint64_t seconds)
{
	bool fits;
	int fd;

	if (!seconds)
		return make_profile(request, 0);
	lock_acquire(&g_profiles.lock);
	fits = g_profiles.timed < TIMED_MAX;
	g_profiles.timed += fits;
	lock_release(&g_profiles.lock);
	if (!fits)
		return -EBUSY;
	fd = make_profile(request, seconds);
	lock_acquire(&g_profiles.lock);
	g_profiles.timed--;
	lock_release(&g_profiles.lock);
	return fd;
}

int pull_profile_find(struct pull_request *request)
{
	int err = add_items(request);

	put_pull_items(request);
	return err;
}

void pull_change_init(struct lock *lock, pthread_cond_t *change)
{
	pthread_condattr_t attributes;

	lock_init(lock, LOCK_PULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(change, &attributes);
	pthread_condattr_destroy(&attributes);
}

void pull_profile_start(struct collector *collector)
{
	g_profiles.collector = collector;
	pull_change_init(&g_profiles.lock, &g_profiles.change);
}

/* The lock is not destroyed: jobs of recordings may still use it. */
void pull_profile_stop(void)
{
	lock_acquire(&g_profiles.lock);
	g_profiles.stopping = true;
	pthread_cond_broadcast(&g_profiles.change);
	lock_release(&g_profiles.lock);
}
