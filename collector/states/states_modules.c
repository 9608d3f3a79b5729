/* SPDX-License-Identifier: Apache-2.0
 *
 * states_modules - the modules of a program, their plans and the functions in
 * the plans. A plan is made once for each file, in steps, so that a large file
 * blocks no other work. A function without a slot is at a fixed place of its
 * module; the program's memory has the address of one with a slot
 * (code_plan.h).
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/base/clock.h"
#include "collector/base/grow.h"
#include "collector/base/log.h"
#include "collector/code/code_plan.h"
#include "collector/code/patch.h"
#include "collector/names/filter_matches.h"
#include "collector/names/map_log.h"
#include "collector/names/modules.h"
#include "collector/names/nowait.h"
#include "collector/names/symbols.h"
#include "collector/options/collect_options.h"
#include "collector/record/arena.h"
#include "collector/record/collector.h"
#include "collector/replay/function_log.h"
#include "collector/states/plan_cache.h"
#include "collector/states/states_inner.h"
#include "shared/atomic.h"
#include "shared/compiler.h"
#include "shared/hash.h"
#include "shared/ring_shm.h"

#define STEP_BYTES 65536
#define ADDRESS_MASK 0xffffffffffff /* bits of an address in a record */
#define TABLE_MIN 1024
#define MODULES_MAX 4096
#define PLANS_KEPT 64 /* unused ones */
/* A plan that took less CPU time is not cached: making it again costs no more
 * than a file of the cache. */
#define PLAN_CACHE_NS 2000000
/* Most time of a program to relocate a loaded module. */
#define RELOCATION_NS 2000000000
/* Most time from the mapping of a module until dlopen() reports it. */
#define REPORT_NS 1000000000

/* --- plans --------------------------------------------------------------- */

/* Returns the plan of @of, which may not be ready, with one more user, or NULL
 * without memory. All recordings share a plan. */
