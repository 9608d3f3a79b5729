/* SPDX-License-Identifier: Apache-2.0
 *
 * Sources of times (time_from.h), and times by native stack (time_profile.h).
 * The functions are in this program.
 */
#include "collector/profile/time_profile.h"

#include <limits.h>
#include <unistd.h>

#include "collector/base/budget.h"
#include "collector/base/log.h"
#include "collector/names/modules.h"
#include "collector/names/symbols.h"
#include "collector/profile/function_table.h"
#include "collector/profile/stack_profile.h"
#include "collector/profile/stacks.h"
#include "collector/profile/time_from.h"
#include "tests/suite.h"
#include "tests/find_symbolize.h"

__attribute__((noinline)) static void topmost(void)
{
	__asm__ volatile("nop");
}

__attribute__((noinline)) static void hooked(void)
{
	__asm__ volatile("nop; nop");
}

__attribute__((noinline)) static void library(void)
{
	__asm__ volatile("nop; nop; nop");
}

static struct {
	struct budget budget;
	struct symbol_cache *cache;
	struct modules *modules;
	struct stacks *stacks;
	struct stack_profile *cpu, *offcpu, *span, *times;
	struct function_table table;
	struct time_functions functions;
	uint32_t outer, hooked, library; /* stacks, each below the one before */
} g;

static const struct profile_owner g_owner = { 7,	8,    "process",
					      "thread", NULL, NULL };
static const struct profile_owner g_nobody = { 0, 0, "sh", "", NULL, NULL };

static struct stack_profile *new_profile(const struct stack_profile_kind *kind)
{
	struct stack_profile *profile;

	ck_assert_int_eq(stack_profile_new(kind, g.cache, &g.budget, &profile),
			 0);
	return profile;
}

static uint32_t child(uint32_t parent, uint64_t address, enum frame_kind kind)
{
	const struct stack_frame frame = { address, 0, kind };

	return stacks_child(g.stacks, parent, &frame);
}

static void set_up(void)
{
	memset(&g, 0, sizeof(g));
	g.budget.left = 1ULL << 30;
	ck_assert_int_eq(symbol_cache_new(&g.cache), 0);
	ck_assert_int_eq(
		modules_new(getpid(), getpid(), NULL, g.cache, &g.modules), 0);
	ck_assert_int_eq(stacks_new(&g.budget, &g.stacks), 0);
	g.cpu = new_profile(&stack_profile_cpu);
	g.offcpu = new_profile(&stack_profile_offcpu);
	g.span = new_profile(&stack_profile_span);
	g.times = new_profile(&stack_profile_time);
	g.functions.table = &g.table;
	g.outer = child(STACKS_ROOT, (uintptr_t)topmost, FRAME_ENTRY);
	g.hooked = child(g.outer, (uintptr_t)hooked, FRAME_ENTRY);
	g.library = child(g.hooked, (uintptr_t)library, FRAME_ENTRY);
}

static void tear_down(void)
{
	function_table_release(&g.table);
	stack_profile_free(&g.cpu);
	stack_profile_free(&g.offcpu);
	stack_profile_free(&g.span);
	stack_profile_free(&g.times);
	stacks_free(&g.stacks);
	ck_assert_uint_eq(g.budget.left, 1ULL << 30);
	modules_put(&g.modules);
	symbol_cache_put(&g.cache);
}

static void add(struct stack_profile *profile, uint32_t stack, int64_t count,
		int64_t ns)
{
	const struct stack_values values = { stack, { count, ns } };

	ck_assert_int_eq(stack_profile_add(profile, &g_owner, g.stacks,
					   g.modules, &values, 1),
			 0);
}

/* @runnable_ns is part of @ns. */
static void add_span(uint32_t stack, int64_t calls, int64_t ns,
		     int64_t runnable_ns)
{
	struct stack_values values = { .stack = stack };

	values.value[SPAN_CALLS] = calls;
	values.value[SPAN_WALL] = ns;
	values.value[SPAN_RUNNABLE] = runnable_ns;
	ck_assert_int_eq(stack_profile_add(g.span, &g_owner, g.stacks,
					   g.modules, &values, 1),
			 0);
}

static void set_hooks(const char *name)
{
	const struct function_total *all;
	struct function_table probe = { 0 };
	struct function_total total = { .calls = 5 };
	size_t count;

	/* The profiles name its module. */
	ck_assert_int_eq(stack_profile_sum(g.span, &probe), 0);
	all = function_table_all(&probe, &count);
	for (size_t i = 0; i < count; i++) {
		if (strcmp(all[i].name, name) != 0)
			continue;
		total.name = all[i].name;
		total.module = all[i].module;
	}
	ck_assert_ptr_nonnull(total.name);
	ck_assert_int_eq(function_table_add(&g.table, &total), 0);
	function_table_release(&probe);
}

