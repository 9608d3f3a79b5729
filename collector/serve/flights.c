/* SPDX-License-Identifier: Apache-2.0
 *
 * A due snapshot has two steps. First the drain workers empty the rings, for at
 * most DRAIN_NS: a stopped program or a hung disk must not prevent the snapshot
 * of the data in memory. New data may fire more triggers, and overlapping
 * snapshots are merged, so the exact range is known after that. Then the
 * recording's flight thread writes the snapshot. A recording has one snapshot
 * under way at a time, with a reference to the recording.
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

struct flying {
	struct job job; /* must be first */
	struct flying *next;
	struct recording *recording; /* a reference */
	int done_fd; /* owned by the collector */
	bool read; /* the rings were drained up to due_ns */
	bool waits; /* wait was begun */
	bool posted;
	bool idle; /* nothing to write */
	uint32_t done; /* set last, by the writing thread */
	uint64_t due_ns; /* see flight_recorder_next() */
	uint64_t deadline_ns; /* CLOCK_BOOTTIME */
	struct drain_wait wait;
	struct flight_written now;
};

struct flights {
	struct collector *collector;
	struct flying *first;
	struct flying *spare; /* allocated for the next snapshot; may be NULL */
};

static void write_flight_job(struct job *job)
{
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

static void step_flying(struct flights *flights, struct flying *flying)
{
	struct jobs *jobs;

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
	/* Samples of CPUs are buffered until there are many. */
	cpu_sampler_flush(flights->collector->cpu, flying->recording);
	jobs = flight_recorder_jobs(flying->recording);
	flying->posted = true;
	flying->job.run = write_flight_job;
	/* If its own thread cannot start, use the recording's. */
	jobs_post(jobs ? jobs : recording_setup(flying->recording)->jobs,
		  &flying->job);
}

/* Begins the next due snapshot of @recording. Drains the rings, unless the
 * snapshot was already due at the last drain. */
static void begin(struct flights *flights, struct recording *recording)
{
	uint64_t read_ns = flight_recorder_read_ns(recording);
	struct flying *flying;
	const struct flying *known = flights->first;

	while (known && known->recording != recording)
		known = known->next;
	if (known)
		return;
	if (!flights->spare)
		flights->spare = calloc(1, sizeof(*flying));
	flying = flights->spare;
	/* Tries again at the next beat. */
	if (!flying)
		return;
	flying->read = flight_recorder_is_due(recording, read_ns);
	/* At the end of the collector, no margin is awaited. */
	flying->due_ns = flying->read
				 ? read_ns
				 : (flights->collector->closing &&
						    !flights->collector->arenas
					    ? UINT64_MAX
					    : clock_boottime_ns());
	if (!flying->read && !flight_recorder_is_due(recording, flying->due_ns))
		return;
	flights->spare = NULL;
	flying->recording = recording_get(recording);
	flying->done_fd = flights->collector->done_fd;
	flying->next = flights->first;
	flights->first = flying;
	if (!flying->read) {
		flying->deadline_ns = clock_boottime_ns() + DRAIN_NS;
		flying->waits = !drain_wait_begin(&flying->wait,
						  flights->collector->drain,
						  flights->collector->arenas,
						  is_flying, flying->recording);
	}
	step_flying(flights, flying);
}

void flights_beat(struct flights *flights)
{
	struct recording **list;
	size_t count;
	struct flying **link, *flying;

	if (!flights)
		return;
	link = &flights->first;
	while ((flying = *link)) {
		step_flying(flights, flying);
		/* order: acq, FLUSH: the files are written */
		if (!flying->idle &&
		    (!flying->posted || !atom_load_acq(&flying->done))) {
			link = &flying->next;
			continue;
		}
		*link = flying->next;
		if (!flying->idle)
			flight_recorder_note(flying->recording, &flying->now);
		drain_wait_release(&flying->wait);
		recording_put(&flying->recording);
		free(flying);
	}
	if (flights->collector->recording)
		begin(flights, flights->collector->recording);
	count = session_open_recordings(flights->collector, &list);
	for (size_t i = 0; i < count; i++)
		begin(flights, list[i]);
	session_put_recordings(&list, count);
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
