/* SPDX-License-Identifier: Apache-2.0
 *
 * Simulated programs: each function has a rate of calls per ns of work, and the
 * cost of a call depends on the state. Changes take effect one or two ticks
 * after a request.
 */

#include "collector/states/controller.h"

#include <math.h>

#include "shared/function_shm.h"
#include "tests/random.h"
#include "tests/suite.h"

#define TICK_NS 20000000.0
#define SECOND 50 /* in ticks */
#define BUDGET 0.05

static const struct controller_cost g_cost = { 18, 1 };

struct sim_function {
	double rate; /* calls per ns of work */
	double mean; /* ns */
	const struct controller_cost *cost;
	bool fixed, stuck;
	enum function_state state;
	bool asked;
	enum function_state next;
	unsigned int due;
	/* Statistics of the test. */
	unsigned int changes; /* without episodes */
	uint64_t recorded; /* calls since sim_clear() */
	double rest;
};

struct sim {
	struct controller *controller;
	struct sim_function *functions;
	struct controller_function *told;
	struct controller_change *changes;
	size_t count, room;
	double busy;
	unsigned int threads;
	unsigned int tick;
	double rest_ns; /* of sim_run() */
	uint64_t random;
	double other; /* other costs of the next tick, ns */
	double share; /* share of recording in the last tick */
	double cost, cpu; /* since sim_clear() */
};

static struct sim g_sim;

static void sim_start(size_t count, double budget)
{
	g_sim = (struct sim){
		.controller = controller_new(budget),
		.functions = calloc(count, sizeof(*g_sim.functions)),
		.told = calloc(count, sizeof(*g_sim.told)),
		.changes = calloc(count, sizeof(*g_sim.changes)),
		.count = count,
		.room = count,
		.busy = 1,
		.threads = 1,
		.random = 88172645463325252ULL,
	};
	ck_assert_ptr_nonnull(g_sim.controller);
	for (size_t i = 0; i < count; i++)
		g_sim.functions[i].cost = &g_cost;
}

static void sim_stop(void)
{
	if (!g_sim.controller)
		return;
	controller_free(g_sim.controller);
	free(g_sim.functions);
	free(g_sim.told);
	free(g_sim.changes);
	g_sim.controller = NULL;
}

/* @all calls per ns of work by Zipf's law; rare functions take longer. */
static void sim_zipf(double all)
{
	double sum = 0;

	for (size_t i = 0; i < g_sim.count; i++)
		sum += 1.0 / (double)(i + 1);
	for (size_t i = 0; i < g_sim.count; i++) {
		g_sim.functions[i].rate = all / (double)(i + 1) / sum;
		g_sim.functions[i].mean = 2 + 3 * (double)(i % 3000);
	}
}

static double cost_of(const struct sim_function *function)
{
	return function->state == FUNCTION_SPAN
		       ? (double)function->cost->span
		       : (double)function->cost->counted;
}

static double sim_load(void)
{
	double load = 0;

	for (size_t i = 0; i < g_sim.count; i++)
		load += g_sim.functions[i].rate * cost_of(&g_sim.functions[i]);
	return load;
}

static void run_function(struct sim_function *function,
			 struct controller_function *told, double work)
{
	double noise =
		0.95 + 0.1 * (double)(next_random(&g_sim.random) % 1000) / 1000;
	double calls = function->rate * work * noise + function->rest;

	told->calls = (uint64_t)calls;
	function->rest = calls - floor(calls);
	told->ended = 0;
	if (function->state == FUNCTION_SPAN)
		told->ended = told->calls;
	told->ended_ns = (uint64_t)((double)told->ended * function->mean);
	function->recorded += told->ended;
	if (function->asked && !function->stuck &&
	    g_sim.tick >= function->due) {
		if (function->next == FUNCTION_COUNTED &&
		    function->state == FUNCTION_SPAN) {
			function->state = FUNCTION_DRAINING;
		} else {
			function->state = function->next;
			function->asked = false;
		}
	}
	told->state = function->state;
	told->fixed = function->fixed;
	told->cost = function->cost;
}

