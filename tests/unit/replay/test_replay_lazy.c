/* SPDX-License-Identifier: Apache-2.0
 *
 * test_replay_lazy - only calls below a minimum duration stay out of the trace.
 * The last test generates records of an arbitrary thread. The trace must equal
 * the result of short_calls.h on all slices, however the records are split.
 * `SEED=n` runs one seed alone.
 */

#include "collector/replay/replay_inner.h"
#include "shared/record_ext.h"
#include "tests/unit/replay_rig.h"
#include "tests/unit/short_calls.h"

#define MIN_NS 100

/* Gives begins a name and ends an argument. */
static uint8_t describe(struct replay_note *note, struct replay *replay,
			uint64_t function, struct encode_event *event)
{
	/* TrackEvent: name "note"; or debug_annotations with a string_value. */
	static const uint8_t name[] = { 0xba, 1, 4, 'n', 'o', 't', 'e' };
	static const uint8_t argument[] = {
		0x22, 6, 0x32, 4, 'n', 'o', 't', 'e'
	};
	bool is_end = !event->name_iid;

	(void)note;
	(void)replay;
	(void)function;
	event->name_iid |= is_end ? 0 : ENCODE_CATEGORY | ENCODE_NAMELESS;
	event->fields = is_end ? argument : name;
	event->field_bytes = is_end ? sizeof(argument) : sizeof(name);
	return 0;
}

static struct replay_note g_note = { describe };

static void take_extended(struct replay_text *text, struct replay *replay,
			  const struct record *cells)
{
	replay_set_note(replay, NULL);
	if (record_ext(cells->word) == EXT_ARGS)
		replay_set_note(replay, &g_note);
	else
		replay_instant(
			replay,
			replay_ns(replay, cells->clock, text->fibers.now_ns),
			"mark", 0, false);
}

static struct replay_text *text_new(uint64_t min_ns)
{
	struct replay_text *text = replay_text_new();

	replay_set_min_duration(&text->replay, min_ns);
	text->times = true;
	text->extended = take_extended;
	return text;
}

static void set_up_lazy(void)
{
	g_text = text_new(MIN_NS);
}

static struct record rec_extended(enum record_ext ext, uint64_t ns)
{
	return (struct record){ record_ext_word(ext, 0, 0, 0),
				REPLAY_START_NS + ns };
}
#define NOTE(ns) rec_extended(EXT_ARGS, ns)
#define MARK(ns) rec_extended(EXT_INSTANT, ns)

static const char *visit(const struct record *records, size_t count)
{
	size_t done;

	ck_assert_int_eq(
		fibers_run(&g_text->fibers, records, count, UINT64_MAX, &done),
		0);
	ck_assert_uint_eq(done, count);
	fibers_flush(&g_text->fibers);
	return g_text->text;
}
#define VISIT(...)                                       \
	visit((struct record[]){ __VA_ARGS__ },          \
	      sizeof((struct record[]){ __VA_ARGS__ }) / \
		      sizeof(struct record))

/* --- remaining calls ----------------------------------------------------- */

FIXTURE(set_up_lazy, teardown);

TEST(lazy_short_calls_leave_nothing_but_their_counts)
{
	ck_assert_str_eq(RUN(B(1, 0x900, 0), B(2, 0x800, 5), E(2, 0x800, 7),
			     E(1, 0x900, 99), B(3, 0x900, 99),
			     E(3, 0x900, 198)),
			 "");
	ck_assert_uint_eq(COUNTS->spans, 3);
	ck_assert_uint_eq(COUNTS->short_spans, 3);
	ck_assert_uint_eq(COUNTS->events, 0);
	cct_sum(&g_text->replay.cct);
	ck_assert_uint_eq(cct_find_function(&g_text->replay.cct, 1)->total_ns,
			  99);
}

TEST(lazy_call_as_long_as_the_minimum_stays)
{
	ck_assert_str_eq(RUN(B(1, 0x900, 3), E(1, 0x900, 103)), "@3(1 @103)");
	ck_assert_uint_eq(COUNTS->short_spans, 0);
}

