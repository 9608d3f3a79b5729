/* SPDX-License-Identifier: Apache-2.0
 *
 * summary_read - the summary.json of a recording, as structures.
 *
 * The file may come from anywhere. A field that is missing is 0 or NULL, a list
 * that is missing is empty; a field of the wrong type means that the file is no
 * recording.
 */
#ifndef PERFREC_COLLECTOR_READ_SUMMARY_READ_H
#define PERFREC_COLLECTOR_READ_SUMMARY_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "collector/output/counters.h"

/* A file of the recording. */
struct summary_file {
	const char *name;
	uint64_t bytes;
};

/* Programs that were not recorded, all for the same reason. */
struct summary_refused {
	const char *why; /* a sentence about "it", the program */
	const char *name; /* of the first program; "": unknown */
	uint64_t programs;
};

struct summary {
	const char *version; /* of the perfrec that wrote it; "": unknown */
	const char **command; /* its words; ends with a NULL */
	uint64_t wall_ns, user_ns, sys_ns;
	bool knows_cpu; /* user_ns and sys_ns were measured */
	/* How the command ended: exited, with a status; or not exited, and
	 * killed by a signal; or neither, if the signal is 0: not known. */
	bool exited;
	int exit_status, exit_signal;
	bool running; /* a process still ran when the recording ended */
	bool instrumented; /* some process has instrumented functions */
	bool estimates; /* allocations were sampled in some process */
	bool rebuilt; /* from the trace: see summary_rebuild.h */
	bool unwritten; /* and there is no summary.json */
	bool knows_temporary; /* the counts of temporary blocks are known */
	bool wants_cpu, wants_alloc; /* --cpu, --alloc are not "off" */
	bool filtered; /* --filter or --exclude was given */
	/* If it attached to a daemon, nobody learned the exit status. */
	struct summary_settings settings;
	struct summary_totals totals;
	struct summary_cost cost;
	const char **notes; /* sentences; ends with a NULL */
	/* Names of the processes that went on; ends with a NULL. */
	const char **went_on;
	size_t refused_count;
	struct summary_refused *refused;
	size_t function_count;
	struct summary_function *functions; /* see summary_sort() */
	size_t async_count;
	struct summary_async *async; /* the one with the most time first */
	size_t file_count;
	struct summary_file *files;
	void *document; /* all strings above are in it */
};

/*
 * Read @dir/summary.json. On success the caller owns *@out, whose functions are
 * sorted by their self time, and frees it with summary_free(). Returns 0 or
 * -errno (-EBADMSG: it is no recording); then *@out is as it was, and the log
 * has one line for the user, but for -ENOMEM.
 */
int summary_read(const char *dir, struct summary **out);

/* One line for the user: the folder @dir has a trace, but no summary, as its
 * recording still goes on, or its collector was killed. */
void summary_log_unfinished(const char *dir);

/*
 * The same of @document, a json_t with what summary.json has, which is taken
 * over, also after an error. Returns 0, -ENOMEM or -EBADMSG: it has something
 * else. Logs nothing.
 */
int summary_from_document(void *document, struct summary **out);

/* Free *@summary, which may be NULL, and set it to NULL. */
void summary_free(struct summary **summary);

/* Whether the times of the functions of @summary are from samples, not from
 * recorded calls. An older perfrec knew no such times. */
bool summary_time_is_sampled(const struct summary *summary);

/* Sets the times of the functions of @summary to the times of recorded calls,
 * with perfrec's own time in them. */
void summary_use_measured(struct summary *summary);
/* The same, without perfrec's own time. */
void summary_use_recorded(struct summary *summary);

enum summary_order {
	SUMMARY_BY_SELF,
	SUMMARY_BY_TOTAL,
	SUMMARY_BY_CALLS,
	SUMMARY_BY_NAME,
	SUMMARY_BY_MEDIAN, /* this and the next two: of single calls */
	SUMMARY_BY_P99,
	SUMMARY_BY_MAX,
	SUMMARY_BY_ON_CPU, /* this and the next: of the function itself */
	SUMMARY_BY_RUNNABLE,
	SUMMARY_BY_BLOCKED,
	SUMMARY_BY_SWITCHES,
};

/* Whether @summary knows of any function how long its single calls took: then
 * max_ns is not COUNTER_UNKNOWN. A perfrec of before 2026-11-26 wrote nothing
 * of it. */
bool summary_knows_durations(const struct summary *summary);

/* The largest trace that a browser opens, in bytes of packets, however they are
 * compressed. What ui.perfetto.dev runs in the page is trace_processor. As a
 * program it took 8.8 s for 7.5 million slices and 186 MB of memory for each
 * million, which have 21.5 MB: 9 bytes a byte. For 10^9 slices, 21.5 GB, it
 * would take 186 GB and 20 minutes or more. A page has 4 GB. */
#define BROWSER_TRACE_BYTES (500ULL << 20)

/* How many bytes of packets the trace has, unpacked if it is compressed: what a
 * viewer has to take in. Of a summary that does not say so, those of the file.
 * 0: there is no trace. */
uint64_t summary_trace_bytes(const struct summary *summary);

/* Sort the functions of @summary: the largest first, or names from A to Z. What
 * is not known comes last.
 * Equal functions are sorted by name, then by module. */
void summary_sort(struct summary *summary, enum summary_order order);

/*
 * Write summary.json again, to @out, with the functions in their present order,
 * but not more than @limit of them (0: all), and with their short names. 0, or
 * -EIO if @out cannot be written.
 */
int summary_write_json(const struct summary *summary, size_t limit, FILE *out);

#endif