static void obey(const struct controller_change *change)
{
	struct sim_function *function;

	ck_assert_uint_lt(change->number, g_sim.count);
	function = &g_sim.functions[change->number];
	ck_assert(!function->fixed);
	ck_assert_uint_le(change->state, FUNCTION_COUNTED);
	function->changes += !change->episode;
	function->asked = true;
	function->next = change->state;
	function->due = g_sim.tick + 1 + (unsigned int)(change->number & 1);
}

static void sim_tick(void)
{
	double tick_ns = controller_hurries(g_sim.controller)
				 ? CONTROLLER_HURRY_NS
				 : TICK_NS;
	struct controller_time time = {
		.wall_ns = (uint64_t)tick_ns,
		.cpu_ns = (uint64_t)(tick_ns * g_sim.busy),
		.threads = g_sim.threads,
		.other_ns = (uint64_t)g_sim.other,
	};
	double load = sim_load();
	double work = (double)time.cpu_ns / (1 + load);
	size_t said;

	g_sim.share = load / (1 + load);
	g_sim.cost += load * work + g_sim.other;
	g_sim.cpu += (double)time.cpu_ns;
	g_sim.other = 0;
	for (size_t i = 0; i < g_sim.count; i++) {
		g_sim.told[i].number = (uint32_t)i;
		run_function(&g_sim.functions[i], &g_sim.told[i], work);
	}
	g_sim.tick++;
	g_sim.rest_ns -= tick_ns;
	said = controller_tick(g_sim.controller, &time, g_sim.told, g_sim.count,
			       g_sim.changes, g_sim.room);
	ck_assert_uint_le(said, g_sim.room);
	for (size_t i = 0; i < said; i++)
		obey(&g_sim.changes[i]);
}

static void sim_clear(void)
{
	g_sim.cost = g_sim.cpu = 0;
	for (size_t i = 0; i < g_sim.count; i++)
		g_sim.functions[i].changes = g_sim.functions[i].recorded = 0;
}

static void sim_run(unsigned int ticks)
{
	g_sim.rest_ns = ticks * TICK_NS;
	while (g_sim.rest_ns > 0)
		sim_tick();
}

static double sim_reached(void)
{
	return g_sim.cost / g_sim.cpu;
}

/* The controller's state of function @i; episodes do not change it. */
static enum function_state sim_known(uint32_t i)
{
	struct controller_known known = { .state = FUNCTION_OFF };

	ck_assert(controller_known(g_sim.controller, i, &known));
	return known.state;
}

static unsigned int sim_in(enum function_state state)
{
	unsigned int count = 0;

	for (size_t i = 0; i < g_sim.count; i++)
		count += g_sim.functions[i].state == state;
	return count;
}

static unsigned int most_changes(void)
{
	unsigned int most = 0;

	for (size_t i = 0; i < g_sim.count; i++)
		if (g_sim.functions[i].changes > most)
			most = g_sim.functions[i].changes;
	return most;
}

/* Also after a change of the load the controller must calm down in time. */
static void expect_quick(double budget)
{
	double first = sim_load() / (1 + sim_load());

	sim_run(SECOND / 5);
	sim_clear();
	sim_run(SECOND / 10);
	ck_assert_double_lt(sim_reached(), fmax(first / 5, 1.5 * budget));
	sim_run(SECOND * 5 / 10);
	sim_clear();
	sim_run(SECOND * 4 / 10);
	ck_assert_double_lt(sim_reached(),
			    1.1 * budget + 0.01); /* margin for an episode */
	sim_clear();
	sim_run(10 * SECOND);
	ck_assert_double_lt(sim_reached(), 1.02 * budget);
}

FIXTURE(NULL, sim_stop);

TEST(controller_touches_nothing_that_fits)
{
	sim_start(200, BUDGET);
	sim_zipf(0.001);
	sim_run(10 * SECOND);
	ck_assert_uint_eq(sim_in(FUNCTION_SPAN), 200);
	ck_assert_uint_eq(most_changes(), 0);
}

TEST(controller_keeps_the_budget_of_busy_programs)
{
	static const double rates[] = { 0.004, 0.01, 0.02, 0.03 };

	for (size_t i = 0; i < sizeof(rates) / sizeof(*rates); i++) {
		sim_start(500, BUDGET);
		sim_zipf(rates[i]);
		expect_quick(BUDGET);
		sim_stop();
	}
}

