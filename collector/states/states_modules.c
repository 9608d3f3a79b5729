/* SPDX-License-Identifier: Apache-2.0
 *
 * states_modules - which modules a program has, their plans, and the functions
 * that these name. A plan is made once for each file, in pieces, so that a
 * large one holds up nobody. A function that has no slot lies where its module
 * lies; of one that has, the program knows the address (code_plan.h).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/base/clock.h"
#include "collector/base/grow.h"
#include "collector/base/log.h"
#include "collector/code/code_plan.h"
#include "collector/names/map_log.h"
#include "collector/names/modules.h"
#include "collector/names/symbols.h"
#include "collector/patch/patch.h"
#include "collector/record/arena.h"
#include "collector/replay/function_log.h"
#include "collector/states/states_inner.h"
#include "shared/atomic.h"
#include "shared/compiler.h"
#include "shared/hash.h"
#include "shared/ring_shm.h"

#define STEP_BYTES 65536
#define ADDRESS_MASK 0xffffffffffff /* what records carry */
#define TABLE_MIN 1024
#define MODULES_MAX 4096
#define PLANS_KEPT 64 /* that no program uses */
#define REFRESH_NS ((uint64_t)1000000000)
#define REFRESH_PAUSE 100 /* times as long as it took */
#define REFRESH_NS_MIN ((uint64_t)50000000)
#define REFRESH_NS_MAX ((uint64_t)10000000000)
/* The longest that a program may take to relocate what it has loaded. */
#define RELOCATION_NS 2000000000

/* --- plans ------------------------------------------------------------------
 */

/* The plan of @file, which may not be ready, with one more user; NULL: no
 * memory. */
static struct states_plan *plan_of_file(struct states_thread *thread,
					struct symbol_file *file)
{
	struct states_plan *plan;

	lock_acquire(&thread->lock);
	plan = thread->plans;
	while (plan && plan->file != file)
		plan = plan->next;
	if (!plan && (plan = calloc(1, sizeof(*plan)))) {
		plan->file = symbol_file_get(file);
		plan->fd = -1;
		plan->next = thread->plans;
		thread->plans = plan;
	}
	if (plan)
		plan->users++;
	lock_release(&thread->lock);
	return plan;
}

static bool end_planning(struct states_plan *plan, const char *why)
{
	plan->why = why;
	if (why)
		code_plan_free(&plan->plan);
	if (plan->fd >= 0)
		close(plan->fd);
	plan->fd = -1;
	return true;
}

/* -ENODATA, that there is nothing to plan, is no news. Whether that was all. */
static bool begin_planning(struct states_plan *plan)
{
	const char *why = NULL;
	struct stat status;
	int err;

	plan->fd = symbol_file_descriptor(plan->file);
	if (plan->fd < 0 || fstat(plan->fd, &status) < 0)
		return end_planning(plan, "its file cannot be read");
	plan->inode = status.st_ino;
	err = code_plan_begin(plan->fd, NULL, &plan->plan, &why);
	if (err == -ENODATA)
		return end_planning(plan, NULL);
	if (err)
		return end_planning(plan,
				    why ? why : "its code cannot be read");
	return false;
}

/* Go on with @plan, which is not ready, until @until_ns. Whether it is. */
static bool make_plan(struct states_plan *plan, uint64_t until_ns)
{
	int more = 1;

	if (!plan->plan && begin_planning(plan))
		return true;
	while (more > 0 && clock_boottime_ns() < until_ns)
		more = code_plan_step(plan->plan, STEP_BYTES);
	if (more > 0)
		return false;
	return end_planning(plan,
			    more < 0 ? "its code takes too much memory to read"
				     : NULL);
}

enum planned {
	PLAN_READY,
	PLAN_MORE, /* time is over */
	PLAN_ELSEWHERE, /* another thread makes it */
	PLAN_STUCK, /* and for so long that it may never be ready */
};

/* Go on with @plan until @until_ns. */
static enum planned go_on_planning(struct states *states,
				   struct states_plan *plan, uint64_t until_ns)
{
	struct states_thread *thread = states->thread;
	uint64_t busy_ns, now = clock_boottime_ns();
	bool ready;

	lock_acquire(&thread->lock);
	ready = plan->ready;
	busy_ns = plan->busy_ns;
	if (!ready && !busy_ns)
		plan->busy_ns = now;
	lock_release(&thread->lock);
	if (ready)
		return PLAN_READY;
	if (busy_ns)
		return now - busy_ns > STATES_AWAY_NS ? PLAN_STUCK
						      : PLAN_ELSEWHERE;
	states->making = plan;
	states_go_away(states);
	ready = make_plan(plan, until_ns);
	states_come_back(states);
	states->making = NULL;
	lock_acquire(&thread->lock);
	plan->ready = ready;
	plan->busy_ns = 0;
	lock_release(&thread->lock);
	return ready ? PLAN_READY : PLAN_MORE;
}

