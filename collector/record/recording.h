/* SPDX-License-Identifier: Apache-2.0
 *
 * recording - one output folder: the trace as it grows, and the sums that are
 * written to summary.json when the last program in it has ended.
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
struct recording; /* recording_inner.h */
struct snapshots;
struct stack_profile;
struct symbol_cache;
struct trace_file;
struct triggers;
struct true_time_sums;

/* Of a trace, in bytes, where nobody says and there is room. */
#define MAX_BYTES_DEFAULT (4ULL << 30)
#define RECORDING_NOTES_MAX 16
#define RECORDING_REFUSED_MAX 16

enum process_end {
	PROCESS_RUNNING = 0, /* when the recording ended, too */
	PROCESS_EXITED,
	PROCESS_EXECED,
	PROCESS_BROKE, /* wrote nonsense */
};

/* What summary.json says about a thread. */
struct thread_entry {
	struct thread_entry *next;
	pid_t tid;
	char name[16];
	uint64_t spans, dropped_spans, truncated_spans, wait_ns;
	bool sched; /* what follows is known, by its switches */
	bool sums; /* the times are, as sums of the whole thread */
	uint64_t on_cpu_ns, runnable_ns, blocked_ns, unknown_ns;
	uint64_t sched_wall_ns; /* these and stolen_ns together */
	uint64_t spread_ns; /* of these: shared out, not measured */
	uint64_t stolen_ns; /* of the CPU: the host had it */
	uint64_t waits, preemptions, migrations;
	bool figures; /* what follows is known */
	uint64_t user_ns, system_ns;
	uint64_t minor_faults, major_faults;
};

/* And about a process. */
struct process_entry {
	struct process_entry *next;
	pid_t pid, parent;
	char name[16];
	char *cmdline; /* arguments, a NUL after each; NULL: unknown */
	size_t cmdline_bytes;
	uint64_t start_ns, end_ns;
	enum process_end ended;
	bool instrumented;
	bool has_spans;
	struct thread_entry *threads, **last_thread;
};

/* A process that went on when the recording ended. */
struct went_on_entry {
	struct went_on_entry *next;
	pid_t pid;
	char name[16];
};

/* Programs that are not recorded, for one reason. */
struct refused_entry {
	const char *why; /* as recording_refuse() was told */
	uint64_t programs;
	char name[16]; /* of the first; "": unknown */
};

/* Of samples, all processes. */
struct sample_totals {
	uint64_t count, ns; /* CPU samples, and the time they stand for */
	/* Of those, in perfrec's library; and in thunks. */
	uint64_t library_count, library_ns, thunk_count, thunk_ns;
	uint64_t unwound, cached; /* stacks; all kinds of samples */
	uint64_t unknown; /* had no stack */
	uint64_t lost; /* came faster than they could be dealt with */
	uint64_t cut; /* stacks whose outermost frames are not known */
	uint64_t too_short; /* of these: more of the stack would tell */
	uint64_t guessed; /* partly by frame pointers */
	uint64_t lost_stacks; /* no memory for them */
};

/* Of waits that somebody has asked about, all processes. */
struct wait_totals {
	uint64_t count, ns; /* whose object was read */
	uint64_t inferred, inferred_ns; /* whose object others have told */
	uint64_t cut; /* distinct stacks of these that could not be unwound to
		       * their end */
	uint64_t lost; /* came faster than they could be dealt with */
	uint64_t left, refused, odd; /* enum samples_unread */
};