static struct states_plan *plan_of_file(struct states_thread *thread,
					struct symbol_file *of, bool moves,
					bool calls)
{
	struct symbol_file *file = symbol_file_get_common(of);
	struct states_plan *plan;

	if (!file)
		return NULL;
	lock_acquire(&thread->lock);
	plan = thread->plans;
	while (plan && (plan->file != file || plan->moves != moves ||
			plan->calls != calls))
		plan = plan->next;
	if (!plan && (plan = calloc(1, sizeof(*plan)))) {
		plan->file = symbol_file_get(file);
		plan->moves = moves;
		plan->calls = calls;
		plan->options = thread->collector->options;
		plan->fd = -1;
		plan->next = thread->plans;
		thread->plans = plan;
	}
	if (plan)
		plan->users++;
	lock_release(&thread->lock);
	symbol_file_put(&file);
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

static int read_functions(void *context, struct elf_functions *out)
{
	const struct states_plan *plan = context;

	return symbol_file_functions(plan->file, plan->fd, out);
}

/* perfrec-reader reads the file, because a file may never answer and a program
 * waits for this thread. */
static int read_code(void *context, uint64_t offset, size_t bytes, void *out,
		     size_t *got)
{
	const struct states_plan *plan = context;

	return symbol_file_read(plan->file, offset, bytes, out, got);
}

/* Opens plan->fd for reading, if its file is on a local disk. Such a read does
 * not hang, and on a busy machine requests to perfrec-reader for every 64 KiB
 * took longer than a program is held. Returns false if only read_code() may
 * read the file. */
static bool open_local(struct states_plan *plan)
{
	char link[32];
	int fd;

	if (!nowait_is_local(plan->fd))
		return false;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", plan->fd);
	fd = open(link, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return false;
	close(plan->fd);
	plan->fd = fd;
	return true;
}

static bool recall_plan(struct states_plan *plan)
{
	if (plan_cache_key(plan->fd, plan->moves, &plan->key) < 0)
		return false;
	plan->has_key = true;
	return plan_cache_load(symbol_file_build_id(plan->file), &plan->key,
			       &plan->plan) == 0;
}

/* Caches @plan, which is ready, unless its file has changed meanwhile. */
static void remember_plan(const struct states_plan *plan)
{
	struct plan_key key;

	if (plan->has_key && plan->spent_ns >= PLAN_CACHE_NS &&
	    plan_cache_key(plan->fd, plan->moves, &key) == 0 &&
	    memcmp(&key, &plan->key, sizeof(key)) == 0)
		(void)plan_cache_store(symbol_file_build_id(plan->file), &key,
				       plan->plan);
}

/* Starts a plan. Returns true if it is already final. -ENODATA means that the
 * file has nothing to plan, and is not reported. @recall: use a cached plan. */
static bool begin_planning(struct states_plan *plan, bool recall)
{
	struct code_input input = { .read = read_code,
				    .size = symbol_file_size(plan->file),
				    .functions = read_functions,
				    .context = plan,
				    .moves = plan->moves,
				    .calls = plan->calls ? states_calls_name
							 : NULL };
	const char *why = NULL;
	struct stat status;
	int err;

	plan->fd = symbol_file_descriptor(plan->file);
	if (plan->fd < 0 || nowait_stat(plan->fd, &status) < 0)
		return end_planning(plan, "its file cannot be read");
	plan->inode = status.st_ino;
	if (open_local(plan)) {
		input.read = NULL;
		input.fd = plan->fd;
		if (recall && recall_plan(plan))
			return end_planning(plan, NULL);
	}
	err = code_plan_begin(&input, NULL, &plan->plan, &why);
	if (err == -ENODATA)
		return end_planning(plan, NULL);
	/* These three mean a file of another kind, a malformed file, and the
	 * library of the hooks itself: none has hooks to miss. */
	plan->unread =
		err && err != -ENOEXEC && err != -EBADMSG && err != -EPERM;
	if (err)
		return end_planning(plan,
				    why ? why : "its code cannot be read");
	return false;
}

/* Continues @plan until @until_ns. Returns true if it is final. @cached: plans
 * are kept between recordings. */
static bool make_plan(struct states_plan *plan, uint64_t until_ns, bool cached)
{
	uint64_t begin_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
	int more = 1;

	if (!plan->plan && begin_planning(plan, cached))
		return true;
	while (more > 0 && clock_boottime_ns() < until_ns &&
	       plan->spent_ns < PLAN_NS_MAX)
		more = code_plan_step(plan->plan, STEP_BYTES);
	plan->spent_ns += clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns;
	plan->unread = more < 0 || plan->spent_ns >= PLAN_NS_MAX;
	if (plan->spent_ns >= PLAN_NS_MAX)
		return end_planning(plan, "its code takes too long to read");
	if (more > 0)
		return false;
	if (!more && cached)
		remember_plan(plan);
	return end_planning(plan,
			    more < 0 ? "its code takes too much memory to read"
				     : NULL);
}

enum planned {
	PLAN_READY,
	PLAN_MORE, /* out of time */
	PLAN_ELSEWHERE, /* another thread makes it */
	PLAN_STUCK, /* and for so long that it may never be ready */
};

static enum planned go_on_planning(struct states *states,
				   struct states_plan *plan, uint64_t until_ns)
{
	struct states_thread *thread = states->thread;
	uint64_t busy_ns, now = clock_boottime_ns();
	uint64_t begin_ns;
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
	begin_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
	states_go_away(states);
	/* The key of a kept plan has no globs. */
	ready = make_plan(plan, until_ns,
			  !thread->collector->options->no_cache &&
				  !plan->calls);
	states_come_back(states);
	states->making = NULL;
	states_count_work(states, begin_ns);
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

/* --- functions by address ------------------------------------------------ */

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

/* Functions that are gone stay, because they keep their numbers for good. Under
 * the lock. */
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

static struct function *add_module_function(struct states *states,
					    uint64_t address,
					    const struct states_module *module,
					    const struct code_function *planned)
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
		.entry_build = planned->entry_build,
		.moved = code_plan_moves(module->plan->plan, planned),
		.hookless = module->plan->plan->is_moved && !planned->name,
	};
	put_into_table(states, (uint32_t)states->function_count++);
	return function;
}

/* --- modules ------------------------------------------------------------- */

static int memory_with(struct states *states, uint32_t index)
{
	const struct states_process *holder = states_holder(states, index);

	if (holder && holder->image)
		return patch_image_mem(holder->image);
	return holder ? holder->mem : -1;
}

/*
 * Returns the address of each function in the plan of the module at @index; 0:
 * unknown. The caller frees the array. Returns NULL without memory. Reads the
 * memory of the program.
 */
static uint64_t *read_addresses(struct states *states, uint32_t index)
{
	const struct states_module *module = &states->modules[index];
	const struct code_plan *plan = module->plan->plan;
	uint64_t *list =
		states_calloc(states, plan->function_count + 1, sizeof(*list));
	int mem = memory_with(states, index);

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

static uint32_t add_function_part(struct states *states, uint32_t index,
				  uint32_t in_plan)
{
	if (grow_array(states->parts, states->part_room,
		       states->part_count + 1) < 0)
		return NONE;
	states->parts[states->part_count] = (struct states_part){
		.module = index,
		.index = in_plan,
		.next = NONE,
	};
	return (uint32_t)states->part_count++;
}

/* Adds @part to @function. Under the lock. */
static void join_part(struct states *states, struct function *function,
		      uint32_t part)
{
	const struct states_module *module =
		&states->modules[states->parts[part].module];
	const struct code_function *planned =
		&module->plan->plan->functions[states->parts[part].index];
	/* The controller knows the function by the number of its first part, so
	 * that one stays first. */
	uint32_t *link = &function->parts;

	if (!states_calls_admit(states, module, planned, function))
		return;
	while (*link != NONE)
		link = &states->parts[*link].next;
	*link = part;
	function->sites += planned->count;
	if (function->connected && planned->count && !planned->refused)
		function->joins = true;
	else if (planned->refused)
		function->refused = code_refusal_text(planned->refused);
	else if (!planned->count && !function->refused)
		function->refused = "none of its calls was found";
}

/* Returns the function of @part if it is back at @address: it keeps its number,
 * counts and state. Returns NULL if another function is there now. Under the
 * lock. */
static struct function *revive_function(struct states *states, uint32_t part,
					uint64_t address)
{
	uint32_t number = states->parts[part].number;
	struct function *function =
		number ? &states->functions[states->owner[number]] : NULL;

	if (!function || function->address != (address & ADDRESS_MASK))
		return NULL;
	if (function->parts == NONE) {
		function->sites = 0;
		function->refused = NULL;
		function->connected = false;
	}
	return function;
}

static bool list_function(struct states *states, uint32_t index,
			  uint32_t in_plan, uint64_t address, uint32_t part)
{
	const struct states_module *module = &states->modules[index];
	const struct code_function *planned =
		&module->plan->plan->functions[in_plan];
	struct function *function = NULL;

	if (!address ||
	    (planned->name &&
	     !states_calls_function(states, module, planned, address)))
		return true;
	if (part != NONE)
		function = revive_function(states, part, address);
	if (!function) {
		part = add_function_part(states, index, in_plan);
		if (part != NONE)
			function = add_module_function(states, address, module,
						       planned);
	}
	if (function)
		join_part(states, function, part);
	return function;
}

/* Returns the former parts of the module at @index, which has returned, by
 * their place in the plan; NONE: no part. The caller frees the array. Returns
 * NULL for a new module, or without memory. */
static uint32_t *find_old_parts(const struct states *states, uint32_t index)
{
	const struct states_module *module = &states->modules[index];
	size_t count =
		module->plan->plan ? module->plan->plan->function_count : 0;
	uint32_t *old =
		module->again ? malloc((count + 1) * sizeof(*old)) : NULL;

	for (size_t i = 0; old && i < count; i++)
		old[i] = NONE;
	for (size_t i = 0; old && i < states->part_count; i++)
		if (states->parts[i].module == index)
			old[states->parts[i].index] = (uint32_t)i;
	return old;
}

void states_say_no_memory(const char *path)
{
	static struct log_limit limit;

	log_limited(&limit, LOG_WARN,
		    "no memory for functions of %s: they cannot be changed, "
		    "and those of an entry build are not recorded (free "
		    "memory)",
		    path);
}

/* Keeps the path of a file without hooks whose functions --patch asked for. */
static void note_unplanned(struct states *states, const char *path,
			   const char *why)
{
	struct states_unplanned *known = states->unplanned;
	struct states_unplanned *end =
		known + MIN(states->unplanned_files, STATES_UNPLANNED_MAX);

	while (known < end && strcmp(known->path, path) != 0)
		known++;
	if (known < end)
		return;
	lock_acquire(&states->lock);
	if (end < states->unplanned + STATES_UNPLANNED_MAX) {
		end->path = strdup(path);
		end->why = why;
	}
	if (end == states->unplanned + STATES_UNPLANNED_MAX || end->path)
		states->unplanned_files++;
	lock_release(&states->lock);
}

/* Returns true if @module is a part of a file whose functions are moved where another
 * mapping has it: V8 maps a part of its own text once more. All of a file once more
 * is a copy in another namespace, whose calls are missing. */
static bool is_moved_elsewhere(const struct states *states,
			       const struct states_module *module)
{
	for (size_t i = 0; i < states->module_count; i++) {
		const struct states_plan *plan = states->modules[i].plan;

		if (!states->modules[i].gone && plan->moves && plan->plan &&
		    module->end - module->start < plan->plan->text_bytes &&
		    symbol_file_is_same(plan->file, module->plan->file))
			return true;
	}
	return false;
}

static void list_module_functions(struct states *states, uint32_t index,
				  const uint64_t *addresses)
{
	static struct log_limit limit;
	struct states_module *module = &states->modules[index];
	const struct code_plan *plan = module->plan->plan;
	uint32_t *old = find_old_parts(states, index);
	bool listed = addresses || !plan;

	if (module->plan->unread)
		log_limited(&limit, LOG_WARN,
			    "no function of %s can be changed, and none of an "
			    "entry build is recorded: %s",
			    module->path, module->plan->why);
	if (!plan && module->plan->unread && module->plan->moves)
		note_unplanned(states, module->path, module->plan->why);
	else if (!plan && module->unpatched &&
		 !is_moved_elsewhere(states, module))
		note_unplanned(states, module->path,
			       "it came after the program had started");
	lock_acquire(&states->lock);
	for (size_t i = 0; addresses && i < plan->function_count; i++)
		listed &= list_function(states, index, (uint32_t)i,
					addresses[i], old ? old[i] : NONE);
	module->listed = true;
	states->evaluated = false;
	states->late_news |= module->late;
	lock_release(&states->lock);
	free(old);
	if (!listed)
		states_say_no_memory(module->path);
	if (plan)
		states_module_came(states, index);
}

/* Returns true if the program has filled in all @addresses: a load is reported
 * before that. @final: as for states_calls_are_bound(). Slots of weak functions
 * without a definition are never filled in. So after RELOCATION_NS the others
 * are listed without those: list_function() skips 0, and
 * states_calls_function() the bytes of the file. */
static bool are_relocated(const struct states_module *module,
			  const uint64_t *addresses, bool final)
{
	const struct code_plan *plan = module->plan->plan;

	if (clock_boottime_ns() - module->came_ns > RELOCATION_NS)
		return true;
	for (size_t i = 0; addresses && i < plan->function_count; i++)
		if (!addresses[i] && !plan->functions[i].name)
			return false;
	return !addresses || states_calls_are_bound(module, addresses, final);
}

/* Lists the functions of the planned module at @index, if the program has
 * filled in their addresses. Returns true if that is done. */
static bool list_when_relocated(struct states *states, uint32_t index)
{
	const struct states_module *module = &states->modules[index];
	const bool final = states_calls_are_final(states);
	uint64_t *addresses =
		module->plan->plan ? read_addresses(states, index) : NULL;
	bool relocated = are_relocated(module, addresses, final);

	if (relocated)
		list_module_functions(states, index, addresses);
	states_free(states, addresses);
	return relocated;
}

/* Returns true if the functions of the planned module cannot be moved any more,
 * because threads run, but have sites as well: it is an entry build. */
static bool needs_sites(const struct states *states,
			const struct states_module *module)
{
	const struct code_plan *plan = module->plan->plan;

	return plan && !plan->is_moved && plan->moves.count &&
	       !module->opening &&
	       (!states->hold_ns || arena_setup(states->arena)->late);
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
			if (needs_sites(states, module)) {
				states_leave_alone(states, i);
				done = false;
				break;
			}
			done = list_when_relocated(states, i) && done;
			/* A failed plan may also have taken that long. */
			if (clock_boottime_ns() >= until_ns &&
			    i + 1 < states->module_count)
				return false;
		}
	}
	return done;
}