static const struct function_total *find(const char *name)
{
	size_t count;
	const struct function_total *all = function_table_all(&g.table, &count);

	for (size_t i = 0; i < count; i++)
		if (strcmp(all[i].name, name) == 0)
			return &all[i];
	return NULL;
}

FIXTURE(set_up, tear_down);

TEST(time_from_is_samples_where_calls_were_not_recorded)
{
	struct time_facts facts = { .muted = true,
				    .samples = TIME_SAMPLES_MIN };

	ck_assert_int_eq(time_from_choose(&facts), TIME_FROM_SAMPLES);
	facts.samples--;
	ck_assert_int_eq(time_from_choose(&facts), TIME_FROM_CALLS);
	facts = (struct time_facts){ .waits = true,
				     .samples = 1000000,
				     .own_ns = 1000000,
				     .left_ns = 3000001 };
	ck_assert_int_eq(time_from_choose(&facts), TIME_FROM_CALLS);
	facts.left_ns -= 10;
	ck_assert_int_eq(time_from_choose(&facts), TIME_FROM_SAMPLES);
	facts.waits = false;
	ck_assert_int_eq(time_from_choose(&facts), TIME_FROM_CALLS);
	facts.waits = true;
	/* There are no recorded calls at all. */
	facts.own_ns = facts.left_ns = 0;
	ck_assert_int_eq(time_from_choose(&facts), TIME_FROM_CALLS);
	facts.own_ns = facts.left_ns = 1000000;
	facts.samples = TIME_SAMPLES_ROUGH - 1;
	ck_assert_int_eq(time_from_choose(&facts), TIME_FROM_CALLS);
	/* A larger share of perfrec makes times of calls less accurate. */
	facts.left_ns = 2000000;
	facts.samples = 4 * TIME_SAMPLES_ROUGH;
	ck_assert_int_eq(time_from_choose(&facts), TIME_FROM_SAMPLES);
	facts.samples--;
	ck_assert_int_eq(time_from_choose(&facts), TIME_FROM_CALLS);
	facts.own_ns = 1000000000;
	facts.samples = TIME_SAMPLES_MIN;
	ck_assert_int_eq(time_from_choose(&facts), TIME_FROM_SAMPLES);
	facts.samples--;
	ck_assert_int_eq(time_from_choose(&facts), TIME_FROM_CALLS);
}

/* 36 ms on a CPU, 27 of them perfrec's, and 108 ms runnable. */
TEST(time_from_is_samples_on_a_busy_machine_too)
{
	struct time_facts facts = { .waits = true, .samples = 100 };

	time_facts_add(&facts, 36. * 117 / 144, 108. * 117 / 144, 27);
	time_facts_add(&facts, 0, 0, 0);
	ck_assert(facts.own_ns == 27);
	ck_assert(facts.left_ns > 8.99 && facts.left_ns < 9.01);
	ck_assert_int_eq(time_from_choose(&facts), TIME_FROM_SAMPLES);
	/* perfrec's share exceeds the time. */
	time_facts_add(&facts, 1, 9, 100);
	ck_assert(facts.left_ns < 0);
	ck_assert_int_eq(time_from_choose(&facts), TIME_FROM_SAMPLES);
}

TEST(time_profile_samples_are_times_with_an_error)
{
	add(g.cpu, g.hooked, 16, 16000);
	add(g.cpu, g.outer, 4, 4000);
	ck_assert_int_eq(time_profile_add_cpu(g.times, g.cpu), 0);
	ck_assert_int_eq(time_profile_sum(g.times, &g.functions, 1000), 0);
	ck_assert_uint_eq(find("hooked")->self_ns, 16000);
	ck_assert_uint_eq(find("hooked")->self_samples, 16);
	ck_assert_uint_eq(find("hooked")->self_error_ns, 4000);
	ck_assert_uint_eq(find("topmost")->self_ns, 4000);
	ck_assert_uint_eq(find("topmost")->total_ns, 20000);
	ck_assert_ptr_null(find("library"));
}

TEST(time_profile_function_without_sample_may_be_below_three)
{
	add_span(g.library, 1, 10, 0);
	set_hooks("library");
	add(g.cpu, g.outer, 4, 4000);
	ck_assert_int_eq(time_profile_add_cpu(g.times, g.cpu), 0);
	ck_assert_int_eq(time_profile_sum(g.times, &g.functions, 1000), 0);
	ck_assert_uint_eq(find("library")->self_ns, 0);
	ck_assert_uint_eq(find("library")->self_error_ns, 3000);
}

