/* SPDX-License-Identifier: Apache-2.0
 *
 * states_inner - the body of the states of an arena, for the files that are
 * module states: states.c (life, requests), states_thread.c (the thread),
 * states_modules.c (modules and their functions), states_follow.c (which
 * process has loaded what), states_text.c (processes and
 * their text), states_keep.c (what restores it), states_steps.c (the way from
 * one state to the next), states_steer.c (the controller), states_tell.c (what
 * others may read), and for their tests.
 *
 * The arena's own thread, perfrec-states, alone changes modules, functions and
 * processes, and reads them without a lock. Where others read them, too, it
 * changes them under states->lock. What others write is under that lock,
 * always.
 *
 * The memory and the files of a program may make whoever reads them wait for
 * ever (userfaultfd, FUSE), and nothing but the end of the collector ends that.
 * So that thread touches them without a lock that others need, and between
 * states_go_away() and states_come_back(): others know that it may not come
 * back, and give it up after STATES_AWAY_NS. (The load map has a lock of its
 * own, which it holds meanwhile: who asks for names of that program waits.)
 */
#ifndef PERFREC_COLLECTOR_STATES_STATES_INNER_H
#define PERFREC_COLLECTOR_STATES_STATES_INNER_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/base/lock.h"
#include "collector/patch/patch.h"
#include "collector/patch/text_guard.h"
#include "collector/patch/text_map.h"
#include "collector/states/controller.h"
#include "collector/states/plan_cache.h"
#include "collector/states/states.h"
#include "collector/states/states_cache.h"
#include "shared/function_shm.h"
#include "shared/ring_shm.h"

struct code_plan;
struct controller;
struct filter_table;
struct module_file;
struct modules;
struct patch_image;
struct symbol_file;
struct text_area;
struct thunk_area;

/* How long one visit of an arena may take, before others have their turn. */
#define VISIT_NS 20000000
#define TICK_NS 20000000
/* How long a function that is recorded no more waits for its open calls. */
#define DRAIN_NS 1000000000
/* Most episodes that the trace shows. A function stays muted during them. */
#define EPISODES_TOLD 1000
/* CPU time that the plan of a file may take: a file may be made so that it
 * takes very long. */
#define PLAN_NS_MAX UINT64_C(60000000000)
#define BATCH 256
#define BATCH_HELD 8192
#define GATE_NS 5.0f /* of a call that the gate leaves out */
#define NONE UINT32_MAX

/*
 * The plan of a file: one for all arenas. Some are kept when none uses them.
 * The thread that made it busy makes it, for the time of a visit or so. All
 * others read it when they have seen that it is ready.
 */
struct states_plan {
	struct states_plan *next;
	struct symbol_file *file; /* a reference */
	struct code_plan *plan; /* NULL: there is none */
	ino_t inode;
	int fd; /* until the plan is ready; -1 */
	const char *why; /* there is none; NULL: nothing to tell */
	uint64_t spent_ns; /* CPU time that it took so far */
	struct plan_key key; /* of its file, if has_key */
	bool has_key;
	/* Under the lock of all: */
	uint32_t users; /* modules */
	uint64_t busy_ns; /* since when a thread makes it; 0: none does */
	bool ready; /* or there will never be one */
};

/* A file at an address of any process. Several processes may have it there, and
 * two may have different files at one address. */
struct states_module {
	uint64_t start, end, bias;
	const char *path;
	struct states_plan *plan;
	uint32_t generation; /* of the load map when it came */
	uint64_t came_ns; /* when we saw it */
	bool late; /* the program had run before that */
	bool listed; /* its functions are known */
	bool left; /* some process has unloaded it */
	bool gone; /* and nobody has it any more */
	bool again; /* it was gone, and is there again */
	bool recalled; /* known was asked for */
	struct states_cache_list known; /* of earlier recordings */
};

/* A function in one module: a function that is inlined elsewhere, or that
 * several modules define, has parts in several. */
struct states_part {
	uint32_t module; /* index */
	uint32_t index; /* of the function in the plan */
	uint32_t number; /* 0: not connected */
	uint32_t next; /* part of the same function; NONE */
};

