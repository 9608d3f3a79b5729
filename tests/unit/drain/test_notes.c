/* SPDX-License-Identifier: Apache-2.0
 *
 * Annotations from records to the trace, as trace_check prints it: records that
 * perfrec.h cannot produce but a hostile program can. tests/golden/annotations
 * has the others.
 */
#include <errno.h>
#include <malloc.h>

#include "collector/base/random.h"
#include "collector/drain/async_lanes.h"
#include "collector/names/call_signature.h"
#include "shared/compiler.h"
#include "shared/record_ext.h"
#include "tests/suite.h"
#include "tests/unit/notes_rig.h"

#define BUCKETS 4096u

static struct rig *g_rig;
static struct record g_cells[8192];
static size_t g_count;
static uint64_t g_ns;
static char g_text[2 << 20];

static uint32_t g_span, g_counter, g_step, g_track, g_orphan;

static void setup(void)
{
	static const char *const names[][6] = { { "work", "cat", "a.c", "f" },
						{ "level" },
						{ "steps" },
						{ "static" } };

	g_rig = rig_new();
	g_count = 0;
	g_ns = g_rig->start_ns + 1000;
	g_span = rig_site(g_rig, (struct site_shm){ .kind = SITE_SPAN },
			  names[0], "key");
	g_counter = rig_site(g_rig, (struct site_shm){ .kind = SITE_COUNTER },
			     names[1], NULL);
	g_step = rig_site(g_rig,
			  (struct site_shm){ .kind = SITE_COUNTER,
					     .flags = SITE_INCREMENTAL },
			  names[2], NULL);
	g_track = rig_site(g_rig,
			   (struct site_shm){ .kind = SITE_TRACK, .track = 77 },
			   names[3], NULL);
	g_orphan = 4000;
}

static void teardown(void)
{
	call_layouts_free(&g_rig->arena.setup.layouts);
	rig_free(g_rig);
}

/* --- records ------------------------------------------------------------- */

static void cell(uint64_t word, uint64_t clock)
{
	g_cells[g_count++] = (struct record){ word, clock };
}

static void ext(enum record_ext what, uint32_t cells, uint32_t value)
{
	cell(record_ext_word(what, cells, value, 0), g_ns += 10);
}

static void begin(uint32_t site)
{
	cell(record_word(RECORD_BEGIN, site, 0x900), g_ns += 10);
}

static void end(uint32_t site)
{
	cell(record_word(RECORD_END, site, 0x900), g_ns += 10);
}

static void arg(enum note_type type, uint64_t value)
{
	const struct note_arg head = { .type = (uint8_t)type, .value = value };

	ext(EXT_ARGS, 1, 1);
	memcpy(&g_cells[g_count++], &head, sizeof(head));
}

static void async(enum record_ext what, uint64_t track, uint64_t handle)
{
	ext(what, 1, g_span);
	cell(track, handle);
}

static int run(int thread)
{
	int err = rig_run(g_rig, thread, g_cells, g_count);

	g_count = 0;
	return err;
}

/* Returns the trace as text; trace_check must accept it. */
static const char *text(void)
{
	char command[512];
	size_t got;
	FILE *pipe;

	rig_end(g_rig);
	snprintf(command, sizeof(command), "%s --text %s/" TRACE_NAME " 2>&1",
		 TRACE_CHECK, g_rig->dir);
	pipe = popen(command, "r");
	ck_assert_ptr_nonnull(pipe);
	got = fread(g_text, 1, sizeof(g_text) - 1, pipe);
	g_text[got] = '\0';
	ck_assert_msg(pclose(pipe) == 0, "%.1000s", g_text);
	return g_text;
}

#define TOTAL(name) (g_rig->recording.sums.totals.name)

/* --- prefixes ------------------------------------------------------------ */

FIXTURE(setup, teardown);

TEST(notes_argument_belongs_to_the_next_begin_alone)
{
	arg(NOTE_INT, 1);
	begin(g_span);
	begin(g_span);
	end(g_span);
	arg(NOTE_UINT, 2);
	end(g_span);
	ck_assert_int_eq(run(0), 0);
	ck_assert_str_eq(text(), "main thread\n"
				 "  + work [cat] @a.c:0 key=1\n"
				 "    + work [cat] @a.c:0\n"
				 "    -\n"
				 "  - key=2u\n");
	ck_assert_uint_eq(TOTAL(odd_notes), 0);
}

TEST(notes_prefix_without_an_event_is_counted)
{
	arg(NOTE_INT, 1);
	cell(record_word(RECORD_PAUSED, 1, 0), g_ns += 10);
	begin(g_span);
	arg(NOTE_INT, 2);
	end(g_span);
	arg(NOTE_INT, 3);
	run(0);
	ck_assert_str_eq(text(), "main thread\n"
				 "  * recording paused: 1 spans not "
				 "recorded perfrec.paused_spans=1\n"
				 "  + work [cat] @a.c:0\n"
				 "  - key=2\n");
	ck_assert_uint_eq(TOTAL(odd_notes), 1);
}

TEST(notes_prefix_told_twice_counts_once)
{
	arg(NOTE_INT, 1);
	arg(NOTE_INT, 2);
	begin(g_span);
	end(g_span);
	run(0);
	ck_assert_ptr_nonnull(strstr(text(), "work [cat] @a.c:0 key=1\n"));
	ck_assert_uint_eq(TOTAL(odd_notes), 1);
}

TEST(notes_prefix_of_a_function_is_left_out)
{
	arg(NOTE_INT, 1);
	cell(record_word(RECORD_BEGIN, 0x123456, 0x900), g_ns += 10);
	end(0);
	run(0);
	ck_assert_ptr_nonnull(strstr(text(), "  + 0x123456\n"));
	ck_assert_uint_eq(TOTAL(odd_notes), 1);
}

