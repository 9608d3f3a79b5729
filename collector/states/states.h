/* SPDX-License-Identifier: Apache-2.0
 *
 * states - the functions of the programs of one arena with changeable states
 * (docs/OVERHEAD.md): the list, their states and their counts. One thread of
 * the arena, perfrec-states, plans, patches and steers; it starts with the
 * first request. Other threads send requests and read results.
 *
 * A function is known once its module is planned. It has a number once it is
 * connected, that is, once its calls go through thunks. An arena has one table
 * of functions for the program and all its forked children. The text of each
 * process is patched separately, and each slot has its own counts.
 */
#ifndef PERFREC_COLLECTOR_STATES_STATES_H
#define PERFREC_COLLECTOR_STATES_STATES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/states/function_state.h"

/*
 * Cost in ns of a counted call. The baseline is the same build unrecorded, with
 * a stub as its hook, because the controller cannot save more. docs/OVERHEAD.md
 * ("Counted calls") describes how this and the next two were measured.
 */
#define STATES_COUNTED_NS 0.4f
/* ns of a counted call beyond a call with its sites off. */
#define STATES_COUNTED_OVER_OFF_NS 1.3
/* ns of a call in a calls build with its sites off, beyond the plain program:
 * the function is not inlined, and the arguments of hooks are prepared. In an
 * entry build this is 0 within the error. */
#define STATES_CALLS_BUILD_NS 0.9

struct arena;
struct cct;
struct collect_options;
struct collector;
struct map_log;
struct process;
struct states; /* of an arena; its setup has the pointer */
struct states_thread;

/* --- the threads --------------------------------------------------------- */

/* Starts the state that all arenas share. @collector must outlive it. The
 * caller ends *@out with states_thread_stop(). Returns 0 or -errno. Main
 * thread. */
int states_thread_start(struct collector *collector,
			struct states_thread **out);
/* Ends it, after states_end() for all arenas; patched text is restored before.
 * NULL is allowed. Returns false if a program blocks its thread for ever. Then
 * the function frees no memory that the thread may use, and the caller must not
 * free symbols and should exit soon. Main thread. */
bool states_thread_stop(struct states_thread **thread);

/* Returns true if @options need functions connected before a program starts.
 * Pure. */
bool states_are_wanted(const struct collect_options *options);

/* --- an arena ------------------------------------------------------------ */

/* Creates the states of @arena, stored in its setup. Call before the reply to
 * the program's hello. Returns 0 or -ENOMEM. Main thread. */
int states_begin(struct states_thread *thread, struct arena *arena);
/* Connects the functions that options ask for, then calls @ready on the thread
 * perfrec-states. The program waits no longer than its PERFREC_DEADLINE_MS; the
 * rest is connected while it runs. @ready is NULL if it does not wait, because
 * it has no functions yet. Any thread. */
void states_connect(struct arena *arena, void (*ready)(struct arena *arena));
/* No program waits that long. */
#define STATES_HOLD_NS 60000000000
/* Looks for new modules soon, after a dlopen() or a load report of a program.
 * @entry_build: the program has loaded an entry build, whose functions are
 * recorded only once connected. Any thread. */
void states_look(struct arena *arena, bool entry_build);
/* Restores the text of all processes of @arena: recording ends, but the
 * processes may go on. Main thread; does not wait. */
void states_restore(struct arena *arena);
/* As states_restore(), for an arena that has left the collector's list without
 * any process. Sets the setup's pointer to NULL. Main thread. */
void states_end(struct arena *arena);
/* Returns true if an ended arena still has its thread; ask again soon. Gives up
 * an arena whose program has blocked the thread for too long. Main thread. */
bool states_are_ending(struct states_thread *thread);
/* Returns true if all text of session @number is restored. Main thread. */
bool states_are_restored(struct states_thread *thread, uint64_t number);

/* --- processes, slots and threads ---------------------------------------- */

