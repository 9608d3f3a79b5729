/* SPDX-License-Identifier: Apache-2.0
 *
 * states_words - the arguments of functions that --args wants. Their layouts come
 * from a signature or from debug information, and have numbers before the
 * functions are connected, because a thunk stores the number.
 */
#include <stdlib.h>
#include <string.h>

#include "collector/base/log.h"
#include "collector/code/code_plan.h"
#include "collector/names/call_signature.h"
#include "collector/names/filter_matches.h"
#include "collector/names/io_calls.h"
#include "collector/names/name_pattern.h"
#include "collector/names/symbols.h"
#include "collector/options/collect_options.h"
#include "collector/record/arena.h"
#include "collector/record/collector.h"
#include "collector/states/states_inner.h"

/* A function whose types are in the debug information of its module. */
struct asked {
	uint32_t function; /* in states->functions */
	uint32_t module;
	uint64_t vaddr;
};

struct asking {
	struct states *states;
	const struct asked *now; /* in a list that is sorted */
	size_t unknown; /* functions of a module without debug information */
};

/* Returns the last signature that matches @function, or NULL. */
static const struct call_signature *signature_of(
	const struct states *states, const struct function *function)
{
	const struct collect_options *options =
		states->thread->collector->options;
	const struct call_signature *last = NULL;

	for (size_t i = 0; function->name && i < options->args_count; i++) {
		if (!name_pattern_matches(options->args[i].pattern,
					  function->name, function->module))
			continue;
		filter_matches_mark(states_matches(states), FILTER_ARGS, i);
		last = &options->args[i];
	}
	return last;
}

/* The compiler may have removed the result of such a copy of a function. */
static bool is_compilers_copy(const char *name)
{
	static const char *const marks[] = { ".isra.", ".constprop.",
					     ".part." };

	for (size_t i = 0; i < ARRAY_SIZE(marks); i++)
		if (strstr(name, marks[i]))
			return true;
	return false;
}

/* Gives @layout, which is empty afterwards, a number, and @function its words, if
 * something of a call can be read. */
static void take_layout(struct states *states, struct function *function,
			struct call_layout *layout, bool texts)
{
	struct call_layouts *layouts = arena_setup(states->arena)->layouts;
	uint32_t number = call_layouts_next(layouts);
	struct thunk_words words;

	layout->function = function->address;
	if (!number || !call_layout_settle(layout, texts, number, &words) ||
	    call_layouts_add(layouts, layout) < 0)
		call_layout_release(layout);
	else
		function->words = words;
}

static void take_debug_layout(void *context, uint64_t vaddr,
			      struct call_layout *layout)
{
	struct asking *asking = context;
	struct states *states = asking->states;
	struct function *function;

	while (asking->now->vaddr != vaddr)
		asking->now++;
	function = &states->functions[asking->now->function];
	if (!layout) {
		asking->unknown++;
		return;
	}
	if (is_compilers_copy(function->name))
		layout->result.kind = CALL_VALUE_UNREAD;
	take_layout(states, function, layout,
		    states->thread->collector->options->args_strings);
}

/* Returns true once for each file: a build runs the same compiler a thousand
 * times. */
static bool is_first_word_of(struct states *states, struct states_plan *plan)
{
	bool first;

	lock_acquire(&states->thread->lock);
	first = !plan->args_told;
	plan->args_told = true;
	lock_release(&states->thread->lock);
	return first;
}

/* Reads debug information about the first functions of @list, up to the next
 * module. Returns their number. */
static size_t ask_about_module(struct states *states, const struct asked *list,
			       size_t count)
{
	struct asking asking = { .states = states, .now = list };
	const struct states_module *module = &states->modules[list->module];
	uint64_t *vaddr = states_calloc(states, count, sizeof(*vaddr));
	char why[SYMBOLIZE_WHY_BYTES] = "not enough memory";
	size_t taken = 0, unique = 0;
	int err = -1;

	for (; taken < count && list[taken].module == list->module; taken++)
		if (vaddr &&
		    (!unique || vaddr[unique - 1] != list[taken].vaddr))
			vaddr[unique++] = list[taken].vaddr;
	states_go_away(states);
	if (vaddr)
		err = symbol_file_calls(module->plan->file, vaddr, unique,
					take_debug_layout, &asking, why);
	states_come_back(states);
	states_free(states, vaddr);
	if (err)
		asking.unknown = taken;
	if (asking.unknown && is_first_word_of(states, module->plan))
		log_warn("%zu %s of %s will be recorded without arguments: "
			 "%s; or give types, such as --args "
			 "'f(int, str)->int'",
			 asking.unknown,
			 asking.unknown == 1 ? "function" : "functions",
			 module->path,
			 err ? why
			     : "not in its debug information (compile all of "
			       "it with -g)");
	return taken;
}