TEST(notes_excluded_site_takes_its_prefix_along)
{
	while (rig_site(g_rig, (struct site_shm){ .kind = SITE_SPAN },
			(const char *const[6]){ "out" }, NULL) < 13)
		;
	arg(NOTE_INT, 1);
	begin(13);
	arg(NOTE_INT, 2);
	end(13);
	begin(g_span);
	end(g_span);
	ext(EXT_INSTANT, 0, 13);
	run(0);
	ck_assert_str_eq(text(), "main thread\n"
				 "  + work [cat] @a.c:0\n"
				 "  -\n");
	ck_assert_uint_eq(TOTAL(odd_notes), 0);
}

TEST(notes_too_deep_takes_its_prefix_along)
{
	uint64_t sp = 0x9000;
	int i;

	for (i = 0; i < REPLAY_SLICES_MAX; i++)
		cell(record_word(RECORD_BEGIN, g_span, sp -= 16), g_ns += 10);
	arg(NOTE_INT, 4711);
	cell(record_word(RECORD_BEGIN, g_span, sp -= 16), g_ns += 10);
	arg(NOTE_INT, 4711);
	for (i = 0; i <= REPLAY_SLICES_MAX; i++, sp += 16)
		cell(record_word(RECORD_END, g_span, sp), g_ns += 10);
	run(0);
	ck_assert_ptr_null(strstr(text(), "4711"));
	ck_assert_uint_eq(g_rig->recording.sums.totals.odd_notes, 0);
}

TEST(notes_broken_arguments_are_counted)
{
	struct note_arg head = { .type = NOTE_STRING, .text_bytes = 5000 };

	ext(EXT_ARGS, 1, 1); /* its text is missing */
	memcpy(&g_cells[g_count++], &head, sizeof(head));
	ext(EXT_INSTANT, 0, g_span);
	arg((enum note_type)99, 1);
	ext(EXT_INSTANT, 0, g_span);
	ext(EXT_ARGS, 0, 3);
	ext(EXT_INSTANT, 0, g_span);
	ext(EXT_FLOWS, 1, 1000);
	cell(5, 0);
	ext(EXT_INSTANT, 0, g_span);
	run(0);
	ck_assert_str_eq(text(), "main thread\n"
				 "  * work [cat] @a.c:0\n"
				 "  * work [cat] @a.c:0\n"
				 "  * work [cat] @a.c:0\n"
				 "  * work [cat] @a.c:0 flow #1\n");
	ck_assert_uint_eq(TOTAL(cut_notes), 1 + 1 + 3 + 999);
}

TEST(notes_empty_records_are_counted)
{
	ext(EXT_COUNTER, 0, g_counter);
	ext(EXT_ASYNC_BEGIN, 0, g_span);
	ext(EXT_CORRELATION, 0, 0);
	ext(EXT_TRACK, 1, 0);
	cell(1, 2);
	ext(EXT_INSTANT, 0, 0);
	ext(EXT_COUNTER, 1, g_span);
	cell(1, 0);
	ck_assert_int_eq(run(0), 0);
	ck_assert_str_eq(text(), "");
	ck_assert_uint_eq(TOTAL(odd_notes), 6);
}

TEST(notes_unknown_record_ends_the_recording)
{
	ext((enum record_ext)23, 0, 0);
	ck_assert_int_eq(run(0), -EBADMSG);
	text();
}

TEST(notes_unknown_site_has_a_number)
{
	ext(EXT_INSTANT, 0, g_orphan);
	run(0);
	ck_assert_str_eq(text(), "main thread\n  * site 4000\n");
}

TEST(notes_paused_are_left_out_and_counted)
{
	begin(g_span);
	run(0);
	pause_begin(&g_rig->arena.pauses, g_ns += 10);
	ext(EXT_INSTANT, 0, g_span);
	arg(NOTE_INT, 1);
	begin(g_span);
	arg(NOTE_INT, 2);
	end(g_span);
	run(0);
	pause_end(&g_rig->arena.pauses, g_ns += 10);
	end(g_span);
	run(0);
	ck_assert_str_eq(text(), "main thread\n"
				 "  + work [cat] @a.c:0\n"
				 "    * recording paused: 1 spans not recorded "
				 "perfrec.paused_spans=1\n"
				 "  -\n");
	ck_assert_uint_eq(TOTAL(paused_notes), 1);
}

TEST(notes_dropped_are_told_where_they_were)
{
	g_rig->slot[0].dropped_notes = 3;
	begin(g_span);
	run(0);
	g_rig->slot[0].dropped_notes = 5;
	end(g_span);
	run(0);
	rig_must(g_rig->thread[0].notes, "notes");
	/* A recording's statistics must report the loss as well. */
	rig_end(g_rig);
	ck_assert_uint_eq(TOTAL(dropped_notes), 5);
	ck_assert_uint_eq(g_rig->recording.sums.lossy_count, 1);
}

/* --- times --------------------------------------------------------------- */

TEST(notes_times_outside_of_the_recording_are_moved)
{
	static const int64_t at[] = { -5, 0, INT64_MAX };

	for (size_t i = 0; i < ARRAY_SIZE(at); i++) {
		ext(EXT_AT, 1, 0);
		cell((uint64_t)at[i], 0);
		ext(EXT_COUNTER, 1, g_counter);
		cell(i, 0);
	}
	ext(EXT_AT, 1, 0);
	cell(g_rig->start_ns + 5, 0);
	ext(EXT_COUNTER, 1, g_counter);
	cell(9, 0);
	run(0);
	ck_assert_str_eq(text(), "process / level\n"
				 "  = 0\n  = 1\n  = 9\n  = 2\n");
	ck_assert_uint_eq(TOTAL(moved_notes), 3);
}

TEST(notes_time_of_a_slice_is_none_of_its_business)
{
	ext(EXT_AT, 1, 0);
	cell(1, 0);
	begin(g_span);
	end(g_span);
	run(0);
	ck_assert_ptr_nonnull(strstr(text(), "+ work"));
	ck_assert_uint_eq(TOTAL(odd_notes), 1);
}

