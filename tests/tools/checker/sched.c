/* SPDX-License-Identifier: Apache-2.0
 *
 * A bundle has the switches of one CPU, as five lists. The leaving thread of a
 * switch is the arriving thread of the switch before, which may be in another
 * bundle.
 */
#include "tests/tools/checker/sched.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/tools/checker/table.h"
#include "tests/tools/checker/verdict.h"

#define REAL_TIME_LIMIT \
	100 /* priorities below are those of real-time threads */

/* States that a thread goes into. */
enum { RUNS = 0, SLEEPS = 1, DEAD = 16, NOT_KNOWN = 128, PREEMPTED = 256 };

#define BREAK(verdict, rule, ...) \
	verdict_break(verdict, RULE_##rule, __VA_ARGS__)

/* CompactSched: the lists by their field numbers; 5 has the names. */
enum { TIMES = 1, STATES = 2, TIDS = 3, PRIORITIES = 4, NAMES = 6, LISTS = 7 };

struct switches {
	struct pb lists[LISTS];
	unsigned int names; /* how many there are */
	bool named; /* one is not empty */
};

struct one_switch {
	uint64_t ns;
	int64_t state, tid, priority;
	uint64_t name;
};

static struct switches read_lists(struct pb pb)
{
	struct switches out = { 0 };
	struct pb_field field;

	while (pb_next(&pb, &field) > 0) {
		if (field.number == 5) {
			out.names++;
			out.named |= pb_left(&field.bytes) != 0;
		} else if (field.number < LISTS) {
			out.lists[field.number] = field.bytes;
		}
	}
	return out;
}

/* Reads the next switch; the times are steps. Returns 1, 0 at the end, or
 * -EBADMSG if the lists differ in length or type. */
static int next_switch(struct switches *switches, struct one_switch *out)
{
	static const int fields[] = { TIMES, STATES, TIDS, PRIORITIES, NAMES };
	uint64_t values[LISTS];
	unsigned int ended = 0;

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		struct pb *list = &switches->lists[fields[i]];

		if (!pb_left(list))
			ended++;
		else if (pb_varint(list, &values[fields[i]]))
			return -EBADMSG;
	}
	if (ended)
		return ended == ARRAY_SIZE(fields) ? 0 : -EBADMSG;
	out->ns += values[TIMES];
	out->state = (int64_t)values[STATES];
	out->tid = (int64_t)values[TIDS];
	out->priority = (int64_t)values[PRIORITIES];
	out->name = values[NAMES];
	return 1;
}

/* --- one switch --- */

static void check_switch(struct verdict *verdict, const struct sched_cpu *cpu,
			 const struct one_switch *now)
{
	int64_t state = now->state;

	if (now->ns < cpu->last_ns)
		BREAK(verdict, SCHED_BACKWARDS, "%" PRIu64 " ns after %" PRIu64,
		      now->ns, cpu->last_ns);
	if (cpu->first_alone && now->ns != cpu->last_ns)
		BREAK(verdict, SCHED_PRIMED, "%" PRIu64 " ns after %" PRIu64,
		      now->ns, cpu->last_ns);
	if (now->tid < 0 || now->tid > INT32_MAX)
		BREAK(verdict, IDS, "a switch to thread %" PRId64, now->tid);
	if (now->name || now->priority < REAL_TIME_LIMIT)
		BREAK(verdict, SCHED_NAME,
		      "name %" PRIu64 ", priority %" PRId64, now->name,
		      now->priority);
	if (!cpu->switches)
		return;
	if (cpu->tid ? state != SLEEPS && state != DEAD && state != NOT_KNOWN &&
			       state != PREEMPTED
		     : state != RUNS && state != NOT_KNOWN)
		BREAK(verdict, SCHED_STATE, "thread %d goes into %" PRId64,
		      cpu->tid, state);
}

static size_t open_stretch(struct sched *sched, uint32_t cpu, uint64_t ns,
			   int32_t tid)
{
	if (sched->count == sched->room) {
		sched->room = sched->room * 2 + 1024;
		sched->stretches = table_grow(sched->stretches, sched->room,
					      sizeof(*sched->stretches));
	}
	sched->stretches[sched->count++] =
		(struct stretch){ ns, UINT64_MAX, UINT64_MAX, tid, cpu, 0 };
	return sched->count;
}