TEST(lazy_long_call_has_the_calls_around_it_outermost_first)
{
	ck_assert_str_eq(RUN(B(1, 0x900, 0), B(2, 0x800, 5), E(2, 0x800, 7),
			     B(3, 0x800, 8), B(4, 0x700, 9), B(5, 0x600, 10),
			     E(5, 0x600, 20), E(4, 0x700, 110),
			     E(3, 0x800, 111), B(6, 0x800, 112),
			     E(6, 0x800, 113), E(1, 0x900, 114)),
			 "@0(1 @8(3 @9(4 @110) @111) @114)");
	ck_assert_uint_eq(COUNTS->spans, 6);
	ck_assert_uint_eq(COUNTS->short_spans, 3);
}

TEST(lazy_note_at_a_begin_keeps_the_call_and_those_around_it)
{
	ck_assert_str_eq(RUN(B(1, 0x900, 0), B(2, 0x800, 1), E(2, 0x800, 2),
			     B(3, 0x800, 3), NOTE(4), B(4, 0x700, 4),
			     B(5, 0x600, 4), E(5, 0x600, 4), E(4, 0x700, 4),
			     E(3, 0x800, 5), E(1, 0x900, 6), B(6, 0x900, 7),
			     E(6, 0x900, 8)),
			 "@0(1 @3(3 @4<note @4) @5) @6)");
	ck_assert_uint_eq(COUNTS->short_spans, 3);
}

TEST(lazy_note_at_an_end_keeps_the_call_and_those_around_it)
{
	ck_assert_str_eq(RUN(B(1, 0x900, 0), B(2, 0x800, 1), B(3, 0x700, 2),
			     E(3, 0x700, 3), NOTE(4), E(2, 0x800, 4),
			     E(1, 0x900, 6)),
			 "@0(1 @1(2 @4note) @6)");
	ck_assert_uint_eq(COUNTS->short_spans, 1);
}

TEST(lazy_note_of_a_call_that_ends_others_keeps_only_that)
{
	/* A jump leaves 3; the note belongs to the end of 2. */
	ck_assert_str_eq(RUN(B(1, 0x900, 0), B(2, 0x800, 1), B(3, 0x700, 2),
			     NOTE(4), E(2, 0x800, 4), E(1, 0x900, 6)),
			 "@0(1 @1(2 @4note) @6)");
	ck_assert_uint_eq(COUNTS->repaired_slices, 1);
}

TEST(lazy_event_keeps_the_calls_around_it)
{
	ck_assert_str_eq(RUN(B(1, 0x900, 0), B(2, 0x800, 1), E(2, 0x800, 2),
			     B(3, 0x800, 3), MARK(4), B(4, 0x700, 5),
			     E(4, 0x700, 6), E(3, 0x800, 7), E(1, 0x900, 8)),
			 "@0(1 @3(3 @4*mark @7) @8)");
}

TEST(lazy_loss_keeps_the_calls_around_it)
{
	ck_assert_str_eq(
		RUN(B(1, 0x900, 0), rec(RECORD_LOSS, 7, 0, 3), E(1, 0x900, 5)),
		"@0(1 @3*7 spans lost @5)");
}

TEST(lazy_wait_keeps_the_calls_around_it)
{
	ck_assert_str_eq(RUN(B(1, 0x900, 0), B(2, 0x800, 1),
			     rec(RECORD_WAIT, 150, 0, 2), E(2, 0x800, 153),
			     E(1, 0x900, 154), B(3, 0x900, 155),
			     E(3, 0x900, 156)),
			 "@0(1 @1(2 @2<perfrec: waiting for collector @152) "
			 "@153waited=150) @154waited=150)");
	ck_assert_uint_eq(COUNTS->short_spans, 1);
}

