/* SPDX-License-Identifier: Apache-2.0
 *
 * states - the functions of the programs of one arena whose states can be
 * changed (docs/OVERHEAD.md): which there are, in which state they are, and
 * what was counted. A thread of the arena, perfrec-states, plans, patches and
 * steers; other threads ask it, and read what it has found. It begins when
 * somebody asks.
 *
 * A function is known once its module was planned. It has a number once it is
 * connected, that is, when its calls go through thunks. An arena has one table
 * of functions for the program and all its forked children; the text of each
 * process is patched on its own, and counts are kept for each slot.
 */
#ifndef PERFREC_COLLECTOR_STATES_STATES_H
#define PERFREC_COLLECTOR_STATES_STATES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/states/function_state.h"

/*
 * ns of a counted call over the same build that is not recorded, whose sites
 * call a stub: all that the controller can save. docs/OVERHEAD.md ("Counted
 * calls") has how this and the next two were measured.
 */
#define STATES_COUNTED_NS 0.4f
/* The same over a call whose sites are off. */
#define STATES_COUNTED_OVER_OFF_NS 1.3
/* ns of a call in a calls build whose sites are off, over the plain program: it
 * is not inlined, and the arguments of hooks are prepared. In an entry build
 * this is 0 within the error. */
#define STATES_CALLS_BUILD_NS 0.9

struct arena;
struct cct;
struct collect_options;
struct collector;
struct map_log;
struct process;
struct states; /* of an arena; the setup of the arena has it */
struct states_thread;

/* --- the threads ------------------------------------------------------------
 */

/* Begin what the threads of all arenas share. @collector must outlive it. The
 * caller ends *@out with states_thread_stop(). 0 or -errno. Main thread. */
int states_thread_start(struct collector *collector,
			struct states_thread **out);
/* End it. All arenas must have been given up by states_end(); what text is
 * patched is restored before. Also for NULL. False: a program keeps its thread
 * waiting for ever; nothing that this may use is freed, so the caller frees no
 * symbols either and soon exits. Main thread. */
bool states_thread_stop(struct states_thread **thread);

/* Whether @options ask for functions to be connected while a program waits with
 * its start. Pure. */
bool states_are_wanted(const struct collect_options *options);

/* --- an arena ---------------------------------------------------------------
 */

/* Begin the states of @arena, whose setup gets them. Before the program has the
 * reply to its hello. 0 or -ENOMEM. Main thread. */
int states_begin(struct states_thread *thread, struct arena *arena);
/* Connect what options ask for, as far as STATES_HOLD_NS are enough; the rest
 * is connected while the program runs. Then @ready is called, on the thread
 * perfrec-states; NULL: the program does not wait, as it has no functions yet:
 * it may load some. Any thread. */
void states_connect(struct arena *arena, void (*ready)(struct arena *arena));
#define STATES_HOLD_NS 1000000000
/* A program of @arena has called dlopen(), or told what it has loaded: look at
 * it soon. @entry_build: it has loaded an entry build, whose functions must be
 * connected to be recorded. Any thread. */
void states_look(struct arena *arena, bool entry_build);
/* Recording of @arena ends, while its processes may go on: restore the text of
 * all of them. Main thread; does not wait. */
void states_restore(struct arena *arena);
/* @arena has left the collector's list. As states_restore(), and the setup's
 * pointer becomes NULL. Main thread; no process of @arena is left. */
void states_end(struct arena *arena);
/* Whether an arena that has ended still has its thread: then ask again soon.
 * One whose program has kept it waiting for too long is given up. Main thread.
 */
bool states_are_ending(struct states_thread *thread);
/* Whether all text of session @number is as it was. Main thread. */
bool states_are_restored(struct states_thread *thread, uint64_t number);

/* --- processes, slots and threads -------------------------------------------
 */

/* @process begins, a child of the process that said hello or that process
 * itself. Takes in what is needed of it at once: it may end soon. Any thread;
 * the lock of the arena may be held. */
void states_process_begin(struct process *process);
/* The text of @process is not touched any more: it has ended, or called exec().
 * Any thread. */
void states_process_end(struct process *process);
/* A forked child @pid, which calls itself @inner_pid, has passed its own
 * /proc/self/mem as @mem_fd, which stays the caller's. It may have recorded
 * nothing yet: then its text is looked after all the same, as it may never call
 * a hook while functions are off. @proven: it is known to have @arena mapped;
 * else the thread of @arena finds that out, and where processes with long maps
 * lie, believes none for a while. Main thread. */
void states_child_memory(struct arena *arena, pid_t pid, pid_t inner_pid,
			 int mem_fd, bool proven);

/* How often a function was called. */
struct states_calls {
	uint64_t address; /* of the function */
	uint32_t number;
	uint32_t generation; /* of the load map when its module came */
	uint64_t calls; /* all of them */
	bool apart; /* but for those that were recorded: the gate counted */
};

/*
 * How often each function of which not all calls were recorded was called by
 * the owner of slot @index, up to now: those with calls, by address, in *@out,
 * which the caller frees; it is NULL if there are none. Returns how many. The
 * slot's drain worker.
 */
size_t states_slot_calls(struct arena *arena, uint32_t index,
			 struct states_calls **out);
/*
 * The owner of slot @index has been finished. With @gone the slot becomes free
 * after this: its counts are added to those of slots that have ended, and
 * cleared for the next owner. The slot's drain worker.
 */
void states_slot_ended(struct arena *arena, uint32_t index, bool gone);

