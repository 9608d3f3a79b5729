/* SPDX-License-Identifier: Apache-2.0
 *
 * Changes of function states and their reports, in an arena made by hand.
 * Without a program there is no text to patch.
 */
#include <errno.h>
#include <fcntl.h>
#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include "collector/base/clock.h"
#include "collector/base/lock.h"
#include "collector/code/code_plan.h"
#include "collector/code/code_site.h"
#include "collector/code/thunks.h"
#include "collector/names/filter_table.h"
#include "collector/names/symbols.h"
#include "collector/options/collect_options.h"
#include "collector/record/arena_inner.h"
#include "collector/record/collector.h"
#include "collector/replay/function_log.h"
#include "collector/states/states_inner.h"
#include "tests/suite.h"
#include "tests/unit/thunk_rig.h"

#define SLOTS 3
#define CORPUS SOURCES "/tests/fuzz/corpus/code"
#define FUNCTIONS 4
#define ADDRESS(i) (0x1000u + 16u * (uint64_t)(i))

static struct collect_options g_options;
static struct collector g_collector;
static struct states_thread g_thread;
static struct arena g_arena;
static struct states *g_states;

/* Returns function @i, which is connected as number @i + 1. */
static struct function *function(uint32_t i)
{
	return &g_states->functions[i];
}

static struct count_cell *cell(uint32_t slot, uint32_t i)
{
	return &arena_counts(&g_arena, slot)[i + 1];
}

static enum thunk_path path(uint32_t i)
{
	return thunk_area_path(g_states->area, i + 1);
}

static void add_function(uint32_t i)
{
	static const char *const names[FUNCTIONS] = { "tiny", "tree", "work",
						      "main" };

	g_states->parts[i] =
		(struct states_part){ .number = i + 1, .next = NONE };
	g_states->owner[i + 1] = i;
	g_states->functions[i] = (struct function){
		.address = ADDRESS(i),
		.name = names[i],
		.module = "/bin/program",
		.parts = i,
		.connected = true,
	};
	ck_assert_int_eq(
		thunk_area_add(g_states->area, i + 1, ADDRESS(i), THUNK_CALLS),
		0);
	thunk_area_choose(g_states->area, i + 1, THUNK_RECORD);
	ck_assert_int_eq(function_log_connect(g_arena.setup.functions,
					      ADDRESS(i), false, 1),
			 0);
}

static void make_arena(void)
{
	uint64_t bytes = arena_bytes(SLOTS, RING_CELLS_MIN,
				     function_numbers(RING_CELLS_MIN));

	memset(&g_arena, 0, sizeof(g_arena));
	g_arena.refs = 1;
	g_arena.setup.page =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	ck_assert_ptr_ne(g_arena.setup.page, MAP_FAILED);
	g_arena.setup.bytes = bytes;
	g_arena.setup.slot_count = SLOTS;
	g_arena.setup.ring_cells = RING_CELLS_MIN;
	g_arena.setup.functions_max = function_numbers(RING_CELLS_MIN);
	g_arena.setup.thunk_fd = g_arena.setup.mem_fd = -1;
	lock_init(&g_arena.lock, LOCK_ARENA);
	ck_assert_int_eq(function_log_new(&g_arena.setup.functions), 0);
	arena_slot_shm(&g_arena, 0)->claims = 1;
	arena_slot_shm(&g_arena, 1)->claims = 1;
}