TEST(controller_keeps_budgets_of_any_size)
{
	static const double budgets[] = { 0.005, 0.01, 0.1, 0.3 };

	for (size_t i = 0; i < sizeof(budgets) / sizeof(*budgets); i++) {
		sim_start(500, budgets[i]);
		/* Counting alone uses 40 % of the budget. */
		sim_zipf(0.4 * budgets[i]);
		expect_quick(budgets[i]);
		sim_stop();
	}
}

TEST(controller_makes_use_of_the_budget)
{
	sim_start(500, BUDGET);
	sim_zipf(0.02);
	sim_run(5 * SECOND);
	sim_clear();
	sim_run(10 * SECOND);
	ck_assert_double_gt(sim_reached(), 0.5 * BUDGET);
	ck_assert_uint_gt(sim_in(FUNCTION_SPAN), 30);
}

TEST(controller_does_not_flap, SLOW)
{
	sim_start(500, BUDGET);
	sim_zipf(0.03);
	sim_run(2 * SECOND);
	sim_clear();
	sim_run(120 * SECOND);
	ck_assert_uint_le(most_changes(), 8);
	sim_clear();
	sim_run(120 * SECOND);
	ck_assert_uint_le(most_changes(), 4);
	ck_assert_double_lt(sim_reached(), 1.02 * BUDGET);
}

TEST(controller_mutes_one_hot_function_only)
{
	sim_start(100, BUDGET);
	for (size_t i = 1; i < 100; i++) {
		g_sim.functions[i].rate = 1e-6;
		g_sim.functions[i].mean = 3000;
	}
	g_sim.functions[0].rate = 0.03;
	g_sim.functions[0].mean = 2;
	expect_quick(BUDGET);
	ck_assert_int_eq(sim_known(0), FUNCTION_COUNTED);
	for (uint32_t i = 1; i < 100; i++)
		ck_assert_int_eq(sim_known(i), FUNCTION_SPAN);
}

TEST(controller_counts_what_is_tiny)
{
	sim_start(2, BUDGET);
	g_sim.functions[0].rate = 0.005; /* 9 % if recorded */
	g_sim.functions[0].mean = 20;
	g_sim.functions[1].rate = 1e-6;
	g_sim.functions[1].mean = 9000;
	expect_quick(BUDGET);
	ck_assert_int_eq(sim_known(0), FUNCTION_COUNTED);
	ck_assert_int_eq(sim_known(1), FUNCTION_SPAN);
}

TEST(controller_counts_all_where_that_is_too_much)
{
	struct controller_reached reached;
	double recorded = 0;

	sim_start(100, BUDGET);
	sim_zipf(0.5);
	sim_run(5 * SECOND);
	sim_clear();
	sim_run(20 * SECOND);
	controller_reached(g_sim.controller, &reached);
	ck_assert(reached.unmet);
	ck_assert_uint_gt(reached.counted, 90);
	ck_assert_double_eq_tol(sim_reached(), 0.5 / 1.5, 0.03);
	ck_assert_double_eq_tol(reached.share, 0.5 / 1.5, 0.05);
	for (size_t i = 0; i < g_sim.count; i++)
		recorded += (double)g_sim.functions[i].recorded;
	ck_assert_double_gt(recorded, 0);
}

TEST(controller_records_counted_functions_for_moments)
{
	struct controller_reached before, after;

	sim_start(300, BUDGET);
	for (size_t i = 0; i < g_sim.count; i++) {
		g_sim.functions[i].rate = 1e-4;
		g_sim.functions[i].mean = 5 + (double)i / 10;
	}
	sim_run(3 * SECOND);
	ck_assert_uint_gt(sim_in(FUNCTION_COUNTED), 150);
	sim_clear();
	controller_reached(g_sim.controller, &before);
	sim_run(20 * SECOND);
	for (size_t i = 0; i < g_sim.count; i++)
		ck_assert_uint_gt(g_sim.functions[i].recorded, 100);
	controller_reached(g_sim.controller, &after);
	ck_assert_uint_gt(after.episode_ns, before.episode_ns);
	ck_assert_double_lt((double)(after.episode_ns - before.episode_ns),
			    0.2 * BUDGET *
				    (double)(after.cpu_ns - before.cpu_ns));
	ck_assert_double_lt(sim_reached(), 1.02 * BUDGET);
}

