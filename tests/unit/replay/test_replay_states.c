/* SPDX-License-Identifier: Apache-2.0
 *
 * test_replay_states - random programs whose functions change states at random
 * times. A model of a thread calls, returns, recurses, throws, jumps and
 * switches contexts. A model of the collector switches functions between span,
 * counted and off, byte by byte, while hooks are preempted. Replay gets the
 * records of the thunks, and its slices are compared with the calls of the
 * model.
 *
 * `SEED=n test_replay_states` runs one seed alone.
 */

#include "collector/replay/exact_calls.h"
#include "shared/function_shm.h"
#include "tests/suite.h"
#include "tests/unit/replay_text.h"
#include "tests/unit/short_calls.h"

#define FUNCTIONS 10
#define CALLS_MAX 4096
#define RECORDS_MAX 8192
#define CHANGES_MAX 4096
#define DEPTH_MAX 200
#define STACKS 4
#define AHEAD_NS 20 /* from the log's entry to the change */
#define BOUND_NS 400 /* limit of draining */

enum {
	MODE_JUMPS = 1,
	MODE_CONTEXTS = 2,
	MODE_DEEP = 4, /* recursion beyond the bits of a cell */
	MODE_LARGE = 8, /* frames above 32 KiB */
	MODES = 16,
};

enum kind {
	KIND_GATE, /* without thunks: always recorded */
	KIND_CALLS,
	KIND_TAIL, /* like KIND_CALLS, with a tail-called exit hook */
	KIND_ENTRY,
};

enum phase { ON, DRAINING, TOLD, GOING_OFF, OFF, GOING_ON };

struct function {
	enum kind kind;
	bool cleans;
	/* calls at once without a frame; no landing pad or setjmp() */
	bool tiny;
	uint32_t size;
	enum thunk_path path;
	bool entry_on, exit_on[2];
	bool counted; /* its entry stays on when its exits go off */
	enum phase phase;
	uint64_t since_ns;
	struct count_cell cell;
};

struct call {
	uint32_t function, stack;
	uint64_t entry_sp, body_sp;
	uint64_t begin_ns, end_ns; /* times of its records; 0: none */
	uint64_t left_ns; /* by a jump with a record */
	const char *left;
	bool late;
	bool inlined;
	uint32_t slices;
};

struct change {
	uint64_t ns;
	uint32_t function;
	size_t at; /* logged before this record */
	enum { CONNECT, GO_OFF, GO_ON } what;
};

struct model {
	uint64_t random, ns;
	int mode;
	bool hooks; /* some functions are KIND_CALLS or KIND_TAIL */
	struct function function[FUNCTIONS + 1];
	struct call call[CALLS_MAX];
	uint32_t calls;
	struct context {
		uint32_t open[DEPTH_MAX];
		uint32_t depth;
		uint64_t base;
		bool started;
		uint64_t jmp_call; /* call of setjmp(); 0: none */
	} stack[STACKS];
	uint32_t current;
	struct record record[RECORDS_MAX];
	size_t records;
	struct change change[CHANGES_MAX];
	size_t changes;
	uint64_t told_ns;
	uint64_t late, lone_ends;
};

static struct model g_model;
static unsigned long g_seed;
/* Calls that must be exact (see is_strict()), and other calls. */
static uint64_t g_clean, g_inexact;

