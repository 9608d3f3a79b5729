/* SPDX-License-Identifier: Apache-2.0
 *
 * states_inner - the data of the states of an arena, for the files of module
 * states: states.c (lifetime, requests), states_thread.c (the thread),
 * states_modules.c (modules and their functions), states_follow.c (which
 * process has loaded which module), states_opening.c (dlopen() calls that
 * wait), states_text.c (processes and their text), states_keep.c (restoring the
 * text), states_steps.c (changes of state), states_steer.c (the controller),
 * states_tell.c (data for other threads), and for their tests.
 *
 * Only the arena's own thread, perfrec-states, changes modules, functions and
 * processes, and it reads them without a lock. It changes fields that other
 * threads read under states->lock. Fields that other threads write are always
 * under that lock.
 *
 * The memory and the files of a program may block a reader for ever
 * (userfaultfd, FUSE), until the collector ends. So the thread touches them
 * only between states_go_away() and states_come_back(), without any lock that
 * others need. Other threads know that it may not return, and give it up after
 * STATES_AWAY_NS. (The load map has its own lock, which is held meanwhile: a
 * request for names of that program waits.)
 */
#ifndef PERFREC_COLLECTOR_STATES_STATES_INNER_H
#define PERFREC_COLLECTOR_STATES_STATES_INNER_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/base/lock.h"
#include "collector/code/patch.h"
#include "collector/code/text_guard.h"
#include "collector/code/text_map.h"
#include "collector/states/controller.h"
#include "collector/states/plan_cache.h"
#include "collector/states/states.h"
#include "collector/states/states_cache.h"
#include "shared/function_shm.h"
#include "shared/ring_shm.h"

struct code_function;
struct code_plan;
struct collect_options;
struct controller;
struct filter_table;
struct map_event;
struct module_file;
struct modules;
struct patch_image;
struct symbol_file;
struct text_area;
struct thunk_area;

/* Length of one visit of an arena, before other arenas have their turn. */
#define VISIT_NS 20000000
#define TICK_NS 20000000
/* Longest wait for the open calls of a function that is not recorded any
 * more. */
#define DRAIN_NS 1000000000
/* Most episodes in the trace. A function stays muted during an episode. */
#define EPISODES_TOLD 1000
/* Limit of CPU time for the plan of a file, which may be crafted to take very
 * long. */
#define PLAN_NS_MAX UINT64_C(60000000000)
#define BATCH 256
#define BATCH_HELD 8192
#define GATE_NS 5.0f /* of a call that the gate leaves out */
#define NONE UINT32_MAX

/*
 * The plan of a file, shared by all arenas. Some unused plans are kept. The
 * thread that set busy_ns makes the plan, for about one visit at a time. Other
 * threads read it once they have seen ready.
 */
struct states_plan {
	struct states_plan *next;
	struct symbol_file *file;
	struct code_plan *plan; /* NULL: none */
	ino_t inode;
	int fd; /* until the plan is ready, else -1 */
	const char *why; /* reason why there is no plan; NULL: nothing to
			  * report */
	bool unread; /* the file may have hooks although it has no plan */
	bool moves; /* functions without hooks are moved (--patch) */
	bool calls; /* calls of other files are taken (--calls-to) */
	const struct collect_options *options;
	uint64_t spent_ns; /* CPU time so far */
	struct plan_key key; /* of its file, if has_key */
	bool has_key;
	/* Under the lock of all arenas: */
	uint32_t users;
	bool args_told; /* it was said that its arguments are not known */
	uint64_t busy_ns; /* start of the work of the thread that makes it; 0:
			   * none */
	bool ready; /* the plan is final, or will never exist */
};

/* A file at an address of any process. Several processes may have it there, and
 * two processes may have different files at one address. */
struct states_module {
	uint64_t start, end, bias;
	const char *path;
	struct states_plan *plan;
	uint32_t generation; /* of the load map at its arrival */
	uint64_t came_ns; /* time of its discovery */
	bool late; /* the program was running before that */
	bool listed; /* its functions are known */
	bool left; /* some process has unloaded it */
	bool gone; /* no process has it any more */
	bool again; /* it was gone and has returned */
	bool unpatched; /* its functions would have been moved at the start */
	uint32_t opening; /* number of the dlopen() that waits; 0: none */
	bool recalled; /* known was read */
	struct states_cache_list known; /* from earlier recordings */
};

