/* SPDX-License-Identifier: Apache-2.0
 *
 * Time of a thread off the CPU, and spreading the kernel's sums over the nodes
 * of a tree.
 */
#include "collector/replay/off_times.h"

#include "collector/base/budget.h"
#include "collector/replay/cct.h"
#include "collector/replay/cct_kernel.h"
#include "collector/replay/kernel_event.h"
#include "tests/suite.h"

#define F 0x1000
#define G 0x2000

static struct budget g_budget;
static struct cct g_cct;
static struct off_times g_off;
static struct cct_node *g_f, *g_g;

static void setup(void)
{
	g_budget.left = 1 << 20;
	ck_assert_int_eq(cct_init(&g_cct, &g_budget), 0);
	g_off = (struct off_times){ 0 };
	g_f = cct_child(&g_cct, g_cct.root, F);
	g_g = cct_child(&g_cct, g_f, G);
}

static void teardown(void)
{
	cct_release(&g_cct);
}

static void tell_value(struct cct_node *node, enum kernel_event_kind kind,
		       uint64_t ns, uint64_t value)
{
	const struct off_place place = { &g_cct, node };
	const struct kernel_event event = { .ns = ns,
					    .kind = (uint8_t)kind,
					    .value = value };

	off_times_event(&g_off, &event, &place);
}

static void tell(struct cct_node *node, enum kernel_event_kind kind,
		 uint64_t ns)
{
	tell_value(node, kind, ns, 0);
}

static void wait_in(struct cct_node *node, uint64_t ns, uint64_t blocked_ns)
{
	tell(node, KERNEL_BLOCKED, ns);
	tell(node, KERNEL_IN, ns + blocked_ns);
}

FIXTURE(setup, teardown);

TEST(time_off_the_cpu_is_that_of_the_innermost_node)
{
	tell(g_cct.root, KERNEL_START, 0);
	tell(g_cct.root, KERNEL_IN, 10);
	wait_in(g_f, 100, 50);
	tell(g_g, KERNEL_PREEMPTED, 200);
	tell(g_g, KERNEL_IN, 230);
	off_times_close(&g_off);
	ck_assert_uint_eq(g_f->kernel->counts.blocked_ns, 50);
	ck_assert_uint_eq(g_f->kernel->counts.switches, 1);
	ck_assert_uint_eq(g_f->kernel->counts.runnable_ns, 0);
	ck_assert_uint_eq(g_g->kernel->counts.runnable_ns, 30);
	ck_assert_uint_eq(g_g->kernel->counts.blocked_ns, 0);
	ck_assert_uint_eq(g_g->kernel->counts.spread_ns, 0);
	ck_assert_uint_eq(g_off.sums.on_ns, 90 + 50);
	ck_assert_uint_eq(g_off.sums.runnable_ns, 40);
	ck_assert_uint_eq(g_off.sums.blocked_ns, 50);
}

/* G waits from @ns on for @blocked_ns; @object and @call are known. */
static void read_wait(uint64_t ns, uint64_t blocked_ns, const char *object,
		      uint32_t call)
{
	const struct off_place place = { &g_cct, g_g };
	const struct kernel_event event = { .ns = ns + blocked_ns,
					    .kind = KERNEL_IN,
					    .value = (uintptr_t)object,
					    .flag = 1,
					    .call = call };

	tell(g_g, KERNEL_BLOCKED, ns);
	off_times_event(&g_off, &event, &place);
}

TEST(waits_that_were_read_are_counted_by_vote)
{
	static const char lock[] = "lock", file[] = "file";
	const struct kernel_waits *waits;

	tell(g_g, KERNEL_START, 0);
	tell(g_g, KERNEL_IN, 0);
	read_wait(100, 50, file, 1);
	read_wait(200, 50, lock, 2);
	read_wait(300, 50, lock, 2);
	read_wait(400, 50, file, 2);
	read_wait(500, 50, lock, 2);
	wait_in(g_g, 600, 70);
	wait_in(g_g, 700, CPU_LONG_NS);
	read_wait(2 * CPU_LONG_NS, 3 * CPU_LONG_NS, file, 1);
	off_times_close(&g_off);
	waits = &g_g->kernel->waits[KERNEL_WAITS_SHORT];
	ck_assert_ptr_eq(waits->object, lock);
	ck_assert_uint_eq(waits->object_votes, 1);
	ck_assert_uint_eq(waits->call, 2);
	ck_assert_uint_eq(waits->call_votes, 3);
	ck_assert_uint_eq(waits->read, 5);
	ck_assert_uint_eq(waits->unread, 1);
	ck_assert_uint_eq(waits->unread_ns, 70);
	waits = &g_g->kernel->waits[KERNEL_WAITS_LONG];
	ck_assert_ptr_eq(waits->object, file);
	ck_assert_uint_eq(waits->read, 1);
	ck_assert_uint_eq(waits->unread, 1);
	ck_assert_uint_eq(waits->unread_ns, CPU_LONG_NS);
}

