/* SPDX-License-Identifier: Apache-2.0
 *
 * recording - one output folder: the growing trace, and the sums that
 * summary.json gets when its last program has ended.
 */
#ifndef PERFREC_COLLECTOR_RECORD_RECORDING_H
#define PERFREC_COLLECTOR_RECORD_RECORDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "shared/own_cost.h"

struct async_total;
struct budget;
struct collect_options;
struct collector;
struct cpu_account;
struct jobs;
struct filter_matches;
struct flight_queue;
struct flight_recorder;
struct function_total;
struct histogram;
struct own_costs;
struct process_heap;
struct push_spool;
struct recording; /* recording_inner.h */
struct snapshots;
struct stack_profile;
struct symbol_cache;
struct trace_file;
struct triggers;
struct true_time_sums;
struct wakes;
struct who;
struct windows;

/* Default size limit of a trace in bytes, if the disk has room. */
#define MAX_BYTES_DEFAULT (4ULL << 30)
#define RECORDING_NOTES_MAX 16
#define RECORDING_REFUSED_MAX 16

enum process_end {
	PROCESS_RUNNING = 0, /* also at the end of the recording */
	PROCESS_EXITED,
	PROCESS_EXECED,
	PROCESS_BROKE, /* wrote nonsense */
};

/* Values of a thread in summary.json. */
struct thread_entry {
	struct thread_entry *next;
	pid_t tid;
	char name[16];
	uint64_t spans, dropped_spans, truncated_spans, wait_ns;
	bool sched; /* the following is known, from switches */
	bool sums; /* the times are known, as sums of the thread */
	uint64_t on_cpu_ns, runnable_ns, blocked_ns, unknown_ns;
	uint64_t sched_wall_ns; /* these and stolen_ns together */
	/* part of these that was shared out, not measured */
	uint64_t spread_ns;
	uint64_t stolen_ns; /* taken by the host from the CPU time */
	uint64_t waits, preemptions, migrations;
	bool figures; /* the following is known */
	uint64_t user_ns, system_ns;
	uint64_t minor_faults, major_faults;
};

/* Values of a process in summary.json. */
struct process_entry {
	struct process_entry *next;
	pid_t pid, parent;
	int64_t rank; /* in a parallel job; -1: none */
	char name[16];
	char *cmdline; /* arguments, each with its NUL; NULL: unknown */
	size_t cmdline_bytes;
	uint64_t start_ns, end_ns;
	enum process_end ended;
	bool instrumented;
	bool has_spans;
	struct thread_entry *threads, **last_thread;
};

/* A process that ran on when the recording ended. */
struct went_on_entry {
	struct went_on_entry *next;
	pid_t pid;
	char name[16];
};

/* Programs that were not recorded, for one reason. */
struct refused_entry {
	const char *why; /* from recording_refuse() */
	uint64_t programs;
	char name[16]; /* of the first; "": unknown */
};

/* Samples of all processes. */
struct sample_totals {
	uint64_t count, ns; /* CPU samples, and the time they stand for */
	/* Part in perfrec's library; and in thunks. */
	uint64_t library_count, library_ns, thunk_count, thunk_ns;
	uint64_t unwound, cached; /* stacks; all kinds of samples */
	uint64_t unknown; /* without a stack */
	uint64_t lost; /* dropped: they came too fast */
	uint64_t cut; /* stacks without their outermost frames */
	uint64_t too_short; /* part whose copied stack was too short */
	uint64_t guessed; /* partly by frame pointers */
	uint64_t lost_stacks; /* no memory for them */
	uint64_t unlabelled; /* of requests, without their labels */
};

/* Waits whose object was requested, all processes. */
struct wait_totals {
	uint64_t count; /* with their object read */
	uint64_t inferred, inferred_ns; /* with their object inferred */
	/* Distinct stacks of these that could not be unwound to their end. */
	uint64_t cut;
	uint64_t lost; /* dropped: they came too fast */
	uint64_t left, refused, odd; /* enum samples_unread */
};

