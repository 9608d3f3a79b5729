/* SPDX-License-Identifier: Apache-2.0
 *
 * states_text - the processes of an arena and the text of each. The first one
 * is the program that said hello; all changes of its text are also made in its
 * children. A child starts with its parent's text at the fork, possibly in the
 * middle of a change. So its image reads the bytes (patch_image_fork()) and is
 * then brought up to date.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "collector/base/clock.h"
#include "collector/base/grow.h"
#include "collector/base/log.h"
#include "collector/code/code_plan.h"
#include "collector/code/patch.h"
#include "collector/code/text_map.h"
#include "collector/code/thunks.h"
#include "collector/names/filter_table.h"
#include "collector/names/modules.h"
#include "collector/options/collect_options.h"
#include "collector/record/arena.h"
#include "collector/record/collector.h"
#include "collector/record/watches.h"
#include "collector/states/states_inner.h"
#include "collector/states/states_trace.h"
#include "shared/atomic.h"
#include "shared/compiler.h"
#include "shared/ring_shm.h"

#define GATE_ENTRIES 65536
/* After a false claim, claims are ignored for this many times the duration of
 * the check. */
#define LIE_PAUSE 9

bool states_has_ended(struct states *states,
		      const struct states_process *process)
{
	bool ended;

	lock_acquire(&states->lock);
	ended = process->ended;
	lock_release(&states->lock);
	return ended;
}

/* Returns how well @process can lead: higher is better. */
static int fitness(struct states *states, const struct states_process *process)
{
	bool gone = process->image && patch_is_gone(process->image);
	bool stranger;

	lock_acquire(&states->lock);
	gone = gone || process->ended;
	stranger = process->stranger;
	lock_release(&states->lock);
	return (gone ? 0 : 8) + (process->root ? 4 : 0) +
	       (process->image ? 2 : 0) + (stranger ? 0 : 1);
}

struct states_process *states_leader(struct states *states)
{
	struct states_process *leader = NULL;
	int most = 0, fit;

	/* On a tie the oldest wins, which is the last in the list. */
	for (struct states_process *process = states_first(states); process;
	     process = process->next) {
		fit = fitness(states, process);
		if (fit < most)
			continue;
		most = fit;
		leader = process;
	}
	return leader;
}

bool states_have_leader(struct states *states)
{
	const struct states_process *leader = states_leader(states);

	return leader && fitness(states, leader) >= 8;
}

/* --- the area ------------------------------------------------------------ */

/* Returns false if the program has unmapped the area for good. */
static bool take_area(struct page_shm *page)
{
	/* order: sc, THUNKS: from then on the program keeps it */
	return atom_cas_sc(&page->thunks_use, THUNKS_FREE, THUNKS_USED) ||
	       /* relaxed: USED stays */
	       atom_load_rlx(&page->thunks_use) == THUNKS_USED;
}

static void set_unwritable(struct states *states, const char *why)
{
	lock_acquire(&states->lock);
	states->unwritable = why;
	lock_release(&states->lock);
}

static void map_area(struct states *states)
{
	const struct arena_setup *setup = arena_setup(states->arena);
	struct thunk_shim shim;
	int err;

	memcpy(&shim, (const void *)&setup->page->thunks, sizeof(shim));
	if (setup->thunk_fd < 0)
		set_unwritable(states,
			       /* relaxed: set before the hello */
			       atom_load_rlx(&setup->page->flags) &
					       PAGE_OTHER_HOOKS
				       ? "another library's hooks hear of all "
					 "calls"
				       : "the program could not map memory for "
					 "thunks");
	else if (!take_area(setup->page))
		set_unwritable(states, "the program had locked its memory "
				       "before (mlockall)");
	else if ((err = thunk_area_map(setup->thunk_fd, setup->functions_max,
				       &shim, &states->area)))
		set_unwritable(states,
			       err == -ENOTSUP
				       ? "there are no thunks for this machine"
				       : "the program has no thunks");
}

/* --- images -------------------------------------------------------------- */

struct process_module *states_module_of(const struct states_process *process,
					uint32_t module)
{
	return module < process->module_count ? &process->module[module] : NULL;
}