TEST(controller_records_the_hottest_function_for_moments)
{
	sim_start(2, BUDGET);
	g_sim.functions[0].rate = 0.02;
	g_sim.functions[0].mean = 3;
	g_sim.functions[1].rate = 1e-4;
	g_sim.functions[1].mean = 3;
	sim_run(2 * SECOND);
	for (int i = 0; i < 5; i++) {
		sim_clear();
		sim_run(4 * SECOND);
		ck_assert_uint_eq(g_sim.functions[0].changes, 0);
		ck_assert_uint_gt(g_sim.functions[0].recorded, 1000);
		ck_assert_double_lt(sim_reached(), 1.1 * BUDGET);
	}
}

TEST(controller_leaves_long_functions_alone)
{
	struct controller_reached reached;

	sim_start(3000, BUDGET);
	g_sim.threads = 3000;
	g_sim.busy = 2;
	for (size_t i = 0; i < g_sim.count; i++) {
		/* long calls that mostly wait */
		g_sim.functions[i].rate = 1.0 / 100000;
		g_sim.functions[i].mean = 10000;
	}
	sim_run(10 * SECOND);
	ck_assert_uint_eq(most_changes(), 0);
	controller_reached(g_sim.controller, &reached);
	ck_assert(reached.unmet);
	ck_assert_double_eq_tol(reached.share, g_sim.share, 0.03);
	ck_assert_double_gt(reached.floor, 0.2);
	ck_assert_uint_eq(reached.counted, 0);
}

TEST(controller_leaves_fixed_functions_alone)
{
	struct controller_reached reached;

	sim_start(10, BUDGET);
	sim_zipf(0.04);
	for (size_t i = 0; i < 3; i++)
		g_sim.functions[i].fixed = true;
	sim_run(10 * SECOND);
	controller_reached(g_sim.controller, &reached);
	ck_assert(reached.unmet);
	ck_assert_double_gt(reached.share, 0.2);
	ck_assert_uint_ge(reached.counted, 6);
	for (size_t i = 0; i < 3; i++)
		g_sim.functions[i].fixed = false;
	sim_run(3 * SECOND);
	sim_clear();
	sim_run(3 * SECOND);
	ck_assert_double_lt(sim_reached(), 1.02 * BUDGET);
	controller_reached(g_sim.controller, &reached);
	ck_assert(!reached.unmet);
}

TEST(controller_tells_what_it_reaches)
{
	struct controller_reached reached;

	sim_start(500, BUDGET);
	sim_zipf(0.03);
	sim_run(20 * SECOND);
	controller_reached(g_sim.controller, &reached);
	ck_assert(!reached.unmet);
	ck_assert_double_eq_tol(reached.share_all, sim_reached(), 0.01);
	ck_assert_double_eq_tol(reached.counted, sim_in(FUNCTION_COUNTED), 20);
	ck_assert_double_lt(reached.floor, BUDGET);
}

TEST(controller_brings_back_what_is_rare)
{
	sim_start(300, BUDGET);
	sim_zipf(0.04);
	sim_run(20 * SECOND);
	ck_assert_uint_gt(sim_in(FUNCTION_COUNTED), 0);
	for (size_t i = 0; i < g_sim.count; i++)
		g_sim.functions[i].rate /= 1000;
	sim_run(3 * SECOND);
	ck_assert_uint_eq(sim_in(FUNCTION_COUNTED), 0);
	sim_run(30 * SECOND);
	ck_assert_uint_eq(sim_in(FUNCTION_SPAN), g_sim.count);
}

TEST(controller_follows_phases)
{
	sim_start(200, BUDGET);
	for (unsigned int phase = 0; phase < 10; phase++) {
		for (size_t i = 0; i < g_sim.count; i++) {
			bool first = i < g_sim.count / 2;

			g_sim.functions[i].mean = 5 + (double)(i % 100);
			g_sim.functions[i].rate =
				first == (phase % 2 == 0) ? 0.0003 : 1e-7;
		}
		sim_run(SECOND / 5);
		ck_assert_double_lt(g_sim.share, 0.15);
		sim_run(SECOND * 4 / 5);
		sim_clear();
		sim_run(5 * SECOND);
		ck_assert_double_lt(sim_reached(), 1.1 * BUDGET);
		ck_assert_uint_le(most_changes(), 3);
	}
}

