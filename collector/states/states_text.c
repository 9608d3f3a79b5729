/* SPDX-License-Identifier: Apache-2.0
 *
 * states_text - the processes of an arena and the text of each. The program
 * that said hello is the first; what is done to its text is done to that of all
 * its children. A child begins with its parent's text as it was at the fork,
 * which may have been in the middle of a change: its image reads the bytes
 * (patch_image_fork()), and is brought up to date then.
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
#include "collector/names/filter_table.h"
#include "collector/names/modules.h"
#include "collector/options/collect_options.h"
#include "collector/patch/patch.h"
#include "collector/patch/thunks.h"
#include "collector/record/arena.h"
#include "collector/record/collector.h"
#include "collector/states/states_inner.h"
#include "collector/states/states_trace.h"
#include "shared/atomic.h"
#include "shared/compiler.h"
#include "shared/ring_shm.h"

#define GATE_ENTRIES 65536

/* Whether @process can stand for all: the better, the more. */
static int fitness(const struct states_process *process)
{
	bool gone = process->ended ||
		    (process->image && patch_is_gone(process->image));

	return (gone ? 0 : 8) + (process->root ? 4 : 0) +
	       (process->image ? 2 : 0) + (process->stranger ? 0 : 1);
}

struct states_process *states_leader(struct states *states)
{
	struct states_process *leader = NULL;
	int most = 0, fit;

	/* Of several that are as fit, the oldest: it is the last. */
	for (struct states_process *process = states_first(states); process;
	     process = process->next) {
		fit = fitness(process);
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

	return leader && fitness(leader) >= 8;
}

/* --- the area ---------------------------------------------------------------
 */

/* The program may have given the area back, for good. */
static bool take_area(struct page_shm *page)
{
	/* order: sc, THUNKS: from then on the program keeps it */
	return atom_cas_sc(&page->thunks_use, THUNKS_FREE, THUNKS_USED) ||
	       /* relaxed: USED stays */
	       atom_load_rlx(&page->thunks_use) == THUNKS_USED;
}

static void map_area(struct states *states)
{
	const struct arena_setup *setup = arena_setup(states->arena);
	struct thunk_shim shim;
	int err;

	memcpy(&shim, (const void *)&setup->page->thunks, sizeof(shim));
	if (setup->thunk_fd < 0)
		states->unwritable = "the program could not map memory for "
				     "thunks";
	else if (!take_area(setup->page))
		states->unwritable = "the program had locked its memory before "
				     "(mlockall)";
	else if ((err = thunk_area_map(setup->thunk_fd, &shim, &states->area)))
		states->unwritable =
			err == -ENOTSUP ? "there are no thunks for this machine"
					: "the program has no thunks";
}

/* --- images -----------------------------------------------------------------
 */

static void set_module(struct states_process *process, uint32_t module,
		       int number)
{
	size_t old = process->module_count;

	if (grow_array(process->module, process->module_room, module + 1) < 0)
		return;
	for (; old <= module; old++)
		process->module[old] = -1;
	process->module_count = MAX(process->module_count, (size_t)module + 1);
	process->module[module] = number;
}

static int module_of(const struct states_process *process, uint32_t module)
{
	return module < process->module_count ? process->module[module] : -1;
}

static void add_module_to(struct states *states, struct states_process *process,
			  uint32_t index)
{
	const struct states_module *module = &states->modules[index];

	if (module->gone || !module->listed || !module->plan->plan)
		return;
	set_module(process, index,
		   patch_module_add(process->image, module->plan->plan,
				    module->bias, module->plan->inode));
}

void states_module_came(struct states *states, uint32_t module)
{
	for (struct states_process *process = states_first(states); process;
	     process = process->next)
		if (process->image)
			add_module_to(states, process, module);
}

void states_module_went(struct states *states, uint32_t module)
{
	const struct states_process *leader = states_leader(states);

	for (struct states_process *process = states_first(states); process;
	     process = process->next)
		if (process->image && module_of(process, module) >= 0) {
			/* Others than who unloaded it may have it still. */
			states_go_away(states);
			if (process != leader)
				(void)patch_module_restore(
					process->image,
					module_of(process, module));
			states_come_back(states);
			patch_module_forget(process->image,
					    module_of(process, module));
			set_module(process, module, -1);
		}
}

static void start_clock(struct states_process *process)
{
	struct timespec now;

	process->has_clock =
		clock_getcpuclockid(process->pid, &process->clock) == 0 &&
		clock_gettime(process->clock, &now) == 0;
	if (process->has_clock)
		process->cpu_ns = (uint64_t)now.tv_sec * 1000000000 +
				  (uint64_t)now.tv_nsec;
}

/* Kernels may refuse to write what the program itself may not
 * (proc_mem.force_override). It is asked with a byte of the shim's own text:
 * before any module is planned, while the gate can still be made. */
static void try_to_write(struct states *states,
			 const struct states_process *process)
{
	const struct page_shm *page = arena_setup(states->arena)->page;
	/* relaxed: set before the hello. A program that lies harms itself */
	uint64_t hook = atom_load_rlx(&page->thunks.page.entry_enter);

	bool writable;

	states_go_away(states);
	writable = patch_mem_is_writable(process->mem, hook);
	states_come_back(states);
	if (!writable)
		states->unwritable = "the kernel refuses to write to the text "
				     "of programs";
}

static void make_root_image(struct states *states,
			    struct states_process *process)
{
	process->image =
		patch_image_new(states->area, process->pid, process->mem,
				states_are_registered(states));
	for (uint32_t i = 0; process->image && i < states->module_count; i++)
		add_module_to(states, process, i);
}

/* The image that @process was forked from. */
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
	/* Whose parent has ended, or is not known: mostly the root, which
	 * stays. */
	return oldest;
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
	for (uint32_t i = 0; process->image && i < parent->module_count; i++)
		set_module(process, i, parent->module[i]);
}

