/* SPDX-License-Identifier: Apache-2.0
 *
 * counts - what became of the windows: the file PUSH_COUNTERS_NAME in the
 * spool, which perfrec-collect reads, and lines of log, of each reason at most
 * one a minute.
 */
#ifndef PERFREC_COLLECTOR_PUSH_COUNTS_H
#define PERFREC_COLLECTOR_PUSH_COUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/push/schedule.h"
#include "shared/compiler.h"

/* Why a request or a window failed. */
enum push_reason {
	/* Members of "refused": requests. */
	PUSH_400,
	PUSH_401,
	PUSH_403,
	PUSH_404,
	PUSH_408,
	PUSH_413,
	PUSH_422,
	PUSH_429,
	PUSH_500,
	PUSH_502,
	PUSH_503,
	PUSH_504,
	PUSH_OTHER,
	PUSH_NETWORK,
	PUSH_TLS,
	PUSH_SILENT,
	PUSH_NONSENSE,
	PUSH_PARTIAL,
	/* Members of "dropped": windows. */
	PUSH_SPOOL_FULL,
	PUSH_TOO_OLD,
	PUSH_FOR_GOOD,
	PUSH_TOO_LARGE,
	PUSH_MALFORMED,
	/* Neither. */
	PUSH_FITTED,
	PUSH_SPOOL,
	PUSH_REASONS,
};

/* The outcome of one server's windows. */
struct outcome {
	uint64_t windows, profiles; /* it has them */
	uint64_t rejected; /* profiles of these that it refused after all */
	uint64_t dropped[PUSH_REASONS]; /* windows */
	uint64_t refused[PUSH_OTHER + 1]; /* of PUSH_FOR_GOOD: by status */
	uint64_t left; /* windows in the spool */
};

struct counts {
	struct outcome servers[SCHEDULE_LANES_MAX];
	uint64_t pushes, bytes, retries;
	uint64_t merged_stacks, cut_stacks, dropped_labels;
	uint64_t by[PUSH_REASONS];
	uint64_t spooled_windows, spooled_bytes, last_success_ns;
	char last_error[256];
	bool changed; /* since counts_write() */
	struct {
		uint64_t next_ns, withheld;
	} lines[PUSH_REASONS];
};

/* Counts a request that failed because of @why. */
void counts_add(struct counts *counts, enum push_reason why);
/* Counts a window that @lane does not get because of @why. @status: that the
 * server refused it with, if @why is PUSH_FOR_GOOD. */
void counts_drop(struct counts *counts, uint32_t lane, enum push_reason why,
		 long status);
/* Writes one line of log with the outcome of a server, which the command line
 * names @given. With @quiet only if something was lost or stays in @spool. */
void counts_say_outcome(const struct outcome *outcome, const char *given,
			const char *spool, bool quiet);
/* The reason of status @status of HTTP. */
enum push_reason counts_reason(long status);
/* Writes one line of log, unless there was one of @why in the minute before
 * @mono_ns: then it is counted, and the next line says how many there were. The
 * line is the last error that the file has. */
void counts_say(struct counts *counts, enum push_reason why, uint64_t mono_ns,
		const char *format, ...) ATTR_PRINTF(4, 5);
/* Writes the file to the folder @spool_fd, in place of an older one. Returns 0
 * or -errno. */
int counts_write(struct counts *counts, int spool_fd);

#endif