static struct process_module *make_module_of(struct states_process *process,
					     uint32_t module)
{
	size_t old = process->module_count;

	if (grow_array(process->module, process->module_room, module + 1) < 0)
		return NULL;
	for (; old <= module; old++)
		process->module[old] = (struct process_module){ .number = -1 };
	process->module_count = MAX(process->module_count, (size_t)module + 1);
	return &process->module[module];
}

static int module_of_image(const struct states_process *process,
			   uint32_t module)
{
	const struct process_module *of = states_module_of(process, module);

	return of ? of->number : -1;
}

/* Adds the module to the image of @process, if the process has both. */
static void add_module_to(struct states *states, struct states_process *process,
			  uint32_t index)
{
	const struct states_module *module = &states->modules[index];
	struct process_module *of = states_module_of(process, index);

	if (!of || !of->here || of->number >= 0 || !process->image ||
	    module->gone || !module->listed || !module->plan->plan)
		return;
	of->number = patch_module_add(process->image, module->plan->plan,
				      module->bias, module->plan->inode);
	if (of->number < 0)
		states_say_no_memory(module->path);
	states->late_news = true;
}

static void read_process_map(struct states *states,
			     const struct states_process *process)
{
	states_go_away(states);
	(void)text_map_read(&states->map, process->pid);
	states_come_back(states);
}

/* Returns true if the last map that was read has the file of the module at
 * @index at its place. */
static bool is_module_mapped(const struct states *states, uint32_t index)
{
	const struct states_module *module = &states->modules[index];
	const struct text_mapping *mapping =
		text_map_find(&states->map, module->start, 1);

	return mapping &&
	       (!module->plan->inode || mapping->inode == module->plan->inode);
}

void states_module_came(struct states *states, uint32_t module)
{
	for (struct states_process *process = states_first(states); process;
	     process = process->next) {
		struct process_module *of;

		if (!process->image || states_has_ended(states, process))
			continue;
		/* Children forked after a late dlopen() inherit the module but
		 * do not report it. */
		of = states_module_of(process, module);
		if (!of || !of->here) {
			read_process_map(states, process);
			of = is_module_mapped(states, module)
				     ? make_module_of(process, module)
				     : NULL;
			if (of) {
				of->here = true;
				of->since_ns = states->modules[module].came_ns;
			}
		}
		add_module_to(states, process, module);
	}
}

void states_module_leaves(struct states_process *process, uint32_t module)
{
	struct process_module *of = states_module_of(process, module);

	if (!of)
		return;
	if (process->image && of->number >= 0)
		patch_module_forget(process->image, of->number);
	*of = (struct process_module){ .number = -1 };
}

