/* SPDX-License-Identifier: Apache-2.0
 *
 * call_search: calls found and kept in random traces, compared with a search
 * through all slices.
 */
#include "collector/read/call_search.h"

#include <errno.h>

#include "collector/names/name_pattern.h"
#include "collector/read/thread_choice.h"
#include "tests/unit/range_model.h"

#define MODELS 40
#define SEARCHES 15 /* per model */

static const char *const functions[] = {
	"main", "ns::f*", "ns::f<A>(int)", "operator>", "lea?", "*", "nothing",
};

/* The slices that match @wish, in the order of their report. */
struct wanted {
	const struct model_slice *list[MODEL_SLICES_MAX];
	uint32_t count;
	uint64_t seen, shortest, longest;
};

static bool g_by_time;

static int compare_slices(const void *a, const void *b)
{
	const struct model_slice *x = *(const struct model_slice *const *)a;
	const struct model_slice *y = *(const struct model_slice *const *)b;

	if (!g_by_time && model_took(x) != model_took(y))
		return model_took(x) > model_took(y) ? -1 : 1;
	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	if (x->track != y->track)
		return x->track < y->track ? -1 : 1;
	if (x->depth != y->depth)
		return x->depth < y->depth ? -1 : 1;
	if (x->end != y->end)
		return x->end < y->end ? -1 : 1;
	return x < y ? -1 : 1;
}

static void look(const struct model *model, const struct call_wish *wish,
		 struct wanted *out)
{
	out->count = 0;
	out->seen = out->longest = 0;
	out->shortest = UINT64_MAX;
	for (uint32_t i = 0; i < model->count; i++) {
		const struct model_slice *slice = &model->slices[i];

		if (!name_pattern_matches(wish->function,
					  model_names[slice->name], "") ||
		    !model_is_of(slice->track, wish->thread) ||
		    !model_in_range(slice, wish->range.from_ns,
				    wish->range.to_ns))
			continue;
		out->seen++;
		out->shortest = MIN(out->shortest, model_took(slice));
		out->longest = MAX(out->longest, model_took(slice));
		if (model_took(slice) >= wish->min_ns &&
		    model_took(slice) <= wish->max_ns)
			out->list[out->count++] = slice;
	}
	g_by_time = wish->by_time;
	qsort(out->list, out->count, sizeof(out->list[0]), compare_slices);
}

static int64_t argument_of(const struct call_arguments *arguments)
{
	struct trace_argument argument;
	size_t at = 0;

	if (!call_arguments_next(arguments, &at, &argument))
		return 0;
	ck_assert_uint_eq(argument.name_bytes, 2);
	ck_assert_int_eq(memcmp(argument.name, "id", 2), 0);
	return (int64_t)argument.number;
}

static void check_call(const struct call_search *search,
		       const struct found_call *call,
		       const struct model_slice *slice)
{
	const struct trace_track *thread =
		call_track_thread(search->reader, call->track);

	ck_assert_uint_eq(call->begin_ns, slice->begin);
	ck_assert_uint_eq(call->end_ns, slice->end);
	ck_assert_uint_eq(call->took_ns, model_took(slice));
	ck_assert_uint_eq(call->depth, slice->depth);
	ck_assert_int_eq(call->unfinished, !slice->ended);
	ck_assert_int_eq(thread->tid, model_tid(slice->track));
	ck_assert_int_eq(call->track->kind == TRACE_TRACK_CONTEXT,
			 slice->track >= MODEL_THREADS);
	ck_assert_str_eq(trace_reader_text(search->reader, call->name),
			 model_names[slice->name]);
	ck_assert_int_eq(argument_of(call->arguments), slice->argument);
}

static struct call_wish random_wish(struct model *model)
{
	struct call_wish wish = {
		.function =
			functions[model_random(model, ARRAY_SIZE(functions))],
		.max_ns = UINT64_MAX,
		.thread = model_choice(model),
		.limit = model_random(model, 12),
		.by_time = model_random(model, 2),
	};

	model_range(model, &wish.range.from_ns, &wish.range.to_ns);
	if (model_random(model, 2))
		wish.range = TIME_RANGE_ALL;
	if (model_random(model, 2))
		wish.min_ns = model_random(model, 3000);
	if (!model_random(model, 3))
		wish.max_ns = wish.min_ns + model_random(model, 20000);
	return wish;
}

static void check_search(struct model *model, struct wanted *wanted)
{
	const struct call_wish wish = random_wish(model);
	struct call_search *search;
	size_t kept;

	look(model, &wish, wanted);
	kept = wish.limit ? MIN(wish.limit, wanted->count) : wanted->count;
	ck_assert_int_eq(call_search_run(model->path, &wish, NULL, &search), 0);
	ck_assert_int_eq(search->err, 0);
	ck_assert_uint_eq(search->matched, wanted->count);
	ck_assert_uint_eq(search->seen, wanted->seen);
	if (wanted->seen) {
		ck_assert_uint_eq(search->shortest_ns, wanted->shortest);
		ck_assert_uint_eq(search->longest_ns, wanted->longest);
	}
	ck_assert_uint_eq(search->bounds.first_ns, model->first_ns);
	ck_assert_uint_eq(search->count, kept);
	for (size_t i = 0; i < kept; i++)
		check_call(search, &search->calls[i], wanted->list[i]);
	call_search_free(&search);
	ck_assert_ptr_null(search);
}

/* One model per test, because the time of a test is limited. */
TEST(a_random_search_finds_what_looking_at_each_slice_finds,
     EACH(1, MODELS + 1))
{
	struct wanted *wanted = malloc(sizeof(*wanted));
	struct model *model = model_new((uint64_t)_i * 40503, _i % 2);

	for (int i = 0; i < SEARCHES; i++)
		check_search(model, wanted);
	model_free(model);
	free(wanted);
}

TEST(what_is_not_there_is_not_met)
{
	struct model *model = model_new(5, false);
	struct call_wish wish = { .function = "nothing",
				  .max_ns = UINT64_MAX,
				  .range = TIME_RANGE_ALL };
	struct call_search *search;

	ck_assert_int_eq(call_search_run(model->path, &wish, NULL, &search), 0);
	ck_assert(!search->met_function);
	ck_assert(search->met_thread);
	call_search_free(&search);
	wish.function = "main";
	wish.thread = "nobody";
	ck_assert_int_eq(call_search_run(model->path, &wish, NULL, &search), 0);
	ck_assert(search->met_function);
	ck_assert(!search->met_thread);
	ck_assert_uint_eq(search->seen, 0);
	call_search_free(&search);
	ck_assert_int_eq(call_search_run("/nowhere", &wish, NULL, &search),
			 -ENOENT);
	ck_assert_ptr_null(search);
	model_free(model);
}
