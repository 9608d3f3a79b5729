/* SPDX-License-Identifier: Apache-2.0
 *
 * test_thunk - the shim's part of thunks (function_shm.h): registers survive,
 * even calls of C; counts are exact across threads, children and signals at
 * each instruction; recorded calls nest.
 */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/code/thunks.h"
#include "tests/shim/mini_collector.h"
#include "tests/shim/victims/thunk_victim.h"
#include "tests/suite.h"

struct witness {
	uint64_t sure[THUNK_NUMBERS], perhaps[THUNK_NUMBERS];
};

static struct witness g_witness;
static uint64_t g_calls[THUNK_NUMBERS];
static uint64_t g_records[3][THUNK_NUMBERS]; /* by kind */

static enum thunk_path path_of(int number)
{
	switch (number) {
	case THUNK_CALLS_COUNTED:
	case THUNK_ENTRY_COUNTED:
		return THUNK_COUNT;
	case THUNK_CALLS_DRAINED:
	case THUNK_ENTRY_DRAINED:
		return THUNK_DRAIN;
	default:
		return THUNK_RECORD;
	}
}

static struct thunk_area *make_thunks(struct mini_collector *mini)
{
	struct thunk_area *area;

	ck_assert_int_eq(thunk_area_map(mini->thunk_fd, FUNCTIONS_USUAL,
					&mini->page->thunks, &area),
			 0);
	for (int number = 1; number < THUNK_NUMBERS; number++) {
		ck_assert_int_eq(thunk_area_add(area, (uint32_t)number,
						THUNK_FUNCTION(number),
						thunk_is_entry(number)
							? THUNK_ENTRY
							: THUNK_CALLS),
				 0);
		thunk_area_choose(area, (uint32_t)number, path_of(number));
	}
	return area;
}

static void release(struct mini_collector *mini)
{
	mini->page->control = CONTROL_ON;
	syscall(SYS_futex, &mini->page->control, FUTEX_WAKE, INT_MAX, NULL,
		NULL, 0);
}

/* Each begin in a ring has its end, innermost first. */
static void read_slot(const struct mini_collector *mini, uint32_t index,
		      bool nests)
{
	const struct slot_shm *slot = mini_slot(mini, index);
	const struct record *ring = mini_ring(mini, index);
	static uint64_t open[4096];
	size_t depth = 0;

	ck_assert_uint_le(slot->head, mini->page->ring_cells);
	for (uint64_t i = 0; i < slot->head; i++) {
		enum record_kind kind = record_kind(ring[i].word);
		uint64_t function = record_payload(ring[i].word);

		if (kind != RECORD_BEGIN && kind != RECORD_END)
			continue;
		if (function >= THUNK_FUNCTION(1) &&
		    function < THUNK_FUNCTION(THUNK_NUMBERS))
			g_records[kind][function / THUNK_FUNCTION(1)]++;
		if (!nests)
			continue;
		/* A check per record would be slow. */
		if (kind == RECORD_BEGIN && depth < ARRAY_SIZE(open))
			open[depth++] = function;
		else if (!depth || open[--depth] != function)
			ck_abort_msg("slot %u, cell %lu ends %lx", index,
				     (unsigned long)i, (unsigned long)function);
	}
	if (nests)
		ck_assert_uint_eq(depth, 0);
}

