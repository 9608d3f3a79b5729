/* SPDX-License-Identifier: Apache-2.0
 *
 * The schedule of perfrec-push with a simulated clock: the time of each
 * request, and no window sent twice or lost silently.
 */

#include "collector/push/schedule.h"
#include "tests/random.h"
#include "tests/suite.h"

#define SECOND UINT64_C(1000000000)
#define HOUR (3600 * SECOND)
#define EPOCH (UINT64_C(1795877864) * SECOND)
#define WINDOWS_MAX 8192

/* Counters of each window, by its session. */
struct rig {
	struct schedule schedule;
	struct schedule_time now;
	uint8_t sent[SCHEDULE_LANES_MAX][WINDOWS_MAX];
	uint8_t lost[SCHEDULE_LANES_MAX][WINDOWS_MAX];
	uint8_t removed[WINDOWS_MAX];
	unsigned int lost_by[SCHEDULE_MALFORMED + 1];
};

static void remove_it(void *context, const struct schedule_window *window)
{
	struct rig *rig = context;

	rig->removed[window->session]++;
}

static void lose_it(void *context, const struct schedule_window *window,
		    uint32_t lane, enum schedule_end why)
{
	struct rig *rig = context;

	rig->lost[lane][window->session]++;
	rig->lost_by[why]++;
}

static void mark_it(void *context, const struct schedule_window *window,
		    uint32_t lane)
{
	(void)context;
	ck_assert(window->done & 1u << lane);
}

static const struct schedule_ops ops = { remove_it, lose_it, mark_it };

static struct rig *rig_new(uint32_t lanes, uint64_t bytes_max)
{
	struct rig *rig = calloc(1, sizeof(*rig));

	ck_assert_ptr_nonnull(rig);
	rig->schedule.ops = &ops;
	rig->schedule.context = rig;
	rig->schedule.lane_count = lanes;
	rig->schedule.bytes_max = bytes_max;
	for (uint32_t i = 0; i < lanes; i++)
		rig->schedule.lanes[i] = (struct schedule_lane){
			.batch_max = 64,
			.batch_bytes = 64 << 10,
			.age_max_ns = HOUR,
		};
	rig->now = (struct schedule_time){ SECOND, EPOCH };
	return rig;
}

static void rig_free(struct rig *rig)
{
	schedule_release(&rig->schedule);
	free(rig);
}

static void pass(struct rig *rig, uint64_t ns)
{
	rig->now.mono_ns += ns;
	rig->now.unix_ns += ns;
}

static void add_at(struct rig *rig, uint64_t unix_ns, unsigned int session,
		   uint64_t bytes)
{
	char name[64];

	snprintf(name, sizeof(name), "%llu-%u", (unsigned long long)unix_ns,
		 session);
	ck_assert_int_eq(
		schedule_see(&rig->schedule, name, bytes, 0, &rig->now), 0);
	ck_assert(schedule_has(&rig->schedule, name));
}

static void add(struct rig *rig, unsigned int session, uint64_t bytes)
{
	add_at(rig, rig->now.unix_ns, session, bytes);
}

static void arrive(struct rig *rig, uint32_t lane)
{
	const struct schedule_window *window = NULL;

	while ((window = schedule_picked(&rig->schedule, lane, window)))
		rig->sent[lane][window->session]++;
}

static uint32_t pick(struct rig *rig, uint32_t lane)
{
	return schedule_pick(&rig->schedule, lane, &rig->now);
}

TEST(names_of_windows_are_numbers)
{
	static const char *const wrong[] = {
		"",
		"1",
		"-1",
		"1-",
		"1-2-3",
		"a-1",
		" 1-1",
		"1- 1",
		"+1-1",
		"01-1",
		"1-01",
		"1-1 ",
		".1-1",
		"1--1",
		"99999999999999999999-1",
		"1-99999999999999999999",
		"push.json",
	};
	uint64_t start_ns, session;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		ck_assert_msg(!schedule_parse(wrong[i], &start_ns, &session),
			      "%s", wrong[i]);
	ck_assert(schedule_parse("1795877864000000000-0", &start_ns, &session));
	ck_assert_uint_eq(start_ns, EPOCH);
	ck_assert_uint_eq(session, 0);
	ck_assert(
		schedule_parse("0-18446744073709551615", &start_ns, &session));
	ck_assert_uint_eq(session, UINT64_MAX);
}