struct function {
	uint64_t address;
	const char *name, *module; /* NULL: not asked for yet */
	uint32_t parts; /* the first; NONE: its modules are gone */
	uint32_t generation;
	uint32_t sites;
	uint8_t state, wanted; /* enum function_state */
	bool entry_build;
	bool connected;
	bool wants_connection;
	bool again; /* connected, but stuck: switch it off once more */
	bool by_hand; /* asked for */
	bool excluded; /* by --filter or --exclude */
	bool steered; /* the controller decides */
	bool episode; /* wanted begins or ends an episode */
	bool episode_told; /* the trace has the episode's start */
	bool joins; /* connected, but for parts that came later */
	bool muted; /* not all calls were recorded: it was counted or off */
	const char *refused; /* static; NULL: it can be changed */
	uint64_t draining_ns; /* since when */
	uint64_t calls_told; /* to the controller */
	uint32_t state_told; /* and its state, as one number; 0: none */
	uint32_t share, mean_ns; /* see struct states_change */
	/* Under the lock: others write these. */
	double cost_ns; /* as of the last tick */
	uint64_t ended, ended_ns;
	uint64_t ended_told, ended_ns_told;
};

/* A module of a process. */
struct process_module {
	int number; /* in the image; -1: not in it */
	bool here; /* the process has it */
	bool heard; /* its calls are heard of; was told */
	/* How many of its functions were heard of first, and when, as long as
	 * the trace does not say so: its process was not known. */
	size_t late_count;
	uint64_t late_ns;
	uint64_t since_ns; /* when it may have come; 0: at the start */
};

/* A module that is heard of in a process that had it not at its start. */
struct states_heard {
	int32_t pid; /* inner */
	uint64_t start; /* of the module */
};

/* One that was loaded while the program ran, and for a while was not. */
struct states_late {
	const char *path; /* as long as the symbol cache */
	pid_t pid; /* of its process, as that sees itself */
	uint64_t ns; /* so long; 0: it was never connected */
};
#define STATES_LATE_MAX 64 /* that are known by name */

#define STATES_GONE_MAX 32

/* A process of the arena. */
struct states_process {
	struct states_process *next;
	pid_t pid, inner_pid, parent;
	uint64_t uuid; /* of its track; 0: it has recorded nothing yet. Under
			* the lock */
	/* Of its tracks by states_trace.c, which the thread has; 0: none. */
	uint64_t change_track, count_track;
	bool root; /* it said hello */
	bool stranger; /* a child that has recorded nothing yet; under the lock
			* it becomes another one */
	bool unwatched; /* it is to have no descriptors (watches.h) */
	struct collector *watched_by; /* it counts there; NULL: as a process
				       * does, or not at all */
	bool unproven; /* that it shares the arena is only its own word. The
			* thread's, once it is listed */
	int mem; /* -1: none, or the image has it. Under the lock */
	struct modules *modules; /* a reference */
	struct modules *adopted; /* of a stranger that is none any more: they
				  * are to be taken instead; under the lock */
	struct patch_image *image; /* NULL: none, or not made yet */
	bool met; /* the thread has seen it. Under the lock */
	bool has_image; /* the same */
	bool failed; /* its text cannot be written */
	bool ended; /* under the lock */
	int list; /* memfd of what is patched: states_keep.c; -1 */
	uint64_t list_bytes, list_least; /* of it, now and when it began */
	uint64_t kept; /* its number for perfrec-keeper; 0: it has none */
	bool unkept; /* which was told */
	struct process_module *module; /* by index */
	size_t module_count, module_room;
	uint32_t generation; /* of its load map, as last told */
	bool news; /* it has told that it has loaded something */
	/* Its calls of dlopen(), as we have heard of them; 0: none. */
	uint64_t opened_ns; /* the last */
	uint64_t first_opened_ns; /* the first since we looked */
	uint64_t look_ns, look_pause_ns; /* when to look next, and then */
	uint64_t looked_ns, look_cost_ns; /* the last look; CPU time */
	clockid_t clock;
	bool has_clock; /* it changes under the lock */
	uint64_t cpu_ns; /* as of the last tick */
};

struct states_pattern {
	char letter; /* of the state */
	char *glob;
	bool matched; /* some function */
};

struct states_ask {
	struct states *states; /* a reference; NULL: there is none */
	uint64_t number; /* of the request */
	char **globs; /* count of them */
	size_t count;
	bool stuck; /* the program lets nobody do it */
};

struct states {
	uint32_t refs;
	struct states_thread *thread;
	struct arena *arena; /* a reference, until the thread lets go */
	uint64_t hello_ns; /* when it began, before the reply to the hello */
	struct states *next; /* in the list of all */

