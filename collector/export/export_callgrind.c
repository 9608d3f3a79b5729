/* SPDX-License-Identifier: Apache-2.0
 *
 * export_callgrind - the format of callgrind_annotate and KCachegrind. A
 * function has its self cost by line. A pair of caller and callee has the
 * number of calls and the total of the callee; each stack counts once, even if
 * it contains the pair several times. An unknown number of calls is 1:
 * callgrind_annotate takes costs after calls=0 for self costs of the caller.
 * Each value of the profile is an event, the chosen one first.
 */
#include "collector/export/formats.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/pool.h"
#include "collector/base/put.h"
#include "collector/show/pprof_rows.h"
#include "shared/compiler.h"
#include "shared/hash.h"

struct function {
	const char *name, *file, *module;
};

/* Self cost of a function in a line, by event. */
struct own_cost {
	uint32_t function, line;
	uint64_t values[PPROF_VALUES_MAX];
};

struct call_cost {
	uint32_t caller, line, callee, unused;
	uint64_t calls;
	uint64_t row; /* number + 1 of the last stack added */
	uint64_t values[PPROF_VALUES_MAX];
};

struct callgrind {
	struct pool functions, own, calls;
	uint32_t events[PPROF_VALUES_MAX]; /* values of the profile */
	size_t event_count;
	uint32_t calls_value;
	FILE *out;
	bool *told; /* by function: name written */
};

static uint64_t hash_function(const void *item)
{
	const struct function *function = item;
	uint64_t hash = hash_text(HASH_START, function->name);

	hash = hash_text(hash, function->file);
	return hash_fold(hash_text(hash, function->module));
}

static bool is_same_function(const void *a, const void *b)
{
	const struct function *left = a, *right = b;

	return !strcmp(left->name, right->name) &&
	       !strcmp(left->file, right->file) &&
	       !strcmp(left->module, right->module);
}

static int function_of(struct callgrind *callgrind,
		       const struct pprof_frame *frame, uint32_t *out)
{
	struct function function = { frame->name[0] ? frame->name : "[unknown]",
				     frame->file, frame->module };

	return MIN(pool_intern(&callgrind->functions, &function, out), 0);
}

/* --- summing up --- */

static void put_event_values(const struct callgrind *callgrind,
			     const struct pprof_row *row, uint64_t *values)
{
	for (size_t i = 0; i < callgrind->event_count; i++)
		values[i] += (uint64_t)MAX(row->self[callgrind->events[i]], 0);
}

static bool is_row_empty(const struct callgrind *callgrind,
			 const struct pprof_row *row)
{
	for (size_t i = 0; i < callgrind->event_count; i++)
		if (row->self[callgrind->events[i]] > 0)
			return false;
	return true;
}

static int add_own(struct callgrind *callgrind, const struct pprof_row *row)
{
	struct own_cost own = { .line = row->frames[0].line };
	struct own_cost *items;
	uint32_t number;

	if (function_of(callgrind, &row->frames[0], &own.function) ||
	    pool_intern(&callgrind->own, &own, &number) < 0)
		return -ENOMEM;
	items = callgrind->own.items;
	put_event_values(callgrind, row, items[number].values);
	return 0;
}

static int add_callgrind_row(struct callgrind *callgrind,
			     const struct pprof_row *row, uint64_t index)
{
	if (!row->depth || is_row_empty(callgrind, row))
		return 0;
	if (add_own(callgrind, row))
		return -ENOMEM;
	for (size_t at = 0; at + 1 < row->depth; at++) {
		const struct pprof_frame *caller = &row->frames[at] + 1;
		struct call_cost call = { .line = caller->line };
		struct call_cost *known;
		uint32_t number;

		if (function_of(callgrind, caller, &call.caller) ||
		    function_of(callgrind, &row->frames[at], &call.callee) ||
		    pool_intern(&callgrind->calls, &call, &number) < 0)
			return -ENOMEM;
		known = (struct call_cost *)callgrind->calls.items + number;
		if (known->row != index + 1)
			put_event_values(callgrind, row, known->values);
		known->row = index + 1;
		if (at == 0 && callgrind->calls_value != PPROF_NONE)
			known->calls +=
				(uint64_t)row->self[callgrind->calls_value];
	}
	return 0;
}

/* --- writing --- */

/* A name is the rest of a line. */
static void put_line_text(const char *text, FILE *out)
{
	put_line(text, strlen(text), NULL, out);
}

/* Writes "fn=(3) name", without the name if it @was_told. */
static void put_reference(const char *key, uint32_t number, const char *name,
			  bool was_told, FILE *out)
{
	put_text(key, out);
	put_text("=(", out);
	put_count(number + 1, out);
	put_char(')', out);
	if (!was_told) {
		put_char(' ', out);
		put_line_text(name[0] ? name : "???", out);
	}
	put_char('\n', out);
}

static void put_function(struct callgrind *callgrind, bool callee,
			 uint32_t number)
{
	const struct function *function =
		(const struct function *)callgrind->functions.items + number;
	bool was_told = callgrind->told[number];
	FILE *out = callgrind->out;

	callgrind->told[number] = true;
	put_reference(callee ? "cob" : "ob", number, function->module, was_told,
		      out);
	put_reference(callee ? "cfi" : "fl", number, function->file, was_told,
		      out);
	put_reference(callee ? "cfn" : "fn", number, function->name, was_told,
		      out);
}