TEST(windows_of_one_moment_share_a_request)
{
	struct rig *rig = rig_new(1, 1 << 30);

	add(rig, 0, 1000);
	ck_assert_uint_eq(pick(rig, 0), 0);
	pass(rig, SCHEDULE_SETTLE_NS / 2);
	add(rig, 1, 1000);
	pass(rig, SCHEDULE_SETTLE_NS / 2);
	ck_assert_uint_eq(pick(rig, 0), 0);
	ck_assert_uint_le(schedule_idle_ns(&rig->schedule, &rig->now),
			  SCHEDULE_SETTLE_NS / 2);
	pass(rig, SCHEDULE_SETTLE_NS / 2);
	ck_assert_uint_eq(pick(rig, 0), 2);
	add(rig, 2, 1000);
	pass(rig, SECOND);
	ck_assert_uint_eq(pick(rig, 0), 0);
	schedule_accepted(&rig->schedule, 0);
	ck_assert_uint_eq(rig->removed[0] + rig->removed[1], 2);
	ck_assert_uint_eq(pick(rig, 0), 1);
	schedule_accepted(&rig->schedule, 0);
	ck_assert_uint_eq(rig->schedule.count, 0);
	ck_assert_uint_eq(rig->schedule.bytes, 0);
	rig_free(rig);
}

TEST(requests_are_bounded_and_halved)
{
	struct rig *rig = rig_new(1, 1 << 30);

	for (unsigned int i = 0; i < 100; i++)
		add(rig, i, 1 << 10);
	/* One window exceeds the limit of a request. */
	pass(rig, 1);
	add(rig, 100, 1 << 20);
	pass(rig, SECOND);
	ck_assert_uint_eq(pick(rig, 0), 64);
	schedule_too_large(&rig->schedule, 0);
	ck_assert_uint_eq(pick(rig, 0), 32);
	schedule_too_large(&rig->schedule, 0);
	ck_assert_uint_eq(pick(rig, 0), 16);
	schedule_accepted(&rig->schedule, 0);
	ck_assert_uint_eq(pick(rig, 0), 32);
	schedule_accepted(&rig->schedule, 0);
	ck_assert_uint_eq(pick(rig, 0), 52);
	schedule_accepted(&rig->schedule, 0);
	ck_assert_uint_eq(pick(rig, 0), 1);
	schedule_too_large(&rig->schedule, 0);
	ck_assert_uint_eq(rig->lost_by[SCHEDULE_TOO_LARGE], 1);
	ck_assert_uint_eq(rig->lost[0][100], 1);
	ck_assert_uint_eq(rig->schedule.count, 0);
	rig_free(rig);
}

