/* SPDX-License-Identifier: Apache-2.0
 *
 * summary_write - writes summary.json: counts, losses, the cost of recording,
 * and the times of functions. summary_read.h reads it.
 */
#ifndef PERFREC_COLLECTOR_FILES_SUMMARY_WRITE_H
#define PERFREC_COLLECTOR_FILES_SUMMARY_WRITE_H

#include <stdint.h>

#include "collector/files/own_costs.h"
#include "collector/profile/time_from.h"
#include "collector/trace/trace_keep.h"

struct cpu_sum;
struct recording;

/* The other files of a recording, as they were written. */
struct recording_files {
	const char *trace_name; /* NULL: there is no trace (--flight) */
	uint64_t trace_bytes;
	uint64_t trace_unpacked_bytes; /* as trace_file_unpacked_bytes() */
	struct trace_kept trace_kept; /* trace_file_kept() */
	bool trace_compressed;
	int trace_stopped; /* trace_file_stopped() */
	const char *profile_name; /* of wall time; NULL: it was not written */
	uint64_t profile_bytes;
	/* 0: there is no such file. */
	uint64_t cpu_profile_bytes, offcpu_profile_bytes;
	uint64_t heap_profile_bytes, heap_peak_bytes, span_profile_bytes;
	struct cpu_sum *cpu_sum; /* of cpu_profile_write(); NULL: nothing */
	struct own_costs_found costs; /* that were subtracted from times */
	enum time_from time_from; /* of functions */
};

/* Write the file to the recording's folder. It is written under another name
 * first, so that it is there as a whole or not at all. Sorts the functions of
 * @recording, which has ended: nobody else uses it. Waits for the disk, and
 * some ms for the measurements of summary_cost(). 0 or -errno. */
int summary_write(struct recording *recording,
		  const struct recording_files *files);

#endif
