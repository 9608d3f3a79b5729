/* SPDX-License-Identifier: Apache-2.0
 *
 * process_describe - writes the description of a process to the trace.
 */
#ifndef PERFREC_COLLECTOR_DRAIN_PROCESS_DESCRIBE_H
#define PERFREC_COLLECTOR_DRAIN_PROCESS_DESCRIBE_H

#include <stdint.h>
#include <sys/types.h>

struct process_entry;
struct recording;
struct who;

struct process_card {
	const struct process_entry *entry; /* the recording's */
	pid_t pid; /* in our namespace */
	uint64_t uuid; /* of its track */
};

/* Writes @card to the trace of @recording, with the attributes of @who (NULL:
 * none known). A later call replaces an earlier one. Any thread. */
void process_describe(const struct process_card *card,
		      struct recording *recording, const struct who *who);

#endif