/* A function in one module. A function that is inlined elsewhere, or that
 * several modules define, has a part in each. */
struct states_part {
	uint32_t module;
	uint32_t index; /* of the function in the plan */
	uint32_t number; /* 0: not connected */
	uint32_t next; /* part of the same function, or NONE */
};

struct function {
	uint64_t address;
	const char *name, *module; /* NULL: not read yet */
	uint32_t parts; /* the first part; NONE: its modules are gone */
	uint32_t generation;
	uint32_t sites;
	uint8_t state, wanted; /* enum function_state */
	bool entry_build; /* it calls no hook until it is connected */
	bool moved; /* entered by a jump (code_moves.h), if not refused */
	bool hookless; /* moved, in a file without hooks */
	bool called; /* only through slots (code_calls.h) */
	bool many_arguments; /* called with any number on the stack */
	bool suits_slots; /* cannot be moved, but called through slots */
	bool connected;
	bool wants_connection;
	bool again; /* connected but stuck: switch it off again */
	bool by_hand;
	bool excluded;
	bool steered; /* the controller decides */
	bool episode; /* wanted starts or ends an episode */
	bool episode_told; /* the trace has the start of the episode */
	bool joins; /* connected except parts that came later */
	bool muted; /* some calls were not recorded: it was counted or off */
	bool late; /* it was off to be connected while the program ran: nobody
		    * knows the calls of that moment */
	const char *refused; /* reason why it cannot change, a static text, or
			      * NULL */
	uint64_t draining_ns;
	uint64_t calls_told; /* calls already reported to the controller */
	uint32_t state_told; /* the reported state as one number; 0: none */
	uint32_t share, mean_ns; /* see struct states_change */
	struct thunk_words words; /* recorded arguments (--args) */
	/* Under the lock, because other threads write these. */
	double cost_ns;
	uint64_t ended, ended_ns;
	uint64_t ended_told, ended_ns_told;
};

struct process_module {
	int number; /* in the image; -1: not in it */
	bool here; /* the process has it */
	bool heard; /* its late calls were reported */
	/* Its functions that were connected late, and the time, until the trace
	 * has both. The trace may not know the process yet. */
	size_t late_count;
	uint64_t late_ns;
	uint64_t since_ns; /* earliest time of the load; 0: loaded at the
			    * start */
};

/* A connected module that a process loaded after its start. */
struct states_heard {
	int32_t pid; /* in its own namespace */
	uint64_t start;
};

/* A late module that was not connected for a while. */
struct states_late {
	const char *path; /* owned by the symbol cache */
	uint64_t ns; /* duration; 0: never connected */
	pid_t pid; /* in its own namespace */
	bool slots; /* it has no hooks, only slots (--calls-to) */
};
#define STATES_LATE_MAX 64 /* late modules known by name */

#define STATES_GONE_MAX 32

/* The modules of a dlopen() that waits (enum opening_shm): where they start. */
#define STATES_OPENING_MAX 256 /* others are not patched */
struct states_opening {
	uint32_t number;
	int32_t pid; /* in its own namespace */
	uint32_t count;
	uint64_t start[STATES_OPENING_MAX];
};

/* No thread of @process runs in functions that are to be connected: it waits
 * with one thread at its start, or its dlopen() waits. */
struct states_hold {
	const struct states_process *process;
	struct patch_hold text;
	bool opening;
};

struct states_process {
	struct states_process *next;
	pid_t pid, inner_pid, parent;
	uint64_t uuid; /* of its track; 0: it has recorded nothing yet. Under
			* the lock */
	/* Uuids of its tracks in states_trace.c; the thread's. 0: none. */
	uint64_t change_track, count_track;
	bool root; /* it said hello */
	bool stranger; /* a child that has recorded nothing yet. Other threads
			* clear it under the lock */
	bool unwatched; /* must not have descriptors (watches.h) */
	struct collector *watched_by; /* collector that counts it as watched;
				       * NULL: it counts as a process does, or
				       * not at all */
	bool unproven; /* only the child itself claims to share the arena. The
			* thread's, once listed */
	int mem; /* -1: none, or owned by the image. Under the lock */
	struct modules *modules;
	struct modules *adopted; /* modules for a former stranger, to replace
				  * the present ones; under the lock */
	struct patch_image *image; /* NULL: none, or not yet */
	bool met; /* states_meet() has seen it. Under the lock */
	bool has_image; /* as met */
	bool failed; /* its text cannot be written */
	bool ended; /* under the lock */
	int list; /* memfd with the patched places: states_keep.c; -1: none */
	uint64_t list_bytes, list_least; /* length now, and of a fresh list */
	uint64_t kept; /* its number in perfrec-keeper; 0: none */
	bool unkept; /* a failure to keep it was logged */
	struct process_module *module;
	size_t module_count, module_room;
	uint32_t generation; /* last reported generation of its load map */
	bool news; /* it reported a load */
	/* Its known calls of dlopen(); 0: none. */
	uint64_t opened_ns; /* the last one */
	uint64_t first_opened_ns; /* the first one since the last look */
	uint64_t look_ns, look_pause_ns; /* time of the next look, and the pause
					  * after it */
	uint64_t looked_ns, look_cost_ns; /* time of the last look; its CPU
					   * time */
	clockid_t clock;
	bool has_clock; /* changes under the lock */
	uint64_t cpu_ns;
};