/* --- other tracks -------------------------------------------------------- */

TEST(notes_steps_are_added_up_in_the_order_of_clocks)
{
	uint64_t before = g_ns;

	g_ns += 1000;
	ext(EXT_COUNTER, 1, g_step);
	cell(100, 0);
	run(0);
	g_ns = before;
	ext(EXT_COUNTER, 1, g_step);
	cell(1, 0);
	run(1);
	g_ns = before + 5000;
	ext(EXT_COUNTER, 1, g_step);
	cell((uint64_t)-1, 0);
	run(1);
	ck_assert_str_eq(text(), "process / steps\n  = 1\n  = 101\n  = 100\n");
}

TEST(notes_slices_end_in_the_order_of_clocks)
{
	uint64_t before = g_ns;

	/* The end arrives first but has the later clock. */
	g_ns += 1000;
	async(EXT_ASYNC_END, 77, 1);
	run(0);
	g_ns = before;
	async(EXT_ASYNC_BEGIN, 77, 1);
	run(1);
	ck_assert_str_eq(text(), "process / static\n"
				 "  + work [cat] @a.c:0\n  -\n");
	ck_assert_uint_eq(TOTAL(orphan_async_ends), 0);
}

TEST(notes_overlapping_slices_lie_side_by_side)
{
	for (uint64_t i = 1; i <= 3; i++)
		async(EXT_ASYNC_BEGIN, 77, i);
	for (uint64_t i = 1; i <= 2; i++)
		async(EXT_ASYNC_END, 77, i);
	async(EXT_ASYNC_BEGIN, 77, 9);
	async(EXT_ASYNC_END, 77, 8);
	run(0);
	ck_assert_str_eq(text(), "process / static\n"
				 "  + work [cat] @a.c:0\n"
				 "  -\n"
				 "  + work [cat] @a.c:0\n"
				 "  -\n"
				 "process / static\n"
				 "  + work [cat] @a.c:0\n"
				 "  -\n"
				 "process / static\n"
				 "  + work [cat] @a.c:0\n"
				 "  -\n");
	ck_assert_uint_eq(TOTAL(orphan_async_ends), 1);
	ck_assert_uint_eq(TOTAL(unended_async), 2);
}

/* Claims @bytes bytes for a name of one cell. */
static void track_said(uint64_t number, uint64_t parent, const char *name,
		       uint16_t bytes)
{
	const struct note_track told = { .track = number,
					 .parent = parent,
					 .name_bytes = bytes };

	ext(EXT_TRACK, 3, 0);
	memcpy(&g_cells[g_count], &told, sizeof(told));
	g_count += 2;
	memset(&g_cells[g_count], 0, sizeof(*g_cells));
	memcpy(&g_cells[g_count++], name, strlen(name));
}

static void track(uint64_t number, uint64_t parent, const char *name)
{
	track_said(number, parent, name, (uint16_t)strlen(name));
}

TEST(notes_tracks_in_a_circle_lie_below_the_process)
{
	track(1000, 1001, "one");
	track(1001, 1000, "two");
	track(1002, 1002, "self");
	async(EXT_ASYNC_INSTANT, 1000, 0);
	async(EXT_ASYNC_INSTANT, 1001, 0);
	async(EXT_ASYNC_INSTANT, 1002, 0);
	run(0);
	ck_assert_str_eq(text(), "process / self\n  * work [cat] @a.c:0\n"
				 "process / two\n  * work [cat] @a.c:0\n"
				 "process / two / one\n"
				 "  * work [cat] @a.c:0\n");
	ck_assert_uint_eq(TOTAL(odd_notes), 2);
}

TEST(notes_unknown_tracks_have_numbers)
{
	async(EXT_ASYNC_INSTANT, 5555, 0);
	track(1000, 6666, "below");
	async(EXT_ASYNC_INSTANT, 1000, 0);
	run(0);
	ck_assert_str_eq(text(), "process / track 5555\n"
				 "  * work [cat] @a.c:0\n"
				 "process / track 6666 / below\n"
				 "  * work [cat] @a.c:0\n");
	ck_assert_uint_eq(TOTAL(odd_notes), 2);
}

TEST(notes_track_used_before_it_is_told_has_its_name)
{
	async(EXT_ASYNC_INSTANT, 1000, 0);
	track(1000, TRACK_GLOBAL, "told");
	track(1000, TRACK_GLOBAL, "again");
	run(0);
	ck_assert_str_eq(text(), "global / told\n  * work [cat] @a.c:0\n");
	ck_assert_uint_eq(TOTAL(odd_notes), 1);
}

TEST(notes_track_with_lengths_that_lie_is_none)
{
	track_said(1000, 0, "name", 60000);
	run(0);
	ck_assert_str_eq(text(), "");
	ck_assert_uint_eq(TOTAL(odd_notes), 1);
}

TEST(notes_many_lanes_have_a_limit)
{
	for (uint64_t i = 0; i < 5000; i++) {
		async(EXT_ASYNC_BEGIN, 77, i);
		if (g_count > 4000)
			run(0);
	}
	run(0);
	rig_end(g_rig);
	ck_assert_uint_eq(TOTAL(withheld_notes), 5000 - 4096);
	ck_assert_uint_eq(TOTAL(unended_async), 4096);
}

static size_t memory_used(void)
{
	return mallinfo2().uordblks;
}