static void free_plans(struct states_plan *plan)
{
	while (plan) {
		struct states_plan *next = plan->next;

		end_planning(plan, NULL);
		code_plan_free(&plan->plan);
		symbol_file_put(&plan->file);
		free(plan);
		plan = next;
	}
}

void states_plans_put(struct states *states)
{
	struct states_thread *thread = states->thread;
	struct states_plan **link = &thread->plans, *unused = NULL;
	size_t kept = 0;

	lock_acquire(&thread->lock);
	for (size_t i = 0; i < states->module_count; i++)
		states->modules[i].plan->users--;
	/* The newest come first. */
	while (*link) {
		struct states_plan *plan = *link;

		if (plan->users || kept++ < PLANS_KEPT) {
			link = &plan->next;
			continue;
		}
		*link = plan->next;
		plan->next = unused;
		unused = plan;
	}
	lock_release(&thread->lock);
	free_plans(unused);
}

void states_plans_free(struct states_thread *thread)
{
	free_plans(thread->plans);
	thread->plans = NULL;
}

/* --- functions by address ---------------------------------------------------
 */

static size_t first_entry(const struct states *states, uint64_t address)
{
	return hash_fold(address * FILTER_MULTIPLIER) &
	       (states->table_entries - 1);
}

struct function *states_find(const struct states *states, uint64_t address)
{
	size_t at;

	if (!states->table_entries)
		return NULL;
	at = first_entry(states, address & ADDRESS_MASK);
	for (; states->table[at]; at = (at + 1) & (states->table_entries - 1)) {
		struct function *function =
			&states->functions[states->table[at] - 1];

		if (function->address == (address & ADDRESS_MASK) &&
		    function->parts != NONE)
			return function;
	}
	return NULL;
}

static void put_into_table(struct states *states, uint32_t index)
{
	size_t at = first_entry(states, states->functions[index].address);

	while (states->table[at])
		at = (at + 1) & (states->table_entries - 1);
	states->table[at] = index + 1;
}

/* Functions that are gone stay: their number is theirs for good. Under the
 * lock. */
static int make_room_in_table(struct states *states)
{
	size_t entries = MAX(states->table_entries, (size_t)TABLE_MIN);
	uint32_t *table;

	while (entries < 2 * (states->function_count + 1))
		entries *= 2;
	if (entries == states->table_entries)
		return 0;
	table = calloc(entries, sizeof(*table));
	if (!table)
		return -ENOMEM;
	free(states->table);
	states->table = table;
	states->table_entries = entries;
	for (uint32_t i = 0; i < states->function_count; i++)
		put_into_table(states, i);
	return 0;
}

/* The function at @address, which is new if it is not known. Under the lock. */
static struct function *add_function(struct states *states, uint64_t address,
				     const struct states_module *module,
				     bool entry_build)
{
	struct function *function = states_find(states, address);

	if (function)
		return function;
	if (make_room_in_table(states) < 0 ||
	    grow_array(states->functions, states->function_room,
		       states->function_count + 1) < 0)
		return NULL;
	function = &states->functions[states->function_count];
	*function = (struct function){
		.address = address & ADDRESS_MASK,
		.parts = NONE,
		.generation = module->generation,
		.entry_build = entry_build,
	};
	put_into_table(states, (uint32_t)states->function_count++);
	return function;
}

/* --- modules ----------------------------------------------------------------
 */

/* The memory of the leader; -1: it is not to be had. */
static int leader_memory(struct states *states)
{
	const struct states_process *leader = states_leader(states);

	if (leader && leader->image)
		return patch_image_mem(leader->image);
	return leader ? leader->mem : -1;
}

/*
 * Where the functions of @module are: an address for each of its plan, which
 * the caller frees; 0: not known. NULL: no memory. Reads the memory of the
 * program.
 */
static uint64_t *read_addresses(struct states *states,
				const struct states_module *module)
{
	const struct code_plan *plan = module->plan->plan;
	uint64_t *list = calloc(plan->function_count + 1, sizeof(*list));
	int mem = leader_memory(states);

	states_go_away(states);
	for (size_t i = 0; list && i < plan->function_count; i++) {
		const struct code_function *planned = &plan->functions[i];
		uint64_t slot = planned->slot + module->bias;

		if (!planned->slot)
			list[i] = planned->address + module->bias;
		else if (mem < 0 || pread(mem, &list[i], sizeof(list[i]),
					  (off_t)slot) != sizeof(list[i]))
			list[i] = 0;
	}
	states_come_back(states);
	return list;
}

