/* SPDX-License-Identifier: Apache-2.0
 *
 * summary_read - the summary.json of a recording, as structures. It is read
 * as a file of unknown origin: what is missing is 0 or "", what is of the
 * wrong type makes it no recording.
 */
#ifndef PERFREC_COLLECTOR_READ_SUMMARY_READ_H
#define PERFREC_COLLECTOR_READ_SUMMARY_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "collector/output/counters.h"

struct summary_file {
	const char *name;
	uint64_t bytes;
};

/* Programs that were not recorded, for one reason. */
struct summary_refused {
	const char *why, *name; /* said of "it"; of the first, or "" */
	uint64_t programs;
};

struct summary {
	const char **command; /* its words; ends with a NULL */
	uint64_t wall_ns, user_ns, sys_ns;
	bool knows_cpu; /* user_ns and sys_ns were measured */
	bool exited; /* else: by a signal, if that is not 0, or not known */
	int exit_status, exit_signal;
	bool attached; /* to a daemon, which learns no exit status */
	bool running; /* some process was, when the recording ended */
	bool instrumented; /* some process was */
	bool estimates; /* allocations were sampled, or some */
	bool knows_temporary; /* not all of them were */
	bool wants_cpu, wants_alloc; /* as --cpu, --alloc */
	bool filtered; /* by --filter or --exclude */
	struct summary_totals totals;
	struct summary_cost cost;
	const char **notes; /* sentences; ends with a NULL */
	const char **went_on; /* names of those; ends with a NULL */
	size_t refused_count;
	struct summary_refused *refused;
	size_t function_count;
	struct summary_function *functions; /* by self time, longest first */
	size_t file_count;
	struct summary_file *files;
	void *document; /* what all strings above live in */
};

/*
 * Read @dir/summary.json. On success the caller owns *@out and ends it with
 * summary_free(). On failure one line that names @dir and the way out is
 * logged. Returns 0 or -errno (-EBADMSG: no recording).
 */
int summary_read(const char *dir, struct summary **out);
void summary_free(struct summary **summary);

enum summary_order {
	SUMMARY_BY_SELF,
	SUMMARY_BY_TOTAL,
	SUMMARY_BY_CALLS,
	SUMMARY_BY_NAME,
};

/* Largest first, names from A to Z; equal ones by name, then module. */
void summary_sort(struct summary *summary, enum summary_order order);

/*
 * Write summary.json again with the functions in their present order, no
 * more than @limit of them (0: all). 0 or -EIO.
 */
int summary_write_json(const struct summary *summary, size_t limit, FILE *out);

#endif