TEST(lazy_repaired_slices_follow_the_same_rule)
{
	ck_assert_str_eq(RUN(B(1, 0x900, 0), B(2, 0x800, 1), B(3, 0x700, 2),
			     E(1, 0x900, 50), B(1, 0x900, 60), B(2, 0x800, 61),
			     B(3, 0x700, 100), E(1, 0x900, 161)),
			 "@60(1 @61(2 @161?) @161)");
	ck_assert_uint_eq(COUNTS->repaired_slices, 4);
	ck_assert_uint_eq(COUNTS->short_spans, 4);
}

TEST(lazy_end_of_the_thread_ends_what_is_open)
{
	VISIT(B(1, 0x900, 0), B(2, 0x800, 150), E(2, 0x800, 151),
	      B(3, 0x800, 160));
	fibers_finish(&g_text->fibers, REPLAY_START_NS + 200);
	fibers_flush(&g_text->fibers);
	ck_assert_str_eq(g_text->text, "@0(1 @200)");
	ck_assert_uint_eq(COUNTS->short_spans, 2);
}

/* --- writing begins ------------------------------------------------------ */

TEST(lazy_visit_writes_what_is_long_enough_by_then)
{
	ck_assert_str_eq(
		VISIT(B(1, 0x900, 0), B(2, 0x800, 50), B(3, 0x700, 60)), "");
	ck_assert_str_eq(VISIT(E(3, 0x700, 99)), "");
	ck_assert_str_eq(VISIT(B(3, 0x700, 100)), "@0(1");
	ck_assert_str_eq(VISIT(B(4, 0x600, 150)), "@0(1 @50(2");
	ck_assert_str_eq(VISIT(E(4, 0x600, 151), E(3, 0x700, 152),
			       E(2, 0x800, 153), E(1, 0x900, 154)),
			 "@0(1 @50(2 @153) @154)");
}

TEST(lazy_quiet_thread_has_its_long_calls_in_the_trace)
{
	VISIT(B(1, 0x900, 0), B(2, 0x800, 50));
	ck_assert(fibers_hold_back(&g_text->fibers));
	fibers_write_old(&g_text->fibers, REPLAY_START_NS + 99);
	fibers_flush(&g_text->fibers);
	ck_assert_str_eq(g_text->text, "");
	fibers_write_old(&g_text->fibers, REPLAY_START_NS + 149);
	fibers_flush(&g_text->fibers);
	ck_assert_str_eq(g_text->text, "@0(1");
	fibers_write_old(&g_text->fibers, REPLAY_START_NS + 150);
	fibers_flush(&g_text->fibers);
	ck_assert_str_eq(g_text->text, "@0(1 @50(2");
	ck_assert(!fibers_hold_back(&g_text->fibers));
	ck_assert_str_eq(VISIT(E(2, 0x800, 170), E(1, 0x900, 171)),
			 "@0(1 @50(2 @170) @171)");
}

/* --- depth --------------------------------------------------------------- */

static void run_nested(uint32_t depth, uint64_t ns)
{
	struct record *records = calloc(2 * depth, sizeof(*records));
	unsigned int sp = 0xfff0;

	for (uint32_t i = 0; i < depth; i++) {
		records[i] = B(1 + i % 2, sp, i % 7);
		records[2 * depth - 1 - i] = E(1 + i % 2, sp, 6 + ns);
		sp = (sp - 16) & 0xfff0;
	}
	replay_text_of(g_text, records, 2 * depth);
	free(records);
}

TEST(lazy_depth_of_open_calls_decides_what_is_folded)
{
	run_nested(REPLAY_SLICES_MAX + 5, MIN_NS);
	ck_assert_uint_eq(COUNTS->folded_spans, 5);
	ck_assert_uint_eq(COUNTS->short_spans, 0);
	ck_assert_uint_eq(g_text->open_most, REPLAY_SLICES_MAX);
	ck_assert_uint_eq(COUNTS->events, 2 * REPLAY_SLICES_MAX);
}

TEST(lazy_folded_calls_are_not_counted_as_short)
{
	run_nested(REPLAY_SLICES_MAX + 5, 0);
	ck_assert_uint_eq(COUNTS->folded_spans, 5);
	ck_assert_uint_eq(COUNTS->short_spans, REPLAY_SLICES_MAX);
	ck_assert_str_eq(g_text->text, "");
}

