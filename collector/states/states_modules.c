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

/* The plan of @file, which may not be ready; NULL: no memory. */
static struct states_plan *plan_of_file(struct states_thread *thread,
					struct symbol_file *file)
{
	struct states_plan *plan = thread->plans;

	while (plan && plan->file != file)
		plan = plan->next;
	if (plan)
		return plan;
	plan = calloc(1, sizeof(*plan));
	if (!plan)
		return NULL;
	plan->file = symbol_file_get(file);
	plan->fd = -1;
	plan->next = thread->plans;
	thread->plans = plan;
	return plan;
}

static void end_planning(struct states_plan *plan, const char *why)
{
	plan->ready = true;
	plan->why = why;
	if (why)
		code_plan_free(&plan->plan);
	if (plan->fd >= 0)
		close(plan->fd);
	plan->fd = -1;
}

/* -ENODATA, that there is nothing to plan, is no news. */
static void begin_planning(struct states_plan *plan)
{
	const char *why = NULL;
	struct stat status;
	int err;

	plan->fd = symbol_file_descriptor(plan->file);
	if (plan->fd < 0 || fstat(plan->fd, &status) < 0) {
		end_planning(plan, "its file cannot be read");
		return;
	}
	plan->inode = status.st_ino;
	err = code_plan_begin(plan->fd, NULL, &plan->plan, &why);
	if (err == -ENODATA)
		end_planning(plan, NULL);
	else if (err)
		end_planning(plan, why ? why : "its code cannot be read");
}

/* Go on with @plan until @until_ns. Whether it is ready. */
static bool go_on_planning(struct states_plan *plan, uint64_t until_ns)
{
	int more = 1;

	if (!plan->ready && !plan->plan)
		begin_planning(plan);
	while (!plan->ready && more > 0 && clock_boottime_ns() < until_ns)
		more = code_plan_step(plan->plan, STEP_BYTES);
	if (!plan->ready && more < 0)
		end_planning(plan, "its code takes too much memory to read");
	else if (!plan->ready && !more)
		end_planning(plan, NULL);
	return plan->ready;
}

static void free_plan(struct states_plan *plan)
{
	end_planning(plan, NULL);
	code_plan_free(&plan->plan);
	symbol_file_put(&plan->file);
	free(plan);
}

void states_plans_put(struct states *states)
{
	struct states_plan **link = &states->thread->plans;
	size_t kept = 0;

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
		free_plan(plan);
	}
}

void states_plans_free(struct states_thread *thread)
{
	struct states_plan *plan;

	while ((plan = thread->plans)) {
		thread->plans = plan->next;
		free_plan(plan);
	}
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
	int mem = arena_setup(states->arena)->mem_fd;

	if (leader && leader->image)
		return patch_image_mem(leader->image);
	return mem < 0 && leader ? leader->mem : mem;
}

/* Where the function is that @planned says, in the memory @mem. 0: not known.
 */
static uint64_t address_of(int mem, const struct states_module *module,
			   const struct code_function *planned)
{
	uint64_t address = 0;

	if (!planned->slot)
		return planned->address + module->bias;
	if (mem < 0 ||
	    pread(mem, &address, sizeof(address),
		  (off_t)(planned->slot + module->bias)) != sizeof(address))
		return 0;
	return address;
}

static void list_function(struct states *states, int mem, uint32_t index,
			  uint32_t in_plan)
{
	const struct states_module *module = &states->modules[index];
	const struct code_plan *plan = module->plan->plan;
	const struct code_function *planned = &plan->functions[in_plan];
	uint64_t address = address_of(mem, module, planned);
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

/* The module at @index is planned: list its functions. */
static void list_functions(struct states *states, uint32_t index)
{
	struct states_module *module = &states->modules[index];
	const struct code_plan *plan = module->plan->plan;
	int mem = leader_memory(states);

	lock_acquire(&states->lock);
	for (size_t i = 0; plan && i < plan->function_count; i++)
		list_function(states, mem, index, (uint32_t)i);
	module->listed = true;
	states->evaluated = false;
	lock_release(&states->lock);
	if (plan)
		states_module_came(states, index);
}

/* Whether the program has filled in the addresses of all functions in @module:
 * a load is told before that. */
static bool is_relocated(struct states *states,
			 const struct states_module *module)
{
	const struct code_plan *plan = module->plan->plan;
	int mem = leader_memory(states);

	if (clock_boottime_ns() - module->came_ns > RELOCATION_NS)
		return true;
	for (size_t i = 0; plan && i < plan->function_count; i++)
		if (plan->functions[i].slot &&
		    !address_of(mem, module, &plan->functions[i]))
			return false;
	return true;
}

bool states_plan_modules(struct states *states, uint64_t until_ns)
{
	bool done = true;

	for (uint32_t i = 0; i < states->module_count; i++) {
		struct states_module *module = &states->modules[i];

		if (module->listed || module->gone)
			continue;
		if (!go_on_planning(module->plan, until_ns))
			return false;
		if (is_relocated(states, module))
			list_functions(states, i);
		else
			done = false;
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
		plan->users++;
	}
	lock_release(&states->lock);
}

static void add_modules_of(struct states *states,
			   const struct states_process *process,
			   uint32_t generation)
{
	struct module_file *files;
	size_t count = modules_files(process->modules, &files);

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

/* Whether the map is to be read: the program tells of a load when it next loads
 * or unloads something. So the map is read now and then, and when functions
 * were called that are in no module that is known. Code that the program makes
 * itself is never known: so the pauses grow. */
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

static void refresh(struct states *states, struct modules *modules)
{
	uint64_t begin_ns = clock_boottime_ns();

	(void)modules_refresh(modules);
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
	modules_resolve(leader->modules, function->address,
			function->generation, &symbol);
	lock_acquire(&states->lock);
	function->name = symbol.name;
	function->module = symbol.module;
	lock_release(&states->lock);
}
