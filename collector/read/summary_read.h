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

struct summary_function {
	const char *name, *module; /* path of the module */
	void *document; /* where it stands in the summary's */
	uint64_t calls, self_ns, total_ns;
	uint64_t temporary_objects; /* freed before another one was made */
};

struct summary_file {
	const char *name;
	uint64_t bytes;
};

/* Programs that were not recorded, for one reason. */
struct summary_refused {
	const char *why, *name; /* said of "it"; of the first, or "" */
	uint64_t programs;
};

struct summary_totals {
	uint64_t processes, threads, spans;
	uint64_t span_processes, span_threads; /* those with spans */
	uint64_t dropped_spans; /* never recorded */
	uint64_t truncated_spans; /* recorded without their end */
	uint64_t unslotted_spans, unslotted_threads; /* no room for a thread */
	uint64_t slots_taken, slots_retired,
		slots_refused; /* programs of which they were, by why */
	uint64_t vfork_spans, muted_spans; /* of threads that cannot record */
	uint64_t repaired_slices, orphan_ends; /* longjmp and the like */
	uint64_t folded_spans; /* too deep for the trace */
	uint64_t paused_spans; /* begun while recording was paused */
	uint64_t mixed_contexts; /* switches that could not be followed */
	uint64_t skipped_maps; /* changes of the load map likewise */
	uint64_t waits, wait_ns; /* the program's for the collector */
	uint64_t cpu_samples, cpu_ns; /* and all CPU time that is known */
	uint64_t unsampled_processes,
		unsampled_process_ns; /* part of it, unsampled */
	uint64_t lost_cpu_samples; /* no room for them */
	uint64_t allocs, alloc_bytes, heap_processes;
	uint64_t peak_bytes; /* the most of any process */
	uint64_t peaks_bytes; /* of all, each at its own peak */
	const char *peak_program; /* the name of the one with the most */
	uint64_t temporary_allocs; /* of blocks that were recorded exactly */
	uint64_t live_blocks, live_bytes; /* not freed at the end */
	uint64_t dropped_allocs, dropped_frees; /* the ring was full */
	uint64_t unslotted_allocs, unslotted_frees; /* no room for a thread */
	uint64_t untracked_blocks; /* no memory to follow them */
	uint64_t double_frees;
	uint64_t broken_rings;
	uint64_t refused_programs; /* not recorded; see refused */
	uint64_t went_on; /* processes, unrecorded, when the recording ended */
	const char *trace_stopped; /* NULL, or why */
	bool trace_limited; /* by its limit */
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
	const char **notes; /* sentences; ends with a NULL */
	const char **went_on; /* names of those; ends with a NULL */
	size_t refused_count;
	struct summary_refused *refused;
	double span_ns; /* perfrec's cost of one span */
	/* And of others; 0: none were made. */
	double heap_record_ns, heap_sample_ns, sample_ns;
	uint64_t cost_ns; /* of all that ran in the program */
	uint64_t left_out_calls, excluded_calls; /* that recorded nothing */
	double left_out_ns, excluded_ns; /* cost of one of them */
	double paused_ns, dropped_ns; /* and of totals.paused_spans ... */
	const char *cost_of; /* what cost_share is of: "cpu" or "wall" */
	double cost_share; /* of the run: 0 to 1 */
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