static void setup(void)
{
	struct thunk_shim shim = rig_shim();
	int fd = rig_memfd(thunk_area_bytes(FUNCTIONS_USUAL), RIG_SEALS);

	memset(&g_options, 0, sizeof(g_options));
	g_collector.options = &g_options;
	g_collector.span_ns = 18;
	g_collector.watches.most = 100;
	lock_init(&g_collector.lock, LOCK_COLLECTOR);
	g_thread = (struct states_thread){ .refs = 1,
					   .collector = &g_collector,
					   .event = -1 };
	lock_init(&g_thread.lock, LOCK_STATES_LIST);
	lock_init(&g_thread.guard_lock, LOCK_TEXT_GUARD);
	make_arena();
	ck_assert_int_eq(states_begin(&g_thread, &g_arena), 0);
	g_states = g_arena.setup.states;
	g_states->begun = true;
	ck_assert_int_eq(
		thunk_area_map(fd, FUNCTIONS_USUAL, &shim, &g_states->area), 0);
	close(fd);
	g_states->functions = calloc(FUNCTIONS, sizeof(struct function));
	g_states->parts = calloc(FUNCTIONS, sizeof(struct states_part));
	g_states->function_count = g_states->part_count = FUNCTIONS;
	g_states->next_number = FUNCTIONS + 1;
	for (uint32_t i = 0; i < FUNCTIONS; i++)
		add_function(i);
}

static struct states_ask *ask(const char *glob)
{
	struct states_ask *asked;

	ck_assert_int_eq(states_ask_start(&g_arena, &glob, 1, &asked), 0);
	states_evaluate(g_states);
	return asked;
}

static bool take_steps(void)
{
	return states_take_steps(g_states, UINT64_MAX, false);
}

static bool is_off(uint32_t i)
{
	return function_log_state(g_arena.setup.functions, ADDRESS(i),
				  clock_boottime_ns())
		.off;
}

FIXTURE(setup, NULL);

/* A counted function has no exits, so the log shows it as off. */
TEST(states_counted_waits_for_recorded_calls)
{
	struct states_ask *asked;

	cell(1, 0)->recorded = 5;
	asked = ask("ctiny");
	ck_assert(!take_steps());
	ck_assert_int_eq(function(0)->state, FUNCTION_DRAINING);
	ck_assert_uint_eq(path(0), THUNK_DRAIN);
	ck_assert_uint_eq(path(1), THUNK_RECORD);
	ck_assert(!is_off(0));
	cell(1, 0)->recorded = 0;
	take_steps();
	ck_assert_int_eq(function(0)->state, FUNCTION_COUNTED);
	ck_assert_uint_eq(path(0), THUNK_COUNT);
	ck_assert(is_off(0));
	ck_assert(take_steps());
	ck_assert_uint_eq(g_states->change_count, 1);
	ck_assert(function(0)->by_hand);
	states_ask_end(&asked);
}

/* An exception may leave bits of earlier calls. */
TEST(states_span_forgets_open_calls_that_were_counted)
{
	struct states_ask *counted = ask("ctiny"), *span;

	while (!take_steps())
		;
	cell(1, 0)->recorded = 3;
	span = ask("stiny");
	while (!take_steps())
		;
	ck_assert_int_eq(function(0)->state, FUNCTION_SPAN);
	ck_assert_uint_eq(path(0), THUNK_RECORD);
	ck_assert_uint_eq(cell(1, 0)->recorded, 0);
	ck_assert(!is_off(0));
	states_ask_end(&counted);
	states_ask_end(&span);
}

/* Files of its modules may be unknown until states_connect(): no functions were
 * found, and the program went on without its counted functions. */
TEST(states_request_during_a_start_plans_nothing)
{
	struct states_ask *early;

	g_arena.session.waits_for_text = true;
	early = ask("ctiny");
	ck_assert(!g_states->wants_plans);
	ck_assert(!states_ask_is_done(early));
	states_connect(&g_arena, NULL);
	ck_assert(g_states->wants_plans);
	ck_assert_uint_eq(g_states->pattern_count, 1);
	states_ask_end(&early);
}

TEST(states_request_after_a_start_plans)
{
	struct states_ask *asked = ask("ctiny");

	ck_assert(g_states->wants_plans);
	states_ask_end(&asked);
}