static void start_clock(struct states *states, struct states_process *process)
{
	struct timespec now = { 0 };
	clockid_t clock = 0;
	bool has_clock = clock_getcpuclockid(process->pid, &clock) == 0 &&
			 clock_gettime(clock, &now) == 0;

	lock_acquire(&states->lock);
	process->clock = clock;
	process->has_clock = has_clock;
	process->cpu_ns =
		(uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	lock_release(&states->lock);
}

/* Kernels may refuse writes that the program itself may not make
 * (proc_mem.force_override). Try with a byte of the shim's own text, before any
 * module is planned, while the gate can still be made. */
static void try_to_write(struct states *states,
			 const struct states_process *process)
{
	const struct page_shm *page = arena_setup(states->arena)->page;
	/* relaxed: set before the hello. A false value harms only the
	 * program */
	uint64_t hook = atom_load_rlx(&page->thunks.page.entry_enter);

	bool writable;

	states_go_away(states);
	writable = patch_mem_is_writable(process->mem, hook);
	states_come_back(states);
	if (!writable)
		set_unwritable(states, "the kernel refuses to write to the "
				       "text of programs");
}

static const struct states_process *parent_of(struct states *states,
					      const struct states_process *of)
{
	const struct states_process *oldest = NULL;

	for (const struct states_process *process = states_first(states);
	     process; process = process->next) {
		if (process == of || !process->image)
			continue;
		if (process->pid == of->parent)
			return process;
		oldest = process;
	}
	/* The parent has ended or is unknown: use the oldest, usually the root,
	 * which stays in the list. */
	return oldest;
}

/* Copies the modules of @parent to its child @process. The parent may have
 * loaded more since the fork. */
static void inherit_modules(struct states *states,
			    struct states_process *process,
			    const struct states_process *parent)
{
	bool is_read = false;

	for (uint32_t i = 0; i < parent->module_count; i++) {
		struct process_module *of = make_module_of(process, i);

		if (!of)
			break;
		/* The child may have loaded it before it had an image. */
		if (!parent->module[i].here)
			continue;
		*of = parent->module[i];
		if (!of->here || !states->modules[i].late)
			continue;
		if (!is_read)
			read_process_map(states, process);
		is_read = true;
		of->heard = false;
		of->late_count = 0;
		if (!is_module_mapped(states, i))
			states_module_leaves(process, i);
	}
	states->late_news = states->late_news || is_read;
}

static void make_child_image(struct states *states,
			     struct states_process *process)
{
	const struct states_process *parent = parent_of(states, process);

	if (!parent || !parent->image)
		return;
	states_go_away(states);
	process->image =
		patch_image_fork(parent->image, process->pid, process->mem);
	states_come_back(states);
	if (!process->image)
		return;
	inherit_modules(states, process, parent);
	for (uint32_t i = 0; i < states->module_count; i++)
		add_module_to(states, process, i);
}

static size_t list_parts(const struct states *states,
			 const struct states_process *process,
			 const struct function *function, enum patch_sites on,
			 struct patch_function *list, size_t room)
{
	size_t count = 0;

	for (uint32_t at = function->parts; at != NONE && count < room;
	     at = states->parts[at].next) {
		const struct states_part *part = &states->parts[at];
		int module = module_of_image(process, part->module);

		/* All parts or none. */
		if (!part->number)
			return 0;
		if (module >= 0)
			list[count++] = (struct patch_function){
				.module = module,
				.function = part->index,
				.number = part->number,
				.on = on,
				.many_arguments = function->many_arguments,
				.words = function->words,
			};
	}
	return count;
}

/* The next functions write to the memory of a process. */

static void connect_in(struct states *states,
		       const struct states_process *process,
		       struct patch_function *list, size_t count,
		       const struct patch_hold *hold)
{
	states_go_away(states);
	patch_connect(process->image, list, count, hold);
	states_come_back(states);
}

static void switch_in(struct states *states,
		      const struct states_process *process,
		      const uint32_t *numbers, size_t count,
		      enum patch_sites on)
{
	states_go_away(states);
	patch_switch(process->image, numbers, count, on);
	states_come_back(states);
}

/* Text that could not be restored is harmless: its thunks record nothing. */
static void say_unrestored(const struct states_process *process)
{
	static struct log_limit limit;
	uint64_t sites = patch_counts(process->image).sites;

	if (sites && !patch_is_gone(process->image))
		log_limited(&limit, LOG_WARN,
			    "process %d: %llu calls of hooks in its code "
			    "cannot be put back as they were: %s",
			    (int)process->pid, (unsigned long long)sites,
			    patch_reason_text(PATCH_STUCK));
}

static bool is_connected_in(const struct states *states,
			    const struct states_process *process,
			    const struct function *function)
{
	for (uint32_t at = function->parts; at != NONE;
	     at = states->parts[at].next) {
		const struct states_part *part = &states->parts[at];

		if (module_of_image(process, part->module) >= 0 &&
		    !patch_is_connected(process->image, part->number))
			return false;
	}
	return true;
}

/* Returns true if a dlopen() of @process waits for @function. */
static bool is_opened_in(const struct states *states,
			 const struct states_process *process,
			 const struct function *function)
{
	const uint32_t module = states->parts[function->parts].module;

	return function->moved &&
	       states_opening_of(states, process,
				 states->modules[module].start);
}

/* @function goes off to be connected while the program runs, which may call it
 * unnoticed then, and end before it is on again. Nobody notices calls of entry
 * builds and files without hooks before that either. */
static void note_late(struct states *states, struct function *function)
{
	lock_acquire(&states->lock);
	function->late |= function->wanted != FUNCTION_OFF &&
			  !function->entry_build && !function->hookless &&
			  !function->called;
	lock_release(&states->lock);
}

/* Connects functions that are connected elsewhere but not in @process. They are
 * off at first. @hold: only functions of its dlopen() that waits, or NULL.
 * Returns true if there were any. */
static bool connect_rest(struct states *states,
			 const struct states_process *process,
			 const struct patch_hold *hold)
{
	struct patch_function *list =
		states_calloc(states, states->part_count + 1, sizeof(*list));
	size_t count = 0;

	for (size_t i = 0; list && i < states->function_count; i++) {
		struct function *function = &states->functions[i];

		if (!function->connected || function->parts == NONE ||
		    (hold && !is_opened_in(states, process, function)) ||
		    is_connected_in(states, process, function))
			continue;
		count += list_parts(states, process, function, PATCH_NEITHER,
				    list + count, states->part_count - count);
		note_late(states, function);
	}
	if (count)
		connect_in(states, process, list, count, hold);
	states_free(states, list);
	return count;
}

static void switch_rest(struct states *states,
			const struct states_process *process,
			enum patch_sites on)
{
	uint32_t *numbers =
		states_calloc(states, states->next_number, sizeof(*numbers));
	size_t count = 0;

	for (uint32_t number = 1; numbers && number < states->next_number;
	     number++) {
		const struct function *function =
			&states->functions[states->owner[number]];

		if (function->connected &&
		    states_sites_of((enum function_state)function->state) == on)
			numbers[count++] = number;
	}
	if (count)
		switch_in(states, process, numbers, count, on);
	states_free(states, numbers);
}

/* Brings the text of @process to the state of all others. */
static void catch_up(struct states *states,
		     const struct states_process *process,
		     const struct patch_hold *hold)
{
	if (!connect_rest(states, process, hold) && hold)
		return;
	switch_rest(states, process, PATCH_NEITHER);
	switch_rest(states, process, PATCH_ENTRIES);
	switch_rest(states, process, PATCH_BOTH);
	states->late_news = true;
}

void states_connect_opened(struct states *states,
			   const struct states_hold *hold)
{
	catch_up(states, hold->process, &hold->text);
}

void states_module_joins(struct states *states, struct states_process *process,
			 uint32_t module, uint64_t since_ns)
{
	struct process_module *of = make_module_of(process, module);

	if (!of || of->here)
		return;
	of->here = true;
	of->since_ns = since_ns;
	add_module_to(states, process, module);
	if (of->number >= 0)
		catch_up(states, process, NULL);
}

static void meet_process(struct states *states, struct states_process *process)
{
	const struct states_process *parent;
	bool has_memory, is_gone;

	if (!process->root) {
		parent = parent_of(states, process);
		if (parent)
			process->generation =
				MAX(process->generation, parent->generation);
		states_follow_new(states, process);
	}

	/* states_child_memory() may set mem at any time, if it was missing;
	 * then the process is handled once more. */
	lock_acquire(&states->lock);
	has_memory = process->mem >= 0;
	is_gone = process->mem == -ESRCH || process->mem == -ENOENT;
	lock_release(&states->lock);
	start_clock(states, process);
	if (states->area && has_memory && process->root)
		try_to_write(states, process);
	if (!states->area || !has_memory || process->image)
		process->failed = states->area && !has_memory && !is_gone;
	else if (states->unwritable)
		return;
	else if (process->root) {
		process->image = patch_image_new(states->area, process->pid,
						 process->mem,
						 states_are_registered(states));
		for (uint32_t i = 0; process->image && i < states->module_count;
		     i++)
			add_module_to(states, process, i);
	} else
		make_child_image(states, process);
	if (process->image) {
		states_keep(states, process);
		lock_acquire(&states->lock);
		process->has_image = true;
		process->mem = -1;
		lock_release(&states->lock);
		process->failed = false;
		if (!process->root)
			catch_up(states, process, NULL);
	}
	if (process->failed && process->root)
		set_unwritable(states,
			       "the memory of the program cannot be written");
}

void states_process_free(struct states_process *process)
{
	patch_image_free(process->image);
	if (process->mem >= 0)
		close(process->mem);
	if (process->list >= 0)
		close(process->list);
	modules_put(&process->modules);
	modules_put(&process->adopted);
	if (process->watched_by)
		watches_give(process->watched_by);
	free(process->module);
	free(process);
}

static struct states_process *take_ended(struct states *states)
{
	struct states_process **link = &states->processes, *ended = NULL;

	while (*link) {
		struct states_process *process = *link;

		if (process->stranger) {
			/* No other thread notices that a stranger has ended or
			 * called exec(). */
			process->ended =
				process->ended ||
				(kill(process->pid, 0) < 0 && errno == ESRCH) ||
				(process->image &&
				 patch_is_gone(process->image));
		}
		/* The root stays: children's images are made from it, and it
		 * knows its modules. */
		if (!process->ended || process->root) {
			link = &process->next;
			continue;
		}
		*link = process->next;
		states->unpatched_processes += process->failed;
		process->next = ended;
		ended = process;
	}
	return ended;
}

static void free_process_list(struct states *states,
			      struct states_process *list)
{
	struct states_process *process;

	while ((process = list)) {
		list = process->next;
		states_keep_no_more(states, process);
		states_process_free(process);
	}
}

void states_drop_ended(struct states *states)
{
	struct states_process *ended;

	lock_acquire(&states->lock);
	ended = take_ended(states);
	for (struct states_process *one = states->processes; one;
	     one = one->next)
		if (one->adopted) {
			modules_put(&one->modules);
			one->modules = one->adopted;
			one->adopted = NULL;
		}
	lock_release(&states->lock);
	free_process_list(states, ended);
}

void states_drop_unvisited(struct states *states)
{
	struct states_process *ended;

	lock_acquire(&states->lock);
	ended = states->has_thread ? NULL : take_ended(states);
	lock_release(&states->lock);
	free_process_list(states, ended);
}

struct states_process *states_first(struct states *states)
{
	struct states_process *first;

	lock_acquire(&states->lock);
	first = states->processes;
	lock_release(&states->lock);
	return first;
}

/* Returns true if @process belongs to the arena. Marks a false claim as
 * ended. */
static bool is_proven(struct states *states, struct states_process *process)
{
	uint64_t begin_ns = clock_boottime_ns(), now;
	bool lied;

	if (!process->unproven || !states->area)
		return true;
	lied = !states_are_of(states, process->pid);
	process->unproven = false;
	now = clock_boottime_ns();
	lock_acquire(&states->lock);
	/* A drain worker may have seen the process meanwhile, which proves
	 * it. */
	lied = lied && process->stranger;
	if (lied) {
		process->ended = true;
		states->lied_until_ns = now + LIE_PAUSE * (now - begin_ns);
	}
	lock_release(&states->lock);
	return !lied;
}

bool states_meet(struct states *states, struct states_process *process)
{
	bool met;

	lock_acquire(&states->lock);
	met = process->met;
	process->met = true;
	lock_release(&states->lock);
	return !met && is_proven(states, process);
}

void states_follow_processes(struct states *states)
{
	struct states_process *process;

	if (!states->begun)
		map_area(states);
	states->begun = true;
	states_drop_ended(states);
	process = states_first(states);
	/* New processes are added at the front. The images of children need the
	 * root's. */
	for (struct states_process *one = process; one; one = one->next)
		if (one->root && states_meet(states, one))
			meet_process(states, one);
	for (; process; process = process->next)
		if (states_meet(states, process)) {
			meet_process(states, process);
			states_trace_process(states, process);
		}
}

void states_processes_free(struct states *states)
{
	struct states_process *list;

	lock_acquire(&states->lock);
	list = states->processes;
	states->processes = NULL;
	lock_release(&states->lock);
	free_process_list(states, list);
	states_forget_gone(states);
}

/* --- writing ------------------------------------------------------------- */

void states_count_work(struct states *states, uint64_t begin_ns)
{
	uint64_t now = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);

	lock_acquire(&states->lock);
	states->patch_ns += now - begin_ns;
	lock_release(&states->lock);
}

