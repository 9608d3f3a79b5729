/* SPDX-License-Identifier: Apache-2.0
 *
 * windows - what came in each window of time (--push), of each recording: a file
 * in the spool with a profile of each kind (docs/SERVICE.md).
 */
#ifndef PERFREC_COLLECTOR_FILES_WINDOWS_H
#define PERFREC_COLLECTOR_FILES_WINDOWS_H

#include <stdbool.h>
#include <stdint.h>

struct collect_options;
struct recording;
struct sampler;
struct snapshot;
struct stack_profile;

/* The profiles of a recording. */
enum window_source {
	SOURCE_CPU,
	SOURCE_WALL,
	SOURCE_WAITS,
	SOURCE_HEAP,
	SOURCES,
};

/* Sets @out (window_profile.h) to the sums of @recording up to now. It has the
 * profile @source, which is not SOURCE_WALL. @sampler may be NULL. False: there
 * are none. The jobs thread. */
bool windows_sum(struct recording *recording, struct sampler *sampler,
		 enum window_source source, struct stack_profile *out);
/* Sets @name to the name of the first program of @recording that said hello;
 * "": none did. Any thread. */
void windows_program(struct recording *recording, char name[16]);

/* The period of the profile @source: how much a sample stands for. Pure. */
uint64_t windows_period(const struct collect_options *options,
			enum window_source source);

/*
 * Writes the window of @recording that ends at @end_ns (UNIX time), unless it
 * is empty. Its wall time is that of @snapshot, which ends; NULL: the next
 * window has the wall time of both. @sampler may be NULL. If the window cannot
 * be written, or the spool is full, its values are in the next window. The jobs
 * thread.
 */
void windows_write(struct recording *recording, struct sampler *sampler,
		   struct snapshot *snapshot, uint64_t end_ns);
/* Writes the last window, with the current profiles of @recording. Does nothing
 * without --push. Only for the thread that finishes the recording, after all
 * files. */
void windows_finish(struct recording *recording);

#endif