/* Plans the entry build of the corpus. Returns the reason of a failure. */
static const char *why_not_planned(uint64_t spent_ns)
{
	struct symbol_cache *cache;
	int fd = open(CORPUS "/entry.so", O_RDONLY | O_CLOEXEC);
	struct states_plan plan = { .fd = -1, .spent_ns = spent_ns };
	const char *why;

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(symbol_cache_new(&cache), 0);
	plan.file = symbol_cache_file(cache, getuid(), fd, CORPUS "/entry.so");
	ck_assert_ptr_nonnull(plan.file);
	g_states->modules = calloc(1, sizeof(*g_states->modules));
	g_states->modules[0].plan = &plan;
	g_states->modules[0].path = "/lib/entry.so";
	g_states->module_count = 1;
	ck_assert(states_plan_modules(g_states, UINT64_MAX));
	why = plan.why;
	ck_assert_int_eq(plan.plan != NULL, !why);
	code_plan_free(&plan.plan);
	symbol_file_put(&plan.file);
	symbol_cache_put(&cache);
	free(g_states->modules);
	g_states->modules = NULL;
	g_states->module_count = 0;
	close(fd);
	return why;
}

TEST(states_planning_has_an_end)
{
	ck_assert_ptr_null(why_not_planned(0));
	ck_assert_str_eq(why_not_planned(PLAN_NS_MAX),
			 "its code takes too long to read");
}

/* All large files were read before other events, even the end. */
TEST(states_planning_makes_room_after_each_file)
{
	struct states_module modules[2] = { 0 };
	struct states_plan plan = { .fd = -1, .ready = true };

	for (size_t i = 0; i < ARRAY_SIZE(modules); i++)
		modules[i] = (struct states_module){ .path = "/lib/large.so",
						     .plan = &plan };
	g_states->modules = modules;
	g_states->module_count = ARRAY_SIZE(modules);
	ck_assert(!states_plan_modules(g_states, 0));
	ck_assert(modules[0].listed && !modules[1].listed);
	ck_assert(states_plan_modules(g_states, 0));
	ck_assert(modules[1].listed);
	g_states->modules = NULL;
	g_states->module_count = 0;
}

TEST(states_patterns_do_not_grow)
{
	struct states_ask *first = ask("ctiny"), *second;

	for (int i = 0; i < 100; i++) {
		second = ask(i & 1 ? "stiny" : "ctiny");
		states_ask_end(&second);
	}
	ck_assert_uint_eq(g_states->pattern_count, 1);
	ck_assert_int_eq(function(0)->wanted, FUNCTION_SPAN);
	ck_assert(states_ask_has_matched(first, 0));
	states_ask_end(&first);
}

TEST(states_patterns_have_a_limit)
{
	struct states_ask *asked = NULL;
	char glob[16];
	const char *const list[] = { glob };

	for (int i = 0; i < (int)STATES_GLOBS_MAX; i++) {
		snprintf(glob, sizeof(glob), "cf%d", i);
		ck_assert_int_eq(states_ask_start(&g_arena, list, 1, &asked),
				 0);
		states_ask_end(&asked);
	}
	ck_assert_int_eq(states_ask_start(&g_arena,
					  (const char *const[]){ "cmore" }, 1,
					  &asked),
			 -E2BIG);
	/* A known pattern may be repeated any number of times. */
	ck_assert_int_eq(states_ask_start(&g_arena, list, 1, &asked), 0);
	states_ask_end(&asked);
}

TEST(states_off_waits_for_recorded_calls)
{
	struct states_ask *asked;

	cell(1, 0)->recorded = 5;
	asked = ask("otiny");
	ck_assert(!take_steps());
	ck_assert_int_eq(function(0)->state, FUNCTION_DRAINING);
	ck_assert_uint_eq(path(0), THUNK_DRAIN);
	ck_assert(!is_off(0));
	ck_assert(!take_steps());
	cell(1, 0)->recorded = 0;
	take_steps();
	ck_assert_int_eq(function(0)->state, FUNCTION_OFF);
	ck_assert(is_off(0));
	ck_assert(take_steps());
	states_ask_end(&asked);
}