/* Call before any text is changed. From now on a forked child sends its own
 * descriptor. */
static void say_patched(struct states *states)
{
	states->patched = true;
	/* relaxed: set before any byte is written, by a system call */
	atom_store_rlx(&arena_setup(states->arena)->page->patched, 1);
	states_keep_on(states);
}

/* The gate has room for GATE_ENTRIES / 4 functions. Others get no entry and
 * stay recorded (states_stuck()). */
static void switch_gate(struct states *states, const uint32_t *functions,
			size_t count, enum patch_sites on)
{
	for (size_t i = 0; i < count; i++) {
		const struct function *function =
			&states->functions[functions[i]];

		if (on == PATCH_BOTH)
			filter_table_remove(states->gate, function->address);
		else
			(void)filter_table_add(
				states->gate, function->address,
				states->parts[function->parts].number);
	}
}

void states_make_gate(struct states *states)
{
	struct filter_table *gate;

	if (!states->unwritable || states->gate ||
	    filter_is_active(&states->thread->collector->options->filter))
		return;
	gate = filter_table_new(arena_setup(states->arena)->page, GATE_ENTRIES);
	lock_acquire(&states->lock);
	states->gate = gate;
	/* Its entries have numbers of 16 bits. */
	states->numbers = MIN(states->numbers, FUNCTIONS_USUAL);
	lock_release(&states->lock);
}