/* The parts of @function, to be connected in @process, into @list of @room.
 * Returns how many. */
static size_t list_parts(const struct states *states,
			 const struct states_process *process,
			 const struct function *function, bool off,
			 struct patch_function *list, size_t room)
{
	size_t count = 0;

	for (uint32_t at = function->parts; at != NONE && count < room;
	     at = states->parts[at].next) {
		const struct states_part *part = &states->parts[at];
		int module = module_of(process, part->module);

		/* All or nothing. */
		if (!part->number)
			return 0;
		if (module >= 0)
			list[count++] = (struct patch_function){
				.module = module,
				.function = part->index,
				.number = part->number,
				.off = off,
			};
	}
	return count;
}

/* What follows touches the memory of the process, and only these. */

static void connect_in(struct states *states,
		       const struct states_process *process,
		       struct patch_function *list, size_t count, bool held)
{
	states_go_away(states);
	patch_connect(process->image, list, count, held);
	states_come_back(states);
}

static void switch_in(struct states *states,
		      const struct states_process *process,
		      const uint32_t *numbers, size_t count, bool on)
{
	states_go_away(states);
	patch_switch(process->image, numbers, count, on);
	states_come_back(states);
}

/* What could not be restored is harmless: its thunks record nothing. */
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

static void restore_in(struct states *states,
		       const struct states_process *process)
{
	states_go_away(states);
	patch_restore(process->image);
	states_come_back(states);
	say_unrestored(process);
}

/* Connect what was connected in its parent only after the fork. */
static void connect_rest(struct states *states, struct states_process *process)
{
	struct patch_function *list =
		calloc(states->part_count + 1, sizeof(*list));
	size_t count = 0;

	for (size_t i = 0; list && i < states->function_count; i++) {
		const struct function *function = &states->functions[i];

		if (!function->connected || function->parts == NONE ||
		    patch_is_connected(process->image,
				       states->parts[function->parts].number))
			continue;
		count += list_parts(states, process, function,
				    function->state == FUNCTION_OFF,
				    list + count, states->part_count - count);
	}
	if (count)
		connect_in(states, process, list, count, false);
	free(list);
}

/* Bring the text of a child to where all others are. */
static void catch_up(struct states *states, struct states_process *process)
{
	connect_rest(states, process);
	for (uint32_t number = 1; number < states->next_number; number++) {
		const struct function *function =
			&states->functions[states->owner[number]];

		if (function->connected)
			switch_in(states, process, &number, 1,
				  function->state != FUNCTION_OFF);
	}
}