struct states_pattern {
	char letter;
	char *glob;
	bool matched; /* a function matched */
};

struct states_ask {
	struct states *states; /* a reference; NULL: none */
	uint64_t number;
	char **globs;
	size_t count;
	bool stuck; /* the program blocks the work */
};

struct states {
	uint32_t refs;
	struct states_thread *thread;
	struct arena *arena; /* a reference, until the thread ends */
	uint64_t hello_ns; /* start, before the reply to the hello */
	struct states *next;

	/* Owned by the thread: */
	struct thunk_area *area; /* NULL: none */
	struct states_plan *making; /* plan in progress, or NULL */
	struct controller *controller;
	uint64_t tick_ns;
	uint64_t tick_cost_ns;
	size_t loads; /* events of the map log read so far */
	uint64_t refresh_ns; /* earliest time to read the program's map again */
	uint64_t refresh_pause_ns; /* and the pause after that */
	uint64_t refreshed_ns, refresh_cost_ns; /* the last reading: time and
						 * cost */
	uint32_t dlopens; /* calls of dlopen() read from the page */
	int32_t openers[DLOPENERS]; /* unknown processes with such calls */
	uint32_t opener_count;
	struct states_opening opening;
	/* A hash table: modules of the map that may still be reported, and when
	 * they were first seen. */
	struct states_awaited {
		uint64_t start, ns;
	} awaited[16];
	uint64_t opening_ns; /* when a dlopen() was first seen to wait */
	uint32_t opening_seen; /* its word at the start of the visit */
	bool has_openings; /* a module has the number of a dlopen() */
	uint32_t numbers; /* limit: numbers are 1 to numbers - 1 */
	struct text_map map; /* of the process read last */
	uint64_t hold_ns; /* time when the program must go on; 0: not held */
	uint64_t *sums; /* calls by number at the last tick */
	uint32_t sequence; /* of the changes in the trace; 0: none yet */
	uint32_t muted;
	uint32_t episodes_told;
	pid_t led_by; /* leader whose modules were read last */
	uint64_t evaluated_for; /* request of the last evaluation */
	bool begun; /* the area was mapped, or that has failed */
	bool planning; /* modules are being planned */
	bool patched; /* some text is or will now be changed */
	bool ending; /* all known text was restored */
	uint32_t keepers; /* ended keepers that were noticed */
	bool late_news; /* states_tell_late() has work */
	bool searching; /* unknown children must be searched and restored */
	bool restored;
	/* The lists of the last ended processes that had loaded something. */
	int gone[STATES_GONE_MAX];
	uint32_t gone_count;
	void *held[8]; /* memory of states_calloc() */