struct totals {
	uint64_t processes, threads, spans; /* with any record */
	/* Processes and threads with spans, whatever else is recorded. */
	uint64_t span_processes, span_threads;
	uint64_t dropped_spans, truncated_spans;
	uint64_t unslotted_spans, unslotted_threads;
	/* Programs with threads that found no slot, by reason. */
	uint64_t slots_taken, slots_retired, slots_refused;
	uint64_t early_starts; /* programs that were not held to the end */
	uint64_t preinit_starts; /* ... that had run .preinit_array */
	uint64_t unconnected_starts; /* ... of entry builds, without hooks */
	uint64_t block_timeouts; /* programs that waited for --block-timeout */
	uint64_t vfork_spans, muted_spans, edge_spans;
	uint64_t uncounted_calls;
	uint64_t filtered_spans, repaired_slices, orphan_ends, folded_spans;
	uint64_t short_spans; /* replay_counts */
	uint64_t off_slices, late_begins, off_ends; /* replay_counts */
	uint64_t paused_spans, mixed_contexts, skipped_maps;
	uint64_t excluded_hooks, left_out_hooks; /* half a call each */
	uint64_t counted_calls; /* that were not recorded */
	/* Functions whose state can change, of all programs. */
	struct state_totals {
		uint64_t known, counted, off, gated, refused, changes, late;
		uint64_t unpatched_processes, patch_ns, held_ns;
		uint64_t hooked, recalled, patched, unpatched;
		uint64_t unplanned_files;
		uint64_t called, uncalled;
		uint64_t late_modules, late_ns, missed_modules;
		/* With --overhead: of programs while it watched them. */
		uint64_t cost_ns, counting_ns, cpu_ns;
		bool unmet; /* of any program */
	} states;
	bool entry_build; /* a module of a program is an entry build */
	uint64_t start_ns; /* CPU time of programs before recording */
	/* Further parts of the own cost. */
	uint64_t general_spans; /* by PAGE_GENERAL programs */
	uint64_t pages_first; /* of rings, touched first by this thread */
	uint64_t pages_again; /* touched by an earlier owner of the slot */
	uint64_t heap_samples, heap_sample_cells; /* with their stacks */
	uint64_t note_events, note_arguments,
		note_texts; /* see thread_state.h */
	uint64_t dropped_notes; /* without room in a ring */
	uint64_t withheld_notes; /* without memory here */
	uint64_t odd_notes; /* malformed */
	uint64_t odd_traceparents; /* perfrec_set_traceparent() */
	uint64_t cut_notes; /* arguments and flows beyond the limit */
	uint64_t moved_notes; /* with a time outside of the recording */
	uint64_t paused_notes;
	uint64_t orphan_async_ends; /* of slices that never began */
	uint64_t unended_async; /* ended with their process */
	uint64_t odd_async_stays; /* async_counts.odd_stays */
	uint64_t unlisted_async; /* of names without a row */
	struct heap_sums {
		uint64_t exact, sampled; /* blocks, by how they are known */
		uint64_t stacks; /* of exact blocks that were sampled */
		uint64_t lost_stacks; /* not unwound in time */
		/* Estimates if blocks are sampled. */
		uint64_t allocs, alloc_bytes, temporary;
		uint64_t live, live_bytes; /* at the end */
		/* The process with the largest peak. */
		uint64_t peak_bytes, peak_error_bytes, peak_ns;
		pid_t peak_pid;
		char peak_name[16];
		/* All allocating processes, each at its own peak. */
		uint64_t processes, peaks_bytes;
		/* Frees by the state of their block: see heap.h. */
		uint64_t frees; /* of a live block */
		uint64_t implied, late, foreign, inherited, doubled;
		/* Not recorded without room. */
		uint64_t dropped_allocs, dropped_frees;
		uint64_t unslotted_allocs, unslotted_frees;
		uint64_t paused; /* allocations during pauses */
		uint64_t untracked; /* recorded, but not followed */
		uint64_t odd; /* malformed records */
		uint64_t disorders; /* records processed out of order */
	} heap;
	uint64_t waits, wait_ns;
	uint64_t broken_rings, overflowed_stacks;
	uint64_t unwatched_processes; /* watches.h */
	uint64_t unlisted_threads; /* without a row */
	uint64_t unlisted_functions; /* the same, functions of a thread */
	uint64_t left_out_events; /* trace_file_left_out() */
	/* With --flight: see files/flight_recorder.h. */
	uint64_t triggers, lost_triggers;
	uint64_t snapshots, removed_snapshots, snapshot_bytes;
	uint64_t unwritten_snapshots;
	uint64_t flight_kept_ns; /* of the trace, in memory at the end */
	uint64_t unkept_names, unkept_tables; /* struct symbol_cache_use */
	uint64_t refused_programs; /* in perfrec record */
	uint64_t went_on; /* processes that ran on after perfrec record */
	uint64_t unloaded_programs; /* struct cpu_sum */
	bool faults; /* page faults are counted by call */
	uint32_t counters; /* also these (samples/perf_counters.h), a mask */
	uint64_t lost_cpu_samples; /* dropped by the kernel */
	/* Threads with any record. */
	struct sched_totals {
		uint64_t threads; /* with times from switches */
		uint64_t sums; /* with sums only */
		uint64_t on_cpu_ns, runnable_ns, blocked_ns, unknown_ns;
		uint64_t spread_ns, stolen_ns;
		uint64_t waits, preemptions, migrations;
		uint64_t lost_records; /* dropped by the kernel */
		/* Threads without records, by their switches; not included
		 * above. */
		uint64_t silent_threads;
		uint64_t silent_on_ns, silent_runnable_ns, silent_blocked_ns;
		uint64_t silent_unknown_ns;
		/* Impossible on-CPU time, which became unknown time of its
		 * functions and threads: files/time_check.h. */
		uint64_t surplus_functions_ns, surplus_threads_ns;
		uint64_t surplus_silent_ns;
	} sched;
	struct sample_totals sampled;
	struct wait_totals blocked;
};

