/* SPDX-License-Identifier: Apache-2.0
 *
 * summary_write - summary.json: what was recorded and lost, what it cost, and
 * where the time went. `perfrec report` prints it (summary_read.h).
 */
#ifndef PERFREC_COLLECTOR_FILES_SUMMARY_WRITE_H
#define PERFREC_COLLECTOR_FILES_SUMMARY_WRITE_H

#include <stdint.h>

struct recording;

struct recording_files {
	const char *trace_name;
	uint64_t trace_bytes;
	int trace_stopped; /* trace_file_stopped() */
	const char *profile_name; /* NULL: it could not be written */
	uint64_t profile_bytes;
	uint64_t cpu_profile_bytes; /* 0: there is none */
	/* The same. */
	uint64_t heap_profile_bytes, heap_peak_bytes, span_profile_bytes;
};

/* Writes the file under another name first, so that it is there whole or not
 * at all. Sorts the recording's functions. 0 or -errno. */
int summary_write(struct recording *recording,
		  const struct recording_files *files);

#endif