/* Returns true if another module has been at the place of @module, so its
 * numbers are not reusable. */
static bool shares_place(const struct states *states,
			 const struct states_module *module)
{
	for (size_t i = 0; i < states->module_count; i++) {
		const struct states_module *other = &states->modules[i];

		if (other != module && other->start < module->end &&
		    module->start < other->end)
			return true;
	}
	return false;
}

/* @moves: its functions may be moved. */
static uint32_t find_loaded_module(const struct states *states,
				   const struct module_file *file, bool moves)
{
	uint32_t gone = NONE;

	for (uint32_t i = 0; i < states->module_count; i++) {
		const struct states_module *module = &states->modules[i];

		if (module->bias != file->bias ||
		    !symbol_file_is_same(module->plan->file, file->file))
			continue;
		if (!module->gone)
			return i;
		if (module->start == file->start && module->end == file->end &&
		    module->plan->moves >= moves &&
		    !shares_place(states, module))
			gone = i;
	}
	return gone;
}

static void drop_user(struct states_thread *thread, struct states_plan *plan)
{
	lock_acquire(&thread->lock);
	plan->users--;
	lock_release(&thread->lock);
}

/* Drops modules at the place of @file that no process has any more. */
static void drop_modules_below(struct states *states,
			       const struct module_file *file)
{
	for (uint32_t i = 0; i < states->module_count; i++) {
		const struct states_module *module = &states->modules[i];

		if (!module->gone && module->start < file->end &&
		    file->start < module->end && !states_has_module(states, i))
			states_drop_module(states, i);
	}
}