	struct lock lock; /* protects the fields below */
	const char *unwritable; /* reason why no text can be written, or NULL */
	struct filter_table *gate; /* filter table that replaces patches then,
				    * or NULL. The thread owns its entries */
	int event; /* eventfd to wake the thread; -1: none */
	bool has_thread;
	bool given_up; /* the thread ends when it comes back */
	uint64_t away_ns; /* start of the thread's wait for memory or files of
			   * the program; 0: not waiting */
	uint64_t slow_ns; /* sum of such waits since end_ns, without their usual
			   * length */
	uint64_t lied_until_ns; /* until then unproven processes are rejected */
	struct states_process *processes;
	struct states_module *modules;
	size_t module_count, module_room;
	struct function *functions;
	size_t function_count, function_room;
	uint32_t *table; /* hash table of functions by address: index + 1 */
	size_t table_entries;
	struct states_part *parts;
	size_t part_count, part_room;
	uint32_t *owner; /* index of the function by number */
	uint32_t next_number;
	uint64_t *ended_calls; /* by number: calls of ended slots */
	struct states_pattern *patterns;
	size_t pattern_count, pattern_room;
	uint64_t change_count;
	uint64_t patch_ns, patched_sites, unpatched_processes;
	uint64_t patch_ns_told; /* part of patch_ns reported to the
				 * controller */
	struct states_heard *heard;
	size_t heard_count, heard_room;
	struct states_unplanned unplanned[STATES_UNPLANNED_MAX];
	uint64_t unplanned_files;
	struct states_late late[STATES_LATE_MAX];
	uint64_t late_count, late_ns; /* number of late modules; longest
				       * delay */
	struct controller_reached reached; /* at the last tick */
	bool evaluated; /* wanted of all functions is up to date. Other threads
			 * read it */
	bool has_unknown; /* unknown functions were called */
	bool want_durations; /* also read without the lock */
	/* Requests. */
	void (*ready)(struct arena *arena); /* NULL: none */
	uint64_t ready_asked_ns;
	uint64_t held_ns; /* length of that wait */
	uint32_t recalled;
	bool wants_plans;
	bool wants_restore, wants_end;
	uint64_t end_ns; /* time of the request to end; 0: none */
	uint64_t asked, answered;
};

/* State shared by the threads of all arenas. */
struct states_thread {
	uint32_t refs; /* one of the collector, one of each states */
	struct collector *collector;
	int event; /* eventfd: a thread has ended. -1: threads cannot be
		    * started */
	struct lock guard_lock; /* protects the fields below */
	struct text_guard guard;
	uint64_t kept_numbers; /* the last number given to the keeper */
	uint32_t keepers; /* ended keepers */
	struct lock lock; /* protects the fields below */
	struct states_plan *plans;
	struct states *first;
	uint32_t running;
	uint32_t given_up; /* part of running */
};

/* Longest wait of an arena's thread for memory or files of the program, before
 * others go on without it. Reading a large file takes less. */
#define STATES_AWAY_NS 5000000000
#define STATES_STUCK "it lets nobody read its memory, or one of its files"

void states_wake(struct states *states);
/* Starts a thread for @states if it has none. Returns 0 or -errno. Any
 * thread. */
int states_start(struct states *states);
/* Removes @states, which has no thread any more, from the list. Main thread, or
 * the thread itself. */
void states_unlist(struct states *states);
/* Returns true if the thread has waited for the program for too long. Under the
 * lock. */
bool states_are_stuck(const struct states *states);
void states_thread_get(struct states_thread *thread);
void states_thread_put(struct states_thread *thread);
struct states *states_get(struct states *states);
/* Returns the states of @arena with a reference, or NULL after their end: a job
 * does not know whether the program has ended. */
struct states *states_of(struct arena *arena);
void states_put(struct states **states);

/* --- for the thread of the arena ----------------------------------------- */

/* Returns the matches of option patterns, or NULL if nobody needs them. */
struct filter_matches *states_matches(const struct states *states);

/* Code up to states_come_back() may wait for the program for ever. It holds no
 * lock and touches only memory of @states or of its own stack, not the arena. A
 * second call in between restarts the time limit. */
void states_go_away(struct states *states);
/* Ends the thread instead of returning if the thread was given up meanwhile. */
void states_come_back(struct states *states);
/* As calloc() and free(), for memory that a given-up thread cannot free: it is
 * freed with @states. Only for a few blocks at a time. */
void *states_calloc(struct states *states, size_t count, size_t size);
void states_free(struct states *states, void *memory);

/* Works for about VISIT_NS. Returns the ns until the next visit, or UINT64_MAX:
 * on request. */
uint64_t states_visit(struct states *states);

/* Applies the loads and unloads of all processes. */
void states_follow_modules(struct states *states);
/* Starts with a new @process, which may already have reported a dlopen(). */
void states_follow_new(struct states *states, struct states_process *process);
/* Returns the ns until states_follow_modules() should look again, or
 * UINT64_MAX: on request. */
uint64_t states_follow_pause(struct states *states);
/* Returns true if process @pid has the thunk area of the arena mapped, which
 * must exist. Reads its map, which may wait for the program. */