TEST(sums_of_the_kernel_are_shared_out_by_switches)
{
	tell(g_cct.root, KERNEL_START, 0);
	tell(g_cct.root, KERNEL_IN, 0);
	wait_in(g_f, 100, 1000);
	wait_in(g_g, 1200, 1000);
	wait_in(g_g, 2300, 1000);
	/* Switches show 300 on the CPU; the kernel charged 330. Waits for a CPU
	 * took 60. */
	off_times_settle(&g_off, 330, 60);
	ck_assert_uint_eq(g_off.sums.on_ns, 330);
	ck_assert_uint_eq(g_off.sums.runnable_ns, 60);
	ck_assert_uint_eq(g_off.sums.blocked_ns, 3000 - 90);
	ck_assert_uint_eq(g_off.sums.spread_ns, 90);
	ck_assert_uint_eq(g_f->kernel->counts.runnable_ns, 20);
	ck_assert_uint_eq(g_f->kernel->counts.blocked_ns, 1000 - 30);
	ck_assert_uint_eq(g_f->kernel->counts.spread_ns, 30);
	ck_assert_uint_eq(g_g->kernel->counts.runnable_ns, 40);
	ck_assert_uint_eq(g_g->kernel->counts.blocked_ns, 2000 - 60);
}

TEST(node_gets_no_more_than_it_was_off_the_cpu)
{
	tell(g_cct.root, KERNEL_START, 0);
	tell(g_cct.root, KERNEL_IN, 0);
	wait_in(g_f, 100, 10);
	wait_in(g_g, 200, 1000);
	off_times_settle(&g_off, 190, 500);
	ck_assert_uint_eq(g_f->kernel->counts.runnable_ns, 10);
	ck_assert_uint_eq(g_f->kernel->counts.blocked_ns, 0);
	ck_assert_uint_eq(g_g->kernel->counts.runnable_ns, 490);
	ck_assert_uint_eq(g_g->kernel->counts.blocked_ns, 510);
	ck_assert_uint_eq(g_off.sums.runnable_ns, 500);
}

TEST(anchor_settles_what_was_before_it)
{
	tell(g_cct.root, KERNEL_START, 0);
	tell(g_cct.root, KERNEL_IN, 0);
	wait_in(g_f, 100, 100);
	tell(g_f, KERNEL_BLOCKED, 300);
	tell_value(g_f, KERNEL_DELAY, 300, 40);
	tell_value(g_f, KERNEL_ANCHOR, 300, 210);
	tell(g_f, KERNEL_IN, 400);
	tell(g_g, KERNEL_BLOCKED, 500);
	tell_value(g_g, KERNEL_DELAY, 500, 40);
	tell_value(g_g, KERNEL_ANCHOR, 500, 310);
	ck_assert_uint_eq(g_off.sums.on_ns, 310);
	ck_assert_uint_eq(g_off.sums.runnable_ns, 40);
	/* In the first wait 10 were charged, and 40 spent waiting for a CPU. */
	ck_assert_uint_eq(g_f->kernel->counts.blocked_ns, 50 + 100);
	ck_assert_uint_eq(g_f->kernel->counts.runnable_ns, 40);
}

TEST(first_anchor_tells_what_was_before_the_recording)
{
	tell(g_cct.root, KERNEL_BLOCKED, 0);
	tell_value(g_cct.root, KERNEL_DELAY, 0, 5000);
	tell_value(g_cct.root, KERNEL_ANCHOR, 0, 9000);
	tell(g_cct.root, KERNEL_IN, 100);
	wait_in(g_f, 200, 100);
	off_times_settle(&g_off, 9000 + 104, 5000 + 20);
	ck_assert_uint_eq(g_off.sums.on_ns, 104);
	ck_assert_uint_eq(g_off.sums.runnable_ns, 20);
	ck_assert_uint_eq(g_off.sums.blocked_ns, 200 - 24);
}