/* Long arguments and the array of lanes took memory beside the budget. */
TEST(notes_open_slices_take_no_more_than_the_budget)
{
	const uint64_t budget = 8 << 20;
	uint64_t other;
	size_t before;

	run(0);
	before = memory_used();
	other = g_rig->recording.budget.left - budget;
	ck_assert(budget_take(&g_rig->recording.budget, other));
	for (uint64_t i = 0; i < 200000; i++) {
		async(EXT_ASYNC_BEGIN, i / 4, i);
		if (g_count > 4000)
			run(0);
	}
	run(0);
	orders_release(&g_rig->arena.orders, UINT64_MAX);
	ck_assert_uint_lt(memory_used() - before, budget + (budget >> 3));
	rig_end(g_rig);
	budget_give(&g_rig->recording.budget, other);
	ck_assert_uint_gt(TOTAL(withheld_notes), 0);
	ck_assert_uint_gt(TOTAL(unended_async), 9000);
}

#define LONG_TEXT 992

static void begin_long_slice(uint64_t track, uint64_t handle)
{
	const struct note_arg head = { NOTE_STRING, 0, 4, LONG_TEXT,
				       LONG_TEXT };

	ext(EXT_ARGS, 2 + LONG_TEXT / 16, 1);
	memcpy(&g_cells[g_count++], &head, sizeof(head));
	memcpy(&g_cells[g_count++], "text\0\0\0\0\0\0\0\0\0\0\0", 16);
	memset(&g_cells[g_count], 'x', LONG_TEXT);
	g_count += LONG_TEXT / 16;
	async(EXT_ASYNC_BEGIN, track, handle);
	if (g_count > ARRAY_SIZE(g_cells) - 100)
		run(0);
}

/* A daemon kept 800 MiB of them and took 2 s to write them at its end. */
TEST(notes_open_slices_keep_little_unwritten)
{
	const uint64_t count = 40000;
	char command[256];
	size_t before;

	run(0);
	before = memory_used();
	for (uint64_t i = 0; i < count; i++)
		begin_long_slice(i / 4, i);
	run(0);
	orders_release(&g_rig->arena.orders, UINT64_MAX);
	ck_assert_uint_lt(memory_used() - before, 32 << 20);
	for (uint64_t i = 0; i < count; i += 2) {
		async(EXT_ASYNC_END, i / 4, i);
		if (g_count > ARRAY_SIZE(g_cells) - 100)
			run(0);
	}
	run(0);
	rig_end(g_rig);
	ck_assert_uint_eq(TOTAL(withheld_notes), 0);
	ck_assert_uint_eq(TOTAL(unended_async), count / 2);
	snprintf(command, sizeof(command), "%s %s/" TRACE_NAME " >&2",
		 TRACE_CHECK, g_rig->dir);
	ck_assert_int_eq(system(command), 0);
}

/* --- stays --------------------------------------------------------------- */

/* The thread spends half of its time on a CPU. */
static bool half_on_cpu(struct thread *thread, uint64_t ns, uint64_t *on_ns,
			uint64_t *unknown_ns)
{
	*on_ns = (ns - thread->start_ns) / 2;
	*unknown_ns = 0;
	return true;
}

/* Same, but nothing is known from 210 to 240. */
static bool half_known(struct thread *thread, uint64_t ns, uint64_t *on_ns,
		       uint64_t *unknown_ns)
{
	*on_ns = (ns - thread->start_ns) / 2;
	*unknown_ns = ns - thread->start_ns > 1000 + 240 ? 30 : 0;
	return true;
}

static void name_threads(void)
{
	static const char *const names[RIG_THREADS] = { "one", "two", "three" };

	for (int i = 0; i < RIG_THREADS; i++) {
		strcpy(g_rig->thread[i].entry.name, names[i]);
		g_rig->thread[i].on_cpu = half_on_cpu;
	}
}

static void at(int i, uint64_t at_ns, enum record_ext what, uint64_t handle)
{
	g_ns = g_rig->start_ns + 1000 + at_ns - 10;
	async(what, 77, handle);
	ck_assert_int_eq(run(i), 0);
}

static struct async_sums sums(void)
{
	size_t count;
	const struct async_total *total =
		recording_sort_async(&g_rig->recording, &count);

	ck_assert_uint_eq(count, 1);
	ck_assert_str_eq(total->name, "work");
	ck_assert_str_eq(total->category, "cat");
	return total->sums;
}

#define SLICE "  + work [cat] @a.c:0\n"
#define STAY(thread) "    + work [cat] @a.c:0 perfrec.thread=\"" thread "\"\n"

TEST(notes_slice_is_busy_while_threads_are_inside)
{
	struct async_sums all;

	name_threads();
	at(0, 100, EXT_ASYNC_BEGIN, 1);
	at(1, 200, EXT_ASYNC_ENTER, 1);
	at(1, 260, EXT_ASYNC_LEAVE, 1);
	at(0, 300, EXT_ASYNC_ENTER, 1);
	at(0, 320, EXT_ASYNC_LEAVE, 1);
	at(1, 500, EXT_ASYNC_END, 1);
	ck_assert_str_eq(
		text(),
		"process / static\n" SLICE STAY("two") "    -\n" STAY(
			"one") "    -\n"
			       "  - perfrec.busy_ns=80 perfrec.idle_ns=320 "
			       "perfrec.on_cpu_ns=40\n");
	all = sums();
	ck_assert_uint_eq(all.count, 1);
	ck_assert_uint_eq(all.entered, 1);
	ck_assert_uint_eq(all.total_ns, 400);
	ck_assert_uint_eq(all.active_ns, 80);
	ck_assert_uint_eq(all.busy_ns, 80);
	ck_assert_uint_eq(all.on_cpu_ns, 40);
	ck_assert_uint_eq(all.unknown_ns, 0);
	ck_assert_uint_eq(TOTAL(odd_async_stays), 0);
}

/* The slice is idle only without a thread. The second stay overlaps, so it
 * needs another lane. */
