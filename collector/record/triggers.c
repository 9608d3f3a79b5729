/* SPDX-License-Identifier: Apache-2.0
 *
 * triggers - each trigger has a gate that limits its rate. The first
 * PERIOD_EVENTS events of a period go into the queue; later ones are merged
 * into one event, which is queued after the period. A thread that finds the
 * gate busy puts its event into the queue directly.
 */
#include "collector/record/triggers.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/log.h"
#include "collector/base/utf8.h"
#include "collector/names/name_pattern.h"
#include "collector/options/trigger.h"
#include "collector/record/flight_queue.h"
#include "shared/atomic.h"
#include "shared/compiler.h"

#define PERIOD_NS 100000000
#define PERIOD_EVENTS 16
/* Tracks of counters with triggers; a power of two. */
#define COUNTERS 1024
/* Triggers that exist without --trigger. */
#define OWN 2

_Static_assert(TRIGGERS_MAX + OWN <= 32, "a set is a mask");

struct gate {
	const struct trigger *trigger;
	uint8_t conditions; /* bits in trigger_call.held */
	uint64_t fired; /* number of times; atomic */
	uint32_t met; /* 1: a function, annotation or counter matched its name;
		       * atomic */
	uint32_t busy; /* 1: a thread is inside the gate; atomic */
	/* Owned by the thread inside the gate: */
	uint64_t since_ns; /* begin of the period */
	uint32_t put; /* events queued in this period */
	uint32_t held; /* 1: rest is valid; atomic, for a check from outside */
	struct flight_event rest;
};

struct counter {
	uint64_t track; /* uuid; 0: free; atomic */
	uint32_t beyond; /* set of triggers whose bound the last value exceeded;
			  * atomic */
};

struct triggers {
	struct flight_queue *queue;
	struct counter *counter;
	uint32_t count;
	pid_t crashed;
	uint32_t of_kind[TRIGGER_CRASH + 1];
	struct trigger own[OWN]; /* their text is "" */
	const struct argument_condition *condition[TRIGGER_CONDITIONS_MAX];
	uint32_t condition_count;
	/* By condition, 1: a call had its argument; atomic. */
	uint32_t named[TRIGGER_CONDITIONS_MAX];
	struct gate gate[];
};

static void add_trigger(struct triggers *triggers,
			const struct trigger *trigger)
{
	struct gate *gate = &triggers->gate[triggers->count];

	triggers->of_kind[trigger->kind] |= 1u << triggers->count++;
	gate->trigger = trigger;
	for (uint32_t i = 0; i < trigger->conditions.count; i++) {
		uint32_t bit = triggers->condition_count;

		if (bit == TRIGGER_CONDITIONS_MAX)
			break; /* refused by flight_mix_check() */
		gate->conditions |= (uint8_t)(1u << bit);
		triggers->condition[triggers->condition_count++] =
			&trigger->conditions.list[i];
	}
}

int triggers_new(const struct trigger *list, size_t count,
		 struct flight_queue *queue, struct triggers **out)
{
	static const enum trigger_kind own[OWN] = { TRIGGER_ANNOTATION,
						    TRIGGER_CRASH };
	struct triggers *triggers;

	count = MIN(count, (size_t)TRIGGERS_MAX);
	triggers = calloc(1, sizeof(*triggers) +
				     (count + OWN) * sizeof(*triggers->gate));
	if (!triggers)
		return -ENOMEM;
	triggers->queue = queue;
	for (size_t i = 0; i < count; i++)
		add_trigger(triggers, &list[i]);
	for (int i = 0; i < OWN; i++) {
		triggers->own[i] =
			(struct trigger){ .text = "", .kind = own[i] };
		add_trigger(triggers, &triggers->own[i]);
	}
	if (triggers->of_kind[TRIGGER_COUNTER]) {
		triggers->counter = calloc(COUNTERS, sizeof(struct counter));
		if (!triggers->counter) {
			free(triggers);
			return -ENOMEM;
		}
	}
	*out = triggers;
	return 0;
}

void triggers_free(struct triggers **triggers)
{
	if (*triggers)
		free((*triggers)->counter);
	free(*triggers);
	*triggers = NULL;
}

/* --- gates --------------------------------------------------------------- */

static void copy_text(char out[FLIGHT_TEXT_BYTES], const char *text)
{
	size_t bytes = strnlen(text, FLIGHT_TEXT_BYTES - 1);

	/* Drop a character that was cut. utf8_copy() replaces invalid bytes by
	 * '?'. */
	while (bytes && bytes == FLIGHT_TEXT_BYTES - 1 &&
	       (text[bytes] & 0xc0) == 0x80)
		bytes--;
	(void)utf8_copy(out, text, bytes);
	out[bytes] = '\0';
}