static void put_cost(const struct callgrind *callgrind, uint32_t line,
		     const uint64_t *values)
{
	put_count(line, callgrind->out);
	for (size_t i = 0; i < callgrind->event_count; i++) {
		put_char(' ', callgrind->out);
		put_count(values[i], callgrind->out);
	}
	put_char('\n', callgrind->out);
}

static void put_events(const struct callgrind *callgrind,
		       const struct pprof *profile,
		       const struct pprof_rows *rows)
{
	FILE *out = callgrind->out;

	put_text("\npositions: line\nevents:", out);
	for (size_t i = 0; i < callgrind->event_count; i++) {
		const struct pprof_type *type =
			&profile->type[callgrind->events[i]];

		put_char(' ', out);
		put_line_text(type->type, out);
		if (strcmp(type->unit, "nanoseconds") == 0)
			put_text("_ns", out);
	}
	put_text("\nsummary:", out);
	for (size_t i = 0; i < callgrind->event_count; i++) {
		int64_t sum = rows->sum[callgrind->events[i]];

		put_char(' ', out);
		put_count((uint64_t)MAX(sum, 0), out);
	}
	put_char('\n', out);
}

static void put_call_cost(struct callgrind *callgrind,
			  const struct call_cost *call)
{
	FILE *out = callgrind->out;

	put_function(callgrind, true, call->callee);
	put_text("calls=", out);
	put_count(MAX(call->calls, 1), out);
	put_text(" 0\n", out);
	put_cost(callgrind, call->line, call->values);
}

static int compare_own(const void *a, const void *b)
{
	const struct own_cost *left = a, *right = b;

	if (left->function != right->function)
		return left->function < right->function ? -1 : 1;
	return left->line < right->line ? -1 : left->line > right->line;
}

static int compare_call_costs(const void *a, const void *b)
{
	const struct call_cost *left = a, *right = b;

	if (left->caller != right->caller)
		return left->caller < right->caller ? -1 : 1;
	if (left->line != right->line)
		return left->line < right->line ? -1 : 1;
	return left->callee < right->callee ? -1 : left->callee > right->callee;
}

static int write_rows(struct callgrind *callgrind,
		      const struct export_profile *profile,
		      const struct pprof_rows *rows)
{
	FILE *out;
	struct own_cost *own;
	struct call_cost *calls;
	uint32_t own_at, call_at;

	for (size_t i = 0; i < rows->count; i++)
		if (add_callgrind_row(callgrind, &rows->list[i], i))
			return -ENOMEM;
	callgrind->told = calloc(callgrind->functions.count + 1, 1);
	if (!callgrind->told)
		return -ENOMEM;
	out = callgrind->out;
	put_text("# callgrind format\nversion: 1\n"
		 "creator: perfrec " PERFREC_VERSION "\n",
		 out);
	put_text("cmd: ", out);
	put_line_text(profile->title, out);
	put_events(callgrind, profile->profile, rows);
	own = callgrind->own.items;
	calls = callgrind->calls.items;
	own_at = 0;
	call_at = 0;
	/* Sorting ends lookups in the pools. */
	if (callgrind->own.count)
		qsort(own, callgrind->own.count, sizeof(*own), compare_own);
	if (callgrind->calls.count)
		qsort(calls, callgrind->calls.count, sizeof(*calls),
		      compare_call_costs);
	for (uint32_t i = 0; i < callgrind->functions.count; i++) {
		put_char('\n', callgrind->out);
		put_function(callgrind, false, i);
		for (;
		     own_at < callgrind->own.count && own[own_at].function == i;
		     own_at++)
			put_cost(callgrind, own[own_at].line,
				 own[own_at].values);
		for (; call_at < callgrind->calls.count &&
		       calls[call_at].caller == i;
		     call_at++)
			put_call_cost(callgrind, &calls[call_at]);
	}
	return ferror(callgrind->out) ? -EIO : 0;
}

int export_callgrind(const struct export_profile *profile, FILE *out)
{
	static const struct pool_key key = { hash_function, is_same_function };
	struct callgrind callgrind = { .events = { profile->value },
				       .event_count = 1,
				       .out = out };
	struct pprof_rows rows;
	int err = pprof_rows_by_stack(profile->profile, &rows);

	if (err)
		return err;
	for (uint32_t i = 0; i < profile->profile->type_count; i++)
		if (i != profile->value)
			callgrind.events[callgrind.event_count++] = i;
	callgrind.calls_value = pprof_find_type(profile->profile, "calls");
	pool_init_key(&callgrind.functions, NULL, sizeof(struct function),
		      &key);
	pool_init(&callgrind.own, NULL, sizeof(struct own_cost),
		  2 * sizeof(uint32_t));
	pool_init(&callgrind.calls, NULL, sizeof(struct call_cost),
		  4 * sizeof(uint32_t));
	err = write_rows(&callgrind, profile, &rows);
	pool_release(&callgrind.functions);
	pool_release(&callgrind.own);
	pool_release(&callgrind.calls);
	free(callgrind.told);
	pprof_rows_free(&rows);
	return err;
}