TEST(failures_wait_longer_and_longer)
{
	struct rig *rig = rig_new(1, 1 << 30);
	uint64_t most = SCHEDULE_WAIT_MIN_NS;
	uint64_t random = 7;

	rig->schedule.lanes[0].age_max_ns = 0;
	add(rig, 0, 1);
	pass(rig, SECOND);
	for (int i = 0; i < 40; i++) {
		uint64_t wait_ns;

		ck_assert_uint_eq(pick(rig, 0), 1);
		schedule_again(&rig->schedule, 0, &rig->now, 0,
			       next_random(&random));
		wait_ns = schedule_idle_ns(&rig->schedule, &rig->now);
		if (most <= 60 * SECOND) {
			ck_assert_uint_gt(wait_ns, most / 2);
			ck_assert_uint_le(wait_ns, most);
		}
		wait_ns = rig->schedule.lanes[0].next_ns - rig->now.mono_ns;
		ck_assert_uint_gt(wait_ns, most / 2);
		ck_assert_uint_le(wait_ns, most);
		pass(rig, wait_ns - 1);
		ck_assert_uint_eq(pick(rig, 0), 0);
		pass(rig, 1);
		most = 2 * most < SCHEDULE_WAIT_MAX_NS ? 2 * most
						       : SCHEDULE_WAIT_MAX_NS;
	}
	/* Retry-After is obeyed, up to an hour. */
	ck_assert_uint_eq(pick(rig, 0), 1);
	schedule_again(&rig->schedule, 0, &rig->now, 1000 * SECOND, 0);
	ck_assert_uint_eq(rig->schedule.lanes[0].next_ns - rig->now.mono_ns,
			  1000 * SECOND);
	schedule_end(&rig->schedule, &rig->now);
	ck_assert_uint_eq(pick(rig, 0), 0);
	pass(rig, 1000 * SECOND);
	ck_assert_uint_eq(pick(rig, 0), 1);
	schedule_again(&rig->schedule, 0, &rig->now, UINT64_MAX, 0);
	ck_assert_uint_eq(rig->schedule.lanes[0].next_ns - rig->now.mono_ns,
			  HOUR);
	pass(rig, HOUR);
	/* The end cancels waits of our own, but not the server's. */
	ck_assert_uint_eq(pick(rig, 0), 1);
	schedule_again(&rig->schedule, 0, &rig->now, 0, 0);
	ck_assert_uint_eq(pick(rig, 0), 0);
	schedule_end(&rig->schedule, &rig->now);
	ck_assert_uint_eq(pick(rig, 0), 1);
	schedule_accepted(&rig->schedule, 0);
	ck_assert_uint_eq(rig->schedule.lanes[0].failures, 0);
	rig_free(rig);
}

TEST(a_full_spool_loses_the_oldest)
{
	struct rig *rig = rig_new(1, 10);

	for (unsigned int i = 0; i < 20; i++) {
		add(rig, i, 1);
		pass(rig, 1);
	}
	pass(rig, SECOND);
	rig->schedule.lanes[0].batch_max = 3;
	ck_assert_uint_eq(pick(rig, 0), 3);
	schedule_expire(&rig->schedule, &rig->now);
	ck_assert_uint_eq(rig->schedule.bytes, 10);
	ck_assert_uint_eq(rig->lost_by[SCHEDULE_SPOOL_FULL], 10);
	arrive(rig, 0);
	schedule_accepted(&rig->schedule, 0);
	for (unsigned int i = 0; i < 20; i++) {
		ck_assert_uint_eq(rig->sent[0][i], i < 3);
		ck_assert_uint_eq(rig->lost[0][i], i >= 3 && i < 13);
	}
	rig_free(rig);
}

/* A window every 15 s for two servers with all kinds of failures. */
TEST(a_day_doubles_and_loses_nothing_unsaid)
{
	enum { COUNT = 24 * 240, STEP_MS = 100 };
	struct rig *rig = rig_new(2, 1000);
	uint64_t random = 24;
	uint64_t ends_ns[2] = { 0, 0 };
	unsigned int count = 0, sent = 0;

	for (uint64_t step = 0; count < COUNT || rig->schedule.count; step++) {
		/* The second server is away for two hours. */
		const bool away = count > 1000 && count < 1480;

		if (step % (15000 / STEP_MS) == 0 && count < COUNT)
			add(rig, count++, 1 + next_random(&random) % 3);
		if (step > 2 * COUNT * (15000 / STEP_MS))
			ck_abort_msg("the schedule does not end");
		schedule_expire(&rig->schedule, &rig->now);
		for (uint32_t lane = 0; lane < 2; lane++) {
			const uint64_t chance = next_random(&random) % 100;

			if (rig->schedule.lanes[lane].is_busy) {
				if (rig->now.mono_ns < ends_ns[lane])
					continue;
				if (lane && away)
					schedule_again(&rig->schedule, lane,
						       &rig->now, 0,
						       next_random(&random));
				else if (chance < 60) {
					arrive(rig, lane);
					schedule_accepted(&rig->schedule, lane);
				} else if (chance < 62)
					schedule_refused(&rig->schedule, lane);
				else if (chance < 70)
					schedule_too_large(&rig->schedule,
							   lane);
				else
					schedule_again(
						&rig->schedule, lane, &rig->now,
						chance < 75 ? 90 * SECOND : 0,
						next_random(&random));
				continue;
			}
			if (pick(rig, lane))
				ends_ns[lane] =
					rig->now.mono_ns +
					next_random(&random) % (60 * SECOND);
		}
		pass(rig, STEP_MS * SECOND / 1000);
	}
	for (unsigned int i = 0; i < COUNT; i++) {
		ck_assert_uint_eq(rig->removed[i], 1);
		for (uint32_t lane = 0; lane < 2; lane++) {
			ck_assert_uint_eq(
				rig->sent[lane][i] + rig->lost[lane][i], 1);
			sent += rig->sent[lane][i];
		}
	}
	ck_assert_uint_gt(sent, COUNT);
	ck_assert_uint_gt(rig->lost_by[SCHEDULE_TOO_OLD], 100);
	ck_assert_uint_gt(rig->lost_by[SCHEDULE_REFUSED], 10);
	ck_assert_uint_eq(rig->schedule.bytes, 0);
	rig_free(rig);
}