/* Adds @process, a child of the process that said hello or that process itself.
 * Copies all data at once, because the process may end soon. Any thread; the
 * caller may hold the lock of the arena. */
void states_process_begin(struct process *process);
/* From now on the text of @process is not touched: it has ended or called
 * exec(). Any thread. */
void states_process_end(struct process *process);
/* Passes @mem_fd, the /proc/self/mem of forked child @pid (@inner_pid in its
 * own namespace); the caller keeps the descriptor. The child's text is
 * maintained even if it has recorded nothing, because it may never call a hook
 * while functions are off. @proven: the child is known to have @arena mapped.
 * Otherwise the arena's thread checks that; after a false claim of a process
 * with a long map it rejects such children for a while. Main thread. */
void states_child_memory(struct arena *arena, pid_t pid, pid_t inner_pid,
			 int mem_fd, bool proven);

/* The calls of a function. */
struct states_calls {
	uint64_t address;
	uint32_t number;
	uint32_t generation; /* of the load map when its module came */
	uint64_t calls; /* all calls */
	bool apart; /* without recorded calls: the gate counted */
};

/*
 * Returns the calls of each partly unrecorded function by the owner of slot
 * @index so far. Sets *@out to a list sorted by address, which the caller
 * frees, or NULL if it is empty. Returns the length. Drain worker of the slot.
 */
size_t states_slot_calls(struct arena *arena, uint32_t index,
			 struct states_calls **out);
/*
 * The owner of slot @index has been finished. @gone: the slot becomes free now,
 * so its counts are added to those of ended slots and cleared. Drain worker of
 * the slot.
 */
void states_slot_ended(struct arena *arena, uint32_t index, bool gone);

/* A change of a function's state, for the trace. */
struct states_change {
	uint64_t ns;
	uint64_t address;
	const char *name; /* owned by the symbol cache; NULL: unknown */
	enum function_state from, to;
	/* The reason: its cost before the change, in 2^-32 of the program's CPU
	 * time, and its mean duration; 0: unknown. */
	uint32_t share;
	uint32_t mean_ns;
	bool by_hand;
	bool entry_build;
	bool connected; /* from now on its calls go through thunks */
	/* Start (to FUNCTION_SPAN) or end (to FUNCTION_COUNTED) of an episode
	 * (controller.h). */
	bool episode;
	bool last_episode;
};

/* Ended recorded calls of a function, for the controller. */
struct states_durations {
	uint64_t address;
	uint64_t ended, ended_ns;
};
/* Returns true if durations are needed; then drain workers add them about every
 * STATES_DURATIONS_NS. Any thread; one load. */
bool states_want_durations(const struct states *states);
#define STATES_DURATIONS_NS 50000000
void states_add_durations(struct states *states,
			  const struct states_durations *durations,
			  size_t count);

/* --- for people ---------------------------------------------------------- */

struct states_function {
	uint64_t address;
	const char *name, *module; /* owned by the symbol cache. The name of a
				    * file that was not planned is its path */
	uint32_t number; /* 0: not connected */
	enum function_state state;
	bool by_hand;
	bool gated; /* the filter table leaves it out, since its text cannot be
		     * written */
	bool entry_build;
	uint32_t sites;
	const char *refused; /* reason why it cannot change, a static text, or
			      * NULL */
	bool counted; /* calls is valid */
	bool late; /* ... but calls are missing: it was connected while the
		    * program ran */
	uint64_t calls;
	uint64_t ended, ended_ns; /* of recorded calls; 0: unknown */
	uint64_t cost_ns; /* cost of its hooks so far */
	float cost_each_ns; /* of a call in its present state */
	float cost_share; /* cost_ns as a part of the program's CPU time; 0:
			   * unknown */
};

/* Sets *@out to all known functions of @arena, the most expensive first; the
 * caller frees it. Returns their number; 0: none, or no memory. Any thread. */
