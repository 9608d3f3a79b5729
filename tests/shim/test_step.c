/* SPDX-License-Identifier: Apache-2.0
 *
 * test_step - a signal at each instruction of both hooks (step_victim), on the
 * fast path, without rseq and across chunk boundaries. For any action of the
 * handler: each record of a completed hook is there once and untorn, clocks
 * never step back, and a forked child never writes to its parent's ring.
 */
#include <sys/wait.h>
#include <unistd.h>

#include "tests/shim/mini_collector.h"
#include "tests/shim/victims/step_victim.h"
#include "tests/suite.h"

struct run {
	const char *action;
	const char *rseq;
	const char *pad;
	bool reload; /* loads a library before each step */
};

static const struct run g_runs[] = {
	{ "every", "on", "0", false },
	{ "jump", "off", "0", false },
	{ "every", "off", "0", true },
	/* QUICK_RUNS: the rest is slow. */
	{ "record", "on", "0", false },
	{ "jump", "on", "0", false },
	{ "fork", "on", "0", false },
	{ "every", "off", "0", false },
	{ "record", "off", "0", false },
	{ "fork", "off", "0", false },
	{ "record", "on", "511", false },
	{ "jump", "off", "511", false },
	{ "record", "on", "0", true },
	{ "jump", "on", "0", true },
	{ "fork", "on", "0", true },
};
enum { QUICK_RUNS = 3 };

/* Number of each record: [kind][address block][k]. */
struct tally {
	unsigned int seen[3][6][4096];
	long enters, exits;
	unsigned int missed[4096]; /* calls that did not act, by k */
	long generation; /* last one in the parent's ring */
};

static struct tally g_tally;

static void count_slot(const struct mini_collector *mini, uint32_t index)
{
	const struct slot_shm *slot = mini_slot(mini, index);
	const struct record *ring = mini_ring(mini, index);
	uint64_t i, last = 0, generation = slot->claim_map;

	for (i = 0; i < slot->head; i++) {
		enum record_kind kind = record_kind(ring[i].word);
		uint64_t address = record_payload(ring[i].word);

		ck_assert_msg(ring[i].clock >= last,
			      "slot %u: clock steps back at cell %lu", index,
			      (unsigned long)i);
		last = ring[i].clock;
		if (kind == RECORD_MAP) {
			ck_assert_uint_ge(address, generation);
			generation = address;
			continue;
		}
		/* FLOW: the victim's own sigsetjmp() and siglongjmp(). */
		if (kind == RECORD_FORK || kind == RECORD_FORKING ||
		    kind == RECORD_FLOW)
			continue;
		ck_assert(kind == RECORD_BEGIN || kind == RECORD_END);
		ck_assert_uint_ge(address, STEP_OUTER);
		ck_assert_uint_lt(address % STEP_MAX, 4096);
		/* Only slot 0, the parent's ring, has steps. */
		if (index == 0)
			g_tally.seen[kind][address / STEP_MAX]
				    [address % STEP_MAX]++;
	}
	if (index == 0)
		g_tally.generation = (long)generation;
}

static void read_result(FILE *file)
{
	long k;

	while (fscanf(file, "%ld", &k) == 1 && k >= 0) {
		ck_assert_int_lt(k, 4096);
		g_tally.missed[k]++;
	}
	ck_assert_int_eq(
		fscanf(file, "%ld %ld", &g_tally.enters, &g_tally.exits), 2);
}

static void run_victim(const struct run *run)
{
	struct wire_reply settings = { .on_full = WIRE_ON_FULL_DROP };
	struct mini_collector mini;
	char result[] = "/tmp/test_step-XXXXXX";
	char *argv[] = { (char *)mini_build_path(
				 "tests/shim/victims/step_victim"),
			 (char *)run->action,
			 (char *)run->pad,
			 result,
			 NULL,
			 NULL };
	FILE *file = fdopen(mkstemp(result), "r");
	uint32_t i;
	int status;
	pid_t pid;

	memset(&g_tally, 0, sizeof(g_tally));
	setenv("PERFREC_RSEQ", run->rseq, 1);
	setenv("PERFREC_RING_KB", "65536", 1);
	if (run->reload)
		argv[4] = (char *)mini_build_path(
			"tests/shim/victims/libmap_opener.so");
	mini_collector_start(&mini);
	pid = mini_spawn(&mini, mini_build_path("libperfrec_preload.so"), argv);
	mini_collector_accept(&mini, settings, CONTROL_ON);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_msg(status == 0, "step_victim ended with status %x", status);
	read_result(file);
	fclose(file);
	unlink(result);
	for (i = 0; i < mini.hello.slot_count; i++)
		if (mini_slot(&mini, i)->claims)
			count_slot(&mini, i);
	ck_assert_uint_eq(mini_slot(&mini, 0)->dropped_spans, 0);
	if (run->reload)
		ck_assert_int_ge(g_tally.generation,
				 g_tally.enters + g_tally.exits);
	mini_collector_stop(&mini);
}

static unsigned int seen(enum record_kind kind, uint64_t block, long k)
{
	return g_tally.seen[kind][block / STEP_MAX][k];
}

/* Both hooks were stepped up to k = enters, exits, so addresses up to the
 * smaller k come twice. */
static unsigned int expected(long k)
{
	return (k < g_tally.enters) + (k < g_tally.exits) + g_tally.missed[k];
}

static void check_outer(const struct run *run, long k)
{
	unsigned int begins = seen(RECORD_BEGIN, STEP_OUTER, k);
	unsigned int ends = seen(RECORD_END, STEP_OUTER, k);

	if (strcmp(run->action, "jump")) {
		ck_assert_uint_eq(begins, expected(k));
		ck_assert_uint_eq(ends, expected(k));
		return;
	}
	/* An abandoned hook may have recorded once. */
	ck_assert_uint_le(begins, expected(k));
	ck_assert_uint_le(ends, expected(k));
	ck_assert_uint_ge(begins + ends, 2 * expected(k) - expected(k));
}

static void check_after(long k)
{
	unsigned int calls = expected(k) + (k == 0);
	unsigned int begins = seen(RECORD_BEGIN, STEP_AFTER, k);
	unsigned int ends = seen(RECORD_END, STEP_AFTER, k);

	ck_assert_msg(begins == calls && ends == calls,
		      "step %ld of %ld and %ld: %u begins and %u ends of %u", k,
		      g_tally.enters, g_tally.exits, begins, ends, calls);
}

TEST(step_every_instruction_loses_nothing,
     EACH(0, sizeof(g_runs) / sizeof(g_runs[0])), SLOW_FROM(QUICK_RUNS))
{
	const struct run *run = &g_runs[_i];
	bool records = !strcmp(run->action, "record");
	long k, most;

	run_victim(run);
	most = g_tally.enters > g_tally.exits ? g_tally.enters : g_tally.exits;
	/* The last k found no such instruction. */
	ck_assert_int_gt(g_tally.enters, 15);
	ck_assert_int_gt(g_tally.exits, 15);
	for (k = 0; k < most; k++) {
		unsigned int inner =
			(k < g_tally.enters - 1) + (k < g_tally.exits - 1);

		check_outer(run, k);
		if (records) {
			ck_assert_uint_eq(seen(RECORD_BEGIN, STEP_INNER, k),
					  inner);
			ck_assert_uint_eq(seen(RECORD_END, STEP_INNER, k),
					  inner);
		}
		check_after(k);
	}
}