TEST(states_off_waits_for_a_while_only)
{
	struct states_ask *asked;

	cell(0, 0)->recorded = 1;
	asked = ask("otiny");
	ck_assert(!take_steps());
	function(0)->draining_ns -= DRAIN_NS + 1;
	take_steps();
	ck_assert_int_eq(function(0)->state, FUNCTION_OFF);
	states_ask_end(&asked);
}

TEST(states_draining_can_be_called_back)
{
	struct states_ask *off, *span;

	cell(0, 0)->recorded = 1;
	off = ask("otiny");
	ck_assert(!take_steps());
	span = ask("stiny");
	ck_assert(take_steps());
	ck_assert_int_eq(function(0)->state, FUNCTION_SPAN);
	ck_assert_uint_eq(path(0), THUNK_RECORD);
	ck_assert_uint_eq(cell(0, 0)->recorded, 1);
	ck_assert(!is_off(0));
	states_ask_end(&off);
	states_ask_end(&span);
}

TEST(states_counted_and_off_are_near)
{
	struct states_ask *off = ask("o*"), *on;

	take_steps();
	ck_assert_int_eq(function(3)->state, FUNCTION_OFF);
	on = ask("ctree");
	take_steps();
	ck_assert_int_eq(function(1)->state, FUNCTION_COUNTED);
	ck_assert_uint_eq(path(1), THUNK_COUNT);
	ck_assert(is_off(1));
	ck_assert_int_eq(function(0)->state, FUNCTION_OFF);
	states_ask_end(&off);
	states_ask_end(&on);
}

/* crt's __gmon_start__ and _ITM_deregisterTMCloneTable are such functions, so each
 * library that was opened later waited for two seconds. */
TEST(states_calls_of_late_modules_wait_for_no_weak_function)
{
	struct code_function planned[2] = {
		{ .slot = 0x2000, .name = 1, .refused = CODE_ADDRESS_TAKEN },
		{ .slot = 0x2008, .name = 9 },
	};
	struct code_plan plan = { .functions = planned, .function_count = 2 };
	struct states_plan of = { .plan = &plan };
	const struct states_module module = { .bias = 0x10000,
					      .plan = &of,
					      .late = true };
	uint64_t addresses[2] = { 0, 0 };

	ck_assert(!states_calls_are_bound(&module, addresses, true));
	addresses[1] = ADDRESS(0);
	ck_assert(states_calls_are_bound(&module, addresses, true));
}

TEST(states_gate_that_is_full_leaves_the_rest)
{
	struct states_ask *asked;
	uint32_t off = 0;

	g_states->unwritable = "for a reason";
	g_states->gate = filter_table_new(g_arena.setup.page, 8);
	asked = ask("o*");
	while (!take_steps())
		;
	for (uint32_t i = 0; i < FUNCTIONS; i++) {
		if (function(i)->state == FUNCTION_OFF) {
			ck_assert(is_off(i));
			ck_assert_ptr_null(function(i)->refused);
			off++;
			continue;
		}
		ck_assert_uint_eq(function(i)->state, FUNCTION_SPAN);
		ck_assert(!is_off(i));
		ck_assert_ptr_nonnull(function(i)->refused);
	}
	ck_assert_uint_eq(off, 2);
	states_ask_end(&asked);
}

TEST(states_globs_that_match_nothing_are_known)
{
	struct states_ask *asked = ask("onosuch*"), *good = ask("owork");

	ck_assert(!states_ask_is_done(asked));
	g_states->answered = g_states->asked;
	ck_assert(states_ask_is_done(asked));
	ck_assert(!states_ask_has_matched(asked, 0));
	ck_assert(states_ask_is_done(good));
	ck_assert(states_ask_has_matched(good, 0));
	ck_assert(!states_ask_has_matched(good, 1));
	states_ask_end(&asked);
	states_ask_end(&good);
}