TEST(controller_stands_bursts)
{
	sim_start(100, BUDGET);
	sim_zipf(0.0005);
	for (unsigned int i = 0; i < 60 * SECOND; i++) {
		/* Bursts of 100 ms every two seconds. */
		g_sim.functions[99].mean = 3;
		g_sim.functions[99].rate = i % 100 < 5 ? 0.5 : 0;
		sim_run(1);
	}
	/* Without control: 90 % for 100 ms of each 2 s. */
	ck_assert_double_lt(sim_reached(), 0.03);
	ck_assert_uint_lt(g_sim.functions[99].changes, 40);
}

TEST(controller_steers_all_that_there_may_be, SLOW)
{
	sim_start(FUNCTIONS_USUAL - 1, BUDGET);
	sim_zipf(0.04);
	sim_run(SECOND);
	sim_clear();
	sim_run(SECOND);
	ck_assert_double_lt(sim_reached(), 1.1 * BUDGET);
	ck_assert_uint_le(most_changes(), 2);
}

TEST(controller_needs_no_cpu_time)
{
	sim_start(10, BUDGET);
	sim_zipf(0.03);
	g_sim.busy = 0;
	sim_run(5 * SECOND);
	ck_assert_uint_eq(most_changes(), 0);
	/* Calls are counted, but no CPU time passes. */
	for (unsigned int i = 0; i < SECOND; i++) {
		struct controller_time time = { .wall_ns = (uint64_t)TICK_NS };

		for (size_t j = 0; j < 10; j++)
			g_sim.told[j].calls = 1000000;
		controller_tick(g_sim.controller, &time, g_sim.told, 10,
				g_sim.changes, 10);
	}
	g_sim.busy = 1;
	sim_run(3 * SECOND);
	sim_clear();
	sim_run(3 * SECOND);
	ck_assert_double_lt(sim_reached(), 1.1 * BUDGET);
}

TEST(controller_steers_the_little_that_idle_programs_do)
{
	sim_start(100, BUDGET);
	sim_zipf(0.03);
	g_sim.busy = 0.01;
	sim_run(3 * SECOND);
	sim_clear();
	sim_run(3 * SECOND);
	ck_assert_double_lt(sim_reached(), 1.1 * BUDGET);
	g_sim.busy = 2;
	g_sim.threads = 8;
	expect_quick(BUDGET);
}

TEST(controller_stands_clocks_that_jump)
{
	static const uint64_t jumps[] = { 0, 1, UINT64_MAX, 1ULL << 40 };

	sim_start(100, BUDGET);
	sim_zipf(0.03);
	sim_run(SECOND);
	for (size_t i = 0; i < sizeof(jumps) / sizeof(*jumps); i++) {
		for (size_t j = 0; j < sizeof(jumps) / sizeof(*jumps); j++) {
			struct controller_time time = {
				.wall_ns = jumps[i],
				.cpu_ns = jumps[j],
			};

			controller_tick(g_sim.controller, &time, g_sim.told,
					g_sim.count, g_sim.changes, 0);
		}
	}
	sim_run(5 * SECOND);
	sim_clear();
	sim_run(5 * SECOND);
	ck_assert_double_lt(sim_reached(), 1.1 * BUDGET);
}

TEST(controller_mutes_others_where_one_is_stuck)
{
	sim_start(100, BUDGET);
	sim_zipf(0.02);
	g_sim.functions[5].stuck = true;
	sim_run(10 * SECOND);
	sim_clear();
	sim_run(5 * SECOND);
	ck_assert_double_lt(sim_reached(), 1.1 * BUDGET);
}

TEST(controller_says_later_what_has_no_room)
{
	sim_start(1000, BUDGET);
	sim_zipf(0.03);
	g_sim.room = 10;
	sim_run(SECOND / 5);
	/* Muting function 0 saves most, so the controller starts there. */
	ck_assert_int_eq(sim_known(0), FUNCTION_COUNTED);
	sim_run(5 * SECOND);
	sim_clear();
	sim_run(SECOND);
	ck_assert_double_lt(sim_reached(), 1.1 * BUDGET);
}