TEST(time_profile_recursion_counts_once)
{
	uint32_t again = child(g.hooked, (uintptr_t)topmost, FRAME_ENTRY);

	add(g.cpu, again, 1, 1000);
	ck_assert_int_eq(time_profile_add_cpu(g.times, g.cpu), 0);
	ck_assert_int_eq(time_profile_sum(g.times, &g.functions, 1000), 0);
	ck_assert_uint_eq(find("topmost")->total_ns, 1000);
	ck_assert_uint_eq(find("hooked")->total_ns, 1000);
	ck_assert_uint_eq(find("hooked")->self_ns, 0);
}

TEST(time_profile_processes_that_nobody_recorded_are_left_out)
{
	const int64_t value[] = { 0, 5000 };
	size_t count;

	ck_assert_int_eq(stack_profile_add_mark(g.cpu, &g_nobody,
						"[not sampled] sh", value),
			 0);
	ck_assert_int_eq(time_profile_add_cpu(g.times, g.cpu), 0);
	ck_assert_int_eq(time_profile_sum(g.times, &g.functions, 1000), 0);
	function_table_all(&g.table, &count);
	ck_assert_uint_eq(count, 0);
}

TEST(time_profile_wait_counts_for_the_function_with_hooks)
{
	uint32_t wait = child(g.library, FRAME_UNKNOWN, FRAME_NAMED);

	add_span(g.hooked, 1, 10, 0);
	set_hooks("hooked");
	add(g.offcpu, wait, 1, 7000);
	ck_assert_int_eq(
		time_profile_add_blocked(g.times, g.offcpu, &g.functions), 0);
	ck_assert_int_eq(time_profile_sum(g.times, &g.functions, 1000), 0);
	ck_assert_uint_eq(find("hooked")->self_ns, 7000);
	ck_assert_uint_eq(find("hooked")->kernel_self.blocked_ns, 7000);
	ck_assert_uint_eq(find("topmost")->total_ns, 7000);
	ck_assert_ptr_null(find("[unknown]"));
}

TEST(time_profile_wait_without_hooks_counts_for_the_innermost)
{
	uint32_t wait = child(g.library, FRAME_UNKNOWN, FRAME_NAMED);

	add(g.offcpu, wait, 1, 7000);
	ck_assert_int_eq(
		time_profile_add_blocked(g.times, g.offcpu, &g.functions), 0);
	ck_assert_int_eq(time_profile_sum(g.times, &g.functions, 1000), 0);
	ck_assert_uint_eq(find("library")->self_ns, 7000);
}

TEST(time_profile_runnable_is_spread_like_cpu_time)
{
	add_span(g.outer, 1, 10000, 500);
	add(g.cpu, g.hooked, 3, 3000);
	add(g.cpu, g.outer, 1, 1000);
	ck_assert_int_eq(time_profile_add_cpu(g.times, g.cpu), 0);
	time_profile_spread_runnable(g.times, g.span);
	ck_assert_int_eq(time_profile_sum(g.times, &g.functions, 1000), 0);
	ck_assert_uint_eq(find("hooked")->kernel_self.runnable_ns, 375);
	ck_assert_uint_eq(find("topmost")->kernel_self.runnable_ns, 125);
	ck_assert_uint_eq(find("hooked")->self_ns, 3375);
}

/* Calls stay with their stack; its time is that of the samples. */
TEST(time_profile_given_times_replace_those_of_calls)
{
	struct function_table calls = { 0 };
	const struct function_total *all;
	uint64_t measured_ns = 0;
	size_t count;

	add_span(g.hooked, 5, 10000, 0);
	add(g.cpu, g.hooked, 2, 2000);
	ck_assert_int_eq(time_profile_add_cpu(g.times, g.cpu), 0);
	ck_assert_int_eq(time_profile_give(g.times, g.span), 0);
	ck_assert_int_eq(stack_profile_sum(g.span, &calls), 0);
	all = function_table_all(&calls, &count);
	for (size_t i = 0; i < count; i++)
		measured_ns += all[i].measured_self_ns;
	ck_assert_uint_eq(measured_ns, 10000);
	function_table_release(&calls);
}

static void begin_suite(void)
{
	char path[PATH_MAX + 32];

	log_init("test_time_profile", LOG_ERR);
	find_symbolize(path);
	setenv("PERFREC_SYMBOLIZE", path, 1);
}

SUITE(begin_suite, NULL);