void states_switch(struct states *states, const uint32_t *functions,
		   size_t count, enum patch_sites on)
{
	uint64_t begin_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
	uint32_t *numbers;
	size_t n = 0;

	if (states_are_gated(states)) {
		switch_gate(states, functions, count, on);
		return;
	}
	numbers = states_calloc(states, states->next_number, sizeof(*numbers));
	for (size_t i = 0; numbers && i < count; i++)
		for (uint32_t at = states->functions[functions[i]].parts;
		     at != NONE; at = states->parts[at].next)
			if (states->parts[at].number)
				numbers[n++] = states->parts[at].number;
	say_patched(states);
	for (struct states_process *process = states_first(states); process;
	     process = process->next)
		if (process->image && numbers &&
		    !states_has_ended(states, process))
			switch_in(states, process, numbers, n, on);
	states_free(states, numbers);
	states_count_work(states, begin_ns);
}

static bool is_stuck_in(const struct states *states,
			const struct states_process *process,
			const struct function *function)
{
	for (uint32_t at = function->parts; at != NONE;
	     at = states->parts[at].next)
		if (patch_is_stuck(process->image, states->parts[at].number))
			return true;
	return false;
}

const char *states_stuck(struct states *states, const struct function *function,
			 bool on)
{
	if (states_are_gated(states))
		return on || filter_table_has(states->gate, function->address)
			       ? NULL
			       : "too many functions are left out already";
	for (const struct states_process *process = states_first(states);
	     process; process = process->next)
		if (process->image && is_stuck_in(states, process, function) &&
		    !states_has_ended(states, process))
			return patch_reason_text(PATCH_STUCK);
	return NULL;
}

