/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/read/slowest.h"

#include <stdlib.h>

#include "collector/base/grow.h"
#include "shared/compiler.h"

#define BAR_CELLS_MAX (1u << 19) /* 24 MB */
#define ARGUMENT_BYTES_MAX (4u << 20)

void slowest_init(struct slowest *slowest)
{
	*slowest = (struct slowest){ 0 };
	time_cells_init(&slowest->bars, BAR_CELLS_MAX);
}

void slowest_release(struct slowest *slowest)
{
	for (uint32_t i = 0; i < slowest->count; i++) {
		for (uint32_t k = 0; k < slowest->functions[i].count; k++)
			free(slowest->functions[i].calls[k].arguments);
		free(slowest->functions[i].calls);
	}
	free(slowest->functions);
	free(slowest->function_of);
	time_cells_release(&slowest->bars);
	*slowest = (struct slowest){ 0 };
}

/* Returns the number of the function @name plus 1; 0: no room. */
static uint32_t find_slow_function(struct slowest *slowest, uint32_t name)
{
	if (likely(name < slowest->text_room && slowest->function_of[name]))
		return slowest->function_of[name];
	if (slowest->count == SLOWEST_FUNCTIONS ||
	    grow_array_zeroed(slowest->function_of, slowest->text_room,
			      (size_t)name + 1) ||
	    grow_array(slowest->functions, slowest->room, slowest->count + 1))
		return 0;
	slowest->functions[slowest->count++] =
		(struct slow_function){ .name = name };
	return slowest->function_of[name] = slowest->count;
}

static struct slow_call *fastest_of(const struct slow_function *function)
{
	struct slow_call *fastest = &function->calls[0];

	for (uint32_t i = 1; i < function->count; i++)
		if (function->calls[i].took_ns < fastest->took_ns)
			fastest = &function->calls[i];
	return fastest;
}

struct slow_call *slowest_add(struct slowest *slowest, uint32_t name,
			      uint64_t begin_ns, uint64_t took_ns)
{
	uint32_t number = find_slow_function(slowest, name);
	struct slow_function *function;
	struct slow_call *call;
	struct time_cell *cell;

	if (unlikely(!number)) {
		slowest->refused++;
		return NULL;
	}
	function = &slowest->functions[number - 1];
	cell = time_cells_get(&slowest->bars, number - 1, slowest_bar(took_ns),
			      begin_ns, &function->hint);
	if (cell)
		cell->calls++;
	if (likely(function->count == SLOWEST_CALLS &&
		   took_ns <= function->least_ns))
		return NULL;
	if (function->count == SLOWEST_CALLS) {
		call = fastest_of(function);
		if (call->arguments)
			slowest->argument_bytes -= call->arguments->bytes;
		free(call->arguments);
	} else {
		if (grow_array(function->calls, function->room,
			       function->count + 1))
			return NULL;
		call = &function->calls[function->count++];
	}
	*call = (struct slow_call){ .begin_ns = begin_ns, .took_ns = took_ns };
	function->least_ns = fastest_of(function)->took_ns;
	return call;
}

void slowest_set_arguments(struct slowest *slowest, struct slow_call *call,
			   struct call_arguments *arguments)
{
	if (arguments &&
	    slowest->argument_bytes + arguments->bytes > ARGUMENT_BYTES_MAX) {
		free(arguments);
		arguments = NULL;
	}
	if (arguments)
		slowest->argument_bytes += arguments->bytes;
	call->arguments = arguments;
}

static int compare_slow_calls(const void *a, const void *b)
{
	const struct slow_call *x = a, *y = b;

	if (x->took_ns != y->took_ns)
		return x->took_ns > y->took_ns ? -1 : 1;
	return x->begin_ns < y->begin_ns ? -1 : x->begin_ns > y->begin_ns;
}

void slowest_finish(struct slowest *slowest)
{
	for (uint32_t i = 0; i < slowest->count; i++)
		qsort(slowest->functions[i].calls, slowest->functions[i].count,
		      sizeof(struct slow_call), compare_slow_calls);
	time_cells_sort(&slowest->bars);
}