/* Runs thunk_victim and sums up the arena. */
static void run(const char *what, const char *rseq, bool nests)
{
	struct wire_reply settings = { .on_full = WIRE_ON_FULL_DROP };
	char result[] = "/tmp/test_thunk-XXXXXX";
	char *argv[] = { (char *)mini_build_path(
				 "tests/shim/victims/thunk_victim"),
			 (char *)what, result, NULL, NULL };
	FILE *file = fdopen(mkstemp(result), "r");
	struct mini_collector mini;
	struct thunk_area *area;
	int status;
	pid_t pid;

	if (!strcmp(what, "load"))
		argv[3] = (char *)mini_build_path(
			"tests/shim/victims/libmap_plugin_0.so");
	setenv("PERFREC_RSEQ", rseq, 1);
	setenv("PERFREC_RING_KB", "16384", 1);
	mini_collector_start(&mini);
	pid = mini_spawn(&mini, mini_build_path("libperfrec_preload.so"), argv);
	mini_collector_accept(&mini, settings, CONTROL_HOLD);
	ck_assert_int_ge(mini.thunk_fd, 0);
	ck_assert_int_ge(mini.mem_fd, 0);
	area = make_thunks(&mini);
	release(&mini);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_msg(status == 0, "thunk_victim ended with status %x", status);
	ck_assert_uint_eq(fread(&g_witness, sizeof(g_witness), 1, file), 1);
	fclose(file);
	unlink(result);
	memset(g_calls, 0, sizeof(g_calls));
	memset(g_records, 0, sizeof(g_records));
	for (uint32_t i = 0; i < mini.hello.slot_count; i++) {
		if (!mini_slot(&mini, i)->claims)
			continue;
		ck_assert_uint_eq(mini_slot(&mini, i)->claims, 1);
		read_slot(&mini, i, nests);
		for (int number = 1; number < THUNK_NUMBERS; number++)
			g_calls[number] += mini_counts(&mini, i)[number].calls;
	}
	ck_assert_uint_eq(mini.page->uncounted_calls, 0);
	thunk_area_unmap(area);
	mini_collector_stop(&mini);
}

static void check_counts(uint64_t slack)
{
	for (int number = 1; number < THUNK_NUMBERS; number++) {
		uint64_t sure = g_witness.sure[number];

		ck_assert_msg(g_calls[number] >= sure &&
				      g_calls[number] <=
					      sure + slack +
						      g_witness.perhaps[number],
			      "function %d: %lu calls, counted %lu", number,
			      (unsigned long)sure,
			      (unsigned long)g_calls[number]);
	}
}

/* All calls are recorded, or none; each has an end. */
static void check_records(void)
{
	for (int number = 1; number < THUNK_NUMBERS; number++) {
		uint64_t begins = g_records[RECORD_BEGIN][number];

		ck_assert_uint_eq(begins, g_records[RECORD_END][number]);
		ck_assert_uint_eq(begins, path_of(number) == THUNK_RECORD
						  ? g_calls[number]
						  : 0);
	}
}

static const char *const g_rseq[] = { "on", "off" };

TEST(thunk_keeps_all_registers, EACH(0, 2))
{
	run("registers", g_rseq[_i], true);
	check_counts(0);
	check_records();
}

TEST(thunk_counts_of_threads_and_children_are_exact, EACH(0, 2))
{
	run("threads", g_rseq[_i], true);
	check_counts(0);
	check_records();
}

TEST(thunk_is_near_to_what_is_loaded_later)
{
	run("load", "on", true);
	check_counts(0);
	check_records();
	ck_assert_uint_eq(g_calls[THUNK_CALLS_SPAN], 3);
}

TEST(thunk_interrupted_anywhere_counts_and_nests, EACH(0, 2), SLOW_FROM(1))
{
	run("record", g_rseq[1 - _i], true);
	ck_assert_uint_gt(g_witness.sure[THUNK_ENTRY_SPAN], 300);
	check_counts(0);
	check_records();
}

TEST(thunk_left_anywhere_counts_what_was_entered, EACH(0, 2), SLOW)
{
	run("jump", g_rseq[_i], false);
	check_counts(0);
}

/* A handler that forks between a thunk's look at the epoch and its count makes
 * the child count in the parent's cell, so there may be more. */
TEST(thunk_forked_in_counts_what_was_entered, EACH(0, 2), SLOW)
{
	run("fork", g_rseq[_i], false);
	check_counts(400);
}