TEST(controller_obeys_0_and_100_percent)
{
	sim_start(100, 1);
	sim_zipf(0.5);
	sim_run(2 * SECOND);
	ck_assert_uint_eq(sim_in(FUNCTION_SPAN), 100);
	sim_stop();
	sim_start(100, 0);
	sim_zipf(0.5);
	sim_run(2 * SECOND);
	ck_assert_uint_eq(sim_in(FUNCTION_COUNTED), 100);
}

static unsigned int ticks_until_span(size_t number, unsigned int most)
{
	unsigned int ticks = 0;

	while (g_sim.functions[number].state != FUNCTION_SPAN && ticks < most) {
		sim_tick();
		ticks++;
	}
	return ticks;
}

/* Like the main loop of an interpreter: its first calls are short. */
TEST(controller_records_again_at_once_what_turns_out_to_be_long)
{
	sim_start(2, BUDGET);
	g_sim.functions[0].rate = 0.005;
	g_sim.functions[0].mean = 10;
	g_sim.functions[1].rate = 0.002;
	g_sim.functions[1].mean = 300;
	sim_run(SECOND / 5);
	ck_assert_int_eq(g_sim.functions[1].state, FUNCTION_COUNTED);
	g_sim.functions[1].rate = 0.00003;
	g_sim.functions[1].mean = 30000;
	/* Its next episode shows the longer calls; episodes are 0.5 s apart. */
	ck_assert_uint_lt(ticks_until_span(1, SECOND), SECOND * 3 / 4);
	sim_run(SECOND / 4);
	sim_clear();
	sim_run(5 * SECOND);
	ck_assert_int_eq(g_sim.functions[1].state, FUNCTION_SPAN);
	ck_assert_uint_eq(g_sim.functions[1].changes, 0);
}

TEST(controller_does_not_follow_one_that_is_long_by_turns)
{
	sim_start(2, BUDGET);
	g_sim.functions[0].rate = 0.005;
	g_sim.functions[0].mean = 10;
	sim_run(SECOND);
	sim_clear();
	for (int turn = 0; turn < 60; turn++) {
		g_sim.functions[1].rate = turn % 2 ? 0.00003 : 0.005;
		g_sim.functions[1].mean = turn % 2 ? 30000 : 200;
		sim_run(SECOND / 3);
	}
	ck_assert_double_lt(sim_reached(), 1.3 * BUDGET);
	ck_assert_uint_le(g_sim.functions[1].changes, 16);
}

static void know(size_t number, double calls_per_second, float mean)
{
	const struct controller_known known = {
		.state = FUNCTION_COUNTED,
		.mean_ns = mean,
		.calls_per_second = (float)calls_per_second,
	};

	controller_know(g_sim.controller, (uint32_t)number, &known);
	g_sim.functions[number].state = known.state;
}

TEST(controller_looks_early_at_what_was_muted_in_an_earlier_run)
{
	sim_start(3, BUDGET);
	know(0, 5e6, 10);
	know(1, 2e6, 500);
	know(2, 2e6, 500);
	g_sim.functions[0].rate = 0.005;
	g_sim.functions[0].mean = 10;
	g_sim.functions[1].rate = 0.00003; /* now long */
	g_sim.functions[1].mean = 30000;
	g_sim.functions[2].rate = 0.000002; /* now rare */
	g_sim.functions[2].mean = 500;
	ck_assert_uint_lt(ticks_until_span(1, SECOND), 8);
	ck_assert_uint_lt(ticks_until_span(2, SECOND), 8);
	sim_run(SECOND); /* until changes after episodes are done */
	sim_clear();
	sim_run(5 * SECOND);
	ck_assert_int_eq(g_sim.functions[0].state, FUNCTION_COUNTED);
	ck_assert_uint_eq(most_changes(), 0);
	ck_assert_double_lt(sim_reached(), 1.05 * BUDGET);
}

TEST(controller_pays_what_else_costs_from_the_budget)
{
	sim_start(500, BUDGET);
	sim_zipf(0.005);
	sim_run(2 * SECOND);
	sim_clear();
	g_sim.other = 20e6;
	sim_run(SECOND / 2);
	ck_assert_double_lt(sim_reached(), 1.1 * BUDGET);
	/* Afterwards calls have the entire budget again. */
	sim_run(2 * SECOND);
	sim_clear();
	sim_run(SECOND);
	ck_assert_double_gt(sim_reached(), 0.7 * BUDGET);
	ck_assert_double_lt(sim_reached(), 1.05 * BUDGET);
}

