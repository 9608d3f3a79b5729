/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/show/summary_trust.h"

#include "tests/suite.h"

#define MS UINT64_C(1000000)

/* A run of a second with a million calls, hardly slowed. */
static const struct summary healthy = {
	.wall_ns = 1000 * MS,
	.totals = { .spans = 1000000,
		    .threads = 4,
		    .cpu_samples = 900,
		    .cpu_ns = 900 * MS },
	.cost = { .dilation = 1.04 },
};

static void expect_trust(const struct summary *summary, const char *wanted)
{
	static const struct terminal plain;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	summary_trust_print(summary, &plain, out);
	fclose(out);
	ck_assert_str_eq(text, wanted);
	free(text);
}

TEST(a_run_without_doubts_is_good)
{
	struct summary summary = healthy;

	expect_trust(&summary,
		     "  trust      good: nothing was lost, and recording "
		     "slowed this run by about 4 %\n");
	summary.cost.dilation = 1;
	expect_trust(&summary,
		     "  trust      good: nothing was lost, and recording "
		     "slowed this run by less than 1 %\n");
	summary.cost.dilation = 0; /* unknown */
	expect_trust(&summary, "  trust      good: nothing was lost\n");
	/* 9.9 ms of a second. */
	summary.totals.waits = 3;
	summary.totals.wait_ns = 9900000;
	expect_trust(&summary, "  trust      good: nothing was lost\n");
}

TEST(each_doubt_has_its_words_and_its_level)
{
	struct summary summary = healthy;

	summary.cost.dilation = 1.3;
	expect_trust(&summary,
		     "  trust      fair: recording made this run about 1.3 x "
		     "slower\n");
	summary.cost.dilation = 2.5;
	summary.totals.waits = 26;
	summary.totals.wait_ns = 3260 * MS;
	expect_trust(&summary,
		     "  trust      poor: recording made this run about 2.5 x "
		     "slower; perfrec stopped your program 26 times, 3.26 s "
		     "summed over threads\n");
	summary = healthy;
	summary.totals.waits = summary.totals.threads = 1;
	summary.totals.wait_ns = 10 * MS;
	expect_trust(&summary,
		     "  trust      fair: perfrec stopped your program 1 time, "
		     "10.0 ms\n");
	summary = healthy;
	summary.totals.dropped_spans = 1;
	expect_trust(&summary,
		     "  trust      fair: 1 call was lost (less than 0.1 %)\n");
	summary.totals.dropped_spans = 1000000;
	expect_trust(&summary,
		     "  trust      poor: 1,000,000 calls were lost (50.0 %)\n");
	summary = healthy;
	summary.totals.refused_programs = 1;
	expect_trust(&summary,
		     "  trust      poor: parts of the recording are lost\n");
	summary.totals.dropped_spans = 1;
	expect_trust(&summary,
		     "  trust      poor: 1 call was lost (less than 0.1 %); "
		     "parts of the recording are lost\n");
	summary = healthy;
	summary.totals.counted_calls = 3000000;
	summary.totals.functions_off = 1;
	summary.totals.time_from = "samples";
	expect_trust(
		&summary,
		"  trust      fair: 75.0 % of calls have no times of their "
		"own; calls of 1 function are not counted; times are "
		"estimated from 900 CPU samples\n");
	summary = healthy;
	summary.totals.cpu_samples = 12;
	summary.totals.on_cpu_ns = 600 * MS;
	summary.totals.blocked_ns = 400 * MS;
	summary.totals.spread_ns = 257 * MS;
	summary.estimates = true;
	summary.totals.peak_bytes = 10 << 20;
	summary.totals.peak_error_bytes = 1 << 20;
	expect_trust(&summary,
		     "  trust      fair: CPU times are from only 12 samples; "
		     "25.7 % of on-CPU, runnable and blocked times is "
		     "estimated; memory is estimated, its peak to ± 1.00 "
		     "MiB\n");
	summary = healthy;
	summary.totals.cpu_samples = 0;
	expect_trust(&summary,
		     "  trust      fair: no CPU sample was taken, so functions "
		     "have no CPU time\n");
}

TEST(a_stopped_program_gets_the_advice_that_fits_its_budget)
{
	struct summary summary = healthy;
	struct trust trust;

	summary.totals.waits = 1;
	summary.totals.wait_ns = 100 * MS;
	summary_trust_judge(&summary, &trust);
	ck_assert_str_eq(trust.doubts[0].next,
			 "perfrec record --overhead 5% -- COMMAND");
	summary.settings.overhead = 0.05;
	summary_trust_judge(&summary, &trust);
	ck_assert_str_eq(trust.doubts[0].next,
			 "a larger --ring-size, or --on-full drop");
}

/* All possible doubts, with the largest numbers. */
TEST(all_doubts_have_room)
{
	struct summary summary = { .wall_ns = 1, .estimates = true };
	struct trust trust;

	summary.cost.dilation = 1e300;
	memset(&summary.totals, 0xff, sizeof(summary.totals));
	summary.totals.time_from = "samples";
	summary.totals.trace_stopped = NULL;
	summary_trust_judge(&summary, &trust);
	ck_assert_int_eq(trust.level, TRUST_POOR);
	ck_assert_uint_eq(trust.count, TRUST_DOUBTS_MAX);
	for (size_t i = 0; i < trust.count; i++)
		ck_assert_uint_lt(strlen(trust.doubts[i].text),
				  sizeof(trust.doubts[i].text) - 1);
}

TEST(a_recording_of_nothing_and_a_killed_collector_are_not_good)
{
	const struct summary nothing = { 0 };
	struct summary rebuilt = healthy;

	rebuilt.rebuilt = true;
	expect_trust(&nothing, "  trust      fair: there is no call, no sample "
			       "and no allocation\n");
	expect_trust(&rebuilt,
		     "  trust      fair: the collector was killed, so "
		     "perfrec's own time is unknown\n");
}
