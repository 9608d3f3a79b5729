/* SPDX-License-Identifier: Apache-2.0
 *
 * states_follow - tracks which process of an arena has loaded which modules.
 * The map log reports a load only when its process next loads or unloads a
 * module, or ends. So after each dlopen() the map of its process is read, at
 * once and then in growing pauses, because the return of dlopen() is not
 * reported.
 */
#include <stdlib.h>

#include "collector/base/clock.h"
#include "collector/base/grow.h"
#include "collector/code/code_plan.h"
#include "collector/code/patch.h"
#include "collector/code/thunks.h"
#include "collector/names/map_log.h"
#include "collector/names/modules.h"
#include "collector/record/arena.h"
#include "collector/replay/function_log.h"
#include "collector/states/states_inner.h"
#include "collector/states/states_trace.h"
#include "shared/atomic.h"
#include "shared/compiler.h"
#include "shared/ring_shm.h"

#define REFRESH_NS ((uint64_t)1000000000)
#define REFRESH_PAUSE 100 /* pause, in multiples of the last cost */
#define REFRESH_NS_MIN ((uint64_t)50000000)
#define REFRESH_NS_MAX ((uint64_t)10000000000)
/* After the start of a dlopen(): total time of looks, and the first pause. */
#define LOOK_NS ((uint64_t)1000000000)
#define LOOK_NS_MIN ((uint64_t)1000000)
#define LOOK_PAUSE 20 /* least pause, in multiples of the last cost */
#define HEARD_MAX MAP_LOG_EVENTS_MAX

/* --- processes and their modules ----------------------------------------- */

bool states_has_module(struct states *states, uint32_t index)
{
	for (const struct states_process *process = states_first(states);
	     process; process = process->next) {
		const struct process_module *module =
			states_module_of(process, index);

		if (module && module->here &&
		    !states_has_ended(states, process))
			return true;
	}
	return false;
}

struct states_process *states_holder(struct states *states, uint32_t index)
{
	struct states_process *leader = states_leader(states);
	const struct process_module *module =
		leader ? states_module_of(leader, index) : NULL;

	if (module && module->here)
		return leader;
	for (struct states_process *process = states_first(states); process;
	     process = process->next) {
		module = states_module_of(process, index);
		if (module && module->here &&
		    !states_has_ended(states, process))
			return process;
	}
	return leader;
}

static void add_modules_of(struct states *states,
			   struct states_process *process)
{
	struct module_file *files;
	size_t count;

	process->news = false;
	states_go_away(states);
	count = modules_files(process->modules, &files);
	states_come_back(states);
	for (size_t i = 0; i < count; i++)
		states_add_module(states, process, &files[i]);
	modules_files_free(&files, count);
}

static bool is_used(const struct states *states, uint64_t start, uint64_t end)
{
	for (uint32_t i = 0; i < states->module_count; i++) {
		const struct states_module *module = &states->modules[i];

		if (!module->gone && module->start < end && start < module->end)
			return true;
	}
	return false;
}

static void leave_modules_at(struct states *states,
			     struct states_process *process, uint64_t start,
			     uint64_t end)
{
	for (uint32_t i = 0; i < states->module_count; i++) {
		struct states_module *module = &states->modules[i];

		if (module->gone || module->start < start || module->end > end)
			continue;
		states_module_leaves(process, i);
		module->left = true;
		if (!states_has_module(states, i))
			states_drop_module(states, i);
	}
	if (!is_used(states, start, end))
		function_log_unload(arena_setup(states->arena)->functions,
				    start, end, clock_boottime_ns());
}

/* Drops modules that one process has unloaded and whose other processes have
 * ended. */
static void drop_left(struct states *states)
{
	for (uint32_t i = 0; i < states->module_count; i++) {
		const struct states_module *module = &states->modules[i];

		if (!module->left || module->gone ||
		    states_has_module(states, i))
			continue;
		states_drop_module(states, i);
		if (!is_used(states, module->start, module->end))
			function_log_unload(
				arena_setup(states->arena)->functions,
				module->start, module->end,
				clock_boottime_ns());
	}
}

/* --- dlopen() ------------------------------------------------------------ */

static void note_opening(const struct states *states,
			 struct states_process *process, uint64_t now)
{
	uint64_t soon = now + LOOK_NS_MIN;

	/* Its modules are reported, if not for another namespace. */
	if (states_report_openings(states))
		return;
	process->opened_ns = now;
	if (!process->first_opened_ns)
		process->first_opened_ns = now;
	process->look_pause_ns = LOOK_NS_MIN;
	process->look_ns = MAX(
		soon, process->looked_ns + process->look_cost_ns * LOOK_PAUSE);
}

bool states_are_of(struct states *states, pid_t pid)
{
	states_go_away(states);
	(void)text_map_read(&states->map, pid);
	states_come_back(states);
	for (size_t i = 0; i < states->map.count; i++)
		if (thunk_area_is_file(states->area, states->map.list[i].device,
				       states->map.list[i].inode))
			return true;
	return false;
}