TEST(lazy_many_pending_begins_fit_into_small_memory)
{
	ck_assert_int_eq(replay_take_turns(&g_text->replay), 0);
	run_nested(REPLAY_SLICES_MAX, MIN_NS);
	ck_assert_uint_eq(COUNTS->events, 2 * REPLAY_SLICES_MAX);
	ck_assert_uint_eq(g_text->open_most, REPLAY_SLICES_MAX);
}

/* --- contexts ------------------------------------------------------------ */

TEST(lazy_contexts_each_have_pending_begins)
{
	/* 2 runs in a context that 1 switches to and that switches back. */
	ck_assert_str_eq(RUN(rec_flow(FLOW_CONTEXT_MAKE, 0x1000, 0x900, 0),
			     B(1, 0x900, 1),
			     rec_flow(FLOW_CONTEXT_SAVE, 0x2000, 0x900, 2),
			     rec_flow(FLOW_CONTEXT_SWITCH, 0x1000, 0x900, 3),
			     B(2, 0x800, 4), B(3, 0x700, 5), E(3, 0x700, 6),
			     rec_flow(FLOW_CONTEXT_SAVE, 0x1000, 0x800, 50),
			     rec_flow(FLOW_CONTEXT_SWITCH, 0x2000, 0x800, 51),
			     B(4, 0x800, 60), E(4, 0x800, 61), E(1, 0x900, 102),
			     rec_flow(FLOW_CONTEXT_SWITCH, 0x1000, 0x900, 103),
			     E(2, 0x800, 104)),
			 "@1(1 @102) 1:@4(2 1:@104)");
}

/* --- the index ----------------------------------------------------------- */

TEST(index_knows_a_noted_slice_from_another_of_the_same_moment)
{
	/* Each visit ends a block, which index_check.h checks. */
	replay_set_min_duration(&g_text->replay, 0);
	VISIT(B(1, 0x900, 0), NOTE(5), B(2, 0x800, 5));
	VISIT(B(3, 0x700, 5));
	VISIT(E(3, 0x700, 5), E(2, 0x800, 5), B(2, 0x800, 5));
	ck_assert_str_eq(VISIT(B(3, 0x700, 6)),
			 "@0(1 @5<note @5(3 @5) @5) @5(2 @6(3");
}

/* --- random records ------------------------------------------------------ */

#define RECORDS 3000
#define FUNCTIONS 8
#define FRAMES 2000
#define POINTS 6

struct program {
	uint64_t random, ns;
	struct record record[RECORDS + 8];
	uint64_t quiet_ns[RECORDS + 8]; /* lower bound of all later records */
	size_t records;
	struct {
		uint32_t function, sp;
	} frame[FRAMES];
	uint32_t depth, limit;
	uint64_t min_ns, pause[8], excluded;
	bool contexts, deep, odd, notes;
};

static struct program g_program;

static uint32_t any(uint32_t below)
{
	struct program *p = &g_program;

	p->random ^= p->random << 13;
	p->random ^= p->random >> 7;
	p->random ^= p->random << 17;
	return (uint32_t)(p->random >> 16) % below;
}

static void put(struct record record)
{
	g_program.record[g_program.records++] = record;
}

static void step_time(void)
{
	uint32_t kind = any(20);

	g_program.ns += kind ? any(4) : any(400);
	if (kind == 1 && g_program.odd)
		g_program.ns -= g_program.ns > 20 ? any(20) : 0;
}

static void put_call(void)
{
	struct program *p = &g_program;
	uint32_t above = p->depth ? p->frame[p->depth - 1].sp : 0xf000;
	uint32_t sp = (above - 16 * any(40)) & 0xfff0;
	uint32_t function = 1 + any(FUNCTIONS);

	if (p->depth == FRAMES)
		return;
	p->frame[p->depth].function = function;
	p->frame[p->depth++].sp = sp;
	put(rec(any(50) ? RECORD_BEGIN : RECORD_PHANTOM, function, sp, p->ns));
}