static int compare_asked(const void *left, const void *right)
{
	const struct asked *a = left, *b = right;

	if (a->module != b->module)
		return a->module < b->module ? -1 : 1;
	return (a->vaddr > b->vaddr) - (a->vaddr < b->vaddr);
}

static void ask_about(struct states *states, struct asked *list, size_t count)
{
	if (count)
		qsort(list, count, sizeof(*list), compare_asked);
	for (size_t i = 0; i < count;)
		i += ask_about_module(states, list + i, count - i);
}

/* Returns where the code of @planned starts. In an entry build that is behind the
 * call or sled: before, clang's debug information has no place of an argument. */
static uint64_t code_start_of(const struct code_plan *plan,
			      const struct code_function *planned)
{
	const struct code_move *move =
		plan->is_moved
			? NULL
			: code_moves_find(&plan->moves, planned->address);

	return planned->address + (move ? move->before + move->displaced : 0);
}

/* Finds the types of @function if @signature has them; otherwise adds it to
 * @list. Returns true if it was added. */
static bool want_words(struct states *states, uint32_t index,
		       const struct call_signature *signature,
		       struct asked *list)
{
	struct function *function = &states->functions[index];
	const struct states_part *part = &states->parts[function->parts];
	const struct code_plan *plan = states->modules[part->module].plan->plan;
	struct call_layout layout;

	if (!signature->has_types) {
		*list = (struct asked){
			.function = index,
			.module = part->module,
			.vaddr = code_start_of(plan,
					       &plan->functions[part->index]),
		};
		return true;
	}
	if (call_layout_copy(&signature->layout, &layout))
		take_layout(states, function, &layout, true);
	return false;
}

/* The C library's functions for files have known types. A function that may have
 * many arguments can be another library's with the same name. */
static void want_io_words(struct states *states, struct function *function)
{
	const struct states_part *part = &states->parts[function->parts];
	const struct code_plan *plan = states->modules[part->module].plan->plan;
	const struct io_call *call = io_call_find(
		plan->slot_names + plan->functions[part->index].name);
	char why[CALL_SIGNATURE_WHY_BYTES];
	struct call_signature signature;

	if (!call || function->many_arguments ||
	    call_signature_parse(call->signature, &signature, why))
		return;
	take_layout(states, function, &signature.layout, true);
	call_signature_release(&signature);
}

/* Says once for each file that functions of an entry build, such as @function,
 * are not moved. */
static void say_unmoved(struct states *states, const struct function *function)
{
	const struct states_module *module =
		&states->modules[states->parts[function->parts].module];

	if (is_first_word_of(states, module->plan))
		log_warn("'%s' and other functions of %s are recorded without "
			 "arguments: %s (docs/LIMITS.md)",
			 function->name, module->path,
			 module->plan->moves
				 ? "they cannot be moved"
				 : "only --patch moves them, at the start of "
				   "the program");
}

void states_find_words(struct states *states, const uint32_t *functions,
		       size_t count)
{
	struct asked *list;
	size_t asked = 0;

	if (!states->thread->collector->options->args_count &&
	    !states->thread->collector->options->calls_to)
		return;
	list = states_calloc(states, count + 1, sizeof(*list));
	for (size_t i = 0; list && i < count; i++) {
		struct function *function = &states->functions[functions[i]];
		const struct call_signature *signature;

		/* Functions of calls builds have no arguments. */
		if ((!function->called && !function->entry_build) ||
		    function->words.entry || function->words.exit ||
		    function->excluded || function->parts == NONE)
			continue;
		signature = signature_of(states, function);
		if (signature && !function->moved && !function->called)
			say_unmoved(states, function);
		else if (signature && (function->moved || signature->has_types))
			asked += want_words(states, functions[i], signature,
					    list + asked);
		else if (function->called)
			want_io_words(states, function);
	}
	if (list)
		ask_about(states, list, asked);
	states_free(states, list);
}