/* Returns true if @path is the file that @process executes. */
static bool is_program_of(const struct states_process *process,
			  const char *path)
{
	char link[32], exe[PATH_MAX];
	ssize_t bytes;

	snprintf(link, sizeof(link), "/proc/%d/exe", (int)process->pid);
	bytes = readlink(link, exe, sizeof(exe) - 1);
	exe[MAX(bytes, 0)] = '\0';
	return !strcmp(exe, path);
}

static uint32_t new_module(struct states *states,
			   const struct module_file *file, uint32_t generation,
			   bool patch, uint32_t opening)
{
	const struct collect_options *options =
		states->thread->collector->options;
	/* Jumps are written only while the program waits. */
	bool moves = patch && (!states->planning || opening);
	struct states_plan *plan;
	uint32_t index = NONE;

	for (size_t i = 0; patch && i < options->patch_glob_count; i++)
		if (collect_options_names_file(options->patch_globs[i],
					       file->path))
			filter_matches_mark(states_matches(states),
					    FILTER_PATCH, i);
	drop_modules_below(states, file);
	if (states->module_count == MODULES_MAX)
		return NONE;
	plan = plan_of_file(states->thread, file->file, moves,
			    options->calls_to &&
				    !collect_options_never_patch(file->path));
	if (!plan) {
		states_say_no_memory(file->path);
		return NONE;
	}
	states->refresh_pause_ns = 0;
	lock_acquire(&states->lock);
	if (grow_array(states->modules, states->module_room,
		       states->module_count + 1) == 0) {
		index = (uint32_t)states->module_count++;
		states->modules[index] = (struct states_module){
			.start = file->start,
			.end = file->end,
			.bias = file->bias,
			.path = file->path,
			.plan = plan,
			.generation = generation,
			.came_ns = clock_boottime_ns(),
			.late = states->planning,
			.unpatched = patch && !moves,
			.opening = opening,
		};
	}
	lock_release(&states->lock);
	if (index == NONE) {
		drop_user(states->thread, plan);
		states_say_no_memory(file->path);
	}
	return index;
}