	/* The thread's. */
	struct thunk_area *area; /* NULL: none */
	struct states_plan *making; /* a plan; NULL */
	struct controller *controller;
	uint64_t tick_ns; /* the last */
	uint64_t tick_cost_ns; /* what a tick takes */
	size_t loads; /* events of the map log that were seen */
	uint64_t refresh_ns; /* when the map of the program may be read again */
	uint64_t refresh_pause_ns; /* and how long after that */
	uint64_t refreshed_ns, refresh_cost_ns; /* the last time */
	uint32_t dlopens; /* that the program has told */
	int32_t openers[DLOPENERS]; /* of those: processes that are not known */
	uint32_t opener_count; /* ever */
	uint32_t numbers; /* there are 1 to numbers - 1 */
	struct text_map map; /* of a process, as it was read last */
	uint64_t hold_ns; /* when the program must go on; 0: it does */
	uint64_t *sums; /* of calls, by number: of the last tick */
	uint32_t sequence; /* of changes in the trace; 0: none yet */
	uint32_t muted; /* functions that are not in state span */
	uint32_t episodes_told; /* in the trace */
	pid_t led_by; /* the leader whose modules were read last */
	uint64_t evaluated_for; /* evaluated: as of that request, or a later
				 * one */
	bool begun; /* area was asked for */
	bool planning; /* something wants plans */
	bool patched; /* some text was, or will be at once */
	bool ending; /* all that was known has been restored */
	uint32_t keepers; /* that have ended, as far as this was seen */
	bool late_news; /* states_tell_late() has something to look at */
	bool searching; /* children that are not known are to be restored */
	bool restored;
	/* The last lists of processes that have loaded something, and ended. */
	int gone[STATES_GONE_MAX];
	uint32_t gone_count; /* ever */
	void *held[8]; /* of states_calloc() */

	struct lock lock; /* of what follows */
	const char *unwritable; /* why no text can be written; NULL: it can */
	struct filter_table *gate; /* then it leaves functions out; or NULL. Its
				    * entries are the thread's */
	int event; /* eventfd: wakes its thread; -1: it has none */
	bool has_thread;
	bool given_up; /* the thread ends when it comes back */
	uint64_t away_ns; /* since when its thread waits for memory or files of
			   * the program; 0: it does not */
	uint64_t slow_ns; /* how long that took since end_ns, in all, without
			   * what is usual */
	uint64_t lied_until_ns; /* until then no process that is unproven is
				 * taken in */
	struct states_process *processes;
	struct states_module *modules;
	size_t module_count, module_room;
	struct function *functions;
	size_t function_count, function_room;
	uint32_t *table; /* of functions by address: index + 1 */
	size_t table_entries;
	struct states_part *parts;
	size_t part_count, part_room;
	uint32_t *owner; /* index of the function of a number */
	uint32_t next_number;
	uint64_t *ended_calls; /* by number: of slots that have ended */
	struct states_pattern *patterns;
	size_t pattern_count, pattern_room;
	uint64_t change_count; /* ever */
	uint64_t patch_ns, patched_sites, unpatched_processes;
	uint64_t patch_ns_told; /* of patch_ns, to the controller */
	struct states_heard *heard;
	size_t heard_count, heard_room;
	struct states_late late[STATES_LATE_MAX];
	uint64_t late_count, late_ns; /* all of them; the longest */
	struct controller_reached reached; /* as of the last tick */
	bool evaluated; /* all functions know what they want. Others read */
	bool has_unknown; /* functions were called that are not known */
	bool want_durations; /* read without the lock, too */
	/* Requests. */
	void (*ready)(struct arena *arena); /* NULL: not asked for */
	uint64_t ready_asked_ns; /* since when the program waits for it */
	uint64_t held_ns; /* how long it has waited for that */
	uint32_t recalled; /* functions that an earlier recording knew */
	bool wants_plans;
	bool wants_restore, wants_end;
	uint64_t end_ns; /* since when it wants that; 0: it does not */
	uint64_t asked, answered; /* numbers of requests */
};

/* What the threads of all arenas share. */
struct states_thread {
	uint32_t refs; /* the collector's, and each states has one */
	struct collector *collector;
	int event; /* eventfd: a thread has ended. -1: none is ever started */
	struct lock guard_lock; /* of what follows */
	struct text_guard guard;
	uint64_t kept_numbers; /* the last that was given */
	uint32_t keepers; /* that have ended */
	struct lock lock; /* of what follows */
	struct states_plan *plans;
	struct states *first;
	uint32_t running; /* threads */
	uint32_t given_up; /* of them */
};