static void meet_process(struct states *states, struct states_process *process)
{
	bool has_memory;

	/* states_child_memory() gives it one at any time, if it has none: then
	 * it is met once more. */
	lock_acquire(&states->lock);
	has_memory = process->mem >= 0;
	lock_release(&states->lock);
	start_clock(process);
	if (states->area && has_memory && process->root)
		try_to_write(states, process);
	if (!states->area || !has_memory || process->image)
		process->failed = states->area && !has_memory;
	else if (states->unwritable)
		return;
	else if (process->root)
		make_root_image(states, process);
	else
		make_child_image(states, process);
	if (process->image) {
		states_keep(states, process);
		lock_acquire(&states->lock);
		process->has_image = true;
		process->mem = -1;
		lock_release(&states->lock);
		process->failed = false;
		if (!process->root)
			catch_up(states, process);
	}
	if (process->failed && process->root)
		states->unwritable = "the memory of the program cannot be "
				     "written";
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
	free(process->module);
	free(process);
}

/* Nobody else notices when a stranger has ended, or called exec(). Under the
 * lock. */
static void look_at_stranger(struct states_process *process)
{
	process->ended = process->ended ||
			 (kill(process->pid, 0) < 0 && errno == ESRCH) ||
			 (process->image && patch_is_gone(process->image));
}

/* Those that have ended, out of the list. Under the lock. */
static struct states_process *take_ended(struct states *states)
{
	struct states_process **link = &states->processes, *ended = NULL;

	while (*link) {
		struct states_process *process = *link;

		if (process->stranger)
			look_at_stranger(process);
		/* Children are made after the root, and know its modules. */
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

static void free_list(struct states *states, struct states_process *list)
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
	free_list(states, ended);
}

void states_drop_unvisited(struct states *states)
{
	struct states_process *ended;

	lock_acquire(&states->lock);
	ended = states->has_thread ? NULL : take_ended(states);
	lock_release(&states->lock);
	free_list(states, ended);
}

struct states_process *states_first(struct states *states)
{
	struct states_process *first;