static void revive_module(struct states *states, uint32_t index,
			  uint32_t opening)
{
	struct states_module *module = &states->modules[index];

	lock_acquire(&states->lock);
	module->came_ns = clock_boottime_ns();
	module->late = true;
	module->again = true;
	module->opening = opening;
	module->gone = module->left = module->listed = false;
	lock_release(&states->lock);
}

void states_leave_alone(struct states *states, uint32_t index)
{
	struct states_module *module = &states->modules[index];
	struct states_plan *plan;

	if (module->listed || !module->plan->moves)
		return;
	plan = plan_of_file(states->thread, module->plan->file, false,
			    module->plan->calls);
	if (!plan)
		return;
	drop_user(states->thread, module->plan);
	lock_acquire(&states->lock);
	module->plan = plan;
	module->unpatched = true;
	lock_release(&states->lock);
}

/* Returns the earliest possible load time of a module that @process has not
 * reported before; 0: at its start. */
static uint64_t loaded_since(const struct states *states,
			     const struct states_process *process)
{
	if (!states->planning)
		return 0;
	if (process->first_opened_ns)
		return process->first_opened_ns;
	if (process->opened_ns)
		return process->opened_ns;
	return process->looked_ns ? process->looked_ns : clock_boottime_ns();
}

/* Returns true while dlopen() may still report @file, which is in the map. A file
 * of another namespace is never reported. */