/* How long the thread of an arena may wait for memory or files of the program,
 * before others go on without it. A large file is read in less. */
#define STATES_AWAY_NS 5000000000
#define STATES_STUCK "it lets nobody read its memory, or one of its files"

/* Wake the thread of @states, if it has one. Any thread. */
void states_wake(struct states *states);
/* Have a thread go on with @states from now on. 0 or -errno. Any thread. */
int states_start(struct states *states);
/* Without a thread, @states is over: take it out of the list. Main thread. */
void states_unlist(struct states *states);
/* Whether the thread has been waiting for the program for too long. Under the
 * lock. */
bool states_are_stuck(const struct states *states);
/* Any thread. */
void states_thread_get(struct states_thread *thread);
void states_thread_put(struct states_thread *thread);
/* Any thread. */
struct states *states_get(struct states *states);
/* Those of @arena, with a reference; NULL: they have ended. A job does not know
 * whether the program has ended meanwhile. */
struct states *states_of(struct arena *arena);
void states_put(struct states **states);

/* --- for the thread of the arena --------------------------------------------
 */

/* What comes until states_come_back() may wait for the program for ever. No
 * lock is held meanwhile, and nothing is touched but what @states or the stack
 * of the thread keep: not the arena. Once more before that: it goes on, and the
 * time for which it may wait begins again. */
void states_go_away(struct states *states);
/* Does not return if the thread was given up meanwhile: it ends. */
void states_come_back(struct states *states);
/* As calloc() and free(), for what a thread that is given up does not come back
 * to free: that is freed with @states. A few at a time. */
void *states_calloc(struct states *states, size_t count, size_t size);
void states_free(struct states *states, void *memory);

/* Go on with all that is to be done, for about VISIT_NS. Returns in how many ns
 * it is to be called again; UINT64_MAX: when somebody asks. */
uint64_t states_visit(struct states *states);

/* Take in what all processes have loaded and unloaded. */
void states_follow_modules(struct states *states);
/* @process is new: it may have told already that it opens something. */
void states_follow_new(struct states *states, struct states_process *process);
/* In how many ns states_follow_modules() should look again; UINT64_MAX: when it
 * is told to. */
uint64_t states_follow_pause(struct states *states);
/* Whether process @pid has the thunk area of the arena mapped; there is one.
 * Reads its map, which may wait for the program. */
bool states_are_of(struct states *states, pid_t pid);
/* A child @pid, which calls itself @inner_pid, with its memory @mem_fd, which
 * becomes the callee's. @proven: states_are_of() is known. Whether it is taken:
 * then it is met soon. Any thread. */
bool states_add_child(struct states *states, pid_t pid, pid_t inner_pid,
		      int mem_fd, bool proven);
/* Whether a process that runs has the module. */
bool states_has_module(struct states *states, uint32_t module);
/* A process that has the module, or the leader; NULL: there is neither. */
struct states_process *states_holder(struct states *states, uint32_t module);
/* Tell of modules that came late whose calls are heard of from now on. */
void states_tell_late(struct states *states);

/* The process has @file: it is a module from now on, if it was none before. */
void states_add_module(struct states *states, struct states_process *process,
		       const struct module_file *file);
/* Nobody has the module any more. */
void states_drop_module(struct states *states, uint32_t module);
/* Plan modules until @until_ns (BOOTTIME), and list their functions. Whether
 * all is done. */
bool states_plan_modules(struct states *states, uint64_t until_ns);
/* @states has ended: give its plans back. Any thread. */
void states_plans_put(struct states *states);
void states_plans_free(struct states_thread *thread);
/* The function at @address. NULL: none is known. Or under the lock. */
struct function *states_find(const struct states *states, uint64_t address);
/* Find out how @function is called. */
void states_name(struct states *states, struct function *function);

/* Free @process, which is in no list. */
void states_process_free(struct states_process *process);
/* Take in processes that have begun and ended. */
void states_follow_processes(struct states *states);
/* Only free those that have ended. */
void states_drop_ended(struct states *states);
/* The same, if @states has no thread that does it. Any thread. */
void states_drop_unvisited(struct states *states);
/* Whether the thread sees @process for the first time: it has, from now on. One
 * that is found to be none of the arena is never seen. */