/* Under the lock. */
static void list_function(struct states *states, uint32_t index,
			  uint32_t in_plan, uint64_t address)
{
	const struct states_module *module = &states->modules[index];
	const struct code_plan *plan = module->plan->plan;
	const struct code_function *planned = &plan->functions[in_plan];
	struct function *function;
	uint32_t *link;

	if (!address || grow_array(states->parts, states->part_room,
				   states->part_count + 1) < 0)
		return;
	function = add_function(states, address, module, planned->entry_build);
	if (!function)
		return;
	states->parts[states->part_count] = (struct states_part){
		.module = index,
		.index = in_plan,
		.next = NONE,
	};
	/* The first one's number is what the controller knows it by. */
	link = &function->parts;
	while (*link != NONE)
		link = &states->parts[*link].next;
	*link = (uint32_t)states->part_count++;
	function->sites += planned->count;
	if (planned->refused)
		function->refused = code_refusal_text(planned->refused);
	else if (!planned->count && !function->refused)
		function->refused = "none of its calls was found";
}

/* The module at @index is planned: list its functions, which are at
 * @addresses. */
static void list_functions(struct states *states, uint32_t index,
			   const uint64_t *addresses)
{
	struct states_module *module = &states->modules[index];
	const struct code_plan *plan = module->plan->plan;

	lock_acquire(&states->lock);
	for (size_t i = 0; addresses && i < plan->function_count; i++)
		list_function(states, index, (uint32_t)i, addresses[i]);
	module->listed = true;
	states->evaluated = false;
	lock_release(&states->lock);
	if (plan)
		states_module_came(states, index);
}

/* Whether the program has filled in the @addresses of all functions: a load is
 * told before that. */
static bool are_relocated(const struct states_module *module,
			  const uint64_t *addresses)
{
	const struct code_plan *plan = module->plan->plan;

	if (clock_boottime_ns() - module->came_ns > RELOCATION_NS)
		return true;
	for (size_t i = 0; addresses && i < plan->function_count; i++)
		if (!addresses[i])
			return false;
	return true;
}

/* The module at @index is planned: list its functions as soon as the program
 * knows where they are. Whether that is done. */
static bool list_when_relocated(struct states *states, uint32_t index)
{
	const struct states_module *module = &states->modules[index];
	uint64_t *addresses =
		module->plan->plan ? read_addresses(states, module) : NULL;
	bool relocated = are_relocated(module, addresses);

	if (relocated)
		list_functions(states, index, addresses);
	free(addresses);
	return relocated;
}

bool states_plan_modules(struct states *states, uint64_t until_ns)
{
	bool done = true;

	for (uint32_t i = 0; i < states->module_count; i++) {
		struct states_module *module = &states->modules[i];

		if (module->listed || module->gone)
			continue;
		switch (go_on_planning(states, module->plan, until_ns)) {
		case PLAN_MORE:
			return false;
		case PLAN_ELSEWHERE:
			done = false;
			break;
		case PLAN_STUCK:
			break;
		case PLAN_READY:
			done = list_when_relocated(states, i) && done;
		}
	}
	return done;
}

static bool is_known(const struct states *states,
		     const struct module_file *file)
{
	for (size_t i = 0; i < states->module_count; i++) {
		const struct states_module *module = &states->modules[i];

		if (!module->gone && module->bias == file->bias &&
		    module->plan->file == file->file)
			return true;
	}
	return false;
}

/* No file: what the program has made, our own thunks, the vdso. */
static bool is_memory(const char *path)
{
	return path[0] != '/' || !strncmp(path, "/memfd:", 7);
}

static void drop_user(struct states_thread *thread, struct states_plan *plan)
{
	lock_acquire(&thread->lock);
	plan->users--;
	lock_release(&thread->lock);
}

static void add_module(struct states *states, const struct module_file *file,
		       uint32_t generation)
{
	struct states_plan *plan;

	if (is_memory(file->path) || is_known(states, file) ||
	    states->module_count == MODULES_MAX)
		return;
	plan = plan_of_file(states->thread, file->file);
	if (!plan)
		return;
	states->refresh_pause_ns = 0;
	lock_acquire(&states->lock);
	if (grow_array(states->modules, states->module_room,
		       states->module_count + 1) == 0) {
		states->modules[states->module_count++] =
			(struct states_module){
				.start = file->start,
				.end = file->end,
				.bias = file->bias,
				.path = file->path,
				.plan = plan,
				.generation = generation,
				.came_ns = clock_boottime_ns(),
			};
		plan = NULL;
	}
	lock_release(&states->lock);
	if (plan)
		drop_user(states->thread, plan);
}

static void add_modules_of(struct states *states,
			   const struct states_process *process,
			   uint32_t generation)
{
	struct module_file *files;
	size_t count;

	states_go_away(states);
	count = modules_files(process->modules, &files);
	states_come_back(states);
	for (size_t i = 0; i < count; i++)
		add_module(states, &files[i], generation);
	modules_files_free(&files, count);
}

