/* SPDX-License-Identifier: Apache-2.0
 *
 * A snapshot that is due has two steps. First the drain workers read what is in
 * the rings now; they have DRAIN_NS for it, as a program that is stopped or a
 * disk that hangs must not keep it out of what is in memory. What they find may
 * trigger snapshots, too, which become one with this if they overlap; so which
 * one it is, is known then. The thread of the recording for its snapshots
 * writes it. A recording has one under way at a time, which holds a reference.
 */
#include "collector/serve/flights.h"

#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "collector/base/clock.h"
#include "collector/base/jobs.h"
#include "collector/base/log.h"
#include "collector/drain/drain.h"
#include "collector/files/flight_recorder.h"
#include "collector/options/collect_options.h"
#include "collector/record/collector.h"
#include "collector/record/recording.h"
#include "collector/samples/cpu_samples.h"
#include "collector/serve/session.h"
#include "shared/atomic.h"

#define DRAIN_NS 1000000000

/* A snapshot that is under way. */
struct flying {
	struct job job;
	struct flying *next;
	struct recording *recording; /* a reference */
	int done_fd; /* the collector's */
	bool read; /* the rings were, up to due_ns */
	bool waits; /* for that: wait was begun */
	bool posted;
	bool idle; /* there is nothing to write after all */
	uint32_t done; /* the writing thread sets it, at last */
	uint64_t due_ns; /* see flight_recorder_next() */
	uint64_t deadline_ns; /* BOOTTIME */
	struct drain_wait wait;
	struct flight_written now;
};

struct flights {
	struct collector *collector;
	struct flying *first;
	struct flying *spare; /* for the next one; NULL: none yet */
};

static void write_job(struct job *job)
{
	/* The job is the first member. */
	struct flying *flying = (struct flying *)job;
	int done_fd = flying->done_fd;
	uint64_t one = 1;

	flight_recorder_write(flying->recording, &flying->now);
	/* order: rel, FLUSH: the files are written. The main thread may free
	 * it from now on. */
	atom_store_rel(&flying->done, 1);
	if (write(done_fd, &one, sizeof(one)) < 0)
		log_err("cannot wake the main thread: %m");
}

static bool is_flying(const void *context, const struct recording *recording)
{
	return context == recording;
}

static void post(struct flying *flying)
{
	struct jobs *jobs = flight_recorder_jobs(flying->recording);

	flying->posted = true;
	flying->job.run = write_job;
	/* Where no thread can be started, its recording's has the time. */
	jobs_post(jobs ? jobs : recording_setup(flying->recording)->jobs,
		  &flying->job);
}

static void step_flying(struct flights *flights, struct flying *flying)
{
	if (flying->posted)
		return;
	if (flying->waits)
		flying->read = drain_wait_is_over(&flying->wait,
						  flights->collector->drain);
	if (flying->waits && !flying->read &&
	    clock_boottime_ns() < flying->deadline_ns)
		return;
	if (flying->read)
		flight_recorder_was_read(flying->recording, flying->due_ns);
	if (!flight_recorder_next(flying->recording, flying->due_ns,
				  &flying->now)) {
		flying->idle = true;
		return;
	}
	flying->now.drained = flying->read;
	/* What the kernel has told of CPUs waits until there is much of it. */
	cpu_sampler_flush(flights->collector->cpu, flying->recording);
	post(flying);
}

static void free_flying(struct flying *flying)
{
	drain_wait_release(&flying->wait);
	recording_put(&flying->recording);
	free(flying);
}

static bool is_written(const struct flying *flying)
{
	/* order: acq, FLUSH: the files are written */
	return flying->posted && atom_load_acq(&flying->done);
}

/* Takes those out that are written. */
static void reap(struct flights *flights)
{
	struct flying **link = &flights->first, *flying;

	while ((flying = *link)) {
		step_flying(flights, flying);
		if (!flying->idle && !is_written(flying)) {
			link = &flying->next;
			continue;
		}
		*link = flying->next;
		if (!flying->idle)
			flight_recorder_note(flying->recording, &flying->now);
		free_flying(flying);
	}
}

static bool has_one(const struct flights *flights,
		    const struct recording *recording)
{
	const struct flying *flying = flights->first;

	while (flying && flying->recording != recording)
		flying = flying->next;
	return flying;
}

/* Up to when a window has to have ended. When all has ended, no margin is
 * waited for. */
static uint64_t due_at(const struct collector *collector)
{
	return collector->closing && !collector->arenas ? UINT64_MAX
							: clock_boottime_ns();
}

/* Has the drain workers read what is in the rings. */
static void read_rings(struct collector *collector, struct flying *flying)
{
	flying->deadline_ns = clock_boottime_ns() + DRAIN_NS;
	flying->waits = !drain_wait_begin(&flying->wait, collector->drain,
					  collector->arenas, is_flying,
					  flying->recording);
}

/* Begins the next snapshot of @recording that is due. Of those that were due
 * when the rings were read last, they need not be read again. */
static void begin(struct flights *flights, struct recording *recording)
{
	uint64_t read_ns = flight_recorder_read_ns(recording);
	struct flying *flying;

	if (has_one(flights, recording))
		return;
	if (!flights->spare)
		flights->spare = calloc(1, sizeof(*flying));
	flying = flights->spare;
	/* Without memory at the next beat. */
	if (!flying)
		return;
	flying->read = flight_recorder_is_due(recording, read_ns);
	flying->due_ns = flying->read ? read_ns : due_at(flights->collector);
	if (!flying->read && !flight_recorder_is_due(recording, flying->due_ns))
		return;
	flights->spare = NULL;
	flying->recording = recording_get(recording);
	flying->done_fd = flights->collector->done_fd;
	flying->next = flights->first;
	flights->first = flying;
	if (!flying->read)
		read_rings(flights->collector, flying);
	step_flying(flights, flying);
}

void flights_beat(struct flights *flights)
{
	struct recording *recording;

	if (!flights)
		return;
	reap(flights);
	if (flights->collector->recording)
		begin(flights, flights->collector->recording);
	for (size_t i = 0;
	     (recording = session_open_recording(flights->collector, i)); i++) {
		begin(flights, recording);
		recording_put(&recording);
	}
}

int flights_new(struct collector *collector, struct flights **out)
{
	*out = NULL;
	if (!collector->options->flight.on)
		return 0;
	*out = calloc(1, sizeof(**out));
	if (!*out)
		return -ENOMEM;
	(*out)->collector = collector;
	return 0;
}

bool flights_are_busy(const struct flights *flights)
{
	return flights && flights->first;
}

void flights_free(struct flights **flights)
{
	struct flights *old = *flights;

	*flights = NULL;
	if (!old)
		return;
	assert(!old->first);
	free(old->spare);
	free(old);
}
