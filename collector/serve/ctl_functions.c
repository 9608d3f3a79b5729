/* SPDX-License-Identifier: Apache-2.0
 *
 * ctl_functions - passes requests to the thread perfrec-states. The answer is
 * created when all programs have applied the changes.
 */
#include "collector/serve/ctl_functions.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/json_text.h"
#include "collector/options/ctl_wire.h"
#include "collector/record/arena.h"
#include "collector/serve/ctl_answer.h"
#include "collector/states/states.h"

#define CHANGES_MAX 1024

struct ctl_functions {
	char *changes; /* may be NULL */
	const char *list[CHANGES_MAX]; /* into changes: a letter and a glob */
	size_t globs;
	size_t count;
	struct asked {
		struct arena *arena; /* a reference */
		struct states_ask *ask;
	} asked[];
};

static int cut_changes(struct ctl_functions *functions)
{
	char *next;

	for (char *change = functions->changes; change; change = next) {
		next = strchr(change, '\t');
		if (next)
			*next++ = '\0';
		if (!change[0] || !change[1] ||
		    functions->globs == CHANGES_MAX ||
		    (change[0] != CTL_FUNCTIONS_SPAN &&
		     change[0] != CTL_FUNCTIONS_COUNT &&
		     change[0] != CTL_FUNCTIONS_OFF))
			return -EINVAL;
		functions->list[functions->globs++] = change;
	}
	return 0;
}

int ctl_functions_start(struct arena *const *arena, size_t count,
			const char *changes, struct ctl_functions **out,
			const char **wrong)
{
	struct ctl_functions *functions =
		calloc(1, sizeof(*functions) + count * sizeof(struct asked));
	int err = 0;

	*out = NULL;
	if (!functions)
		return -ENOMEM;
	if (changes) {
		functions->changes = strdup(changes);
		err = functions->changes ? cut_changes(functions) : -ENOMEM;
	}
	if (err == -EINVAL)
		*wrong = "these are no changes of functions";
	for (size_t i = 0; i < count && !err; i++) {
		err = states_ask_start(arena[i], functions->list,
				       functions->globs,
				       &functions->asked[i].ask);
		if (err)
			break;
		functions->asked[i].arena = arena_get(arena[i]);
		functions->count++;
	}
	if (err == -E2BIG)
		*wrong = "too many different patterns were asked for (use "
			 "patterns that match more)";
	if (err)
		ctl_functions_free(&functions);
	*out = functions;
	return err;
}

bool ctl_functions_are_done(const struct ctl_functions *functions)
{
	for (size_t i = 0; i < functions->count; i++)
		if (!states_ask_is_done(functions->asked[i].ask))
			return false;
	return true;
}

static json_t *describe_function(const struct states_function *function)
{
	static const char *const names[] = {
		[FUNCTION_SPAN] = "span",
		[FUNCTION_COUNTED] = "counted",
		[FUNCTION_OFF] = "off",
		[FUNCTION_DRAINING] = "counted",
	};
	json_t *row = json_object();

	json_object_set_new(row, "name",
			    json_text(function->name ? function->name : ""));
	json_object_set_new(
		row, "module",
		json_text(function->module ? function->module : ""));
	json_object_set_new(row, "state", json_string(names[function->state]));
	json_object_set_new(row, "by_hand", json_boolean(function->by_hand));
	json_object_set_new(row, "gated", json_boolean(function->gated));
	json_object_set_new(row, "entry_build",
			    json_boolean(function->entry_build));
	ctl_set_number(row, "sites", function->sites);
	if (function->counted)
		ctl_set_number(row, "calls", function->calls);
	if (function->ended)
		ctl_set_number(row, "mean_ns",
			       function->ended_ns / function->ended);
	ctl_set_number(row, "cost_ns", function->cost_ns);
	json_object_set_new(row, "cost_each_ns",
			    json_real((double)function->cost_each_ns));
	json_object_set_new(row, "cost_share",
			    json_real((double)function->cost_share));
	if (function->refused)
		json_object_set_new(row, "refused",
				    json_text(function->refused));
	return row;
}

static const char *find_unmatched(const struct ctl_functions *functions)
{
	for (size_t glob = 0; glob < functions->globs; glob++) {
		bool matched = false;

		for (size_t i = 0; i < functions->count && !matched; i++)
			matched = states_ask_has_matched(
				functions->asked[i].ask, glob);
		if (!matched)
			return functions->list[glob] + 1;
	}
	return NULL;
}

static const char *find_trouble(const struct ctl_functions *functions)
{
	const char *trouble = NULL;

	for (size_t i = 0; i < functions->count; i++) {
		trouble = states_ask_trouble(functions->asked[i].ask);
		if (!trouble)
			return NULL;
	}
	return trouble;
}

static json_t *describe_arena_functions(struct arena *arena)
{
	struct states_function *list;
	size_t count = states_list(arena, &list);
	json_t *rows = json_array();

	for (size_t i = 0; i < count; i++)
		json_array_append_new(rows, describe_function(&list[i]));
	free(list);
	return rows;
}

json_t *ctl_functions_end(struct ctl_functions **functions, json_t *json)
{
	struct ctl_functions *old = *functions;
	json_t *programs = json_array(), *program;
	const char *trouble = find_trouble(old);
	const char *unmatched = find_unmatched(old);
	char error[512];

	for (size_t i = 0; i < old->count; i++) {
		program = json_object();
		ctl_set_number(program, "session",
			       arena_session(old->asked[i].arena)->number);
		json_object_set_new(
			program, "functions",
			describe_arena_functions(old->asked[i].arena));
		json_array_append_new(programs, program);
	}
	if (trouble) {
		json_decref(json);
		json = ctl_answer_error(trouble);
		json_decref(programs);
	} else if (unmatched) {
		snprintf(error, sizeof(error),
			 "no function that can be recorded matches '%.400s'",
			 unmatched);
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
	free(old->changes);
	free(old);
}
