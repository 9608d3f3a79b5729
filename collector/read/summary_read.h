/* SPDX-License-Identifier: Apache-2.0
 *
 * summary_read - the summary.json of a recording, as structures.
 *
 * The file may be hostile. A missing field is 0 or NULL, a missing list is
 * empty. A field of the wrong type means that the file is not a summary.
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

/* Programs that were not recorded for one reason. */
struct summary_refused {
	const char *why; /* a sentence about "it", the program */
	const char *name; /* of the first program; "": unknown */
	uint64_t programs;
};

struct summary {
	const char *version; /* perfrec's; "": unknown */
	const char *started; /* "2026-11-28T15:10:10Z"; NULL: unknown */
	const char **command; /* words; ends with a NULL */
	const char *service; /* name; "": the program's name */
	uint64_t wall_ns, user_ns, sys_ns;
	bool knows_cpu; /* user_ns and sys_ns were measured */
	/* The end of the command: an exit status if it exited; else the signal
	 * that killed it, 0: unknown. */
	bool exited;
	int exit_status, exit_signal;
	bool running; /* a process still ran when the recording ended */
	/* Least and largest rank of the processes; -1: none. */
	int64_t first_rank, last_rank;
	bool instrumented; /* some process has instrumented functions */
	bool estimates; /* some process sampled its allocations */
	bool rebuilt; /* from the trace: summary_rebuild.h */
	bool unwritten; /* rebuilt, without a summary.json */
	bool knows_temporary; /* has counts of temporary blocks */
	bool wants_cpu, wants_alloc; /* --cpu, --alloc are not "off" */
	bool filtered; /* --filter or --exclude was used */
	/* If settings.attached, the exit status is unknown. */
	struct summary_settings settings;
	struct summary_totals totals;
	struct summary_cost cost;
	const char **notes; /* sentences; ends with a NULL */
	/* Names of processes that still ran at the end; ends with a NULL. */
	const char **went_on;
	size_t refused_count;
	struct summary_refused *refused;
	size_t function_count;
	struct summary_function *functions; /* see summary_sort() */
	size_t async_count;
	struct summary_async *async; /* most time first */
	size_t file_count;
	struct summary_file *files;
	void *document; /* owns all strings above */
};

/*
 * Reads @dir/summary.json. Returns 0, and the caller frees *@out with
 * summary_free(); its functions are sorted by self time. Returns -errno
 * (-EBADMSG: not a recording); then *@out is unchanged, and the log has one
 * line except for -ENOMEM.
 */
int summary_read(const char *dir, struct summary **out);

/* Logs one line: the folder @dir has a trace but no summary. Its recording
 * still @runs (folder_lock_test()), or its collector was killed. */
void summary_log_unfinished(const char *dir, bool runs);

/*
 * Makes a summary of @document, a json_t with the members of summary.json.
 * Takes ownership of @document, even after an error. Returns 0, -ENOMEM or
 * -EBADMSG: other contents. Logs nothing.
 */
int summary_from_document(void *document, struct summary **out);

/* Frees *@summary, which may be NULL, and sets it to NULL. */
void summary_free(struct summary **summary);

/* Returns true if the times of functions are from samples, not from recorded
 * calls. An older perfrec has no such times. */
bool summary_time_is_sampled(const struct summary *summary);

/* Sets the times of functions to the times of recorded calls, including
 * perfrec's own time. */
void summary_use_measured(struct summary *summary);
/* The same without perfrec's own time. */
void summary_use_recorded(struct summary *summary);

enum summary_order {
	SUMMARY_BY_USUAL, /* as SUMMARY_BY_SELF; the text may choose another */
	SUMMARY_BY_SELF,
	SUMMARY_BY_TOTAL,
	SUMMARY_BY_CALLS,
	SUMMARY_BY_NAME,
	SUMMARY_BY_MEDIAN, /* of single calls, as the next two */
	SUMMARY_BY_P99,
	SUMMARY_BY_MAX,
	SUMMARY_BY_ON_CPU, /* self times, as the next two */
	SUMMARY_BY_RUNNABLE,
	SUMMARY_BY_BLOCKED,
	SUMMARY_BY_SWITCHES,
};

/* Returns true if some function has durations of single calls (max_ns is not
 * COUNTER_UNKNOWN). perfrec wrote none before 2026-11-26. */
bool summary_knows_durations(const struct summary *summary);

/* The largest trace for a browser, in bytes of unpacked packets.
 * ui.perfetto.dev runs trace_processor in the page. As a program, that took 8.8
 * s for 7.5 million slices, and 186 MB of memory per million slices, which have
 * 21.5 MB: 9 bytes per byte. 10^9 slices, 21.5 GB, would take 186 GB and at
 * least 20 minutes. A page has 4 GB. */
#define BROWSER_TRACE_BYTES (500ULL << 20)

/* Returns the bytes of the trace's packets after decompression, the load of a
 * viewer. An older summary has only the size of the file. Returns 0 without a
 * trace. */
uint64_t summary_trace_bytes(const struct summary *summary);

/* Sorts the functions: largest first, names from A to Z, unknown values last.
 * Functions with equal times of threads are sorted by self time, other equal
 * functions by name and then by module. */
void summary_sort(struct summary *summary, enum summary_order order);

/* Sorts the functions with at least @least_ns on CPUs by it, largest first,
 * and the others behind them by self time. */
void summary_sort_busy_first(struct summary *summary, uint64_t least_ns);

/*
 * Writes summary.json to @out, with the functions in their present order, at
 * most @limit of them (0: all), and with their short names. Returns 0, or -EIO
 * if @out fails.
 */
int summary_write_json(const struct summary *summary, size_t limit, FILE *out);

#endif