static void take_switch(struct sched *sched, uint32_t number,
			const struct one_switch *now)
{
	struct sched_cpu *cpu = &sched->cpus[number];

	if (cpu->open) {
		struct stretch *stretch = &sched->stretches[cpu->open - 1];

		stretch->to = now->ns;
		stretch->state = now->state;
	}
	if (cpu->loss)
		sched->losses[cpu->loss - 1].to = now->ns;
	cpu->loss = cpu->open = 0;
	cpu->tid = (int32_t)now->tid;
	cpu->last_ns = now->ns;
	/* Nothing is shown of the first one. */
	cpu->first_alone = !cpu->switches++;
	if (cpu->tid)
		cpu->open = open_stretch(sched, number, now->ns, cpu->tid);
	sched->switches++;
}

static void take_loss(struct verdict *verdict, struct sched *sched,
		      struct sched_cpu *cpu)
{
	if (cpu->tid)
		BREAK(verdict, SCHED_LOST, "thread %d is on the CPU", cpu->tid);
	if (sched->loss_count == sched->loss_room) {
		sched->loss_room = sched->loss_room * 2 + 64;
		sched->losses = table_grow(sched->losses, sched->loss_room,
					   sizeof(*sched->losses));
	}
	sched->losses[sched->loss_count++] =
		(struct sched_loss){ cpu->last_ns, UINT64_MAX };
	cpu->loss = sched->loss_count;
	cpu->lost = true;
}

static void take_switches(struct verdict *verdict, struct sched *sched,
			  uint32_t cpu, struct pb pb, bool lost)
{
	struct switches switches = read_lists(pb);
	struct one_switch now = { 0 };
	unsigned int count = 0;
	int got;

	if (switches.names != 1 || switches.named)
		BREAK(verdict, SCHED_NAME, "%u names", switches.names);
	while ((got = next_switch(&switches, &now)) > 0) {
		check_switch(verdict, &sched->cpus[cpu], &now);
		take_switch(sched, cpu, &now);
		if (lost && !count++)
			take_loss(verdict, sched, &sched->cpus[cpu]);
	}
	if (got < 0 || !now.ns)
		BREAK(verdict, SCHED_LISTS, "CPU %u", cpu);
}

uint64_t sched_bundle(struct verdict *verdict, struct sched *sched,
		      struct pb bundle)
{
	struct pb_field field;
	struct pb switches = { 0 };
	uint64_t cpu = UINT64_MAX;
	bool lost = false;

	while (pb_next(&bundle, &field) > 0) {
		if (field.number == 1)
			cpu = field.value;
		else if (field.number == 3)
			lost = field.value != 0;
		else
			switches = field.bytes;
	}
	if (cpu >= SCHED_CPUS) {
		BREAK(verdict, SCHED_CPU, "CPU %" PRId64, (int64_t)cpu);
		return 0;
	}
	take_switches(verdict, sched, (uint32_t)cpu, switches, lost);
	return sched->cpus[cpu].last_ns;
}

/* --- the end --- */

static int compare_stretches(const void *left, const void *right)
{
	const struct stretch *a = left, *b = right;

	if (a->tid != b->tid)
		return a->tid < b->tid ? -1 : 1;
	if (a->from != b->from)
		return a->from < b->from ? -1 : 1;
	return a->to < b->to ? -1 : a->to > b->to;
}

/* When nothing is known any more of a thread that left its CPU at @from and
 * came back at @to: switches of some CPU are missing then. */
static uint64_t first_unknown(const struct sched *sched, uint64_t from,
			      uint64_t to)
{
	uint64_t first = UINT64_MAX;

	for (size_t i = 0; i < sched->loss_count; i++) {
		const struct sched_loss *loss = &sched->losses[i];

		if (loss->from < to && loss->to > from)
			first = MIN(first, MAX(loss->from, from));
	}
	return first;
}

static bool goes_on(const struct sched *sched, size_t i)
{
	return i + 1 < sched->count &&
	       sched->stretches[i + 1].tid == sched->stretches[i].tid;
}

void sched_end(struct verdict *verdict, struct sched *sched)
{
	struct stretch *at = sched->stretches;

	for (size_t i = 0; i < sched->count; i++)
		if (at[i].to == UINT64_MAX) {
			at[i].to = at[i].from;
			at[i].state = NOT_KNOWN;
		}
	if (sched->count)
		qsort(at, sched->count, sizeof(*at), compare_stretches);
	for (size_t i = 0; i < sched->count; i++) {
		uint64_t next = goes_on(sched, i) ? at[i + 1].from : UINT64_MAX;

		if (next < at[i].to)
			BREAK(verdict, SCHED_OVERLAP,
			      "thread %d is on CPU %u at %" PRIu64
			      " ns, and on CPU %u until %" PRIu64,
			      at[i].tid, at[i + 1].cpu, next, at[i].cpu,
			      at[i].to);
		at[i].unknown_ns = first_unknown(sched, at[i].to, next);
	}
}