TEST(notes_threads_that_are_inside_at_once_count_twice)
{
	name_threads();
	at(0, 100, EXT_ASYNC_BEGIN, 1);
	at(0, 200, EXT_ASYNC_ENTER, 1);
	at(1, 250, EXT_ASYNC_ENTER, 1);
	at(0, 300, EXT_ASYNC_LEAVE, 1);
	at(1, 400, EXT_ASYNC_LEAVE, 1);
	at(0, 500, EXT_ASYNC_END, 1);
	ck_assert_str_eq(
		text(),
		"process / static\n" SLICE STAY(
			"one") "    -\n"
			       "  - perfrec.busy_ns=250 perfrec.idle_ns=200 "
			       "perfrec.on_cpu_ns=125\n"
			       "process / static\n"
			       "  + work [cat] @a.c:0 perfrec.thread=\"two\"\n"
			       "  -\n");
	ck_assert_uint_eq(sums().active_ns, 200);
}

TEST(notes_thread_that_enters_twice_leaves_twice)
{
	name_threads();
	at(0, 100, EXT_ASYNC_BEGIN, 1);
	at(0, 200, EXT_ASYNC_ENTER, 1);
	at(0, 210, EXT_ASYNC_ENTER, 1);
	at(0, 250, EXT_ASYNC_LEAVE, 1);
	at(0, 300, EXT_ASYNC_LEAVE, 1);
	at(0, 310, EXT_ASYNC_LEAVE, 1);
	at(0, 400, EXT_ASYNC_END, 1);
	ck_assert_str_eq(
		text(),
		"process / static\n" SLICE STAY(
			"one") "    -\n"
			       "  - perfrec.busy_ns=100 perfrec.idle_ns=200 "
			       "perfrec.on_cpu_ns=50\n");
	ck_assert_uint_eq(TOTAL(odd_async_stays), 1);
}

/* The CPU time of a thread that does not end the slice itself is unknown. */
TEST(notes_slice_that_ends_is_left_by_all)
{
	struct async_sums all;

	name_threads();
	at(0, 100, EXT_ASYNC_BEGIN, 1);
	at(0, 200, EXT_ASYNC_ENTER, 1);
	at(1, 260, EXT_ASYNC_ENTER, 1);
	at(0, 300, EXT_ASYNC_END, 1);
	at(1, 400, EXT_ASYNC_LEAVE, 1);
	ck_assert_ptr_nonnull(strstr(
		text(), "  - perfrec.busy_ns=140 perfrec.idle_ns=100 "
			"perfrec.on_cpu_ns=50 perfrec.unknown_sched_ns=40\n"));
	all = sums();
	ck_assert_uint_eq(all.busy_ns, 140);
	ck_assert_uint_eq(all.on_cpu_ns, 50);
	ck_assert_uint_eq(all.unknown_ns, 40);
	ck_assert_uint_eq(TOTAL(odd_async_stays), 1);
}

TEST(notes_slice_without_switches_is_not_said_to_be_on_a_cpu)
{
	at(0, 100, EXT_ASYNC_BEGIN, 1);
	at(0, 200, EXT_ASYNC_ENTER, 1);
	at(0, 260, EXT_ASYNC_LEAVE, 1);
	at(0, 300, EXT_ASYNC_END, 1);
	ck_assert_ptr_nonnull(strstr(text(), "  - perfrec.busy_ns=60 "
					     "perfrec.idle_ns=140\n"));
	ck_assert_uint_eq(sums().unknown_ns, 60);
}

TEST(notes_stay_with_lost_switches_is_partly_unknown)
{
	g_rig->thread[0].on_cpu = half_known;
	at(0, 100, EXT_ASYNC_BEGIN, 1);
	at(0, 200, EXT_ASYNC_ENTER, 1);
	at(0, 260, EXT_ASYNC_LEAVE, 1);
	at(0, 300, EXT_ASYNC_ENTER, 1);
	at(0, 320, EXT_ASYNC_LEAVE, 1);
	at(0, 400, EXT_ASYNC_END, 1);
	text();
	ck_assert_uint_eq(sums().on_cpu_ns, 30 + 10);
	ck_assert_uint_eq(sums().unknown_ns, 30);
}

/* The begin arrives last but has the earliest clock. */
TEST(notes_stays_are_in_the_order_of_clocks)
{
	name_threads();
	at(0, 200, EXT_ASYNC_ENTER, 1);
	at(0, 260, EXT_ASYNC_LEAVE, 1);
	at(1, 100, EXT_ASYNC_BEGIN, 1);
	at(1, 300, EXT_ASYNC_END, 1);
	ck_assert_ptr_nonnull(strstr(text(), "perfrec.busy_ns=60 "));
	ck_assert_uint_eq(TOTAL(odd_async_stays), 0);
	ck_assert_uint_eq(TOTAL(orphan_async_ends), 0);
}

TEST(notes_stays_in_what_is_not_open_are_counted)
{
	at(0, 100, EXT_ASYNC_ENTER, 1);
	at(0, 110, EXT_ASYNC_LEAVE, 1);
	at(0, 120, EXT_ASYNC_BEGIN, 2);
	at(1, 130, EXT_ASYNC_LEAVE, 2);
	at(0, 140, EXT_ASYNC_END, 2);
	at(0, 150, EXT_ASYNC_ENTER, 2);
	ck_assert_str_eq(text(), "process / static\n" SLICE "  -\n");
	ck_assert_uint_eq(TOTAL(odd_async_stays), 4);
	ck_assert_uint_eq(sums().entered, 0);
}

TEST(notes_thread_that_ends_leaves_its_slices)
{
	name_threads();
	at(1, 100, EXT_ASYNC_BEGIN, 1);
	at(0, 200, EXT_ASYNC_ENTER, 1);
	thread_notes_leave(&g_rig->thread[0], g_rig->start_ns + 1000 + 300);
	at(1, 500, EXT_ASYNC_END, 1);
	ck_assert_ptr_nonnull(strstr(text(), " perfrec.busy_ns=100 "
					     "perfrec.idle_ns=300 "
					     "perfrec.on_cpu_ns=50\n"));
	ck_assert_uint_eq(TOTAL(unended_async), 0);
}