/* By which number the controller knows @function; 0: it does not. */
static uint32_t first_number(const struct states *states,
			     const struct function *function)
{
	return function->parts == NONE ? 0
				       : states->parts[function->parts].number;
}

/* The functions of the module at @index are gone. */
static void drop_module(struct states *states, uint32_t index)
{
	states_module_went(states, index);
	lock_acquire(&states->lock);
	states->modules[index].gone = true;
	for (size_t i = 0; i < states->function_count; i++) {
		struct function *function = &states->functions[i];
		uint32_t *link = &function->parts;
		uint32_t number = first_number(states, function);

		while (*link != NONE)
			if (states->parts[*link].module == index)
				*link = states->parts[*link].next;
			else
				link = &states->parts[*link].next;
		if (function->parts == NONE)
			function->connected = function->wants_connection =
				false;
		if (number && number != first_number(states, function) &&
		    states->controller) {
			controller_forget(states->controller, number);
			function->state_told = 0;
		}
	}
	lock_release(&states->lock);
}

static void drop_modules_at(struct states *states, uint64_t start, uint64_t end)
{
	for (uint32_t i = 0; i < states->module_count; i++) {
		const struct states_module *module = &states->modules[i];

		if (!module->gone && module->start >= start &&
		    module->end <= end)
			drop_module(states, i);
	}
	function_log_unload(arena_setup(states->arena)->functions, start, end,
			    clock_boottime_ns());
}

/* Whether the program has called dlopen() a short time ago. That is told when
 * it begins, and may take its time: so the map is read more than once. */
static bool opens_something(struct states *states, uint64_t now)
{
	/* relaxed: what was loaded is in the map */
	uint32_t dlopens =
		atom_load_rlx(&arena_setup(states->arena)->page->dlopens);

	if (dlopens != states->dlopens) {
		states->dlopens = dlopens;
		states->dlopened_ns = now;
	}
	return states->dlopened_ns && now - states->dlopened_ns < REFRESH_NS &&
	       now - states->refreshed_ns >
		       MAX(REFRESH_NS_MIN,
			   states->refresh_cost_ns * REFRESH_PAUSE);
}

/* Whether the map is to be read: the program tells of a load when it next loads
 * or unloads something. So the map is read now and then, and when functions
 * were called that are in no module that is known. Code that the program makes
 * itself is never known: so the pauses grow. */
static bool wants_refresh(struct states *states)
{
	uint64_t now = clock_boottime_ns();
	bool unknown;

	if (opens_something(states, now))
		return true;
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

static void refresh(struct states *states, struct modules *modules)
{
	uint64_t begin_ns = clock_boottime_ns();

	states_go_away(states);
	(void)modules_refresh(modules);
	states_come_back(states);
	states->refreshed_ns = clock_boottime_ns();
	states->refresh_cost_ns = states->refreshed_ns - begin_ns;
}

/* Take over from the last leader: what this one has loaded before is new. */
static bool is_new_leader(struct states *states,
			  const struct states_process *leader)
{
	if (states->led_by == leader->pid)
		return false;
	states->led_by = leader->pid;
	/* The modules of the root were read when it said hello. */
	if (leader->root)
		return false;
	refresh(states, leader->modules);
	return true;
}

void states_follow_modules(struct states *states)
{
	struct map_log *log = arena_setup(states->arena)->map_log;
	const struct states_process *leader = states_leader(states);
	size_t events = log ? map_log_read(log) : 0;
	struct map_event event;
	bool loaded = !states->planning;

	if (!leader || leader->ended)
		return;
	if (loaded)
		states->refreshed_ns = clock_boottime_ns();
	loaded = is_new_leader(states, leader) || loaded;
	for (; states->loads < events &&
	       map_log_event(log, states->loads, &event);
	     states->loads++) {
		if (event.kind == MAP_UNLOAD && event.pid == leader->inner_pid)
			drop_modules_at(states, event.start, event.end);
		loaded = loaded || event.kind == MAP_LOAD;
		if (event.pid == leader->inner_pid)
			states->generation = event.generation;
	}
	states->planning = true;
	if (wants_refresh(states)) {
		refresh(states, leader->modules);
		loaded = true;
	}
	if (loaded)
		add_modules_of(states, leader, states->generation);
}

void states_name(struct states *states, struct function *function)
{
	const struct states_process *leader;
	struct symbol symbol;

	if (function->name)
		return;
	leader = states_leader(states);
	if (!leader)
		return;
	states_go_away(states);
	modules_resolve(leader->modules, function->address,
			function->generation, &symbol);
	states_come_back(states);
	lock_acquire(&states->lock);
	function->name = symbol.name;
	function->module = symbol.module;
	lock_release(&states->lock);
}