bool states_are_of(struct states *states, pid_t pid);
/* Adds child @pid (@inner_pid in its own namespace) with its memory @mem_fd,
 * which the function takes over. @proven: states_are_of() is known to be true.
 * Returns true if the child was added. Any thread. */
bool states_add_child(struct states *states, pid_t pid, pid_t inner_pid,
		      int mem_fd, bool proven);
bool states_has_module(struct states *states, uint32_t module);
/* Returns a process with the module, else the leader, else NULL. */
struct states_process *states_holder(struct states *states, uint32_t module);
/* Reports late modules whose calls are recorded from now on. */
void states_tell_late(struct states *states);

/* Adds @file to the modules, if it is new, and to @process. */
void states_add_module(struct states *states, struct states_process *process,
		       const struct module_file *file);
void states_drop_module(struct states *states, uint32_t module);
/* Never moves functions of the module at @index, unless they are listed
 * already. */
void states_leave_alone(struct states *states, uint32_t index);
/* Plans modules until @until_ns (BOOTTIME) and lists their functions. Returns
 * true if all are done. */
bool states_plan_modules(struct states *states, uint64_t until_ns);
/* For struct code_input: returns true if --calls-to includes @name. @plan is a
 * struct states_plan. */
bool states_calls_name(void *plan, const char *name);
/* Returns true if the program has bound the calls of all files that it started
 * with, so slots that are read from now on are final. */
bool states_calls_are_final(const struct states *states);
/* Returns true if @addresses, which were read from the slots of @module for the
 * functions in its plan, are final. @final: states_calls_are_final(), asked before
 * they were read. */
bool states_calls_are_bound(const struct states_module *module,
			    const uint64_t *addresses, bool final);
/* Returns true if --calls-to includes function @planned of a slot of @module,
 * which holds @address. */
bool states_calls_function(const struct states *states,
			   const struct states_module *module,
			   const struct code_function *planned,
			   uint64_t address);
/* Decides whether @function gets @planned of @module as another part: its own
 * file takes precedence over calls through slots. Under the lock. */
bool states_calls_admit(const struct states *states,
			const struct states_module *module,
			const struct code_function *planned,
			struct function *function);
/* Releases the plans of @states. Any thread. */
void states_plans_put(struct states *states);
void states_plans_free(struct states_thread *thread);
/* Returns the function at @address, or NULL. The thread, or under the lock. */
struct function *states_find(const struct states *states, uint64_t address);
void states_name(struct states *states, struct function *function);

void states_process_free(struct states_process *process);
/* Handles processes that have started and ended. */
void states_follow_processes(struct states *states);
void states_drop_ended(struct states *states);
/* As states_drop_ended(), if @states has no thread. Any thread. */
void states_drop_unvisited(struct states *states);
/* Returns true the first time for @process, and marks it as seen. Never true
 * for a process that is found outside the arena. */
bool states_meet(struct states *states, struct states_process *process);
/* Makes the gate if the program's text cannot be written. Call while the
 * program is held. */
void states_make_gate(struct states *states);
/* Adds the module, whose functions are listed, to the images of all its
 * processes. */
void states_module_came(struct states *states, uint32_t module);
void states_say_no_memory(const char *path);
/* Adds the module to @process; its functions may be listed already. @since_ns:
 * see struct process_module. */
void states_module_joins(struct states *states, struct states_process *process,
			 uint32_t module, uint64_t since_ns);
void states_module_leaves(struct states_process *process, uint32_t module);
/* Returns the module's entry in @process, or NULL. */
struct process_module *states_module_of(const struct states_process *process,
					uint32_t module);
/* Switches the sites @on of the functions at @functions on in all processes,
 * and their other sites off. With the gate, leaves the functions out unless
 * both sites are on. */
void states_switch(struct states *states, const uint32_t *functions,
		   size_t count, enum patch_sites on);
/* After states_switch(): returns the reason, a static text, why @function
 * failed to switch in some process, or NULL. */
const char *states_stuck(struct states *states, const struct function *function,
			 bool on);
/* Gives numbers to all parts of the functions, while there are any. */
void states_give_numbers(struct states *states, const uint32_t *functions,
			 size_t count);
/* Connects the functions, which have numbers; sets their connected and
 * refused. @hold: NULL if threads run. */
void states_connect_functions(struct states *states, const uint32_t *functions,
			      size_t count, const struct states_hold *hold);
/* Moves functions that a dlopen() waits for, and that are connected in other
 * processes. */