bool states_meet(struct states *states, struct states_process *process);
/* While the program is held: if its text cannot be written, have the gate stand
 * in. */
void states_make_gate(struct states *states);
/* The functions of the module are listed: tell all images that have it. */
void states_module_came(struct states *states, uint32_t module);
/* @process has it; its functions may be listed already. @since_ns: see struct
 * process_module. */
void states_module_joins(struct states *states, struct states_process *process,
			 uint32_t module, uint64_t since_ns);
/* @process has unloaded it. */
void states_module_leaves(struct states_process *process, uint32_t module);
/* What @process knows of it; NULL: nothing. */
struct process_module *states_module_of(const struct states_process *process,
					uint32_t module);
/* Switch the sites @on of the functions at @list on in all processes and their
 * other sites off; or have the gate leave the functions out, unless both are
 * on. */
void states_switch(struct states *states, const uint32_t *functions,
		   size_t count, enum patch_sites on);
/* After that: why @function is not what it was switched to, in some process;
 * NULL: it is. Static. */
const char *states_stuck(struct states *states, const struct function *function,
			 bool on);
/* Give all parts of those functions numbers, as far as there are any. */
void states_give_numbers(struct states *states, const uint32_t *functions,
			 size_t count);
/* Connect those functions, which have numbers; sets their connected, number and
 * refused. */
void states_connect_functions(struct states *states, const uint32_t *functions,
			      size_t count, bool held);
void states_restore_text(struct states *states);
/* Adds the CPU time of this thread since @begin_ns, on its own clock, to what
 * planning and patching took. Takes the lock. */
void states_count_work(struct states *states, uint64_t begin_ns);
void states_processes_free(struct states *states);
/* The processes, the youngest first. Takes the lock. */
struct states_process *states_first(struct states *states);
/* Whether @process has ended, as far as this was seen. Takes the lock. */
bool states_has_ended(struct states *states,
		      const struct states_process *process);
/* The process that stands for all: whose modules are those of all, and who has
 * the last word about what can be connected. It is the one that said hello, and
 * when that has ended, the oldest of its children. NULL: there never was one.
 * Takes the lock. */
struct states_process *states_leader(struct states *states);
/* Whether there is one that has not ended. */
bool states_have_leader(struct states *states);

/* Note what is changed in the text of @process from now on, and have
 * perfrec-keeper keep it. It has an image, which owns its memory. */
void states_keep(struct states *states, struct states_process *process);
/* Hand over what is not kept yet; lists that have grown are made anew. */
void states_keep_on(struct states *states);
/* @process has ended. What was changed in it is remembered for its children, if
 * it has loaded something. */
void states_keep_no_more(struct states *states, struct states_process *process);
/* Remember nothing of processes that have ended. */
void states_forget_gone(struct states *states);
/* The text of @states is restored: restore that of processes that were not met
 * before. */
void states_restore_late(struct states *states);
/* The text of @states is restored: look for processes that nobody has heard of,
 * and restore theirs. */
void states_search(struct states *states);
/* Whether its programs have registered for membarrier. */
bool states_are_registered(const struct states *states);

/* The sites that are on in @state. */
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

/* Whether the gate stands in for patches. */
static inline bool states_are_gated(const struct states *states)
{
	return states->unwritable && states->gate;
}

/* What each function shall be, by patterns and options. */
void states_evaluate(struct states *states);
/* Take functions to what they shall be, until @until_ns. Whether all are. */
bool states_take_steps(struct states *states, uint64_t until_ns, bool held);
/* Note that @function changes from state @from to what it is now. */
void states_note_change(struct states *states, struct function *function,
			enum function_state from, uint64_t ns, bool connected);

/* What a call of a function costs the program, in ns of its CPU time; @entry:
 * of an entry build. Any thread. */
struct controller_cost states_cost(const struct states *states, bool entry);

/* Ask the controller. Returns the ns up to the next tick. */
uint64_t states_steer(struct states *states);
/* Before a function is connected, and after the last tick: what the cache
 * knows. */
void states_recall(struct states *states, uint32_t function);
void states_remember(struct states *states);

/* Add up calls by number, of all slots and of those that have ended, into
 * @sums, which has states->next_number entries. Takes the lock. */
void states_sum(struct states *states, struct arena *arena, uint64_t *sums);

#endif