struct totals {
	uint64_t processes, threads, spans; /* that have recorded anything */
	/* Of those, the ones that have recorded spans: whatever else is
	 * recorded, they are the same. */
	uint64_t span_processes, span_threads;
	uint64_t dropped_spans, truncated_spans;
	uint64_t unslotted_spans, unslotted_threads;
	/* Programs in which threads found no slot, by why. */
	uint64_t slots_taken, slots_retired, slots_refused;
	uint64_t early_starts; /* programs that were not held to the end */
	uint64_t preinit_starts; /* ... that had run .preinit_array */
	uint64_t unconnected_starts; /* ... of entry builds, without hooks */
	uint64_t block_timeouts; /* programs that waited for --block-timeout */
	uint64_t vfork_spans, muted_spans;
	uint64_t filtered_spans, repaired_slices, orphan_ends, folded_spans;
	uint64_t short_spans; /* replay_counts */
	uint64_t off_slices, late_begins, off_ends; /* replay_counts */
	uint64_t paused_spans, mixed_contexts, skipped_maps;
	uint64_t excluded_hooks, left_out_hooks; /* half a call each */
	uint64_t counted_calls; /* that were not recorded */
	/* Functions whose states can be changed, of all programs. */
	struct state_totals {
		uint64_t known, counted, off, gated, refused, changes;
		uint64_t unpatched_processes, patch_ns, held_ns;
		uint64_t hooked, recalled;
		uint64_t late_modules, late_ns, missed_modules;
		/* With --overhead: of programs while that was watched. */
		uint64_t cost_ns, counting_ns, cpu_ns;
		bool unmet; /* of one of them */
	} states;
	bool entry_build; /* some program has a module that is one */
	uint64_t start_ns; /* CPU time of programs, until they recorded */
	/* What else is part of the own cost. */
	uint64_t general_spans; /* by PAGE_GENERAL programs */
	uint64_t pages_first; /* of rings, that nobody had touched */
	uint64_t pages_again; /* that an earlier owner of the slot had */
	uint64_t heap_samples, heap_sample_cells; /* with their stacks */
	uint64_t note_events, note_arguments,
		note_texts; /* see thread_state.h */
	/* Annotations. */
	uint64_t dropped_notes; /* found no room in a ring */
	uint64_t withheld_notes; /* nor memory here */
	uint64_t odd_notes; /* made no sense */
	uint64_t cut_notes; /* arguments and flows beyond what one may have */
	uint64_t moved_notes; /* told a time outside of the recording */
	uint64_t paused_notes;
	uint64_t orphan_async_ends; /* of slices that never began */
	uint64_t unended_async; /* ended with their process */
	uint64_t odd_async_stays; /* async_counts.odd_stays */
	uint64_t unlisted_async; /* of names that no row is kept of */
	struct heap_sums {
		uint64_t exact, sampled; /* blocks, by how they are known */
		uint64_t stacks; /* of exact ones, that were sampled */
		uint64_t lost_stacks; /* that could not be unwound in time */
		/* Estimates where blocks are sampled. */
		uint64_t allocs, alloc_bytes, temporary;
		uint64_t live, live_bytes; /* at the end */
		/* The process with the most bytes in use at once. */
		uint64_t peak_bytes, peak_error_bytes, peak_blocks, peak_ns;
		pid_t peak_pid;
		char peak_name[16];
		/* Of all that allocated, each at its own peak. */
		uint64_t processes, peaks_bytes;
		/* Frees by what is known of their block: see heap.h. */
		uint64_t frees; /* of a live one */
		uint64_t implied, late, foreign, inherited, doubled;
		/* Not recorded for want of room. */
		uint64_t dropped_allocs, dropped_frees;
		uint64_t unslotted_allocs, unslotted_frees;
		uint64_t paused; /* allocations while recording was paused */
		uint64_t untracked; /* recorded, but not followed */
		uint64_t odd; /* records that made no sense */
		uint64_t disorders; /* records taken in out of order */
	} heap;
	uint64_t waits, wait_ns;
	uint64_t broken_rings, overflowed_stacks;
	uint64_t unwatched_processes; /* watches.h */
	uint64_t trace_events;
	uint64_t unlisted_threads; /* that no row is kept of */
	uint64_t unlisted_functions; /* the same, of what a thread called */
	uint64_t left_out_events; /* trace_file_left_out() */
	/* With --flight: see files/flight_recorder.h. */
	uint64_t triggers, lost_triggers;
	uint64_t snapshots, removed_snapshots, snapshot_bytes;
	uint64_t unwritten_snapshots;
	uint64_t flight_kept_ns; /* of the trace, in memory at the end */
	uint64_t unkept_names, unkept_tables; /* struct symbol_cache_use */
	uint64_t refused_programs; /* in perfrec record */
	uint64_t went_on; /* processes, when perfrec record ended */
	uint64_t unloaded_programs; /* struct cpu_sum */
	bool faults; /* page faults are counted by call, of some process */
	uint32_t counters; /* and these (samples/perf_counters.h), a mask */
	uint64_t lost_cpu_samples; /* of the kernel's: no room for them */
	/* Of all threads that have recorded anything. */
	struct sched_totals {
		uint64_t threads; /* of which this is known, by switches */
		uint64_t sums; /* by sums only */
		uint64_t on_cpu_ns, runnable_ns, blocked_ns, unknown_ns;
		uint64_t spread_ns, stolen_ns;
		uint64_t waits, preemptions, migrations;
		uint64_t lost_records; /* of the kernel's */
		/* Threads that have recorded nothing, by their switches: they
		 * are in nothing above. */
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

/* How the command that was recorded ended, as perfrec record tells. */
struct command_end {
	bool known;
	int wait_status;
	uint64_t start_ns, end_ns, user_ns, sys_ns;
};

/* The profiles of a recording; NULL: its options do not ask for it. */
struct recording_profiles {
	/* The jobs thread's, until the recording is finished. */
	struct stack_profile *wall, *heap, *heap_peak, *span;
	struct stack_profile
		*offcpu_rest; /* waits of which no stack is known */
	struct stack_profile *cpu, *offcpu; /* the sampler's */
};

/* What does not change from the start of a recording to its end, but for the
 * trace, which is closed before the other files are written. */
struct recording_setup {
	const struct collect_options *options;
	const char *path; /* of the folder */
	int dir_fd; /* the folder */
	int nice; /* of its threads: recording_set_nice() */
	struct jobs *jobs; /* its own thread for all that takes its time */
	bool ticks; /* the clock of its programs is the counter */
	double span_ns; /* cost of one span */
	struct own_cost_halves halves; /* of it */
	uint64_t start_ns; /* BOOTTIME */
	int64_t started; /* seconds of the epoch */
	uint64_t max_bytes; /* of the trace */
	struct trace_file *trace; /* NULL after recording_close_trace() */
	struct budget *budget; /* of all that grows in memory */
	struct budget *histogram_budget; /* the part for durations of calls */
	struct symbol_cache *symbols; /* its names; a reference */
	struct recording_profiles profiles;
	struct cpu_account *cpu_account; /* NULL: the kernel samples nothing */
	struct filter_matches *matches; /* NULL: the options have no patterns */
	struct flight_queue *flight; /* of what triggers snapshots; NULL: not
				      * with --flight */
	struct triggers *triggers; /* which these are; NULL: the same */
};

/* What perfrec record shows while it runs. */
struct recording_live {
	uint64_t spans, dropped;
};

/* What a recording has a budget of. */
enum recording_budget {
	BUDGET_MEMORY, /* of what grows with it: trees, stacks, heaps */
	BUDGET_NAMES, /* names and source lines */
	BUDGET_TABLES, /* symbol tables and unwind tables of its files */
	BUDGET_KINDS
};

/* How much of one of them is used. */
struct recording_use {
	const char *what; /* "memory", "names", "symbol tables" */
	uint64_t used, most; /* in bytes */
	uint64_t full_ns; /* when something found no room first, BOOTTIME; 0:
			   * never */
};

/* What a recording has counted and listed, for the files written at its end. */
struct recording_sums {
	struct totals totals;
	struct command_end command_end;
	uint32_t ring_cells; /* of the last program */
	struct process_entry *processes;
	struct went_on_entry *went_on; /* the last that was listed first */
	struct refused_entry refused[RECORDING_REFUSED_MAX];
	uint32_t refused_count;
	uint32_t *lossy; /* sequences that lost something */
	uint32_t lossy_count;
	char *note[RECORDING_NOTES_MAX]; /* what its reader must know */
	uint32_t notes;
};

/*
 * Start a recording in the folder @path, which is made. If not @exclusive, the
 * folder may be there already, but must hold no recording. @collector must
 * outlive *@out, of which the caller has one reference. Main thread. 0 or
 * -errno; the log says what is wrong, but for -EEXIST of an exclusive folder.
 */
int recording_new(const struct collector *collector, const char *path,
		  bool exclusive, struct recording **out);
/* A nicer thread that holds a lock would hold others up for too long. */
#define NICE_MOST 10

/* The slow work for @recording is done by threads that are as nice as @nice,
 * but not nicer than NICE_MOST. Before anything is recorded. */
void recording_set_nice(struct recording *recording, int nice);
struct recording *recording_get(struct recording *recording);
/* The same for a recording whose last reference may have been given back: then
 * it is false. The caller must know that it has not been freed yet. Any
 * thread. */
bool recording_get_if(struct recording *recording);
/* The last reference ends the recording: collector->finish_recording writes its
 * files, on the thread of its jobs. Its profiles may have to wait long for
 * debug information, and no other recording is to wait for that. Any thread;
 * also for NULL. */
void recording_put(struct recording **recording);

/* Nothing came of @recording, whose folder was made for it: its end removes the
 * folder with the trace, and writes nothing. The main thread, which has a
 * reference. */
void recording_discard(struct recording *recording);

/* Call @ended with @context when @recording has been finished, just before it
 * is freed; on the thread that finished it. Once for a recording; the main
 * thread, which has a reference. */
void recording_on_end(struct recording *recording,
		      void (*ended)(struct recording *recording, void *context),
		      void *context);

/* The setup of @recording; it is valid as long as the caller has a reference.
 * Any thread. */
const struct recording_setup *recording_setup(
	const struct recording *recording);
/* How much @recording has taken of each of its budgets. Any thread. */
void recording_uses(const struct recording *recording,
		    struct recording_use out[BUDGET_KINDS]);
/* Write what is left of the trace, and close it. Returns what
 * trace_file_close() returns. The thread that finishes the recording. */
int recording_close_trace(struct recording *recording);

/*
 * Take the lock of @recording, for a short time only. Returns its totals, which
 * the caller may change until recording_unlock(). The lock also guards what
 * other headers call "under the recording's lock", such as the entries of
 * processes. Any thread.
 */
struct totals *recording_lock(struct recording *recording);
void recording_unlock(struct recording *recording);
/* Add @total to what is known of its function. If there is no memory for it,
 * the log says so. Any thread; takes the lock. */
void recording_add_function(struct recording *recording,
			    const struct function_total *total);
/* Take what is in @durations, of calls of @name in @module, over to what is
 * known of this function. It stays the caller's, empty. Any thread; takes the
 * lock. */
void recording_add_durations(struct recording *recording, const char *name,
			     const char *module, struct histogram *durations);
/* Add @total to what is known of asynchronous slices of its name, or count its
 * slices as unlisted. Any thread; takes the lock. */
void recording_add_async(struct recording *recording,
			 const struct async_total *total);
/* All names of asynchronous slices, the one with the most time first; sets
 * *@count to their number. As recording_sort_functions(). */
const struct async_total *recording_sort_async(struct recording *recording,
					       size_t *count);
/* The first of the heaps of processes that go on, which heap/process_heap.c
 * links; NULL: there is none. Under the lock. */
struct process_heap **recording_heaps(struct recording *recording);
/* The rings of a program have @cells each. Any thread; takes the lock. */
void recording_set_ring_cells(struct recording *recording, uint32_t cells);
/* The command of perfrec record has ended as @end says. The main thread, before
 * it gives its reference back. */
void recording_set_command_end(struct recording *recording,
			       const struct command_end *end);

/* All that was counted and listed, which belongs to @recording. The thread that
 * finishes the recording, when nobody records into it any more. */
const struct recording_sums *recording_sums(const struct recording *recording);
/* All functions, in no order; sets *@count to their number. As
 * recording_sort_functions(), which is called later. */
const struct function_total *recording_functions(
	const struct recording *recording, size_t *count);
/* Subtract what perfrec took from the times of all functions, and set *@sums.
 * Once, by the thread that finishes the recording, before
 * recording_sort_functions(). */
void recording_correct_functions(struct recording *recording,
				 const struct own_costs *costs,
				 struct true_time_sums *sums);
/* The table behind recording_functions(). As recording_correct_functions(). */
struct function_table *recording_function_table(struct recording *recording);
/* The part @part, from 0 to 1, of the on-CPU time of each function becomes
 * unknown. After recording_correct_functions(), on the same thread. */
void recording_doubt_functions(struct recording *recording, double part);
/* All functions, the one with the most time first; sets *@count to their
 * number. The array belongs to @recording. The thread that finishes the
 * recording. */
const struct function_total *recording_sort_functions(
	struct recording *recording, size_t *count);

/* A number for one more packet sequence, from 2 up, which no other has. Any
 * thread. */
uint32_t recording_sequence(struct recording *recording);
/* The number of the packet sequence for values that the collector reads itself,
 * such as resident sizes; the first call describes it in the trace. The
 * thread of collector->jobs. */
uint32_t recording_value_sequence(struct recording *recording);
/* Not 0 while a snapshot of the heap waits on its jobs thread, or is made. For
 * heap_ticks. Atomic; any thread. */
uint32_t *recording_heap_busy(struct recording *recording);

/* Add @spans and @dropped to what recording_live() returns. Any thread. */
void recording_add_live(struct recording *recording, uint64_t spans,
			uint64_t dropped);
/* The sums of these calls. Any thread. */
struct recording_live recording_live(const struct recording *recording);

/* What files/snapshot.c keeps of @recording; NULL at first. snapshot_forget()
 * frees it when the recording is finished. */
struct snapshots **recording_snapshots(struct recording *recording);
/* What files/flight_recorder.c keeps of @recording; NULL: it is none of
 * --flight. It frees it when the recording is finished. */
struct flight_recorder **recording_flight(struct recording *recording);
/* File @name, written while the recording goes on, is not whole because of
 * -errno @err, which the log says if it did not say the same last time. 0:
 * nothing is said. Jobs thread. */
void recording_say_unwritten(struct recording *recording, const char *name,
			     int err);

/* Put @entry into the summary. It becomes the recording's; the caller may go on
 * to change it, under lock. False when there are too many entries, or too few
 * bytes are left of the budget: it stays the caller's. Any thread; takes the
 * lock. */
bool recording_list_process(struct recording *recording,
			    struct process_entry *entry);
/* Copy @entry to the list of @process; count it in the totals if there are too
 * many entries. Under lock. */
void recording_list_thread(struct recording *recording,
			   struct process_entry *process,
			   const struct thread_entry *entry);
/* List that process @pid, called @name, goes on unrecorded. False: it is listed
 * already, or there are too many. Any thread; takes the lock. */
bool recording_list_went_on(struct recording *recording, pid_t pid,
			    const char *name);
/* Remember that the packet sequence @sequence is not complete. Under lock. */
void recording_list_loss(struct recording *recording, uint32_t sequence);

/* Free the disk space that was set aside for what is written last. Whoever
 * finishes the recording. */
void recording_give_room_back(struct recording *recording);

/* Process @pid (0: unknown) is not recorded. @why is a sentence that calls the
 * process "it", and must outlive the recording. Any thread; takes the lock. */
void recording_refuse(struct recording *recording, pid_t pid, const char *why);

/* Put @text, a sentence, into the summary, and into the log as a warning (with
 * --quiet-notes as a message for debugging). Once, however often it is called
 * with the same text, which is copied. Any thread; takes the lock. */
void recording_note(struct recording *recording, const char *text);

#endif