/* Sometimes a lower function returns. */
static void put_return(void)
{
	struct program *p = &g_program;

	if (!p->depth)
		return;
	p->depth--;
	while (p->odd && p->depth && !any(20))
		p->depth--;
	put(E(p->frame[p->depth].function, p->frame[p->depth].sp, p->ns));
}

static void put_flow(void)
{
	static const enum record_flow flows[] = {
		FLOW_SETJMP,	   FLOW_LONGJMP,	FLOW_CATCH,
		FLOW_CONTEXT_SAVE, FLOW_CONTEXT_MAKE,	FLOW_CONTEXT_SWITCH,
		FLOW_CONTEXT_END,  FLOW_CONTEXT_SWITCH, FLOW_THREAD_LEFT,
	};
	struct program *p = &g_program;
	uint32_t kind = any(p->contexts ? ARRAY_SIZE(flows) : 3);
	uint32_t sp = p->depth ? p->frame[any(p->depth)].sp : 0x100;
	uint64_t about = flows[kind] == FLOW_CATCH ? 16 * any(100)
						   : 0x1000 * any(POINTS);

	if (flows[kind] == FLOW_THREAD_LEFT && any(10))
		return;
	put(rec_flow(flows[kind], about, sp, p->ns));
}

static void put_other(void)
{
	struct program *p = &g_program;

	switch (any(8)) {
	case 0:
		put(rec(RECORD_LOSS, 1 + any(9), 0, p->ns));
		break;
	case 1:
		put(rec(RECORD_TRUNC, 1 + any(3), 0, p->ns));
		break;
	case 2:
		put(rec(RECORD_WAIT, any(300), 0, p->ns));
		break;
	case 3:
		put(rec(RECORD_PAUSED, 1 + any(9), 0, p->ns));
		break;
	case 4:
		put(MARK(p->ns));
		break;
	case 5:
		put(E(1 + any(FUNCTIONS), 16 * any(4096), p->ns));
		break;
	default:
		put_flow();
	}
}

static void step(void)
{
	struct program *p = &g_program;
	uint32_t kind = any(100);

	step_time();
	if (p->notes && !any(12))
		put(NOTE(p->ns));
	if (kind < (p->deep && p->records < RECORDS / 2 ? 75u : 48u))
		put_call();
	else if (kind < 96 || any(p->odd ? 1 : 8))
		put_return();
	else
		put_other();
}

static void make_program(unsigned long seed)
{
	static const uint64_t minimum[] = { 1, 4, 30, 100, 100, 1000 };
	struct program *p = &g_program;

	*p = (struct program){ .random =
				       (seed + 1) * 0x9e3779b97f4a7c15ULL | 1 };
	for (int i = 0; i < 20; i++)
		any(2);
	p->min_ns = minimum[any(ARRAY_SIZE(minimum))];
	p->deep = !any(3);
	p->contexts = !any(3);
	p->odd = any(2);
	p->notes = !any(3);
	p->limit = any(4) ? 0 : 1 + any(20);
	p->excluded = any(4) ? 0 : 1 + any(FUNCTIONS);
	while (p->records < RECORDS)
		step();
	for (size_t i = p->records; i-- > 0;)
		p->quiet_ns[i] = MIN(p->record[i].clock,
				     i + 1 < p->records ? p->quiet_ns[i + 1]
							: UINT64_MAX);
	for (size_t i = 0; !(seed % 5) && i < ARRAY_SIZE(p->pause); i++)
		p->pause[i] = REPLAY_START_NS +
			      (i * p->ns + any(1 + (uint32_t)p->ns)) / 9;
}

