/* SPDX-License-Identifier: Apache-2.0
 *
 * ctl_functions - what is asked goes to the thread perfrec-states; the answer
 * is made when all programs have obeyed.
 */
#include "collector/serve/ctl_functions.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/json_text.h"
#include "collector/record/arena.h"
#include "collector/serve/ctl_answer.h"
#include "collector/serve/ctl_wire.h"
#include "collector/states/states.h"
#include "shared/compiler.h"

#define CHANGES_MAX 1024

struct ctl_functions {
	size_t count;
	struct asked {
		struct arena *arena; /* a reference */
		struct states_ask *ask;
	} asked[];
};

/* Cuts @changes into @list. Returns how many there are; -EINVAL: they are not
 * what ctl_wire.h says. */
static int cut_changes(char *changes, const char *list[CHANGES_MAX])
{
	int count = 0;
	char *next;

	for (char *change = changes; change; change = next) {
		next = strchr(change, '\t');
		if (next)
			*next++ = '\0';
		if (!change[0] || !change[1] || count == CHANGES_MAX ||
		    (change[0] != CTL_FUNCTIONS_SPAN &&
		     change[0] != CTL_FUNCTIONS_COUNT &&
		     change[0] != CTL_FUNCTIONS_OFF))
			return -EINVAL;
		list[count++] = change;
	}
	return count;
}

int ctl_functions_start(struct arena *const *arena, size_t count,
			const char *changes, struct ctl_functions **out,
			const char **wrong)
{
	struct ctl_functions *functions =
		calloc(1, sizeof(*functions) + count * sizeof(struct asked));
	const char *list[CHANGES_MAX];
	char *copy = changes ? strdup(changes) : NULL;
	int globs = 0, err = functions && (copy || !changes) ? 0 : -ENOMEM;

	if (!err && changes)
		globs = cut_changes(copy, list);
	if (globs < 0) {
		*wrong = "these are no changes of functions";
		err = globs;
	}
	for (size_t i = 0; i < count && !err; i++) {
		err = states_ask_start(arena[i], list, (size_t)globs,
				       &functions->asked[i].ask);
		if (err)
			break;
		functions->asked[i].arena = arena_get(arena[i]);
		functions->count++;
	}
	free(copy);
	if (err)
		ctl_functions_free(&functions);
	*out = functions;
	return err;
}

bool ctl_functions_are_done(const struct ctl_functions *functions)
{
	const char *error;

	for (size_t i = 0; i < functions->count; i++)
		if (!states_ask_is_done(functions->asked[i].ask, &error))
			return false;
	return true;
}

static void set_number(json_t *object, const char *key, uint64_t number)
{
	json_object_set_new(object, key, json_integer((json_int_t)number));
}

static json_t *describe(const struct states_function *function)
{
	static const char *const names[] = {
		[FUNCTION_SPAN] = "span",
		[FUNCTION_COUNTED] = "counted",
		[FUNCTION_OFF] = "off",
		[FUNCTION_DRAINING] = "off",
	};
	json_t *row = json_object();

	json_object_set_new(row, "name",
			    json_text(function->name ? function->name : ""));
	json_object_set_new(
		row, "module",
		json_text(function->module ? function->module : ""));
	json_object_set_new(row, "state", json_string(names[function->state]));
	if (function->state == FUNCTION_COUNTED)
		set_number(row, "one_in", 1ULL << function->shift);
	json_object_set_new(row, "by_hand", json_boolean(function->by_hand));
	json_object_set_new(row, "gated", json_boolean(function->gated));
	json_object_set_new(row, "entry_build",
			    json_boolean(function->entry_build));
	set_number(row, "sites", function->sites);
	if (function->counted)
		set_number(row, "calls", function->calls);
	if (function->ended)
		set_number(row, "mean_ns",
			   function->ended_ns / function->ended);
	set_number(row, "cost_ns", function->cost_ns);
	json_object_set_new(row, "cost_each_ns",
			    json_real((double)function->cost_each_ns));
	json_object_set_new(row, "cost_share",
			    json_real((double)function->cost_share));
	if (function->refused)
		json_object_set_new(row, "refused",
				    json_text(function->refused));
	return row;
}

static json_t *describe_all(struct arena *arena)
{
	struct states_function *list;
	size_t count = states_list(arena, &list);
	json_t *rows = json_array();

	for (size_t i = 0; i < count; i++)
		json_array_append_new(rows, describe(&list[i]));
	free(list);
	return rows;
}

json_t *ctl_functions_end(struct ctl_functions **functions, json_t *json)
{
	struct ctl_functions *old = *functions;
	json_t *programs = json_array(), *program;
	const char *error = NULL, *one;

	for (size_t i = 0; i < old->count; i++) {
		states_ask_is_done(old->asked[i].ask, &one);
		error = error ? error : one;
		program = json_object();
		set_number(program, "session",
			   arena_session(old->asked[i].arena)->number);
		json_object_set_new(program, "functions",
				    describe_all(old->asked[i].arena));
		json_array_append_new(programs, program);
	}
	if (error) {
		json_decref(json);
		json = ctl_answer_error(error);
		json_decref(programs);
	} else {
		json_object_set_new(json, "functions", programs);
	}
	ctl_functions_free(functions);
	return json;
}

void ctl_functions_free(struct ctl_functions **functions)
{
	struct ctl_functions *old = *functions;

	*functions = NULL;
	if (!old)
		return;
	for (size_t i = 0; i < old->count; i++) {
		states_ask_end(&old->asked[i].ask);
		arena_put(&old->asked[i].arena);
	}
	free(old);
}