/* The end of the recorded command, as perfrec record reports it. */
struct command_end {
	bool known;
	int wait_status;
	uint64_t start_ns, end_ns, user_ns, sys_ns;
};

/* The profiles of a recording; NULL: not requested. */
struct recording_profiles {
	/* The jobs thread's, until the recording is finished. */
	struct stack_profile *wall, *heap, *heap_peak, *span;
	struct stack_profile *offcpu_rest; /* waits without a known stack */
	struct stack_profile *cpu, *offcpu; /* the sampler's */
};

/* The constant part of a recording, except the trace, which is closed before
 * the other files are written. */
struct recording_setup {
	const struct collect_options *options;
	const char *path; /* of the folder */
	int dir_fd; /* the folder */
	int nice; /* of its threads: recording_set_nice() */
	struct jobs *jobs; /* its own thread for slow work */
	bool ticks; /* the clock of its programs is the TSC */
	double span_ns; /* cost of one span */
	struct own_cost_halves halves; /* of span_ns */
	uint64_t start_ns; /* BOOTTIME */
	int64_t started; /* seconds of the epoch */
	uint64_t max_bytes; /* of the trace */
	struct trace_file *trace; /* NULL after recording_close_trace() */
	struct budget *budget; /* of all growing memory */
	struct budget *histogram_budget; /* its part for durations of calls */
	struct symbol_cache *symbols; /* its names; a reference */
	struct recording_profiles profiles;
	struct cpu_account *cpu_account; /* NULL: no kernel samples */
	struct filter_matches *matches; /* NULL: the options have no patterns */
	struct flight_queue *flight; /* Fired triggers; NULL: no --flight. */
	struct triggers *triggers; /* NULL: no --flight */
	struct push_spool *push; /* NULL: no --push */
	struct wakes *wakes; /* NULL: collect_options_record_wakers() */
};

/* Figures that perfrec record shows while it runs. */
struct recording_live {
	uint64_t spans, dropped;
};

/* The budgets of a recording. */
enum recording_budget {
	BUDGET_MEMORY, /* trees, stacks, heaps */
	BUDGET_NAMES, /* names and source lines */
	BUDGET_TABLES, /* symbol tables and unwind tables of its files */
	BUDGET_KINDS
};

/* The use of one budget. */
struct recording_use {
	const char *what; /* "memory", "names", "symbol tables" */
	uint64_t used, most; /* in bytes */
	/* First time that something found no room, BOOTTIME; 0: never. */
	uint64_t full_ns;
};