	lock_acquire(&states->lock);
	first = states->processes;
	lock_release(&states->lock);
	return first;
}

bool states_meet(struct states *states, struct states_process *process)
{
	bool met;

	lock_acquire(&states->lock);
	met = process->met;
	process->met = true;
	lock_release(&states->lock);
	return !met;
}

void states_follow_processes(struct states *states)
{
	struct states_process *process;

	if (!states->begun)
		map_area(states);
	states->begun = true;
	states_drop_ended(states);
	process = states_first(states);
	/* New ones come in at the front. Children are made of the root. */
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
	free_list(states, list);
}

/* --- writing ----------------------------------------------------------------
 */

static void add_patch_ns(struct states *states, uint64_t begin_ns)
{
	lock_acquire(&states->lock);
	states->patch_ns += clock_boottime_ns() - begin_ns;
	lock_release(&states->lock);
}

/* Something is about to be patched. A program that forks hands its own
 * descriptor over from now on. */
static void say_patched(struct states *states)
{
	states->patched = true;
	/* relaxed: set before any byte is written, by a system call */
	atom_store_rlx(&arena_setup(states->arena)->page->patched, 1);
	states_keep_on(states);
}

/* The gate has room for GATE_ENTRIES / 4 functions: the others stay, and have
 * no entry (states_stuck()). */
static void switch_gate(struct states *states, const uint32_t *functions,
			size_t count, bool on)
{
	for (size_t i = 0; i < count; i++) {
		const struct function *function =
			&states->functions[functions[i]];

		if (on)
			filter_table_remove(states->gate, function->address);
		else
			(void)filter_table_add(
				states->gate, function->address,
				states->parts[function->parts].number);
	}
}

void states_make_gate(struct states *states)
{
	if (states->unwritable && !states->gate &&
	    !filter_is_active(&states->thread->collector->options->filter))
		states->gate = filter_table_new(
			arena_setup(states->arena)->page, GATE_ENTRIES);
}

void states_switch(struct states *states, const uint32_t *functions,
		   size_t count, bool on)
{
	uint64_t begin_ns = clock_boottime_ns();
	uint32_t *numbers;
	size_t n = 0;

	if (states_are_gated(states)) {
		switch_gate(states, functions, count, on);
		return;
	}
	numbers = calloc(states->next_number, sizeof(*numbers));
	for (size_t i = 0; numbers && i < count; i++)
		for (uint32_t at = states->functions[functions[i]].parts;
		     at != NONE; at = states->parts[at].next)
			if (states->parts[at].number)
				numbers[n++] = states->parts[at].number;
	say_patched(states);
	for (struct states_process *process = states_first(states); process;
	     process = process->next)
		if (process->image && !process->ended && numbers)
			switch_in(states, process, numbers, n, on);
	free(numbers);
	add_patch_ns(states, begin_ns);
}

const char *states_stuck(const struct states *states,
			 const struct function *function, bool on)
{
	if (states_are_gated(states))
		return on || filter_table_has(states->gate, function->address)
			       ? NULL
			       : "too many functions are left out already";
	for (const struct states_process *process = states->processes; process;
	     process = process->next)
		for (uint32_t at = function->parts;
		     process->image && !process->ended && at != NONE;
		     at = states->parts[at].next)
			if (patch_is_stuck(process->image,
					   states->parts[at].number))
				return patch_reason_text(PATCH_STUCK);
	return NULL;
}

/* Without enough of them, the function has none. */
static void give_numbers(struct states *states, uint32_t index)
{
	const struct function *function = &states->functions[index];

	lock_acquire(&states->lock);
	for (uint32_t at = function->parts; at != NONE;
	     at = states->parts[at].next) {
		struct states_part *part = &states->parts[at];

		if (part->number || states->next_number == states->numbers)
			continue;
		states->owner[states->next_number] = index;
		part->number = states->next_number++;
	}
	lock_release(&states->lock);
}

void states_give_numbers(struct states *states, const uint32_t *functions,
			 size_t count)
{
	for (size_t i = 0; i < count; i++)
		give_numbers(states, functions[i]);
}

/* Connect @list in the leader, then in all others. The first has the last word
 * about what can be connected. */
static void connect_everywhere(struct states *states,
			       const struct states_process *leader,
			       struct patch_function *list, size_t count,
			       bool held)
{
	say_patched(states);
	connect_in(states, leader, list, count, held);
	for (struct states_process *process = states_first(states); process;
	     process = process->next) {
		struct patch_function *copy;

		if (process == leader || !process->image || process->ended)
			continue;
		copy = malloc(count * sizeof(*copy));
		for (size_t i = 0; copy && i < count; i++)
			copy[i] = list[i];
		if (copy)
			connect_in(states, process, copy, count, false);
		free(copy);
	}
}

/* What has become of the parts of function @index, @count of @list. @none: why
 * there are none. */
static void note_connected(struct states *states, uint32_t index,
			   const struct patch_function *list, size_t count,
			   const char *none)
{
	struct function *function = &states->functions[index];
	const char *refused = count ? NULL : none;

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

void states_connect_functions(struct states *states, const uint32_t *functions,
			      size_t count, bool held)
{
	const struct states_process *leader = states_leader(states);
	uint64_t begin_ns = clock_boottime_ns();
	struct patch_function *list;
	size_t *first;
	size_t room = 0, n = 0;

	for (size_t i = 0; i < count; i++) {
		for (uint32_t at = states->functions[functions[i]].parts;
		     at != NONE; at = states->parts[at].next)
			room++;
	}
	list = calloc(room + 1, sizeof(*list));
	first = calloc(count + 1, sizeof(*first));
	for (size_t i = 0; list && first && i < count; i++) {
		const struct function *function =
			&states->functions[functions[i]];

		first[i] = n;
		n += list_parts(states, leader, function,
				!held || function->wanted == FUNCTION_OFF,
				list + n, room - n);
		first[i + 1] = n;
	}
	if (list && first && n)
		connect_everywhere(states, leader, list, n, held);
	for (size_t i = 0; list && first && i < count; i++)
		note_connected(states, functions[i], list + first[i],
			       first[i + 1] - first[i],
			       leader->image
				       ? "there are too many functions"
				       : "the memory of the program cannot be "
					 "written");
	free(list);
	free(first);
	add_patch_ns(states, begin_ns);
}

void states_restore_text(struct states *states)
{
	for (struct states_process *process = states_first(states); process;
	     process = process->next)
		if (process->image && !process->ended)
			restore_in(states, process);
}