size_t states_list(struct arena *arena, struct states_function **out);

/* A file that --patch includes, but whose functions cannot be moved. */
struct states_unplanned {
	char *path;
	const char *why; /* static */
};

#define STATES_UNPLANNED_MAX 8

struct states_summary {
	uint64_t functions;
	uint64_t counted, off; /* connected ones, now or at the end */
	uint64_t gated;
	uint64_t refused;
	uint64_t changes;
	uint64_t late; /* connected while the program ran; calls are missing */
	uint64_t unpatched_processes;
	uint64_t patch_ns; /* collector's time for planning and patching */
	uint64_t held_ns;
	uint64_t hooked; /* connected ones whose hooks are called by code of the
			  * build (calls builds) */
	uint64_t recalled;
	uint64_t patched, unpatched; /* functions without hooks (--patch) */
	struct states_unplanned unplanned[STATES_UNPLANNED_MAX]; /* the first
								  * ones */
	uint64_t unplanned_files; /* all; the paths are freed with the arena */
	uint64_t called, uncalled; /* functions of --calls-to */
	const char *unwritable; /* reason why no text can be written, or NULL */
	uint64_t unheard; /* then: functions of entry builds, all unrecorded */
	/* Modules of entry builds loaded while the program ran. */
	struct states_modules_told {
		uint64_t late; /* connected late; earlier calls are lost */
		uint64_t late_ns; /* longest delay */
		uint64_t missed;
		struct states_module_told {
			const char *path; /* "": unknown */
			uint64_t ns; /* longest delay until connected; 0: never
				      * connected */
			uint64_t loads, processes;
			bool slots; /* it has no hooks; perhaps no wanted calls
				     * either */
		} list[8]; /* the first ones */
		size_t count;
		struct map_log
			*log; /* a reference, which keeps the paths; or NULL */
	} modules;
	/* The controller's result (--overhead); all 0 without a controller. */
	bool unmet;
	uint64_t cost_ns, counting_ns, cpu_ns;
	/* Reasons of refusals with their counts. */
	struct states_refusal {
		const char *why; /* static; NULL ends the list */
		uint64_t functions;
		uint64_t unheard; /* of entry builds: nothing is recorded */
	} refusals[16];
};

/* Reports to the recording of @arena which patterns of --count matched its
 * functions; --filter and --exclude report at once. Any thread. */
void states_tell_matches(struct arena *arena);
/* Summary of @arena so far. The caller ends it with states_summary_release().
 * Any thread. */
void states_summary(struct arena *arena, struct states_summary *out);
void states_summary_release(struct states_summary *summary);

/* --- requests ------------------------------------------------------------ */

struct states_ask;
#define STATES_GLOBS_MAX 4096 /* distinct globs ever requested of a program */

/*
 * Requests changes of @arena. @globs are @count patterns as in names/filter.h,
 * each prefixed with the letter of a state: CTL_FUNCTIONS_SPAN and so on of
 * options/ctl_wire.h ('s', 'c', 'o'). They are copied, and also apply to later
 * modules. A pattern replaces an earlier one with the same glob. Without
 * patterns, modules are planned for a list. When done, done_fd of the collector
 * is written. The caller ends *@out with states_ask_end(). Returns 0, -ENOMEM,
 * or -E2BIG beyond STATES_GLOBS_MAX. Main thread.
 */
int states_ask_start(struct arena *arena, const char *const *globs,
		     size_t count, struct states_ask **out);
bool states_ask_is_done(struct states_ask *ask);
/* Returns the reason, a static text, if a finished request failed, or NULL.
 * Main thread. */
const char *states_ask_trouble(const struct states_ask *ask);
/* Returns true if pattern @index of a finished request matches a function. Main
 * thread. */
bool states_ask_has_matched(struct states_ask *ask, size_t index);
/* @ask may be NULL or unfinished. */
void states_ask_end(struct states_ask **ask);

#endif