/* Counts and lists of a recording, for the files written at its end. */
struct recording_sums {
	struct totals totals;
	struct command_end command_end;
	uint32_t ring_cells; /* of the last program */
	struct process_entry *processes;
	struct went_on_entry *went_on; /* newest first */
	struct refused_entry refused[RECORDING_REFUSED_MAX];
	uint32_t refused_count;
	uint32_t *lossy; /* sequences with losses */
	uint32_t lossy_count;
	char *note[RECORDING_NOTES_MAX]; /* for the reader */
	uint32_t notes;
};

/*
 * Starts a recording in the folder @path, which it creates. Unless @exclusive,
 * the folder may exist, but must hold no recording. @collector must outlive
 * *@out; the caller gets one reference. Main thread. Returns 0 or -errno; it
 * logs the error, except -EEXIST of an exclusive folder.
 */
int recording_new(const struct collector *collector, const char *path,
		  bool exclusive, struct recording **out);
/* A nicer thread that holds a lock would delay others too long. */
#define NICE_MOST 10

/* Sets the nice value of the threads that do slow work for @recording to @nice,
 * clamped to NICE_MOST. Before anything is recorded. */
void recording_set_nice(struct recording *recording, int nice);
struct recording *recording_get(struct recording *recording);
/* The same for a recording that may have no reference left; then returns false.
 * The caller must know that it is not freed yet. Any thread. */
bool recording_get_if(struct recording *recording);
/* The last release ends the recording: collector->finish_recording writes its
 * files, on the thread of its jobs. Its profiles may wait long for debug
 * information, which must not delay other recordings. Any thread; accepts NULL.
 */
void recording_put(struct recording **recording);

/* Makes the end of @recording remove its new folder with the trace, and write
 * no files. Main thread, with a reference. */
void recording_discard(struct recording *recording);

/* Calls @ended with @context after @recording is finished, just before it is
 * freed, on the thread that finished it. @err: the result of finishing, or
 * -ECANCELED after recording_discard(). Once for a recording; main thread, with
 * a reference. */
void recording_on_end(struct recording *recording,
		      void (*ended)(struct recording *recording, int err,
				    void *context),
		      void *context);

/* Returns the setup of @recording, valid while the caller has a reference. Any
 * thread. */
const struct recording_setup *recording_setup(
	const struct recording *recording);
/* Fills @out with the use of each budget. Any thread. */
void recording_uses(const struct recording *recording,
		    struct recording_use out[BUDGET_KINDS]);
/* Writes the rest of the trace, and closes it. Returns the result of
 * trace_file_close(). The thread that finishes the recording. */
int recording_close_trace(struct recording *recording);

/*
 * Takes the lock of @recording, for a short time only. Returns its totals,
 * which the caller may change until recording_unlock(). The lock also guards
 * all state that headers describe as "under the recording's lock", such as the
 * entries of processes. Any thread.
 */
struct totals *recording_lock(struct recording *recording);
void recording_unlock(struct recording *recording);
/* Adds @total to the totals of its function. Logs lack of memory. Any thread;
 * takes the lock. */
void recording_add_function(struct recording *recording,
			    const struct function_total *total);
/* Moves the contents of @durations, of calls of @name in @module, to the totals
 * of this function. The caller keeps @durations, empty. Any thread; takes the
 * lock. */
void recording_add_durations(struct recording *recording, const char *name,
			     const char *module, struct histogram *durations);
/* Adds @total to the asynchronous slices of its name, or counts its slices as
 * unlisted. Any thread; takes the lock. */
void recording_add_async(struct recording *recording,
			 const struct async_total *total);
/* Returns all names of asynchronous slices, the most time first, and their
 * number in *@count. Ownership and thread as recording_sort_functions(). */
const struct async_total *recording_sort_async(struct recording *recording,
					       size_t *count);
/* The first heap of the list of running processes, which heap/process_heap.c
 * links, or NULL. Under the lock. */
struct process_heap **recording_heaps(struct recording *recording);
/* Sets the cells per ring of the last program. Any thread; takes the lock. */
void recording_set_ring_cells(struct recording *recording, uint32_t cells);
/* Sets the end of the command of perfrec record. Main thread, before it
 * releases its reference. */
void recording_set_command_end(struct recording *recording,
			       const struct command_end *end);

/* Returns all counts and lists, which belong to @recording. The thread that
 * finishes the recording, after the last record. */