static void put_event(struct triggers *triggers,
		      const struct flight_event *event)
{
	log_dbg("trigger '%s': %s '%s' of thread %d at %llu ns took %llu ns",
		event->trigger, flight_cause_name(event->cause), event->what,
		(int)event->tid, (unsigned long long)event->begin_ns,
		(unsigned long long)(event->cause == FLIGHT_CALL ? event->value
								 : 0));
	flight_queue_put(triggers->queue, event);
}

/* Returns true if the caller entered @gate; it must call leave_gate(). */
static bool enter_gate(struct gate *gate)
{
	/* order: sc, GATE: one is in it */
	return !atom_xchg_sc(&gate->busy, 1);
}

static void leave_gate(struct gate *gate)
{
	/* order: rel, GATE: publishes the holder's changes */
	atom_store_rel(&gate->busy, 0);
}

static bool is_period_over(const struct gate *gate, uint64_t ns)
{
	return ns == UINT64_MAX ||
	       (ns > gate->since_ns && ns - gate->since_ns > PERIOD_NS);
}

static void put_held(struct triggers *triggers, struct gate *gate)
{
	if (gate->held)
		put_event(triggers, &gate->rest);
	/* relaxed: as in fire() */
	atom_store_rlx(&gate->held, 0);
}

/* Extends the held event to include @call, if the period goes on and @call is
 * not longer than that event. Returns false if the caller must fire. This is
 * the fast path for a trigger that fires all the time. */
static bool extend_held(struct gate *gate, const struct trigger_call *call)
{
	struct flight_event *rest = &gate->rest;
	bool extended;

	if (!enter_gate(gate))
		return false;
	extended = gate->held && !is_period_over(gate, call->end_ns) &&
		   call->took_ns <= (uint64_t)rest->value;
	if (extended) {
		rest->begin_ns = MIN(rest->begin_ns, call->begin_ns);
		rest->end_ns = MAX(rest->end_ns, call->end_ns);
		/* relaxed: a figure for a person */
		atom_add_rlx(&gate->fired, 1);
	}
	leave_gate(gate);
	return extended;
}

static void fire(struct triggers *triggers, struct gate *gate,
		 struct flight_event *event)
{
	copy_text(event->trigger, gate->trigger->text);
	/* relaxed: a figure for a person */
	atom_add_rlx(&gate->fired, 1);
	if (!enter_gate(gate)) {
		put_event(triggers, event);
		return;
	}
	if (is_period_over(gate, event->end_ns)) {
		put_held(triggers, gate);
		gate->since_ns = event->end_ns;
		gate->put = 0;
	}
	if (gate->put < PERIOD_EVENTS) {
		gate->put++;
		put_event(triggers, event);
	} else {
		struct flight_event *rest = &gate->rest;
		uint64_t begin_ns = event->begin_ns, end_ns = event->end_ns;

		if (gate->held) {
			begin_ns = MIN(begin_ns, rest->begin_ns);
			end_ns = MAX(end_ns, rest->end_ns);
		}
		if (!gate->held || event->value > rest->value)
			*rest = *event;
		rest->begin_ns = begin_ns;
		rest->end_ns = end_ns;
		/* relaxed: a thread outside the gate only tests for 0 */
		atom_store_rlx(&gate->held, 1);
	}
	leave_gate(gate);
}

void triggers_flush(struct triggers *triggers, uint64_t ns)
{
	for (uint32_t i = 0; triggers && i < triggers->count; i++) {
		struct gate *gate = &triggers->gate[i];

		/* relaxed: a missed event is seen by the next call */
		if (!atom_load_rlx(&gate->held) || !enter_gate(gate))
			continue;
		if (is_period_over(gate, ns))
			put_held(triggers, gate);
		leave_gate(gate);
	}
}

/* --- sets ---------------------------------------------------------------- */

static struct gate *take_first(struct triggers *triggers, uint32_t *set)
{
	int first = __builtin_ctz(*set);

	*set &= *set - 1;
	return &triggers->gate[first];
}

static uint32_t set_of(const struct triggers *triggers, const struct gate *gate)
{
	return 1u << (gate - triggers->gate);
}

static void note_met(struct gate *gate)
{
	/* relaxed: a flag that is set once */
	atom_store_rlx(&gate->met, 1);
}

static bool is_named(const struct trigger *trigger, const char *name)
{
	return !trigger->name[0] || !strcmp(trigger->name, name) ||
	       !fnmatch(trigger->name, name, 0);
}