static void add_gap(const struct stretch *before, uint64_t from, uint64_t to,
		    struct sched_sums *sums)
{
	uint64_t known = MAX(from, MIN(to, before->unknown_ns));
	uint64_t *sum = before->state == PREEMPTED ? &sums->preempted
			: before->state == SLEEPS  ? &sums->blocked
						   : &sums->unknown;

	*sum += known - from;
	sums->unknown += to - known;
}

/* The first stretch of @tid that ends after @ns; one behind the last of the
 * stretches of @tid: none does. */
static size_t find_stretch(const struct sched *sched, int32_t tid, uint64_t ns)
{
	size_t low = 0, high = sched->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct stretch *at = &sched->stretches[middle];

		if (at->tid < tid || (at->tid == tid && at->to <= ns))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

void sched_between(const struct sched *sched, int32_t tid, uint64_t from,
		   uint64_t to, struct sched_sums *sums)
{
	size_t i = find_stretch(sched, tid, from);

	while (from < to) {
		const struct stretch *at = &sched->stretches[i];
		bool is_last = i >= sched->count || at->tid != tid;
		uint64_t next = is_last ? to : MIN(to, MAX(from, at->from));

		if (next > from) {
			bool none = !i || at[-1].tid != tid;

			if (none)
				sums->unknown += next - from;
			else
				add_gap(at - 1, from, next, sums);
		}
		from = next;
		if (is_last || from >= to)
			break;
		sums->on_cpu += MIN(to, at->to) - from;
		from = MIN(to, at->to);
		i++;
	}
}

bool sched_slept(const struct sched *sched, int32_t tid, uint64_t from,
		 uint64_t to, bool exact)
{
	size_t i = find_stretch(sched, tid, from);
	const struct stretch *next = &sched->stretches[i], *last = next - 1;
	bool has_last = i && last->tid == tid;
	bool has_next = i < sched->count && next->tid == tid;

	if (has_last && last->unknown_ns < to)
		return true;
	if (has_next && next->from < to && next->from < next->to)
		return false;
	return !exact || (has_last && has_next && last->to == from &&
			  last->state == SLEEPS && next->from == to);
}

bool sched_whole(const struct sched *sched, uint64_t ns)
{
	uint64_t end = 0;

	for (uint32_t i = 0; i < SCHED_CPUS; i++) {
		const struct sched_cpu *cpu = &sched->cpus[i];

		if (!cpu->switches)
			continue;
		if (cpu->tid || (end && end != cpu->last_ns))
			return false;
		end = cpu->last_ns;
	}
	return end >= ns;
}

void sched_print(const struct sched *sched)
{
	const struct stretch *at = sched->stretches;
	size_t first = 0;

	for (size_t i = 0; i < sched->count; i++) {
		struct sched_sums sums = { 0 };

		if (goes_on(sched, i))
			continue;
		sched_between(sched, at[i].tid, at[first].from, at[i].to,
			      &sums);
		printf("%d\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64
		       "\t%zu\n",
		       at[i].tid, sums.on_cpu, sums.preempted, sums.blocked,
		       sums.unknown, i + 1 - first);
		first = i + 1;
	}
}

static const char *state_name(int64_t state)
{
	switch (state) {
	case RUNS:
		return "R";
	case SLEEPS:
		return "S";
	case DEAD:
		return "X";
	case PREEMPTED:
		return "R+";
	default:
		return "I";
	}
}

void sched_print_states(const struct sched *sched)
{
	for (size_t i = 0; i < sched->count; i++) {
		const struct stretch *at = &sched->stretches[i];
		int64_t length =
			goes_on(sched, i) ? (int64_t)(at[1].from - at->to) : -1;

		printf("state\t%d\t%" PRIu64 "\t%" PRIu64 "\tRunning\t%u\n",
		       at->tid, at->from, at->to - at->from, at->cpu);
		printf("state\t%d\t%" PRIu64 "\t%" PRId64 "\t%s\n", at->tid,
		       at->to, length, state_name(at->state));
	}
}

void sched_release(struct sched *sched)
{
	free(sched->stretches);
	free(sched->losses);
}