const struct recording_sums *recording_sums(const struct recording *recording);
/* Returns all functions, unsorted, and their number in *@count. Before
 * recording_sort_functions(), on the same thread. */
const struct function_total *recording_functions(
	const struct recording *recording, size_t *count);
/* Subtracts the own cost from the times of all functions, and sets *@sums.
 * Once, by the thread that finishes the recording, before
 * recording_sort_functions(). */
void recording_correct_functions(struct recording *recording,
				 const struct own_costs *costs,
				 struct true_time_sums *sums);
/* Returns the table behind recording_functions(), for the same thread. */
struct function_table *recording_function_table(struct recording *recording);
/* Turns the part @part, from 0 to 1, of each function's on-CPU time into
 * unknown time. After recording_correct_functions(), on the same thread. */
void recording_doubt_functions(struct recording *recording, double part);
/* Returns all functions, the most time first, and their number in *@count. The
 * array belongs to @recording. The thread that finishes the recording. */
const struct function_total *recording_sort_functions(
	struct recording *recording, size_t *count);

/* Returns a new number of a packet sequence, from 2 up. Any thread. */
uint32_t recording_sequence(struct recording *recording);
/* Returns the packet sequence of the thread of collector->jobs, for values that
 * the collector reads itself, such as resident sizes. The first call describes
 * it in the trace. Other threads take one by recording_sequence() and begin it
 * with out_track_sequence(). */
uint32_t recording_jobs_sequence(struct recording *recording);
/* Not 0 while a snapshot of the heap is queued on its jobs thread or in
 * progress. For heap_ticks. Atomic; any thread. */
uint32_t *recording_heap_busy(struct recording *recording);

/* The same for one of its windows. For serve/push.c. */
uint32_t *recording_windows_busy(struct recording *recording);

/* Adds to the figures of recording_live(). Any thread. */
void recording_add_live(struct recording *recording, uint64_t spans,
			uint64_t dropped);
struct recording_live recording_live(const struct recording *recording);

/* The part of files/snapshot.c; NULL at first. snapshot_forget() frees it when
 * the recording is finished. */
struct snapshots **recording_snapshots(struct recording *recording);
/* The part of files/flight_recorder.c, which frees it when the recording is
 * finished; NULL: no --flight. */
struct flight_recorder **recording_flight(struct recording *recording);
/* The part of files/windows.c; NULL at first. windows_finish() frees it. Jobs
 * thread. */
struct windows **recording_windows(struct recording *recording);
/* The attributes of its program, for record/who.c; NULL: unknown. Under lock.
 */
struct who **recording_who(struct recording *recording);
/* Logs that file @name, written during the recording, is incomplete because of
 * -errno @err, unless the last call reported the same. 0: logs nothing. Jobs
 * thread. */
void recording_say_unwritten(struct recording *recording, const char *name,
			     int err);

/* Adds @entry to the summary. The recording takes it over; the caller may
 * change it under lock. Returns false if there are too many entries or the
 * budget is used up; then the caller keeps it. Any thread; takes the lock. */
bool recording_list_process(struct recording *recording,
			    struct process_entry *entry);
/* Copies @entry to the list of @process, or counts it in the totals if there
 * are too many entries. Under lock. */
void recording_list_thread(struct recording *recording,
			   struct process_entry *process,
			   const struct thread_entry *entry);
/* Lists process @pid, named @name, as running on unrecorded. Returns false if
 * it is listed already, or the list is full. Any thread; takes the lock. */
bool recording_list_went_on(struct recording *recording, pid_t pid,
			    const char *name);
/* Notes that the packet sequence @sequence is incomplete. Under lock. */
void recording_list_loss(struct recording *recording, uint32_t sequence);

/* Frees the disk space reserved for the last files. The thread that finishes
 * the recording. */
void recording_give_room_back(struct recording *recording);

/* Notes that process @pid (0: unknown) is not recorded. @why is a sentence that
 * calls the process "it", and must outlive the recording. Any thread; takes the
 * lock. */
void recording_refuse(struct recording *recording, pid_t pid, const char *why);

/* Adds the sentence @text to the summary, and to the log as a warning (with
 * --quiet-notes as a debug message). Ignores a @text that was added before.
 * Copies @text. Any thread; takes the lock. */
void recording_note(struct recording *recording, const char *text);

#endif
