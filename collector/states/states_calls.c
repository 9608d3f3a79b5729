/* SPDX-License-Identifier: Apache-2.0
 *
 * states_calls - functions that are called through slots of other files
 * (--calls-to, code_calls.h). The address in a slot identifies the function, so
 * a function has a part in each file that calls it. A function that its own file
 * also records has no such parts, or each call would be recorded twice.
 */
#include <fnmatch.h>
#include <string.h>

#include "collector/base/path.h"
#include "collector/code/code_plan.h"
#include "collector/names/filter_matches.h"
#include "collector/options/collect_options.h"
#include "collector/record/arena.h"
#include "collector/record/collector.h"
#include "collector/states/states_inner.h"
#include "shared/atomic.h"
#include "shared/compiler.h"

bool states_calls_name(void *context, const char *name)
{
	const struct states_plan *plan = context;
	bool wanted = false;

	for (size_t i = 0; i < plan->options->calls_to_count && !wanted; i++)
		wanted = collect_options_calls(plan->options->calls_to[i], name,
					       NULL);
	return wanted;
}

static const struct states_module *module_at(const struct states *states,
					     uint64_t address)
{
	for (size_t i = 0; i < states->module_count; i++) {
		const struct states_module *module = &states->modules[i];

		if (!module->gone && address >= module->start &&
		    address < module->end)
			return module;
	}
	return NULL;
}

static bool is_shim(const struct states_module *of)
{
	return !fnmatch("libperfrec_preload*", path_name(of->path), 0);
}

/* Returns the path of the library that a call of @name in @of reaches. The shim's
 * wrappers of these functions only look at a bit, and jump to the C library
 * (preload/sync/interpose_write.c). */
static const char *path_of_callee(const struct states_module *of,
				  const char *name)
{
	static const char *const passed[] = {
		"write",    "writev",	     "send",	 "sendto", "sendmsg",
		"sendmmsg", "eventfd_write", "shutdown", "close"
	};

	for (size_t i = 0; i < ARRAY_SIZE(passed) && is_shim(of); i++)
		if (!strcmp(name, passed[i]))
			return "libc.so.6";
	return of->path;
}

/* Returns the bytes of the file at the slot of @planned: 0, or the address of
 * the stub that binds it. */
static uint64_t unbound_address(const struct code_plan *plan,
				const struct code_function *planned)
{
	uint64_t file = 0;

	if (planned->count)
		memcpy(&file,
		       plan->sites[plan->function_sites[planned->first]].bytes,
		       sizeof(file));
	return file;
}

bool states_calls_are_final(const struct states *states)
{
	/* order: acq, FLAGS: the slots, which are read next, were written
	 * before */
	return atom_load_acq(&arena_setup(states->arena)->page->flags) &
	       PAGE_BOUND;
}

bool states_calls_are_bound(const struct states_module *module,
			    const uint64_t *addresses, bool final)
{
	const struct code_plan *plan = module->plan->plan;

	for (size_t i = 0; i < plan->function_count; i++) {
		const struct code_function *planned = &plan->functions[i];
		uint64_t file;

		if (!planned->name)
			continue;
		if (!module->late && !final)
			return false;
		/* Slots of weak functions that nobody defines stay 0. */
		if (planned->refused)
			continue;
		file = unbound_address(plan, planned);
		/* A late module is reported before it is relocated. */
		if (module->late &&
		    (!addresses[i] ||
		     (file && addresses[i] == file && module->bias)))
			return false;
	}
	return true;
}

bool states_calls_function(const struct states *states,
			   const struct states_module *module,
			   const struct code_function *planned,
			   uint64_t address)
{
	const struct code_plan *plan = module->plan->plan;
	const uint64_t file = unbound_address(plan, planned);
	const struct states_module *of = module_at(states, address);
	const struct collect_options *options =
		states->thread->collector->options;
	const char *name = plan->slot_names + planned->name;
	bool wanted = false;

	if (!of ||
	    (file && (address == file || address == file + module->bias)))
		return false;
	for (size_t i = 0; i < options->calls_to_count; i++) {
		if (!collect_options_calls(options->calls_to[i], name,
					   path_of_callee(of, name)))
			continue;
		filter_matches_mark(states_matches(states), FILTER_CALLS, i);
		wanted = true;
	}
	return wanted;
}

/* Returns true if the arguments of function @name of glibc fit into eight words
 * of the stack. */
static bool has_few_arguments(const char *path, const char *name)
{
	static const char *const libraries[] = {
		"libc.so.6",  "libm.so.6",  "libpthread.so.0",
		"librt.so.1", "libdl.so.2", "libresolv.so.2"
	};
	static const char *const variable[] = {
		"*printf*", "*scanf*",	"err*",	  "verr*", "warn*",
		"*syslog*", "strfmon*", "execl*", "argp_*"
	};
	bool ours = false;

	for (size_t i = 0; i < ARRAY_SIZE(libraries); i++)
		ours |= !strcmp(path_name(path), libraries[i]);
	for (size_t i = 0; i < ARRAY_SIZE(variable); i++)
		ours = ours && fnmatch(variable[i], name, 0) != 0;
	return ours;
}

/* Returns true if a function that cannot be moved can be called by a thunk of
 * --calls-to: only its first instructions are in the way, or its arguments on
 * the stack, which that thunk copies. */
static bool suits_slots(uint8_t refusal)
{
	return refusal == CODE_TOO_SHORT || refusal == CODE_ENTERED_WITHIN ||
	       refusal == CODE_CALLS_EARLY || refusal == CODE_CATCHES_EARLY ||
	       refusal == CODE_NOT_RELOCATABLE ||
	       refusal == CODE_VARIABLE_ARGUMENTS || refusal == CODE_ARGUMENTS;
}

bool states_calls_admit(const struct states *states,
			const struct states_module *module,
			const struct code_function *planned,
			struct function *function)
{
	const struct states_module *of = module_at(states, function->address);
	const struct code_plan *plan = module->plan->plan;

	if (!planned->name && plan->is_moved && suits_slots(planned->refused)) {
		if (function->called && function->parts != NONE)
			return false;
		function->suits_slots = true;
	}
	if (planned->name && (function->parts == NONE ||
			      (function->suits_slots && !function->called))) {
		const char *name = plan->slot_names + planned->name;
		const char *path = of ? path_of_callee(of, name) : "";

		function->called = true;
		function->moved = function->hookless = false;
		function->entry_build = planned->entry_build;
		function->parts = NONE;
		function->sites = 0;
		function->many_arguments = !has_few_arguments(path, name);
		function->refused = NULL;
		if (of && is_shim(of) && path == of->path)
			function->refused =
				"perfrec's library stands in front of it";
		else if (of && !fnmatch("ld-linux*", path_name(path), 0))
			function->refused = "it belongs to the dynamic linker";
	} else if (!planned->name && function->called) {
		/* Its calls through slots are not connected yet, or never. */
		function->called = false;
		function->moved = code_plan_moves(plan, planned);
		function->hookless = plan->is_moved;
		function->entry_build = planned->entry_build;
		function->parts = NONE;
		function->sites = 0;
		function->refused = NULL;
	}
	return !planned->name || function->called;
}