void states_give_numbers(struct states *states, const uint32_t *functions,
			 size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct function *function =
			&states->functions[functions[i]];

		lock_acquire(&states->lock);
		for (uint32_t at = function->parts; at != NONE;
		     at = states->parts[at].next) {
			struct states_part *part = &states->parts[at];

			if (part->number ||
			    states->next_number == states->numbers)
				continue;
			states->owner[states->next_number] = functions[i];
			part->number = states->next_number++;
		}
		lock_release(&states->lock);
	}
}

/* Functions in the process of being connected, one process after the other. */
struct connecting {
	const uint32_t *functions;
	size_t count;
	const struct states_hold *hold;
	bool *known; /* by function: a process has decided */
	struct patch_function *list; /* parts in the current process */
	size_t *first; /* by function: start in list; and the end */
	size_t room;
};

/* Stores the result for function @index, whose parts are @count entries of
 * @list. */
static void note_connected(struct states *states, uint32_t index,
			   const struct patch_function *list, size_t count)
{
	struct function *function = &states->functions[index];
	const char *refused = NULL;

	for (size_t i = 0; i < count; i++)
		if (list[i].reason != PATCH_DONE)
			refused = patch_reason_text(list[i].reason);
	lock_acquire(&states->lock);
	function->wants_connection = false;
	function->connected = !refused;
	function->refused = refused;
	if (!refused)
		states->patched_sites += function->sites;
	lock_release(&states->lock);
}