TEST(states_excluded_stays_off)
{
	static const char *const except[] = { "tiny" };
	struct states_ask *asked;

	g_options.filter.except = except;
	g_options.filter.except_count = 1;
	asked = ask("stiny");
	take_steps();
	ck_assert_int_eq(function(0)->state, FUNCTION_OFF);
	/* It was never on, so nothing is reported. */
	ck_assert_uint_eq(g_states->change_count, 0);
	states_ask_end(&asked);
}

TEST(states_modules_are_matched_by_path)
{
	struct states_ask *asked = ask("o@program");

	take_steps();
	for (uint32_t i = 0; i < FUNCTIONS; i++)
		ck_assert_int_eq(function(i)->state, FUNCTION_OFF);
	states_ask_end(&asked);
}

TEST(states_sums_are_of_all_slots)
{
	uint64_t sums[FUNCTIONS + 1];
	struct states_calls *calls;
	struct states_ask *asked = ask("ctiny");

	while (!take_steps())
		;
	cell(0, 0)->calls = 3;
	cell(1, 0)->calls = 4;
	cell(1, 1)->calls = 7;
	/* Fully recorded functions have no counts. */
	ck_assert_uint_eq(states_slot_calls(&g_arena, 1, &calls), 1);
	ck_assert_uint_eq(calls[0].address, ADDRESS(0));
	ck_assert_uint_eq(calls[0].calls, 4);
	free(calls);
	states_sum(g_states, g_states->arena, sums);
	ck_assert_uint_eq(sums[1], 7);
	ck_assert_uint_eq(sums[2], 7);
	cell(1, 0)->recorded = 1;
	states_slot_ended(&g_arena, 1, true);
	ck_assert_uint_eq(cell(1, 0)->calls, 0);
	ck_assert_uint_eq(cell(1, 0)->recorded, 0);
	cell(1, 0)->calls = 10;
	states_sum(g_states, g_states->arena, sums);
	ck_assert_uint_eq(sums[1], 17);
	states_ask_end(&asked);
}

TEST(states_list_has_the_dearest_first)
{
	struct states_function *list;

	cell(0, 2)->calls = 1000;
	cell(0, 1)->calls = 10;
	ck_assert_uint_eq(states_list(&g_arena, &list), FUNCTIONS);
	ck_assert_str_eq(list[0].name, "work");
	ck_assert_uint_eq(list[0].calls, 1000);
	ck_assert_str_eq(list[1].name, "tree");
	ck_assert_int_eq(list[0].state, FUNCTION_SPAN);
	free(list);
}

TEST(states_tell_so_many_episodes)
{
	struct states_function *list;

	g_states->episodes_told = EPISODES_TOLD - 1;
	for (uint32_t i = 0; i < 2; i++) {
		function(i)->episode = true;
		function(i)->state = FUNCTION_SPAN;
		states_note_change(g_states, function(i), FUNCTION_COUNTED, 1,
				   false);
		ck_assert(function(i)->episode_told == (i == 0));
	}
	ck_assert_uint_eq(g_states->episodes_told, EPISODES_TOLD);
	/* An episode does not change the state. */
	ck_assert_uint_eq(states_list(&g_arena, &list), FUNCTIONS);
	for (uint32_t i = 0; i < FUNCTIONS; i++)
		ck_assert_int_eq(list[i].state, list[i].address <= ADDRESS(1)
							? FUNCTION_COUNTED
							: FUNCTION_SPAN);
	free(list);
	function(0)->state = FUNCTION_COUNTED;
	states_note_change(g_states, function(0), FUNCTION_SPAN, 2, false);
	ck_assert(!function(0)->episode_told);
	ck_assert_uint_eq(g_states->episodes_told, EPISODES_TOLD);
}

static struct states_process *add_child(pid_t pid)
{
	int mem = open("/dev/null", O_RDWR | O_CLOEXEC);

	ck_assert(states_add_child(g_states, pid, pid, mem, false));
	return states_first(g_states);
}