static bool is_to_be_reported(struct states *states,
			      const struct module_file *file)
{
	struct states_awaited *awaited =
		&states->awaited[file->start / 4096 %
				 ARRAY_SIZE(states->awaited)];
	uint64_t now = clock_boottime_ns();

	if (!states->planning || !states_report_openings(states))
		return false;
	if (awaited->start != file->start)
		*awaited = (struct states_awaited){ file->start, now };
	return now - awaited->ns < REPORT_NS;
}

void states_add_module(struct states *states, struct states_process *process,
		       const struct module_file *file)
{
	const struct collect_options *options =
		states->thread->collector->options;
	uint32_t opening = states_opening_of(states, process, file->start);
	uint32_t index;
	bool patch;

	/* JIT code, our thunks and the vdso are memory without a file. */
	if (file->path[0] != '/' || !strncmp(file->path, "/memfd:", 7))
		return;
	patch = options->patch &&
		collect_options_patch(options, file->path,
				      is_program_of(process, file->path));
	index = find_loaded_module(states, file, patch && opening);
	if (patch && !opening &&
	    (index == NONE || states->modules[index].gone) &&
	    is_to_be_reported(states, file))
		return;
	if (index == NONE)
		index = new_module(states, file, process->generation, patch,
				   opening);
	else if (states->modules[index].gone)
		revive_module(states, index, opening);
	if (index == NONE)
		return;
	states->has_openings |= opening != 0;
	states_module_joins(states, process, index,
			    loaded_since(states, process));
}

static uint32_t first_part_number(const struct states *states,
				  const struct function *function)
{
	return function->parts == NONE ? 0
				       : states->parts[function->parts].number;
}

void states_drop_module(struct states *states, uint32_t index)
{
	for (struct states_process *process = states_first(states); process;
	     process = process->next)
		states_module_leaves(process, index);
	lock_acquire(&states->lock);
	states->modules[index].gone = true;
	for (size_t i = 0; i < states->function_count; i++) {
		struct function *function = &states->functions[i];
		uint32_t *link = &function->parts;
		uint32_t number = first_part_number(states, function);

		while (*link != NONE)
			if (states->parts[*link].module == index)
				*link = states->parts[*link].next;
			else
				link = &states->parts[*link].next;
		if (function->parts == NONE)
			function->connected = function->joins =
				function->wants_connection = false;
		if (number && number != first_part_number(states, function) &&
		    states->controller) {
			controller_forget(states->controller, number);
			function->state_told = 0;
		}
	}
	lock_release(&states->lock);
}

void states_name(struct states *states, struct function *function)
{
	const struct states_process *holder;
	struct symbol symbol;

	if (function->name || function->parts == NONE)
		return;
	holder = states_holder(states, states->parts[function->parts].module);
	if (!holder)
		return;
	states_go_away(states);
	modules_resolve(holder->modules, function->address,
			function->generation, &symbol);
	states_come_back(states);
	lock_acquire(&states->lock);
	function->name = symbol.name;
	function->module = symbol.module;
	lock_release(&states->lock);
}