/* Like sums that kernel_events made before the first request. */
TEST(what_was_added_up_before_keeps_its_anchor)
{
	const struct kernel_event event[] = {
		{ .ns = 0, .kind = KERNEL_START },
		{ .ns = 10, .kind = KERNEL_IN },
		{ .ns = 20, .kind = KERNEL_BLOCKED },
		{ .ns = 120, .kind = KERNEL_IN },
	};
	const struct off_place root = { &g_cct, g_cct.root };
	struct sched_track before = { 0 };

	for (int i = 0; i < 4; i++)
		(void)sched_track_apply(&before, &event[i]);
	off_times_begin(&g_off, &before, &root);
	wait_in(g_f, 200, 100);
	off_times_settle(&g_off, 90 + 20, 10 + 40);
	ck_assert_uint_eq(g_off.sums.on_ns, 110);
	ck_assert_uint_eq(g_off.sums.runnable_ns, 50);
	ck_assert_uint_eq(g_off.sums.blocked_ns, 200 - 60);
	ck_assert_uint_eq(g_f->kernel->counts.runnable_ns, 20);
	ck_assert_uint_eq(g_f->kernel->counts.blocked_ns, 100 - 30);
}

TEST(what_coming_to_a_cpu_first_costs_is_on_the_cpu)
{
	tell(g_cct.root, KERNEL_START, 0);
	tell(g_cct.root, KERNEL_IN, 400);
	off_times_look(&g_off, 500, &(struct off_place){ &g_cct, g_f });
	off_times_settle(&g_off, 450, 50);
	ck_assert_uint_eq(g_off.sums.on_ns, 450);
	ck_assert_uint_eq(g_off.sums.runnable_ns, 50);
	ck_assert_uint_eq(g_off.sums.blocked_ns, 0);
}

TEST(switching_takes_nothing_of_what_was_waited_for_cpus)
{
	tell(g_cct.root, KERNEL_START, 0);
	tell(g_cct.root, KERNEL_IN, 400);
	off_times_look(&g_off, 500, &(struct off_place){ &g_cct, g_f });
	off_times_settle(&g_off, 150, 390);
	ck_assert_uint_eq(g_off.sums.runnable_ns, 390);
	ck_assert_uint_eq(g_off.sums.on_ns, 110);
}

TEST(what_an_anchor_has_too_early_is_not_lost)
{
	tell(g_cct.root, KERNEL_START, 0);
	tell(g_cct.root, KERNEL_IN, 10);
	tell(g_f, KERNEL_BLOCKED, 100);
	tell_value(g_f, KERNEL_DELAY, 100, 510);
	tell_value(g_f, KERNEL_ANCHOR, 100, 90);
	tell(g_f, KERNEL_IN, 700);
	off_times_settle(&g_off, 90, 510);
	ck_assert_uint_eq(g_off.sums.runnable_ns, 510);
	ck_assert_uint_eq(g_off.sums.blocked_ns, 100);
	ck_assert_uint_eq(g_f->kernel->counts.runnable_ns, 500);
}

TEST(time_that_the_host_took_is_told_apart)
{
	tell(g_cct.root, KERNEL_START, 0);
	tell(g_cct.root, KERNEL_IN, 0);
	wait_in(g_f, 1000, 100);
	off_times_settle(&g_off, 900, 0);
	ck_assert_uint_eq(g_off.sums.on_ns, 900);
	ck_assert_uint_eq(g_off.sums.stolen_ns, 100);
	ck_assert_uint_eq(g_off.sums.blocked_ns, 100);
}

TEST(preemption_that_was_no_delay_is_no_waiting_for_a_cpu)
{
	tell(g_cct.root, KERNEL_START, 0);
	tell(g_cct.root, KERNEL_IN, 0);
	tell(g_f, KERNEL_PREEMPTED, 100);
	tell(g_f, KERNEL_IN, 200);
	off_times_settle(&g_off, 100, 30);
	ck_assert_uint_eq(g_off.sums.runnable_ns, 30);
	ck_assert_uint_eq(g_off.sums.blocked_ns, 70);
	ck_assert_uint_eq(g_off.sums.spread_ns, 70);
	ck_assert_uint_eq(g_f->kernel->counts.runnable_ns, 30);
	ck_assert_uint_eq(g_f->kernel->counts.blocked_ns, 70);
}

/* 200 on a CPU, 100 blocked in f, then 400 unknown. */
static void lose_400(void)
{
	tell(g_cct.root, KERNEL_START, 0);
	tell(g_cct.root, KERNEL_IN, 0);
	wait_in(g_f, 100, 100);
	tell(g_f, KERNEL_UNKNOWN, 300);
	tell(g_g, KERNEL_BLOCKED, 700);
}