/* In pieces of at most @piece. With @quiet the thread is sometimes idle. */
static struct replay_text *run_program(uint64_t min_ns, uint32_t piece,
				       bool quiet)
{
	const struct program *p = &g_program;
	struct replay_text *text = text_new(min_ns);
	size_t at = 0, done;

	text->excluded = p->excluded;
	replay_limit(&text->replay, p->limit);
	for (size_t i = 0; i < ARRAY_SIZE(p->pause) && p->pause[i]; i++)
		(i % 2 ? pause_end : pause_begin)(&text->pauses, p->pause[i]);
	while (at < p->records) {
		size_t most = 1 + any(piece),
		       count = MIN(most, p->records - at);

		ck_assert_int_eq(fibers_run(&text->fibers, p->record + at,
					    count, UINT64_MAX, &done),
				 0);
		ck_assert_uint_eq(done, count);
		at += count;
		if (any(3))
			fibers_flush(&text->fibers);
		if (quiet && at < p->records)
			fibers_write_old(&text->fibers, p->quiet_ns[at]);
	}
	/* Open calls last until this time, not only until the last record. */
	fibers_finish(&text->fibers, 2 * REPLAY_START_NS + p->ns);
	fibers_flush(&text->fibers);
	ck_assert_uint_lt(text->length + 100, sizeof(text->text));
	return text;
}

static void check_same_trees(struct replay_text *all, struct replay_text *lazy)
{
	for (uint32_t i = 0; i < all->fibers.count; i++) {
		struct cct *one = replay_tree(all->fibers.fiber[i].replay);
		struct cct *two = replay_tree(lazy->fibers.fiber[i].replay);

		cct_sum(one);
		cct_sum(two);
		for (uint64_t f = 1; f <= FUNCTIONS; f++) {
			struct cct_function *a = cct_find_function(one, f);
			struct cct_function *b = cct_find_function(two, f);

			ck_assert(!a == !b);
			if (!a)
				continue;
			ck_assert_uint_eq(a->calls, b->calls);
			ck_assert_uint_eq(a->self_ns, b->self_ns);
			ck_assert_uint_eq(a->total_ns, b->total_ns);
		}
	}
}

static void check_same_counts(struct replay_text *all, struct replay_text *lazy,
			      size_t gone)
{
	struct replay_counts a = fibers_counts(&all->fibers);
	struct replay_counts b = fibers_counts(&lazy->fibers);

	ck_assert_uint_eq(a.short_spans, 0);
	ck_assert_uint_eq(b.short_spans, gone);
	ck_assert_uint_eq(b.events, a.events - 2 * gone);
	b.short_spans = 0;
	b.events = a.events;
	ck_assert_mem_eq(&a, &b, sizeof(a));
}

static void try_seed(unsigned long seed)
{
	struct replay_text *all, *lazy;
	char *wanted, *found;
	size_t gone, none, at = 0;

	make_program(seed);
	all = run_program(0, RECORDS, false);
	lazy = run_program(g_program.min_ns, 1 + any(seed % 3 ? 400 : 5),
			   seed % 2);
	wanted = short_left(all->text, g_program.min_ns, &gone);
	found = short_left(lazy->text, 0, &none);
	if (getenv("SHOW"))
		printf("all: %s\nmin %llu: %s\n", all->text,
		       (unsigned long long)g_program.min_ns, lazy->text);
	while (wanted[at] && wanted[at] == found[at])
		at++;
	ck_assert_msg(wanted[at] == found[at],
		      "SEED=%lu min %llu at %zu: '%.80s', not '%.80s'", seed,
		      (unsigned long long)g_program.min_ns, at,
		      found + at - MIN(at, 40), wanted + at - MIN(at, 40));
	check_same_counts(all, lazy, gone);
	check_same_trees(all, lazy);
	free(wanted);
	free(found);
	replay_text_free(all);
	replay_text_free(lazy);
}

TEST(lazy_trace_of_any_records_is_the_whole_one_without_short_calls)
{
	const char *seed = getenv("SEED"), *seeds = getenv("SEEDS");
	unsigned long count = seeds ? strtoul(seeds, NULL, 0) : 120;

	if (seed)
		try_seed(strtoul(seed, NULL, 0));
	else
		for (unsigned long i = 0; i < count; i++)
			try_seed(i);
}