/* Stores that no process has connectable parts of function @index. */
static void note_unconnected(struct states *states, uint32_t index,
			     const char *why)
{
	lock_acquire(&states->lock);
	states->functions[index].wants_connection = false;
	states->functions[index].connected = false;
	states->functions[index].refused = why;
	lock_release(&states->lock);
}

/* The first process with a function decides whether it can be connected. */
static void connect_all_in(struct states *states,
			   const struct states_process *process,
			   struct connecting *connecting,
			   const struct patch_hold *hold)
{
	size_t n = 0;

	for (size_t i = 0; i < connecting->count; i++) {
		struct function *function =
			&states->functions[connecting->functions[i]];

		connecting->first[i] = n;
		if (!connecting->hold)
			note_late(states, function);
		/* A refusal of the first process is final. */
		if (!connecting->known[i] || function->connected)
			n += list_parts(
				states, process, function,
				connecting->hold
					? states_sites_of(
						  (enum function_state)
							  function->wanted)
					: PATCH_NEITHER,
				connecting->list + n, connecting->room - n);
	}
	connecting->first[connecting->count] = n;
	if (n)
		connect_in(states, process, connecting->list, n, hold);
	for (size_t i = 0; i < connecting->count; i++) {
		size_t first = connecting->first[i];
		size_t count = connecting->first[i + 1] - first;

		if (!count || connecting->known[i])
			continue;
		connecting->known[i] = true;
		note_connected(states, connecting->functions[i],
			       connecting->list + first, count);
	}
}

static void connect_everywhere(struct states *states,
			       struct connecting *connecting)
{
	const struct states_process *leader = states_leader(states);
	const struct states_hold *hold = connecting->hold;
	const struct states_process *first = hold ? hold->process : leader;

	say_patched(states);
	if (first->image)
		connect_all_in(states, first, connecting,
			       hold ? &hold->text : NULL);
	for (struct states_process *process = states_first(states); process;
	     process = process->next)
		if (process != first && process->image &&
		    !states_has_ended(states, process))
			connect_all_in(states, process, connecting, NULL);
	for (size_t i = 0; i < connecting->count; i++)
		if (!connecting->known[i])
			note_unconnected(
				states, connecting->functions[i],
				leader->image ? "there are too many functions"
					      : "the memory of the program "
						"cannot be written");
}

static size_t count_known_parts(const struct states *states,
				const uint32_t *functions, size_t count)
{
	size_t parts = 0;

	for (size_t i = 0; i < count; i++)
		for (uint32_t at = states->functions[functions[i]].parts;
		     at != NONE; at = states->parts[at].next)
			parts++;
	return parts;
}

void states_connect_functions(struct states *states, const uint32_t *functions,
			      size_t count, const struct states_hold *hold)
{
	uint64_t begin_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
	struct connecting connecting = {
		.functions = functions,
		.count = count,
		.hold = hold,
		.room = count_known_parts(states, functions, count),
	};

	connecting.known =
		states_calloc(states, count + 1, sizeof(*connecting.known));
	connecting.first =
		states_calloc(states, count + 1, sizeof(*connecting.first));
	connecting.list = calloc(connecting.room + 1, sizeof(*connecting.list));
	if (connecting.known && connecting.first && connecting.list)
		connect_everywhere(states, &connecting);
	states_free(states, connecting.known);
	states_free(states, connecting.first);
	states_free(states, connecting.list);
	states->late_news = true;
	states_count_work(states, begin_ns);
}

void states_restore_text(struct states *states)
{
	/* The jumps of moved functions stay. Also ends the work of their thunks
	 * in processes whose text cannot be restored. */
	for (uint32_t i = 1; states->area && i < states->next_number; i++)
		thunk_area_mute(states->area, i, true);
	for (struct states_process *process = states_first(states); process;
	     process = process->next)
		if (process->image && !states_has_ended(states, process)) {
			states_go_away(states);
			patch_restore(process->image);
			states_come_back(states);
			say_unrestored(process);
		}
}