TEST(notes_thread_enters_the_innermost_slice)
{
	name_threads();
	at(0, 100, EXT_ASYNC_BEGIN, 1);
	at(0, 200, EXT_ASYNC_ENTER, 1);
	at(0, 300, EXT_ASYNC_BEGIN, 1);
	at(0, 310, EXT_ASYNC_ENTER, 1);
	at(0, 330, EXT_ASYNC_LEAVE, 1);
	at(0, 340, EXT_ASYNC_LEAVE, 1);
	at(0, 350, EXT_ASYNC_END, 1);
	at(0, 400, EXT_ASYNC_END, 1);
	ck_assert_str_eq(text(),
			 "process / static\n" SLICE "    + work [cat] @a.c:0\n"
			 "      + work [cat] @a.c:0 perfrec.thread=\"one\"\n"
			 "      -\n"
			 "    - perfrec.busy_ns=20 perfrec.idle_ns=30 "
			 "perfrec.on_cpu_ns=10\n"
			 "  - perfrec.busy_ns=140 perfrec.idle_ns=160 "
			 "perfrec.on_cpu_ns=70\n"
			 "process / static\n"
			 "  + work [cat] @a.c:0 perfrec.thread=\"one\"\n"
			 "  -\n");
}

TEST(notes_stay_has_the_arguments_of_its_ends)
{
	at(0, 100, EXT_ASYNC_BEGIN, 1);
	arg(NOTE_INT, 4);
	at(0, 200, EXT_ASYNC_ENTER, 1);
	arg(NOTE_INT, 5);
	at(0, 260, EXT_ASYNC_LEAVE, 1);
	at(0, 300, EXT_ASYNC_END, 1);
	ck_assert_ptr_nonnull(
		strstr(text(), "    + work [cat] @a.c:0 key=4\n    - key=5\n"));
	ck_assert_uint_eq(TOTAL(odd_notes), 0);
}

TEST(notes_stay_that_is_left_in_a_pause_has_its_end)
{
	at(0, 100, EXT_ASYNC_BEGIN, 1);
	at(0, 200, EXT_ASYNC_ENTER, 1);
	pause_begin(&g_rig->arena.pauses, g_ns + 50);
	at(0, 300, EXT_ASYNC_LEAVE, 1);
	at(0, 310, EXT_ASYNC_ENTER, 1);
	at(0, 320, EXT_ASYNC_LEAVE, 1);
	at(0, 330, EXT_ASYNC_END, 1);
	pause_end(&g_rig->arena.pauses, g_ns + 10);
	ck_assert_ptr_nonnull(strstr(text(), "perfrec.busy_ns=100 "
					     "perfrec.idle_ns=130\n"));
	ck_assert_uint_eq(TOTAL(paused_notes), 1);
	ck_assert_uint_eq(TOTAL(odd_async_stays), 1);
}

/* No more than the budget, and 256 slices per thread. */
TEST(notes_open_stays_are_bounded)
{
	for (uint64_t i = 1; i <= 300; i++) {
		async(EXT_ASYNC_BEGIN, 77, i);
		for (int k = 0; k < 10; k++)
			async(EXT_ASYNC_ENTER, 77, i);
		if (g_count > 4000)
			run(0);
	}
	run(0);
	text();
	ck_assert_uint_eq(TOTAL(unended_async), 300);
	ck_assert_uint_eq(sums().entered, 256);
	ck_assert_uint_eq(TOTAL(withheld_notes), 44 * 10);
}

TEST(notes_many_stays_keep_little_unwritten)
{
	size_t before;

	name_threads();
	async(EXT_ASYNC_BEGIN, 77, 1);
	run(0);
	before = memory_used();
	for (uint64_t i = 0; i < 100000; i++) {
		async(EXT_ASYNC_ENTER, 77, 1);
		async(EXT_ASYNC_LEAVE, 77, 1);
		if (g_count > 4000) {
			run(0);
			orders_release(&g_rig->arena.orders, UINT64_MAX);
		}
	}
	run(0);
	orders_release(&g_rig->arena.orders, UINT64_MAX);
	ck_assert_uint_lt(memory_used() - before, 4 << 20);
	rig_end(g_rig);
	ck_assert_uint_eq(TOTAL(withheld_notes), 0);
	ck_assert_uint_eq(sums().busy_ns, 100000 * 10);
}

TEST(notes_names_of_slices_are_bounded)
{
	char name[32];
	const char *const texts[6] = { name };
	size_t count;

	/* The rig excludes one of the names. */
	for (int i = 0; i < ASYNC_NAMES_MAX + 8; i++) {
		uint32_t site;

		snprintf(name, sizeof(name), "name %d", i);
		site = rig_site(g_rig, (struct site_shm){ .kind = SITE_SPAN },
				texts, NULL);
		for (int k = 0; k < 2; k++) {
			ext(k ? EXT_ASYNC_END : EXT_ASYNC_BEGIN, 1, site);
			cell(77, 1);
		}
	}
	run(0);
	rig_end(g_rig);
	recording_sort_async(&g_rig->recording, &count);
	ck_assert_uint_eq(count, ASYNC_NAMES_MAX);
	ck_assert_uint_eq(TOTAL(unlisted_async), 7);
}

/* --- requests ------------------------------------------------------------ */

static void request(const char *text)
{
	struct record data[TRACEPARENT_BYTES / sizeof(struct record)] = { 0 };

	memcpy(data, text, strlen(text));
	ext(EXT_TRACEPARENT, ARRAY_SIZE(data), (uint32_t)strlen(text));
	memcpy(&g_cells[g_count], data, sizeof(data));
	g_count += ARRAY_SIZE(data);
}