/* --- calls --------------------------------------------------------------- */

static uint32_t set_of_calls(const struct triggers *triggers)
{
	return triggers->of_kind[TRIGGER_CALL] | triggers->of_kind[TRIGGER_P99];
}

bool triggers_of_calls(const struct triggers *triggers)
{
	return triggers && set_of_calls(triggers);
}

uint32_t triggers_of_function(struct triggers *triggers, const char *name,
			      const char *module)
{
	uint32_t left = triggers ? set_of_calls(triggers) : 0, set = 0;

	while (left) {
		struct gate *gate = take_first(triggers, &left);

		if (!name_pattern_matches(gate->trigger->name, name, module))
			continue;
		note_met(gate);
		set |= set_of(triggers, gate);
	}
	return set;
}

size_t triggers_conditions(const struct triggers *triggers,
			   const struct argument_condition *const **list)
{
	*list = triggers ? triggers->condition : NULL;
	return triggers ? triggers->condition_count : 0;
}

void triggers_name_conditions(struct triggers *triggers, uint8_t named)
{
	for (uint32_t i = 0; triggers && i < triggers->condition_count; i++)
		if (named >> i & 1)
			/* relaxed: a flag that is set once */
			atom_store_rlx(&triggers->named[i], 1);
}

uint32_t triggers_relative(const struct triggers *triggers, uint32_t set)
{
	return set & triggers->of_kind[TRIGGER_P99];
}

static uint64_t slow_ns(const struct trigger *trigger, uint64_t p99_ns)
{
	double ns = trigger->times * (double)p99_ns;

	if (trigger->kind == TRIGGER_CALL)
		return trigger->min_ns;
	if (!p99_ns || ns >= 0x1p63)
		return UINT64_MAX;
	return trigger->equal && (double)(uint64_t)ns >= ns ? (uint64_t)ns
							    : (uint64_t)ns + 1;
}

uint64_t triggers_slow_ns(const struct triggers *triggers, uint32_t set,
			  uint64_t p99_ns)
{
	uint64_t least = UINT64_MAX;

	for (uint32_t i = 0; i < triggers->count; i++)
		if (set >> i & 1)
			least = MIN(least,
				    slow_ns(triggers->gate[i].trigger, p99_ns));
	return least;
}

bool triggers_call(struct triggers *triggers, const struct trigger_call *call)
{
	uint64_t ns = call->took_ns, bound = UINT64_MAX;
	uint32_t left = call->set;
	struct gate *gate = NULL;
	struct flight_event event;

	while (left && ns < bound) {
		gate = take_first(triggers, &left);
		bound = (gate->conditions & ~call->held) == 0
				? slow_ns(gate->trigger, call->p99_ns)
				: UINT64_MAX;
	}
	if (!gate || ns < bound)
		return false;
	if (extend_held(gate, call))
		return true;
	event = (struct flight_event){
		.cause = FLIGHT_CALL,
		.begin_ns = call->begin_ns,
		.end_ns = call->end_ns,
		.pid = call->pid,
		.tid = call->tid,
		.value = (int64_t)ns,
		.bound = (int64_t)bound,
	};
	copy_text(event.what, call->function);
	fire(triggers, gate, &event);
	return true;
}

/* --- others -------------------------------------------------------------- */

static struct flight_event event_at(enum flight_cause cause,
				    const struct trigger_place *place,
				    const char *what)
{
	struct flight_event event = {
		.cause = cause,
		.begin_ns = place->ns,
		.end_ns = place->ns,
		.pid = place->pid,
		.tid = place->tid,
	};

	copy_text(event.what, what);
	return event;
}

static void fire_first(struct triggers *triggers, uint32_t left,
		       struct flight_event *event)
{
	if (left)
		fire(triggers, take_first(triggers, &left), event);
}

void triggers_annotation(struct triggers *triggers,
			 const struct trigger_place *place, const char *name,
			 bool asks)
{
	uint32_t left, set = 0;
	struct flight_event event;

	left = triggers ? triggers->of_kind[TRIGGER_ANNOTATION] : 0;
	while (left) {
		struct gate *gate = take_first(triggers, &left);
		bool any = !gate->trigger->name[0];

		if (any ? !asks : !is_named(gate->trigger, name))
			continue;
		note_met(gate);
		set |= set_of(triggers, gate);
	}
	if (!set)
		return;
	event = event_at(FLIGHT_ANNOTATION, place, name);
	fire_first(triggers, set, &event);
}