/* This process maps the thunk area; the test runner does not. */
TEST(states_child_of_nobody_is_not_met)
{
	ck_assert(states_meet(g_states, add_child(getpid())));
	ck_assert_uint_eq(g_states->lied_until_ns, 0);
	ck_assert(!states_meet(g_states, add_child(getppid())));
	ck_assert_uint_gt(g_states->lied_until_ns, clock_boottime_ns() / 2);
	states_drop_ended(g_states);
	ck_assert_int_eq(states_first(g_states)->pid, getpid());
	ck_assert_ptr_null(states_first(g_states)->next);
}

static void *come_back(void *context)
{
	states_come_back(context);
	return NULL;
}

TEST(states_restored_ones_are_given_up)
{
	pthread_t thread;

	g_states->has_thread = true;
	g_thread.running = 1;
	states_restore(&g_arena);
	g_states->restored = true;
	states_go_away(g_states);
	states_end(&g_arena);
	g_states->end_ns = 1;
	ck_assert(states_are_restored(&g_thread, 0));
	ck_assert_ptr_eq(g_thread.first, g_states);
	g_states->away_ns = 1;
	ck_assert(states_are_restored(&g_thread, 0));
	ck_assert_ptr_null(g_thread.first);
	ck_assert_uint_eq(g_thread.given_up, 1);
	ck_assert_int_eq(g_arena.refs, 1);
	/* Frees the data on the thread's stack (make check-asan). */
	ck_assert_ptr_nonnull(states_calloc(g_states, 1, 1));
	ck_assert_int_eq(pthread_create(&thread, NULL, come_back, g_states), 0);
	pthread_join(thread, NULL);
	ck_assert_uint_eq(g_thread.running, 0);
	ck_assert_uint_eq(g_thread.given_up, 0);
}

/* Each of its 1,000 children is a separate absence. */
TEST(states_with_many_children_are_not_stuck)
{
	bool stuck = false;

	g_states->end_ns = clock_boottime_ns() - 60000000000;
	for (int i = 0; i < 1000 && !stuck; i++) {
		states_go_away(g_states);
		g_states->away_ns = clock_boottime_ns() - 100000000;
		stuck = states_are_stuck(g_states);
	}
	ck_assert(!stuck);
	states_come_back(g_states);
}

TEST(states_that_are_slow_in_all_are_stuck)
{
	int times = 0;

	g_states->end_ns = clock_boottime_ns();
	for (; times < 20 && !states_are_stuck(g_states); times++) {
		states_go_away(g_states);
		g_states->away_ns = clock_boottime_ns() - 4000000000;
	}
	ck_assert_int_gt(times, 4);
	ck_assert_int_lt(times, 8);
	/* Delays before the end do not count. */
	g_states->end_ns = 0;
	ck_assert(!states_are_stuck(g_states));
	states_come_back(g_states);
}

/* A job may ask after the end, when the collector has let go. */
TEST(states_can_be_asked_for_to_the_end)
{
	struct states_thread *thread;
	struct states *states;

	states_end(&g_arena);
	ck_assert_int_eq(states_thread_start(&g_collector, &thread), 0);
	ck_assert_int_eq(states_begin(thread, &g_arena), 0);
	states = states_get(g_arena.setup.states);
	states_end(&g_arena);
	ck_assert(states_thread_stop(&thread));
	ck_assert_int_eq(states_start(states), -ESRCH);
	states_put(&states);
}

TEST(states_that_end_are_given_up)
{
	g_states->has_thread = true;
	ck_assert(!states_are_ending(&g_thread));
	states_go_away(g_states);
	states_end(&g_arena);
	ck_assert(states_are_ending(&g_thread));
	g_states->away_ns = 1;
	ck_assert(!states_are_ending(&g_thread));
	ck_assert_uint_eq(g_thread.given_up, 1);
	ck_assert_int_eq(g_arena.refs, 1);
}