/* A change of a function, as the trace tells it. */
struct states_change {
	uint64_t ns; /* BOOTTIME */
	uint64_t address; /* of the function */
	const char *name; /* as long as the symbol cache; NULL: not known */
	enum function_state from, to;
	/* Why: what it cost in the time before, in parts of 2^32 of the
	 * program's CPU time, and its mean duration; 0: not known. */
	uint32_t share;
	uint32_t mean_ns;
	bool by_hand; /* asked for, by option or by ctl */
	bool entry_build;
	bool connected; /* its calls go through thunks from now on */
	/* Begin (to FUNCTION_SPAN) or end (to FUNCTION_COUNTED) of an episode
	 * (controller.h). */
	bool episode;
	bool last_episode; /* the trace shows no later episode */
};

/* Recorded calls of functions that ended, for the controller. */
struct states_durations {
	uint64_t address;
	uint64_t ended, ended_ns;
};
/* Whether somebody needs durations: then drain workers add them about every
 * STATES_DURATIONS_NS. Any thread; one load. */
bool states_want_durations(const struct states *states);
#define STATES_DURATIONS_NS 50000000
/* Add @count of them. A drain worker. */
void states_add_durations(struct states *states,
			  const struct states_durations *durations,
			  size_t count);

/* --- for people -------------------------------------------------------------
 */

struct states_function {
	uint64_t address;
	const char *name, *module; /* as long as the symbol cache */
	uint32_t number; /* 0: not connected */
	enum function_state state;
	bool by_hand; /* asked for, by option or by ctl */
	bool gated; /* the filter table does it: nothing could be written */
	bool entry_build;
	uint32_t sites;
	const char *refused; /* why it cannot be changed; NULL: it can. Static
			      */
	bool counted; /* calls is known */
	uint64_t calls; /* in all processes */
	uint64_t ended, ended_ns; /* of recorded calls; 0: not known */
	uint64_t cost_ns; /* what its hooks cost the program so far */
	float cost_each_ns; /* of a call, as it is now */
	float cost_share; /* cost_ns in the program's CPU time; 0: unknown */
};

/* All functions that are known of @arena, those that cost most first, into
 * *@out, which the caller frees. Returns how many; 0: none, or no memory. Any
 * thread. */
size_t states_list(struct arena *arena, struct states_function **out);

struct states_summary {
	uint64_t functions; /* that are known */
	uint64_t counted, off; /* now, or at the end; of connected ones */
	uint64_t gated; /* off or counted by the gate */
	uint64_t refused; /* that cannot be changed */
	uint64_t changes; /* of states */
	uint64_t unpatched_processes; /* children that could not be patched */
	uint64_t patch_ns; /* what the collector took for planning, patching */
	uint64_t
		held_ns; /* how long the program waited for that at its start */
	uint64_t hooked; /* of connected ones: their calls of hooks are code of
			  * the build (calls builds) */
	uint64_t recalled; /* an earlier recording knew them */
	const char *unwritable; /* why no text could be written at all; NULL */
	uint64_t unheard; /* then: functions of entry builds, of which nothing
			   * could be recorded */
	/* Modules of entry builds that were loaded while the program ran. */
	struct states_modules_told {
		uint64_t late; /* calls before they were connected are lost */
		uint64_t late_ns; /* for how long, at most */
		uint64_t missed; /* were never connected */
		struct states_module_told {
			const char *path; /* "": not known */
			uint64_t ns; /* until it was connected, at most; 0: it
				      * was not */
			uint64_t loads, processes;
		} list[8]; /* some of them */
		size_t count;
		struct map_log
			*log; /* a reference: it has the paths; or NULL */
	} modules;
	/* With --overhead, what the controller has reached; all 0 without. */
	bool unmet;
	uint64_t cost_ns, counting_ns, cpu_ns;
	/* Why functions are refused, and how many for each reason. */
	struct states_refusal {
		const char *why; /* static; NULL: no more */
		uint64_t functions;
		uint64_t unheard; /* of entry builds: nothing is recorded */
	} refusals[16];
};

/* Tell the recording of @arena which patterns of --count have matched functions
 * of it; --filter and --exclude are told at once. Any thread. */
void states_tell_matches(struct arena *arena);
/* Of @arena, up to now; states_summary_release() ends it. Any thread. */
void states_summary(struct arena *arena, struct states_summary *out);
void states_summary_release(struct states_summary *summary);

/* --- requests ---------------------------------------------------------------
 */

struct states_ask;
#define STATES_GLOBS_MAX 4096 /* that were ever asked for, of a program */

/*
 * Ask for changes of @arena. @globs are @count patterns as in names/filter.h,
 * each with a letter for the state before it: CTL_FUNCTIONS_SPAN and so on of
 * serve/ctl_wire.h ('s', 'c', 'o'). They are copied. They hold for modules that
 * come later, too. With none, modules are planned, so that they can be listed.
 * done_fd of the collector is written to when it is done. The caller ends *@out
 * with states_ask_end(). One with the glob of an earlier one takes its place.
 * 0, -ENOMEM, or -E2BIG: there are more than STATES_GLOBS_MAX. Main thread.
 */
int states_ask_start(struct arena *arena, const char *const *globs,
		     size_t count, struct states_ask **out);
/* Whether it is done. Main thread. */
bool states_ask_is_done(struct states_ask *ask);
/* Once it is done: why it could not be done, a static text; NULL: it was. Main
 * thread. */
const char *states_ask_trouble(const struct states_ask *ask);
/* Whether pattern @index of it matches a function, once it is done. Main
 * thread. */
bool states_ask_has_matched(struct states_ask *ask, size_t index);
/* Also for NULL, and for one that is not done yet. */
void states_ask_end(struct states_ask **ask);

#endif