/* A child that has recorded nothing connects only if text was patched when it
 * was forked. A child in another pid namespace is not searched. */
static void meet_opener(struct states *states, int32_t pid)
{
	const struct states_process *leader = states_leader(states);
	int mem;

	if (!states->area || !leader || leader->pid != leader->inner_pid)
		return;
	mem = states_are_of(states, pid)
		      ? patch_mem_open(pid, arena_setup(states->arena)->uid)
		      : -1;
	if (mem >= 0)
		(void)states_add_child(states, pid, pid, mem, true);
}

/* Notes that process @pid (its own pid) has called dlopen(); 0: unknown
 * process. */
static void note_opener(struct states *states, int32_t pid, uint64_t now)
{
	bool known = false;

	for (struct states_process *process = states_first(states); process;
	     process = process->next)
		if (!pid || process->inner_pid == pid) {
			note_opening(states, process, now);
			known = true;
		}
	if (known || !pid)
		return;
	states->openers[states->opener_count++ % DLOPENERS] = pid;
	meet_opener(states, pid);
}

static void follow_openings(struct states *states, uint64_t now)
{
	const struct page_shm *page = arena_setup(states->arena)->page;
	/* relaxed: each word has its own number */
	uint32_t calls = atom_load_rlx(&page->dlopens);
	uint32_t n = states->dlopens;

	states->dlopens = calls;
	if (calls - n > DLOPENERS)
		note_opener(states, 0, now);
	else
		for (; n != calls; n++) {
			/* order: acq, DLOPENER: whose number it is */
			uint64_t word =
				atom_load_acq(&page->dlopeners[n % DLOPENERS]);

			note_opener(states,
				    word >> 32 == n + 1 ? (int32_t)word : 0,
				    now);
		}
}

void states_follow_new(struct states *states, struct states_process *process)
{
	process->news = true;
	for (size_t i = 0; i < MIN(states->opener_count, DLOPENERS); i++)
		if (states->openers[i] == process->inner_pid)
			note_opening(states, process, clock_boottime_ns());
}

static bool is_opening(struct states *states,
		       const struct states_process *process, uint64_t now)
{
	return process->opened_ns && now - process->opened_ns < LOOK_NS &&
	       !states_has_ended(states, process);
}

uint64_t states_follow_pause(struct states *states)
{
	uint64_t now = clock_boottime_ns(), pause = UINT64_MAX;

	for (const struct states_process *process = states_first(states);
	     process; process = process->next)
		if (is_opening(states, process, now))
			pause = MIN(pause, process->look_ns > now
						   ? process->look_ns - now
						   : 0);
	return pause;
}

/* --- looking ------------------------------------------------------------- */

/* Returns true if the leader's map should be read without a report: now and
 * then, and after calls of functions outside known modules. JIT code is never
 * known, so the pauses grow. */
static bool wants_refresh(struct states *states)
{
	uint64_t now = clock_boottime_ns();
	bool unknown;

	if (now < states->refresh_ns)
		return false;
	lock_acquire(&states->lock);
	unknown = states->has_unknown;
	states->has_unknown = false;
	lock_release(&states->lock);
	if (!unknown)
		return now - states->refreshed_ns >
		       MAX(REFRESH_NS, states->refresh_cost_ns * REFRESH_PAUSE);
	states->refresh_pause_ns =
		MIN(MAX(2 * states->refresh_pause_ns, REFRESH_NS_MIN),
		    REFRESH_NS_MAX);
	states->refresh_ns = now + states->refresh_pause_ns;
	return true;
}

static void look_at_process_map(struct states *states,
				struct states_process *process)
{
	uint64_t begin_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);

	states_go_away(states);
	(void)modules_refresh(process->modules);
	states_come_back(states);
	add_modules_of(states, process);
	process->first_opened_ns = 0;
	process->looked_ns = clock_boottime_ns();
	process->look_cost_ns =
		clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns;
	process->look_pause_ns = MAX(2 * process->look_pause_ns,
				     process->look_cost_ns * LOOK_PAUSE);
	process->look_ns = process->looked_ns + process->look_pause_ns;
}

static void follow_leader(struct states *states, struct states_process *leader)
{
	bool is_new = states->led_by != leader->pid;

	if (!states->planning) {
		/* The modules of the root were read at its hello. */
		if (leader->root)
			add_modules_of(states, leader);
		else
			look_at_process_map(states, leader);
		states->refreshed_ns = clock_boottime_ns();
	} else if ((is_new && !leader->root) || wants_refresh(states)) {
		look_at_process_map(states, leader);
		states->refreshed_ns = leader->looked_ns;
		states->refresh_cost_ns = leader->look_cost_ns;
	}
	states->led_by = leader->pid;
	states->planning = true;
}

static void follow_process(struct states *states,
			   struct states_process *process, uint64_t now)
{
	if (states_has_ended(states, process) || !process->modules)
		return;
	if (is_opening(states, process, now) && process->look_ns <= now)
		look_at_process_map(states, process);
	else if (process->news)
		add_modules_of(states, process);
}