void states_connect_opened(struct states *states,
			   const struct states_hold *hold);
void states_restore_text(struct states *states);
/* Finds the wanted arguments of the functions, before they are connected. Reads
 * debug information, which takes time. */
void states_find_words(struct states *states, const uint32_t *functions,
		       size_t count);
/* Adds the CPU time of this thread since @begin_ns, on its own clock, to the
 * time for planning and patching. Takes the lock. */
void states_count_work(struct states *states, uint64_t begin_ns);
void states_processes_free(struct states *states);
/* Returns the list of processes, the youngest first. Takes the lock. */
struct states_process *states_first(struct states *states);
/* Returns true if @process is known to have ended. Takes the lock. */
bool states_has_ended(struct states *states,
		      const struct states_process *process);
/* Returns the process whose modules stand for all, and which decides about what
 * can be connected: the process that said hello or, after its end, the oldest
 * of its children. NULL: there never was one. Takes the lock. */
struct states_process *states_leader(struct states *states);
bool states_have_leader(struct states *states);

/* Notes all changes of the text of @process from now on, and passes the list to
 * perfrec-keeper. The image of @process must own its memory. */
void states_keep(struct states *states, struct states_process *process);
/* Passes unkept lists to the keeper, and remakes lists that have grown. */
void states_keep_on(struct states *states);
/* Handles the end of @process. If it had loaded something, its list is
 * remembered for its children. */
void states_keep_no_more(struct states *states, struct states_process *process);
void states_forget_gone(struct states *states);
/* Restores the text of processes that states_meet() had not seen. Call after
 * the text of @states was restored. */
void states_restore_late(struct states *states);
/* Searches unknown processes of the arena and restores their text. Call after
 * the text of @states was restored. */
void states_search(struct states *states);
bool states_are_registered(const struct states *states);

/* Returns the sites that are on in @state. */
static inline enum patch_sites states_sites_of(enum function_state state)
{
	switch (state) {
	case FUNCTION_OFF:
		return PATCH_NEITHER;
	case FUNCTION_COUNTED:
		return PATCH_ENTRIES;
	default:
		return PATCH_BOTH;
	}
}

static inline bool states_are_gated(const struct states *states)
{
	return states->unwritable && states->gate;
}

/* Sets the wanted state of each function, from patterns and options. */
void states_evaluate(struct states *states);
/* Changes functions to their wanted states until @until_ns. Returns true if all
 * are done. */
bool states_take_steps(struct states *states, uint64_t until_ns, bool held);

/* Returns true if the program reports modules during dlopen(). */
bool states_report_openings(const struct states *states);
/* Notes that @event reports a module of a dlopen() that waits. */
void states_note_arrival(struct states *states, const struct map_event *event);
/* Returns the number of the dlopen() that waits for the module of @process that
 * starts at @start; 0: none. */
uint32_t states_opening_of(const struct states *states,
			   const struct states_process *process,
			   uint64_t start);
/* Returns the number of the dlopen() that waits now; 0: none. */
uint32_t states_opening_now(const struct states *states);
/* Returns true if all modules of dlopen() calls are listed whose functions can be
 * moved. */
bool states_opening_is_planned(const struct states *states);
/* Notes dlopen() calls that do not wait any more. */
void states_end_openings(struct states *states);
/* Sets *@hold and returns true if the dlopen() still waits. Then it waits until
 * states_opening_written(). */
bool states_opening_write(struct states *states, struct states_hold *hold);
void states_opening_written(struct states *states);
/* Lets the dlopen() go on that waited before this visit. Returns false if another
 * one waits. */
bool states_opening_finish(struct states *states);
/* Records that @function has changed from state @from to its present state. */
void states_note_change(struct states *states, struct function *function,
			enum function_state from, uint64_t ns, bool connected);

/* Returns the cost of a call of a function in ns of the program's CPU time.
 * @entry: in an entry build. Any thread. */
struct controller_cost states_cost(const struct states *states, bool entry);

/* Runs the controller. Returns the ns until the next tick. */
uint64_t states_steer(struct states *states);
/* Read the cache before a function is connected, and write it after the last
 * tick. */
void states_recall(struct states *states, uint32_t function);
void states_remember(struct states *states);

/* Sums calls by number over all slots, ended ones included, into @sums, which
 * has states->next_number entries. Takes the lock. */
void states_sum(struct states *states, struct arena *arena, uint64_t *sums);

#endif