uint32_t triggers_of_counter(struct triggers *triggers, const char *name)
{
	uint32_t left = triggers ? triggers->of_kind[TRIGGER_COUNTER] : 0;
	uint32_t set = 0;

	while (left) {
		struct gate *gate = take_first(triggers, &left);

		if (!is_named(gate->trigger, name))
			continue;
		note_met(gate);
		set |= set_of(triggers, gate);
	}
	return set;
}

static int64_t nearest(double number)
{
	if (number >= 0x1p63)
		return INT64_MAX;
	return number > -0x1p63 ? (int64_t)number : INT64_MIN;
}

/* Returns the entry of @track, or NULL if the table is full. */
static struct counter *counter_of(struct triggers *triggers, uint64_t track)
{
	for (uint32_t i = 0; i < COUNTERS; i++) {
		struct counter *counter =
			&triggers->counter[(track + i) % COUNTERS];
		/* relaxed: an entry is set once */
		uint64_t old = atom_load_rlx(&counter->track);

		/* order: sc, GATE: one track has the entry */
		if (!old && atom_cas_sc(&counter->track, 0, track))
			return counter;
		/* relaxed: as above */
		if (atom_load_rlx(&counter->track) == track)
			return counter;
	}
	return NULL;
}

void triggers_counter(struct triggers *triggers, uint32_t set, uint64_t track,
		      const struct trigger_place *place, const char *name,
		      double value)
{
	struct counter *counter = counter_of(triggers, track);
	uint32_t left = set, now = 0, before;
	struct flight_event event;

	if (!counter)
		return;
	while (left) {
		struct gate *gate = take_first(triggers, &left);

		if (trigger_is_beyond(gate->trigger, value))
			now |= set_of(triggers, gate);
	}
	/* order: sc, GATE: of two threads one has crossed the bound */
	before = atom_xchg_sc(&counter->beyond, now);
	for (left = now & ~before; left;) {
		struct gate *gate = take_first(triggers, &left);

		event = event_at(FLIGHT_COUNTER, place, name);
		event.value = nearest(value);
		event.bound = nearest(gate->trigger->bound);
		fire(triggers, gate, &event);
	}
}

void triggers_signal(struct triggers *triggers, uint64_t ns, int number)
{
	uint32_t left = triggers ? triggers->of_kind[TRIGGER_SIGNAL] : 0;
	const struct trigger_place place = { .ns = ns };
	struct flight_event event;

	while (left) {
		struct gate *gate = take_first(triggers, &left);

		if (gate->trigger->signal != number)
			continue;
		event = event_at(FLIGHT_SIGNAL, &place, "");
		event.value = number;
		fire(triggers, gate, &event);
		return;
	}
}

void triggers_crash(struct triggers *triggers,
		    const struct trigger_place *place, const char *name,
		    int number)
{
	struct flight_event event;

	/* order: sc, GATE: of two reporters, exactly one is the second */
	if (!triggers ||
	    atom_xchg_sc(&triggers->crashed, place->pid) == place->pid)
		return;
	event = event_at(FLIGHT_CRASH, place, name);
	event.value = number;
	fire_first(triggers, triggers->of_kind[TRIGGER_CRASH], &event);
}

/* --- all ----------------------------------------------------------------- */

uint64_t triggers_fired(const struct triggers *triggers)
{
	uint64_t fired = 0;

	for (uint32_t i = 0; triggers && i < triggers->count; i++)
		/* relaxed: a figure for a person */
		fired += atom_load_rlx(&triggers->gate[i].fired);
	return fired;
}

const struct trigger *triggers_missing(const struct triggers *triggers,
				       size_t *at)
{
	while (triggers && *at < triggers->count) {
		const struct gate *gate = &triggers->gate[(*at)++];

		/* relaxed: no thread records any more */
		if (gate->trigger->name[0] && !atom_load_rlx(&gate->met))
			return gate->trigger;
	}
	return NULL;
}

const struct trigger *triggers_missing_argument(const struct triggers *triggers,
						size_t *at,
						const char **argument)
{
	while (triggers && *at < triggers->count) {
		const struct gate *gate = &triggers->gate[(*at)++];

		/* relaxed: no thread records any more */
		if (!atom_load_rlx(&gate->met))
			continue;
		for (uint32_t i = 0; i < triggers->condition_count; i++) {
			/* relaxed: as above */
			if (!(gate->conditions >> i & 1) ||
			    atom_load_rlx(&triggers->named[i]))
				continue;
			*argument = triggers->condition[i]->name;
			return gate->trigger;
		}
	}
	return NULL;
}