static void take_map_event(struct states *states, const struct map_event *event)
{
	for (struct states_process *process = states_first(states); process;
	     process = process->next) {
		if (process->inner_pid != event->pid)
			continue;
		lock_acquire(&states->lock);
		process->generation = event->generation;
		lock_release(&states->lock);
		if (event->kind == MAP_UNLOAD)
			leave_modules_at(states, process, event->start,
					 event->end);
		process->news = true;
	}
	if (event->opening)
		states_note_arrival(states, event);
}

void states_follow_modules(struct states *states)
{
	struct map_log *log = arena_setup(states->arena)->map_log;
	struct states_process *leader = states_leader(states);
	size_t events = log ? map_log_read(log) : 0;
	uint64_t now = clock_boottime_ns();
	struct map_event event;

	if (!leader || states_has_ended(states, leader))
		return;
	follow_openings(states, now);
	for (; states->loads < events &&
	       map_log_event(log, states->loads, &event);
	     states->loads++)
		take_map_event(states, &event);
	drop_left(states);
	follow_leader(states, leader);
	for (struct states_process *process = states_first(states); process;
	     process = process->next)
		follow_process(states, process, now);
}

/* --- late modules -------------------------------------------------------- */

/* Returns how many entry-build functions of the module at @index are connected
 * in @process. Sets *@late to how many of these functions are not moved. */
static size_t count_heard(const struct states *states,
			  const struct states_process *process, uint32_t index,
			  size_t *late)
{
	const struct code_plan *plan = states->modules[index].plan->plan;
	size_t count = 0;

	*late = 0;
	for (size_t i = 0; i < states->part_count; i++) {
		const struct states_part *part = &states->parts[i];
		const struct code_function *function;

		if (part->module != index || !part->number)
			continue;
		function = &plan->functions[part->index];
		if (!function->entry_build ||
		    !patch_is_connected(process->image, part->number))
			continue;
		count++;
		*late += !code_plan_moves(plan, function);
	}
	return count;
}

static void note_heard(struct states *states,
		       const struct states_process *process,
		       const struct states_module *module, uint64_t late_ns)
{
	lock_acquire(&states->lock);
	if (states->heard_count < HEARD_MAX &&
	    grow_array(states->heard, states->heard_room,
		       states->heard_count + 1) == 0)
		states->heard[states->heard_count++] =
			(struct states_heard){ process->inner_pid,
					       module->start };
	if (late_ns && states->late_count < STATES_LATE_MAX)
		states->late[states->late_count] =
			(struct states_late){ module->path, late_ns,
					      process->inner_pid, false };
	states->late_count += late_ns != 0;
	states->late_ns = MAX(states->late_ns, late_ns);
	lock_release(&states->lock);
}

/* Returns true if the module at @index was read, has no call of a function that
 * --calls-to names, and is no entry build. */
static bool is_never_heard(const struct states *states, uint32_t index)
{
	const struct states_plan *plan = states->modules[index].plan;

	if (!plan->calls || !plan->plan)
		return plan->calls && !plan->why;
	for (size_t i = 0; i < states->part_count; i++)
		if (states->parts[i].module == index &&
		    plan->plan->functions[states->parts[i].index].entry_build)
			return false;
	return true;
}

static void tell_late(struct states *states, struct states_process *process,
		      uint32_t index)
{
	struct process_module *of = states_module_of(process, index);
	const struct states_module *module = &states->modules[index];
	uint64_t now = clock_boottime_ns();
	size_t late;

	if (!of || !of->here || of->heard)
		return;
	/* Functions are moved before any call. */
	if (is_never_heard(states, index) ||
	    (module->plan->plan && module->plan->plan->is_moved)) {
		of->heard = true;
		note_heard(states, process, module, 0);
		return;
	}
	if (!module->plan->plan || !process->image)
		return;
	if (!count_heard(states, process, index, &late))
		return;
	of->heard = true;
	late = of->since_ns ? late : 0;
	note_heard(states, process, module,
		   late ? MAX(now - of->since_ns, 1) : 0);
	of->late_count = late;
	of->late_ns = now;
}

/* Writes the same to the trace. A child may be known here before a drain worker
 * has seen it. */
static void trace_late(struct states *states, struct states_process *process,
		       uint32_t index)
{
	struct process_module *of = states_module_of(process, index);

	if (!of || !of->late_count)
		return;
	if (states_trace_late(states, process, states->modules[index].path,
			      of->late_count, of->since_ns, of->late_ns))
		of->late_count = 0;
	else
		states->late_news = true;
}

void states_tell_late(struct states *states)
{
	if (!states->late_news)
		return;
	states->late_news = false;
	for (uint32_t i = 0; i < states->module_count; i++) {
		const struct states_module *module = &states->modules[i];

		if (!module->late || !module->listed || module->gone)
			continue;
		for (struct states_process *process = states_first(states);
		     process; process = process->next)
			if (!states_has_ended(states, process)) {
				tell_late(states, process, i);
				trace_late(states, process, i);
			}
	}
}