TEST(what_may_lie_in_unknown_time_is_not_shared_out)
{
	lose_400();
	off_times_settle(&g_off, 500, 10);
	ck_assert_uint_eq(g_off.sums.unknown_ns, 400);
	ck_assert_uint_eq(g_off.sums.spread_ns, 0);
	ck_assert_uint_eq(g_g->kernel->counts.unknown_ns, 400);
	ck_assert_uint_eq(g_f->kernel->counts.blocked_ns, 100);
}

TEST(what_cannot_lie_in_unknown_time_is_shared_out)
{
	lose_400();
	off_times_settle(&g_off, 630, 450);
	ck_assert_uint_eq(g_off.sums.on_ns, 230);
	ck_assert_uint_eq(g_off.sums.runnable_ns, 50);
	ck_assert_uint_eq(g_off.sums.blocked_ns, 20);
	ck_assert_uint_eq(g_off.sums.unknown_ns, 400);
	ck_assert_uint_eq(g_off.sums.spread_ns, 80);
	ck_assert_uint_eq(g_f->kernel->counts.blocked_ns, 20);
	ck_assert_uint_eq(g_f->kernel->counts.runnable_ns, 50);
}

TEST(totals_have_what_callees_have)
{
	tell(g_cct.root, KERNEL_START, 0);
	tell(g_cct.root, KERNEL_IN, 0);
	wait_in(g_f, 100, 10);
	wait_in(g_g, 200, 30);
	off_times_close(&g_off);
	cct_kernel_sum(&g_cct);
	ck_assert_uint_eq(g_f->function->kernel->self.blocked_ns, 10);
	ck_assert_uint_eq(g_f->function->kernel->total.blocked_ns, 40);
	ck_assert_uint_eq(g_g->function->kernel->total.blocked_ns, 30);
	ck_assert_uint_eq(g_g->function->kernel->total.switches, 1);
}

TEST(total_of_a_recursive_function_has_each_time_once)
{
	struct cct_node *again = cct_child(&g_cct, g_g, F);

	tell(g_cct.root, KERNEL_START, 0);
	tell(g_cct.root, KERNEL_IN, 0);
	wait_in(again, 100, 10);
	wait_in(g_f, 200, 30);
	off_times_close(&g_off);
	cct_kernel_sum(&g_cct);
	ck_assert_uint_eq(g_f->function->kernel->self.blocked_ns, 40);
	ck_assert_uint_eq(g_f->function->kernel->total.blocked_ns, 40);
	ck_assert_uint_eq(g_g->function->kernel->total.blocked_ns, 10);
}

/* Up to any moment, inside any state of the thread. */
TEST(time_on_the_cpu_so_far_knows_what_is_unknown)
{
	uint64_t unknown;

	tell(g_cct.root, KERNEL_START, 0);
	tell(g_cct.root, KERNEL_IN, 10);
	ck_assert_uint_eq(off_times_on_ns(&g_off, 60, &unknown), 50);
	ck_assert_uint_eq(unknown, 0);
	tell(g_f, KERNEL_BLOCKED, 100);
	ck_assert_uint_eq(off_times_on_ns(&g_off, 130, &unknown), 90);
	ck_assert_uint_eq(unknown, 0);
	tell(g_f, KERNEL_IN, 200);
	tell(g_f, KERNEL_UNKNOWN, 300);
	ck_assert_uint_eq(off_times_on_ns(&g_off, 340, &unknown), 190);
	ck_assert_uint_eq(unknown, 40);
	tell(g_f, KERNEL_IN, 400);
	ck_assert_uint_eq(off_times_on_ns(&g_off, 410, &unknown), 200);
	ck_assert_uint_eq(unknown, 100);
	tell(g_f, KERNEL_EXIT, 450);
	ck_assert_uint_eq(off_times_on_ns(&g_off, 999, &unknown), 240);
	ck_assert_uint_eq(unknown, 100);
}

TEST(node_without_memory_is_nobodys)
{
	struct cct_kernel *kernel;

	g_budget.left = 0;
	for (int i = 0; i < 100; i++) {
		struct cct_node *node = cct_child(&g_cct, g_g, 0x3000u + i);

		kernel = cct_kernel_of(&g_cct, node);
		ck_assert_ptr_nonnull(kernel);
	}
	ck_assert_ptr_eq(kernel, &g_cct.no_node);
}