/* A server that gets windows in parts may have got some of the first one. */
TEST(a_window_that_is_begun_goes_on_before_an_older_one)
{
	struct rig *rig = rig_new(1, 1 << 20);

	rig->schedule.lanes[0].batch_max = 1;
	pass(rig, 10 * SECOND);
	add(rig, 2, 100);
	pass(rig, SECOND);
	ck_assert_uint_eq(pick(rig, 0), 1);
	schedule_again(&rig->schedule, 0, &rig->now, 0, 0);
	add_at(rig, rig->now.unix_ns - 5 * SECOND, 1, 100);
	pass(rig, 10 * SECOND);
	for (uint64_t session = 2; session; session--) {
		ck_assert_uint_eq(pick(rig, 0), 1);
		ck_assert_uint_eq(
			schedule_picked(&rig->schedule, 0, NULL)->session,
			session);
		schedule_accepted(&rig->schedule, 0);
	}
	rig_free(rig);
}

/* The folder has them in any order. */
TEST(of_too_many_windows_the_oldest_are_known)
{
	struct rig *rig = rig_new(1, UINT64_MAX);

	for (uint64_t i = 0; i < SCHEDULE_WINDOWS_MAX; i++)
		add_at(rig, EPOCH + i, 1, 1);
	ck_assert_uint_eq(rig->schedule.left_windows, 0);
	for (uint64_t i = 1; i <= 10; i++)
		add_at(rig, EPOCH - i, 1, 1);
	ck_assert_uint_eq(rig->schedule.left_windows, 10);
	ck_assert_uint_eq(rig->schedule.left_bytes, 10);
	ck_assert_uint_eq(rig->schedule.count, SCHEDULE_WINDOWS_MAX);
	ck_assert_uint_eq(rig->schedule.bytes, SCHEDULE_WINDOWS_MAX);
	ck_assert_uint_eq(rig->schedule.windows[0].start_ns, EPOCH - 10);
	ck_assert_uint_eq(rig->removed[1], 0);
	ck_assert_uint_eq(rig->lost[0][1], 0);
	/* A newer one waits as well. */
	ck_assert_int_eq(schedule_see(&rig->schedule, "9999999999999999999-1",
				      1, 0, &rig->now),
			 0);
	ck_assert(!schedule_has(&rig->schedule, "9999999999999999999-1"));
	/* bytes_max bounds the scheduled and the left windows together. */
	rig->schedule.bytes_max = SCHEDULE_WINDOWS_MAX + 11;
	schedule_expire(&rig->schedule, &rig->now);
	ck_assert_uint_eq(rig->schedule.count, SCHEDULE_WINDOWS_MAX);
	rig->schedule.bytes_max--;
	schedule_expire(&rig->schedule, &rig->now);
	ck_assert_uint_eq(rig->schedule.count, SCHEDULE_WINDOWS_MAX - 1);
	rig_free(rig);
}