TEST(notes_request_is_told_where_it_changes)
{
	static const char ids[] =
		"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

	begin(g_span);
	ext(EXT_TRACE_ID, 2, 0);
	cell(1, 2);
	cell(3, 0);
	request(ids);
	request(ids);
	request("00-no");
	request(ids);
	end(g_span);
	ck_assert_int_eq(run(0), 0);
	ck_assert_str_eq(
		text(),
		"main thread\n"
		"  + work [cat] @a.c:0\n"
		"    * request trace_id=\"01000000000000000200000000000000\""
		" span_id=\"0300000000000000\"\n"
		"    * request trace_id=\"4bf92f3577b34da6a3ce929d0e0e4736\""
		" span_id=\"00f067aa0ba902b7\"\n"
		"    * no request\n"
		"    * request trace_id=\"4bf92f3577b34da6a3ce929d0e0e4736\""
		" span_id=\"00f067aa0ba902b7\"\n"
		"  -\n");
	ck_assert_uint_eq(TOTAL(odd_traceparents), 1);
	ck_assert_uint_eq(TOTAL(odd_notes), 0);
}

TEST(notes_request_of_wrong_length_is_none)
{
	ext(EXT_TRACE_ID, 1, 0);
	cell(1, 2);
	ext(EXT_TRACEPARENT, 0, 55);
	ext(EXT_TRACEPARENT, 1, EXT_VALUE_MAX);
	cell(0, 0);
	ext(EXT_TRACE_ID, 0, 0);
	ck_assert_int_eq(run(0), 0);
	ck_assert_str_eq(text(), "");
	ck_assert_uint_eq(TOTAL(odd_traceparents), 2);
	ck_assert_uint_eq(TOTAL(odd_notes), 2);
}

static void text_arg(const char *key, const char *value)
{
	const struct note_arg head = {
		.type = NOTE_STRING,
		.key_bytes = (uint16_t)strlen(key),
		.text_bytes = (uint32_t)strlen(value),
		.value = strlen(value),
	};
	uint32_t keys = (uint32_t)(ALIGN_UP(strlen(key), 16) / 16);
	uint32_t cells =
		1 + keys + (uint32_t)(ALIGN_UP(strlen(value), 16) / 16);

	ext(EXT_ARGS, cells, 1);
	memset(&g_cells[g_count], 0, cells * sizeof(*g_cells));
	memcpy(&g_cells[g_count], &head, sizeof(head));
	memcpy(&g_cells[g_count + 1], key, strlen(key));
	memcpy(&g_cells[g_count + 1 + keys], value, strlen(value));
	g_count += cells;
}

/* For a span, an instant and an asynchronous slice. */
TEST(notes_traceparent_is_the_request_of_its_annotation)
{
	static const char ids[] =
		"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

	text_arg("traceparent", ids);
	begin(g_span);
	text_arg("traceparent", "00-no");
	ext(EXT_INSTANT, 0, g_span);
	text_arg("traceparents", ids);
	ext(EXT_INSTANT, 0, g_span);
	end(g_span);
	text_arg("traceparent", "00-none");
	async(EXT_ASYNC_BEGIN, 77, 1);
	async(EXT_ASYNC_END, 77, 1);
	ck_assert_int_eq(run(0), 0);
	ck_assert_str_eq(
		text(),
		"main thread\n"
		"  + work [cat] @a.c:0 traceparent="
		"\"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba9\"..."
		" (55 bytes)"
		" trace_id=\"4bf92f3577b34da6a3ce929d0e0e4736\""
		" span_id=\"00f067aa0ba902b7\"\n"
		"    * work [cat] @a.c:0 traceparent=\"00-no\"\n"
		"    * work [cat] @a.c:0 traceparents="
		"\"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba9\"..."
		" (55 bytes)\n"
		"  -\n"
		"process / static\n"
		"  + work [cat] @a.c:0 traceparent=\"00-none\"\n"
		"  -\n");
	ck_assert_uint_eq(TOTAL(odd_traceparents), 2);
	ck_assert_uint_eq(TOTAL(odd_notes), 0);
}

static void thread_request(uint8_t first)
{
	const struct trace_ids ids = { .trace = { first }, .span = { 3 } };

	ext(EXT_REQUEST, 2, 0);
	memset(&g_cells[g_count], 0, 2 * sizeof(*g_cells));
	memcpy(&g_cells[g_count], &ids, sizeof(ids));
	g_count += 2;
}