#define MUST(condition, ...)                                           \
	do {                                                           \
		if (!(condition)) {                                    \
			fprintf(stderr, "seed %lu: ", g_seed);         \
			fprintf(stderr, __VA_ARGS__);                  \
			ck_abort_msg("seed %lu: " #condition, g_seed); \
		}                                                      \
	} while (0)

static uint32_t any(uint32_t below)
{
	g_model.random ^= g_model.random << 13;
	g_model.random ^= g_model.random >> 7;
	g_model.random ^= g_model.random << 17;
	return (uint32_t)(g_model.random >> 16) % below;
}

static bool one_in(uint32_t count)
{
	return any(count) == 0;
}

/* --- the collector ------------------------------------------------------- */

static void tell(uint32_t function, int what, uint64_t ns)
{
	struct model *m = &g_model;

	MUST(m->changes < CHANGES_MAX, "changes\n");
	m->told_ns = ns;
	m->change[m->changes++] =
		(struct change){ ns, function, m->records, what };
}

/* True if all three sites have the wanted state. */
static bool flip_some(struct function *function, bool entry, bool exits)
{
	bool *site[] = { &function->entry_on, &function->exit_on[0],
			 &function->exit_on[1] };
	uint32_t which = any(3);

	*site[which] = which ? exits : entry;
	return function->entry_on == entry && function->exit_on[0] == exits &&
	       function->exit_on[1] == exits;
}

static void step_function(uint32_t number)
{
	struct function *function = &g_model.function[number];
	uint64_t ns = g_model.ns;

	switch (function->phase) {
	case ON:
		if (!one_in(3))
			break;
		function->path = THUNK_DRAIN;
		function->phase = DRAINING;
		function->since_ns = ns;
		function->counted = one_in(2);
		break;
	case DRAINING:
		if (ns < g_model.told_ns) /* one change at a time */
			break;
		if (one_in(8)) { /* the collector changes its mind */
			function->path = THUNK_RECORD;
			function->phase = ON;
		} else if (!function->cell.recorded ||
			   ns > function->since_ns + BOUND_NS) {
			function->phase = TOLD;
			function->since_ns = ns + AHEAD_NS;
			tell(number, GO_OFF, function->since_ns);
		}
		break;
	case TOLD:
		if (ns >= function->since_ns)
			function->phase = GOING_OFF;
		break;
	case GOING_OFF:
		if (!flip_some(function, function->counted, false))
			break;
		function->path = THUNK_COUNT;
		function->phase = OFF;
		break;
	case OFF:
		if (one_in(4))
			function->entry_on = !function->entry_on;
		if (!one_in(4) || ns < g_model.told_ns)
			break;
		function->cell.recorded = 0;
		tell(number, GO_ON, ns);
		function->phase = GOING_ON;
		break;
	case GOING_ON:
		if (!flip_some(function, true, true))
			break;
		function->path = THUNK_RECORD;
		function->phase = ON;
		break;
	}
}

static void pass(void)
{
	g_model.ns++;
	if (one_in(3)) {
		uint32_t number = 1 + any(FUNCTIONS);

		if (g_model.function[number].kind != KIND_GATE)
			step_function(number);
	}
}

static void preempt(void)
{
	if (one_in(12))
		for (int i = any(150); i > 0; i--)
			pass();
}

/* --- the program --------------------------------------------------------- */

/* Returns the time. */
static uint64_t put(enum record_kind kind, uint64_t payload, uint64_t sp)
{
	struct model *m = &g_model;

	pass();
	MUST(m->records < RECORDS_MAX, "records\n");
	m->record[m->records++] =
		(struct record){ record_word(kind, payload, sp), m->ns };
	return m->ns;
}

/* The hint of a hook called with stack pointer @sp. */
static uint64_t hook_hint(uint64_t sp)
{
	return sp - 8;
}

static uint64_t put_flow(enum record_flow flow, uint64_t address, uint64_t sp)
{
	return put(RECORD_FLOW, record_flow_payload(flow, address),
		   hook_hint(sp));
}

static struct context *current(void)
{
	return &g_model.stack[g_model.current];
}

static struct call *top_call(void)
{
	struct context *stack = current();

	return stack->depth ? &g_model.call[stack->open[stack->depth - 1]]
			    : NULL;
}

static uint64_t sp_now(void)
{
	return top_call() ? top_call()->body_sp : current()->base;
}

static bool was_off(uint32_t number, uint64_t from_ns, uint64_t to_ns)
{
	bool off = false;

	/* Changes of one function are in the order of their times. */
	for (size_t i = 0; i < g_model.changes; i++) {
		const struct change *change = &g_model.change[i];

		if (change->function != number || change->what == CONNECT)
			continue;
		if (change->ns > to_ns)
			break;
		if (change->ns > from_ns && (off || change->what == GO_OFF))
			return true;
		off = change->what == GO_OFF;
	}
	return off;
}

/* After a jump, calls of a function inlined into itself look alike. */
static bool may_inline(uint32_t number)
{
	const struct model *m = &g_model;
	const struct context *stack = &m->stack[m->current];
	enum kind kind = m->function[number].kind;

	if (!stack->depth || kind == KIND_ENTRY || kind == KIND_TAIL ||
	    m->function[top_call()->function].kind == KIND_ENTRY)
		return false;
	for (uint32_t i = stack->depth; i > 0; i--) {
		const struct call *call = &m->call[stack->open[i - 1]];

		if (call->body_sp != sp_now())
			break;
		if (call->function == number && m->mode)
			return false;
	}
	return one_in(4);
}

static void lay_out(struct call *call, const struct function *function)
{
	const struct call *caller = top_call();
	uint64_t sp = sp_now();

	call->inlined = may_inline(call->function);
	if (call->inlined) {
		call->entry_sp = caller->entry_sp;
		call->body_sp = caller->body_sp;
		return;
	}
	call->entry_sp = sp - 8;
	call->body_sp =
		function->tiny && call->entry_sp % 16
			? call->entry_sp
			: (call->entry_sp - 8 - function->size) & ~(uint64_t)15;
}

static uint64_t begin_hint(const struct call *call)
{
	return g_model.function[call->function].kind == KIND_ENTRY
		       ? call->entry_sp
		       : hook_hint(call->body_sp);
}

static uint64_t end_hint(const struct call *call)
{
	enum kind kind = g_model.function[call->function].kind;

	return kind == KIND_ENTRY || (kind == KIND_TAIL && !call->inlined)
		       ? call->entry_sp
		       : hook_hint(call->body_sp);
}

static bool thunk_enter(struct function *function)
{
	struct count_cell *cell = &function->cell;

	if (function->kind == KIND_GATE)
		return true;
	if (!function->entry_on)
		return false;
	preempt();
	cell->calls++;
	if (function->path == THUNK_COUNT)
		return false;
	cell->recorded <<= 1;
	if (function->path != THUNK_RECORD)
		return false;
	cell->recorded |= 1;
	return true;
}

static bool thunk_exit(struct function *function)
{
	struct count_cell *cell = &function->cell;
	bool records;

	if (function->kind == KIND_GATE)
		return true;
	if (!function->exit_on[any(2)])
		return false;
	preempt();
	records = cell->recorded & 1;
	cell->recorded = (uint64_t)((int64_t)cell->recorded >> 1);
	return records;
}

static void enter(uint32_t number)
{
	struct model *m = &g_model;
	struct context *stack = current();
	struct function *function = &m->function[number];
	struct call *call = &m->call[m->calls];

	if (m->calls == CALLS_MAX || stack->depth == DEPTH_MAX)
		return;
	/* Replay cannot distinguish these calls. */
	if (function->tiny && stack->depth && top_call()->function == number)
		return;
	*call = (struct call){ .function = number, .stack = m->current };
	lay_out(call, function);
	stack->open[stack->depth++] = m->calls++;
	if (!thunk_enter(function))
		return;
	preempt();
	call->begin_ns = put(RECORD_BEGIN, number, begin_hint(call));
	call->late = was_off(number, call->begin_ns, call->begin_ns);
	m->late += call->late;
}

static void run_exit(struct call *call)
{
	if (!thunk_exit(&g_model.function[call->function]))
		return;
	preempt();
	call->end_ns = put(RECORD_END, call->function, end_hint(call));
	if (!call->begin_ns)
		g_model.lone_ends++;
}

static void leave(void)
{
	struct context *stack = current();

	run_exit(top_call());
	stack->depth--;
}

static void drop(uint64_t ns, const char *how)
{
	struct call *call = top_call();

	call->left_ns = ns;
	call->left = how;
	current()->depth--;
}

static void throw_to(uint32_t depth)
{
	struct context *stack = current();
	uint64_t unwinder = sp_now() - 16 * (20 + any(100));

	if (g_model.function[g_model.call[stack->open[depth]].function].tiny)
		return;
	while (stack->depth > depth + 1) {
		struct call *call = top_call();
		uint64_t ns;

		if (!g_model.function[call->function].cleans) {
			/* Over when the unwinder comes further. */
			call->left = "exception";
			stack->depth--;
			continue;
		}
		ns = put_flow(FLOW_CATCH, call->body_sp - unwinder,
			      call->body_sp);
		(void)ns;
		if (one_in(2)) { /* a destructor */
			enter(1 + any(FUNCTIONS));
			leave();
		}
		leave();
	}
	if (stack->depth)
		put_flow(FLOW_CATCH, sp_now() - unwinder, sp_now());
}

#define POINT(stack) (0x10000 + (uint64_t)(stack)*0x1000)
#define JUMP(stack) (POINT(stack) + 0x800)

static void jump(void)
{
	struct context *stack = current();
	uint64_t ns;

	if (!stack->depth || g_model.function[top_call()->function].tiny)
		return;
	if (!stack->jmp_call || one_in(3)) {
		stack->jmp_call = stack->open[stack->depth - 1] + 1;
		put_flow(FLOW_SETJMP, JUMP(g_model.current), sp_now());
		return;
	}
	for (uint32_t i = stack->depth; i > 0; i--) {
		if (stack->open[i - 1] + 1 != stack->jmp_call)
			continue;
		ns = put_flow(FLOW_LONGJMP, JUMP(g_model.current),
			      g_model.call[stack->open[i - 1]].body_sp);
		while (stack->depth > i)
			drop(ns, "longjmp");
		return;
	}
	stack->jmp_call = 0;
}

static void switch_context(void)
{
	struct model *m = &g_model;
	uint32_t to = any(STACKS);

	if (to == m->current)
		return;
	if (!m->stack[to].started) {
		put_flow(FLOW_CONTEXT_MAKE, POINT(to), sp_now());
		m->stack[to].started = true;
	}
	put_flow(FLOW_CONTEXT_SAVE, POINT(m->current), sp_now());
	put_flow(FLOW_CONTEXT_SWITCH, POINT(to), sp_now());
	m->current = to;
}

static void step_program(void)
{
	struct context *stack = current();
	uint32_t what = any(100);

	if (what < 3 && g_model.mode & MODE_JUMPS && stack->depth > 1)
		throw_to(any(stack->depth));
	else if (what < 6 && g_model.mode & MODE_JUMPS)
		jump();
	else if (what < 9 && g_model.mode & MODE_CONTEXTS)
		switch_context();
	else if (what < 10 && g_model.mode & MODE_DEEP)
		for (uint32_t i = 70 + any(60), f = 1 + any(FUNCTIONS); i > 0;
		     i--)
			enter(f);
	else if (what < (stack->depth < 12 ? 57 : 30))
		enter(stack->depth && one_in(3) ? top_call()->function
						: 1 + any(FUNCTIONS));
	else if (stack->depth)
		leave();
	for (int i = any(4); i > 0; i--)
		pass();
}

static void make_functions(void)
{
	struct model *m = &g_model;
	uint32_t build = any(4); /* calls, entry, both, or both unpatched */
	bool tails = one_in(3);

	m->hooks = build == 0 || build == 2;
	for (uint32_t i = 1; i <= FUNCTIONS; i++) {
		struct function *function = &m->function[i];
		bool entry = build == 1 || (build >= 2 && one_in(2));

		function->kind = entry			   ? KIND_ENTRY
				 : build == 3 || one_in(4) ? KIND_GATE
				 : tails && one_in(3)	   ? KIND_TAIL
							   : KIND_CALLS;
		function->cleans = one_in(3);
		function->tiny = entry && !function->cleans && one_in(6);
		/* Deep stacks stay below 32 KiB. */
		function->size = 16 * any(m->mode & MODE_DEEP ? 8 : 100);
		if (m->mode & MODE_LARGE && one_in(4))
			function->size = 16 * (2100 + any(2500));
		function->path = THUNK_RECORD;
		function->entry_on = function->exit_on[0] =
			function->exit_on[1] = true;
		if (function->kind != KIND_GATE)
			tell(i, CONNECT, m->ns);
	}
}

static void run_program(unsigned long seed)
{
	struct model *m = &g_model;
	size_t records = 500 + seed % 1500;

	memset(m, 0, sizeof(*m));
	g_seed = seed;
	m->random = (seed + 1) * 0x9e3779b97f4a7c15ULL | 1;
	m->mode = (int)(seed % MODES);
	m->ns = REPLAY_START_NS + 1;
	for (int i = 0; i < 20; i++)
		any(2);
	for (uint64_t i = 0; i < STACKS; i++)
		m->stack[i].base =
			0x7f0000000000 + i * 0x200000 + 16 * any(4096);
	m->stack[0].started = true;
	make_functions();
	while (m->records < records && m->calls < CALLS_MAX - DEPTH_MAX)
		step_program();
	for (m->current = 0; m->current < STACKS; m->current++)
		if (m->stack[m->current].depth)
			break;
	/* Running calls return at the end; waiting contexts stay open. */
}

/* --- replay -------------------------------------------------------------- */

static void tell_change(struct replay_text *text, const struct change *change)
{
	enum kind kind = g_model.function[change->function].kind;

	if (change->what == CONNECT)
		MUST(function_log_connect(text->log, change->function,
					  kind == KIND_ENTRY, change->ns) == 0,
		     "log\n");
	else if (change->what == GO_OFF)
		MUST(function_log_off(text->log, change->function,
				      change->ns) == 0,
		     "log\n");
	else
		function_log_on(text->log, change->function, change->ns);
}

/* Reads pieces of at most @piece. Changes are logged at the last moment, or
 * earlier with @early. @min_ns is the minimum duration. */
static struct replay_text *run_replay(size_t piece, size_t early,
				      uint64_t min_ns)
{
	const struct model *m = &g_model;
	struct replay_text *text = replay_text_new();
	size_t at = 0, told = 0, done;

	text->times = true;
	replay_set_min_duration(&text->replay, min_ns);
	while (at < m->records) {
		size_t count = MIN(piece, m->records - at);

		while (told < m->changes && m->change[told].at <= at + early)
			tell_change(text, &m->change[told++]);
		if (told < m->changes)
			count = MIN(count, m->change[told].at - at);
		MUST(fibers_run(&text->fibers, m->record + at, count,
				UINT64_MAX, &done) == 0 &&
			     done == count,
		     "broken\n");
		fibers_flush(&text->fibers);
		at += count;
	}
	while (told < m->changes)
		tell_change(text, &m->change[told++]);
	return text;
}

static void finish_replay(struct replay_text *text)
{
	fibers_finish(&text->fibers, 0);
	fibers_flush(&text->fibers);
	MUST(text->length + 100 < sizeof(text->text), "too long\n");
}

/* --- checks -------------------------------------------------------------- */

static struct call *call_begun_at(uint64_t ns)
{
	static uint32_t by_record[RECORDS_MAX];
	struct model *m = &g_model;
	size_t low = 0, high = m->records;
	static unsigned long seed = ~0ul;

	if (seed != g_seed) {
		for (uint32_t i = 0; i < m->calls; i++) {
			if (!m->call[i].begin_ns)
				continue;
			low = 0;
			for (high = m->records; low + 1 < high;) {
				size_t middle = (low + high) / 2;

				if (m->record[middle].clock <=
				    m->call[i].begin_ns)
					low = middle;
				else
					high = middle;
			}
			by_record[low] = i;
		}
		seed = g_seed;
		low = 0;
		high = m->records;
	}
	while (low + 1 < high) {
		size_t middle = (low + high) / 2;

		if (m->record[middle].clock <= ns)
			low = middle;
		else
			high = middle;
	}
	MUST(m->record[low].clock == ns &&
		     m->call[by_record[low]].begin_ns == ns,
	     "a slice begins at %llu, where no call does\n",
	     (unsigned long long)ns);
	return &m->call[by_record[low]];
}

/* True if replay needs no guess. Hints of 16 bits are ambiguous 64 KiB apart.
 * In a calls build a recursive call may have another one's bit, and inexact
 * hints assign its end. */
static bool is_strict(void)
{
	const struct model *m = &g_model;

	return !(m->mode & MODE_LARGE) && (!m->mode || !m->hooks);
}

/* True if the slice of @call must have exactly its times. */
static bool is_clean(const struct call *call)
{
	return call->end_ns &&
	       !was_off(call->function, call->begin_ns, call->end_ns);
}

static void check_slice(struct call *call, uint64_t end_ns, const char *mark)
{
	bool exact;

	call->slices++;
	MUST(!call->late, "a late begin is written\n");
	MUST(end_ns >= call->begin_ns, "a slice ends before it begins\n");
	if (is_clean(call)) {
		g_clean++;
		exact = end_ns == call->end_ns && !*mark;
		g_inexact += !exact;
		MUST(exact || !is_strict(),
		     "call of %u (%u) from %llu ends at %llu %s, not at %llu\n",
		     call->function, g_model.function[call->function].kind,
		     (unsigned long long)call->begin_ns,
		     (unsigned long long)end_ns, mark,
		     (unsigned long long)call->end_ns);
	} else if (is_strict() && call->left_ns && *mark &&
		   !was_off(call->function, call->begin_ns, call->left_ns)) {
		MUST(end_ns == call->left_ns &&
			     (!strcmp(mark, call->left) || *mark == '?'),
		     "call of %u left at %llu by %s ends at %llu %s\n",
		     call->function, (unsigned long long)call->left_ns,
		     call->left, (unsigned long long)end_ns, mark);
	}
	if (!strcmp(mark, "off"))
		MUST(was_off(call->function, call->begin_ns, end_ns),
		     "a slice of %u is marked off\n", call->function);
}

static void check_slices(char *text)
{
	static struct call *open[STACKS][DEPTH_MAX * STACKS];
	uint32_t depth[STACKS] = { 0 };
	char *end;

	for (char *word = strtok(text, " "); word; word = strtok(NULL, " ")) {
		uint32_t track = 0;
		uint64_t ns;

		if (strchr(word, ':')) {
			track = (uint32_t)strtoul(word, &end, 10);
			word = end + 1;
		}
		if (*word != '@')
			continue; /* part of a name */
		ns = strtoull(word + 1, &end, 10) + REPLAY_START_NS;
		if (*end == '(') {
			struct call *call = call_begun_at(ns);

			MUST(call->function == strtoul(end + 1, NULL, 10),
			     "another function\n");
			open[track][depth[track]++] = call;
		} else if (end[strlen(end) - 1] == ')') {
			MUST(depth[track], "one end too many\n");
			end[strlen(end) - 1] = '\0';
			check_slice(open[track][--depth[track]], ns, end);
		}
	}
	for (int i = 0; i < STACKS; i++)
		MUST(!depth[i], "a slice has no end\n");
}

static void check_counts(struct replay_text *text)
{
	const struct model *m = &g_model;
	const struct replay_counts counts = fibers_counts(&text->fibers);
	uint64_t spans = 0, folded = 0;

	for (uint32_t i = 0; i < m->calls; i++) {
		const struct call *call = &m->call[i];
		bool is_span = call->begin_ns && !call->late;

		spans += is_span;
		MUST(call->slices <= is_span, "%u slices of a call\n",
		     call->slices);
		folded += is_span - call->slices;
	}
	MUST(counts.spans == spans, "spans\n");
	MUST(counts.folded_spans == folded, "folded spans\n");
	MUST(counts.late_begins == m->late, "%llu late begins, not %llu\n",
	     (unsigned long long)counts.late_begins,
	     (unsigned long long)m->late);
	/* No running call lost its frame. */
	MUST(counts.orphan_ends == 0 || !is_strict(), "%llu orphans\n",
	     (unsigned long long)counts.orphan_ends);
}

struct sum {
	uint64_t calls[FUNCTIONS + 1], unrecorded[FUNCTIONS + 1];
};

static void add_calls(void *context, struct replay *replay)
{
	struct sum *sum = context;

	cct_sum(&replay->cct);
	for (struct cct_function *function = replay->cct.functions; function;
	     function = function->next) {
		if (function->address > FUNCTIONS)
			continue;
		sum->calls[function->address] += function->calls;
		sum->unrecorded[function->address] += function->unrecorded;
	}
}

static void check_trees(struct replay_text *text)
{
	const struct model *m = &g_model;
	struct exact_calls exact[FUNCTIONS];
	uint64_t recorded[FUNCTIONS + 1] = { 0 };
	struct sum sum = { 0 };

	for (uint32_t i = 0; i < m->calls; i++)
		recorded[m->call[i].function] +=
			m->call[i].begin_ns && !m->call[i].late;
	for (uint32_t i = 1; i <= FUNCTIONS; i++)
		exact[i - 1] = (struct exact_calls){
			.address = i, .calls = m->function[i].cell.calls
		};
	MUST(exact_calls_set(&text->fibers, exact, FUNCTIONS) == 0, "memory\n");
	fibers_each(&text->fibers, add_calls, &sum);
	for (uint32_t i = 1; i <= FUNCTIONS; i++) {
		MUST(sum.calls[i] == recorded[i], "calls of %u\n", i);
		if (m->function[i].kind != KIND_GATE)
			MUST(sum.calls[i] + sum.unrecorded[i] ==
				     m->function[i].cell.calls,
			     "%u: exact calls\n", i);
	}
}

static void show(const char *text)
{
	const struct model *m = &g_model;

	for (uint32_t i = 1; i <= FUNCTIONS; i++)
		printf("function %u: kind %d, size %u%s\n", i,
		       m->function[i].kind, m->function[i].size,
		       m->function[i].tiny ? ", tiny" : "");
	for (size_t i = 0; i < m->changes; i++)
		printf("change %d of %u at %llu\n", m->change[i].what,
		       m->change[i].function,
		       (unsigned long long)m->change[i].ns);
	for (size_t i = 0; i < m->records; i++) {
		uint64_t word = m->record[i].word;

		printf("%llu kind %d %llx hint %llx\n",
		       (unsigned long long)m->record[i].clock,
		       record_kind(word),
		       (unsigned long long)record_payload(word),
		       (unsigned long long)(word & RECORD_SP_MASK));
	}
	puts(text);
}

static void check_same(const char *one, const char *other)
{
	size_t at = 0;

	while (one[at] && one[at] == other[at])
		at++;
	MUST(one[at] == other[at], "differ: '%.60s' and '%.60s'\n",
	     one + at - MIN(at, 30), other + at - MIN(at, 30));
}

static void check_short(const struct replay_text *all, unsigned long seed,
			bool one)
{
	uint64_t min_ns = 1 + seed * 7 % 200;
	struct replay_text *text =
		run_replay(one ? 1 : 1 + seed % 7, 1 + seed % 40, min_ns);
	size_t gone, none;
	char *wanted, *found;

	finish_replay(text);
	wanted = short_left(all->text, min_ns, &gone);
	found = short_left(text->text, 0, &none);
	check_same(wanted, found);
	MUST(fibers_counts(&text->fibers).short_spans == gone, "short spans\n");
	check_trees(text);
	free(wanted);
	free(found);
	replay_text_free(text);
}

static void try_seed(unsigned long seed)
{
	struct replay_text *text, *other;
	bool one;

	run_program(seed);
	/* Tracks are written in the order of their flushes. */
	one = g_model.mode & MODE_CONTEXTS;
	text = run_replay(one ? 1 : 1 + seed % 300, 0, 0);
	finish_replay(text);
	/* The time of log entries and the size of pieces must not matter. */
	other = run_replay(one ? 1 : 1 + seed % 7, 1 + seed % 40, 0);
	finish_replay(other);
	check_same(text->text, other->text);
	replay_text_free(other);
	check_short(text, seed, one);
	if (getenv("SHOW"))
		show(text->text);
	check_slices(text->text);
	check_counts(text);
	check_trees(text);
	replay_text_free(text);
}

TEST(replay_states_of_random_programs)
{
	const char *seed = getenv("SEED"), *seeds = getenv("SEEDS");
	unsigned long count = seeds ? strtoul(seeds, NULL, 0) : 250;

	if (seed)
		try_seed(strtoul(seed, NULL, 0));
	for (unsigned long i = 0; !seed && i < count; i++)
		try_seed(i);
	printf("%llu of %llu are not exact\n", (unsigned long long)g_inexact,
	       (unsigned long long)g_clean);
	ck_assert_uint_le(g_inexact, g_clean / 50);
}