TEST(controller_begins_where_it_ended)
{
	struct controller_known known[500];
	unsigned int counted;

	sim_start(500, BUDGET);
	sim_zipf(0.04);
	sim_run(20 * SECOND);
	counted = sim_in(FUNCTION_COUNTED);
	for (uint32_t i = 0; i < 500; i++)
		ck_assert(controller_known(g_sim.controller, i, &known[i]));
	ck_assert(!controller_known(g_sim.controller, 500, &known[0]));
	sim_stop();
	sim_start(500, BUDGET);
	sim_zipf(0.04);
	for (uint32_t i = 0; i < 500; i++) {
		controller_know(g_sim.controller, i, &known[i]);
		g_sim.functions[i].state = known[i].state;
	}
	sim_tick();
	ck_assert_double_lt(g_sim.share, 1.05 * BUDGET);
	sim_clear();
	sim_run(SECOND);
	ck_assert_double_lt(sim_reached(), 1.05 * BUDGET);
	ck_assert_uint_le(most_changes(), 1);
	ck_assert_uint_gt(sim_in(FUNCTION_COUNTED), counted / 2);
	controller_forget(g_sim.controller, 3);
	ck_assert(!controller_known(g_sim.controller, 3, &known[0]));
}

static bool is_allowed(const struct controller_change *change,
		       const struct controller_function *told, size_t count)
{
	if (change->number >= 200 || change->state > FUNCTION_COUNTED)
		return false;
	for (size_t i = 0; i < count; i++)
		if (told[i].number == change->number && told[i].fixed)
			return false;
	return true;
}

/* Random input: all requested changes must be valid, and the work bounded. */
TEST(controller_stands_anything, EACH(0, 20))
{
	static const float costs[] = { 0,      1,	 18,  -1, 1e30f,
				       1e-30f, INFINITY, NAN, 2,  0.5f };
	uint64_t random = (uint64_t)_i * 7919 + 1;
	struct controller *controller =
		controller_new((double)(next_random(&random) % 12) / 10 - 0.1);
	struct controller_change changes[64];

	for (unsigned int tick = 0; tick < 500; tick++) {
		struct controller_function told[50];
		struct controller_cost cost[50];
		size_t count = next_random(&random) % 50, room, said;
		struct controller_time time = {
			.wall_ns = next_random(&random) >>
				   next_random(&random) % 64,
			.cpu_ns = next_random(&random) >>
				  next_random(&random) % 64,
			.threads = (uint32_t)(next_random(&random) >>
					      (32 + next_random(&random) % 32)),
		};

		for (size_t i = 0; i < count; i++) {
			cost[i].span = costs[next_random(&random) % 10];
			cost[i].counted = costs[next_random(&random) % 10];
			told[i] = (struct controller_function){
				.number = (uint32_t)(i * 3),
				.state = next_random(&random) % 4,
				.fixed = next_random(&random) % 8 == 0,
				.calls = next_random(&random) >>
					 next_random(&random) % 64,
				.ended = next_random(&random) >>
					 next_random(&random) % 64,
				.ended_ns = next_random(&random) >>
					    next_random(&random) % 64,
				.cost = &cost[i],
			};
			if (next_random(&random) % 1000 == 0)
				told[i].number = UINT32_MAX;
		}
		if (next_random(&random) % 50 == 0)
			controller_forget(controller,
					  (uint32_t)next_random(&random) % 200);
		if (next_random(&random) % 50 == 0) {
			struct controller_known known = {
				.state = next_random(&random) % 3,
				.mean_ns = costs[next_random(&random) % 10],
				.calls_per_second =
					costs[next_random(&random) % 10],
			};

			controller_know(controller,
					(uint32_t)next_random(&random) % 200,
					&known);
		}
		room = next_random(&random) % 64;
		said = controller_tick(controller, &time, told, count, changes,
				       room);
		ck_assert_uint_le(said, room);
		for (size_t i = 0; i < said; i++)
			if (!is_allowed(&changes[i], told, count))
				ck_abort_msg("change %zu", i);
	}
	controller_free(controller);
}