/* A thread's ids serve one annotation unless it has its own request. */
TEST(notes_request_of_a_record_is_of_one_annotation)
{
	thread_request(1);
	begin(g_span);
	ext(EXT_INSTANT, 0, g_span);
	thread_request(2);
	text_arg("traceparent",
		 "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
	ext(EXT_INSTANT, 0, g_span);
	thread_request(0);
	ext(EXT_INSTANT, 0, g_span);
	ext(EXT_REQUEST, 1, 0);
	cell(1, 2);
	ext(EXT_INSTANT, 0, g_span);
	ext(EXT_TRACE_ID, 2, 0);
	cell(9, 0);
	cell(0, 0);
	thread_request(4);
	ext(EXT_INSTANT, 0, g_span);
	end(g_span);
	ck_assert_int_eq(run(0), 0);
	ck_assert_str_eq(
		text(),
		"main thread\n"
		"  + work [cat] @a.c:0"
		" trace_id=\"01000000000000000000000000000000\""
		" span_id=\"0300000000000000\"\n"
		"    * work [cat] @a.c:0\n"
		"    * work [cat] @a.c:0 traceparent="
		"\"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba9\"..."
		" (55 bytes)"
		" trace_id=\"4bf92f3577b34da6a3ce929d0e0e4736\""
		" span_id=\"00f067aa0ba902b7\"\n"
		"    * work [cat] @a.c:0\n"
		"    * work [cat] @a.c:0\n"
		"    * request trace_id=\"09000000000000000000000000000000\""
		" span_id=\"0000000000000000\"\n"
		"    * work [cat] @a.c:0\n"
		"  -\n");
	ck_assert_uint_eq(TOTAL(odd_notes), 1);
}

/* Keys that the program chooses so that a multiplication alone, or a key that is
 * only added, puts them into one bucket. */
TEST(notes_keys_of_a_hostile_program_are_spread)
{
	static bool used[3][BUCKETS];
	struct async_lanes lanes = { .secret = { random_u64(), random_u64() } };
	unsigned int count[3] = { 0 };

	for (uint64_t i = 0; i < BUCKETS; i++) {
		const uint64_t keys[3][2] = {
			{ i * 0x9e3779b97f4a7c15ULL, i },
			{ i << 52, 0 },
			{ 0, i << 52 },
		};

		for (size_t j = 0; j < ARRAY_SIZE(keys); j++) {
			bool *at = &used[j][lanes_bucket(&lanes, keys[j][0],
							 keys[j][1], BUCKETS)];

			count[j] += !*at;
			*at = true;
		}
	}
	/* Of random keys 63 % of the buckets are used. */
	for (size_t j = 0; j < ARRAY_SIZE(count); j++)
		ck_assert_uint_gt(count[j], BUCKETS / 4);
	rig_end(g_rig);
}

/* --- words of calls ------------------------------------------------------- */

#define CALLED 0x123456

/* Makes a layout of function CALLED for f(a:int, name:str)->int. Returns its
 * number. */
static uint32_t add_call_layout(void)
{
	char why[CALL_SIGNATURE_WHY_BYTES];
	struct call_signature signature;
	struct thunk_words unused;
	uint32_t number;

	ck_assert_int_eq(call_layouts_new(&g_rig->arena.setup.layouts), 0);
	ck_assert_int_eq(call_signature_parse("f(a:int, name:str)->int",
					      &signature, why),
			 0);
	number = call_layouts_next(g_rig->arena.setup.layouts);
	ck_assert(call_layout_settle(&signature.layout, true, number, &unused));
	signature.layout.function = CALLED;
	ck_assert_int_eq(
		call_layouts_add(g_rig->arena.setup.layouts, &signature.layout),
		0);
	call_signature_release(&signature);
	return number;
}

/* A text that a program may have written in any way. */
struct hostile_words {
	uint32_t layout; /* added to the number */
	uint32_t cells; /* of the record */
	struct word_text text;
	uint64_t function;
	const char *arguments;
	uint64_t cut, odd;
};

static const struct hostile_words g_hostile[] = {
	{ 0,
	  3,
	  { .word = 1, .bytes = 2 },
	  CALLED,
	  " args.a=-7 args.name=\"hi\"",
	  0,
	  0 },
	{ 0, 2, { .word = 1 }, CALLED, " args.a=-7 args.name=\"\"", 0, 0 },
	{ 0, 2, { .word = 1, .bytes = 2 }, CALLED, " args.a=-7", 1, 0 },
	{ 0, 3, { .word = 1, .bytes = 17 }, CALLED, " args.a=-7", 1, 0 },
	{ 0,
	  3,
	  { .word = 1, .bytes = UINT16_MAX },
	  CALLED,
	  " args.a=-7",
	  1,
	  0 },
	{ 0, 3, { .word = 0, .bytes = 2 }, CALLED, " args.a=-7", 1, 0 },
	{ 0,
	  3,
	  { .word = 1, .state = 99, .bytes = 2 },
	  CALLED,
	  " args.a=-7",
	  1,
	  0 },
	{ 0, 1, { .word = 1 }, CALLED, " args.a=-7", 1, 0 },
	{ 0, 0, { .word = 1 }, CALLED, "", 0, 2 },
	{ 1, 3, { .word = 1, .bytes = 2 }, CALLED, "", 0, 1 },
	{ UINT16_MAX, 3, { .word = 1, .bytes = 2 }, CALLED, "", 0, 1 },
	{ 0, 3, { .word = 1, .bytes = 2 }, CALLED + 1, "", 0, 1 },
};

TEST(notes_words_of_a_hostile_program_are_counted,
     EACH(0, ARRAY_SIZE(g_hostile)))
{
	const struct hostile_words *row = &g_hostile[_i];
	const uint64_t words[2] = { (uint64_t)-7, 0x1000 };
	uint64_t function = row->function;
	char expected[256];

	ext(EXT_WORDS, row->cells, add_call_layout() + row->layout);
	if (row->cells > 0)
		cell(words[0], words[1]);
	if (row->cells > 1)
		memcpy(&g_cells[g_count++], &row->text, sizeof(row->text));
	if (row->cells > 2)
		cell('h' | 'i' << 8, 0);
	cell(record_word(RECORD_BEGIN, function, 0x900), g_ns += 10);
	cell(record_word(RECORD_END, function, 0x900), g_ns += 10);
	ck_assert_int_eq(run(0), 0);
	snprintf(expected, sizeof(expected), "main thread\n  + 0x%llx%s\n  -\n",
		 (unsigned long long)function, row->arguments);
	ck_assert_str_eq(text(), expected);
	ck_assert_uint_eq(TOTAL(cut_notes), row->cut);
	ck_assert_uint_eq(TOTAL(odd_notes), row->odd);
}

TEST(notes_words_of_a_result_and_of_an_annotation)
{
	uint32_t layout = add_call_layout();

	cell(record_word(RECORD_BEGIN, CALLED, 0x900), g_ns += 10);
	ext(EXT_WORDS, 1, layout);
	cell(5, 0);
	cell(record_word(RECORD_END, CALLED, 0x900), g_ns += 10);
	ext(EXT_WORDS, 1, layout);
	cell(5, 0);
	begin(g_span);
	end(g_span);
	ck_assert_int_eq(run(0), 0);
	ck_assert_str_eq(text(), "main thread\n"
				 "  + 0x123456\n"
				 "  - ret=5\n"
				 "  + work [cat] @a.c:0\n"
				 "  -\n");
	ck_assert_uint_eq(TOTAL(odd_notes), 1);
}
