/* SPDX-License-Identifier: Apache-2.0
 *
 * states_opening - dlopen() calls that wait (--patch). The shim reports the
 * modules of a dlopen() before any of their code can run. Then it waits until
 * their functions are moved or its time limit ends (preload/load/opening.c). Only
 * modules that were reported under the number of a dlopen() that still waits are
 * moved, and only in its process.
 */
#include <limits.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collector/base/clock.h"
#include "collector/code/code_plan.h"
#include "collector/code/patch.h"
#include "collector/names/map_log.h"
#include "collector/record/arena.h"
#include "collector/states/states_inner.h"
#include "shared/atomic.h"
#include "shared/compiler.h"
#include "shared/futex.h"
#include "shared/ring_shm.h"

/* Longest time until a forked child is known. */
#define CHILD_NS 1000000000

static uint32_t *opening_word(const struct states *states)
{
	return &arena_setup(states->arena)->page->opening;
}

bool states_report_openings(const struct states *states)
{
	/* relaxed: a flag that is set before the hello ends */
	return atom_load_rlx(&arena_setup(states->arena)->page->flags) &
	       PAGE_OPENINGS;
}

uint32_t states_opening_now(const struct states *states)
{
	/* relaxed: a swap follows before anything is written */
	return atom_load_rlx(opening_word(states)) / OPENING_STEP;
}

/* Returns the process whose dlopen() waits. Sets *@many if that is not certain:
 * processes in two namespaces may have the same id. NULL: it is not known yet. */
static const struct states_process *find_opener(struct states *states,
						bool *many)
{
	const struct states_process *opener = NULL;

	*many = false;
	for (const struct states_process *process = states_first(states);
	     process; process = process->next)
		if (process->inner_pid == states->opening.pid &&
		    !states_has_ended(states, process)) {
			*many = opener;
			opener = process;
		}
	return opener;
}

void states_note_arrival(struct states *states, const struct map_event *event)
{
	struct states_opening *opening = &states->opening;

	/* A later module there is another one. In the map it starts at its code. */
	for (size_t i = 0; i < ARRAY_SIZE(states->awaited); i++)
		if (states->awaited[i].start >= event->start &&
		    states->awaited[i].start < event->end)
			states->awaited[i].start = 0;
	/* The program took the number before it reported the module. */
	if (states_opening_now(states) != event->opening)
		return;
	if (opening->number != event->opening || opening->pid != event->pid)
		*opening = (struct states_opening){ .number = event->opening,
						    .pid = event->pid };
	if (opening->count < STATES_OPENING_MAX)
		opening->start[opening->count++] = event->start;
}

uint32_t states_opening_of(const struct states *states,
			   const struct states_process *process, uint64_t start)
{
	const struct states_opening *opening = &states->opening;

	if (opening->number && opening->pid == process->inner_pid &&
	    states_opening_now(states) == opening->number)
		for (uint32_t i = 0; i < opening->count; i++)
			if (opening->start[i] == start)
				return opening->number;
	return 0;
}

bool states_opening_is_planned(const struct states *states)
{
	for (size_t i = 0; i < states->module_count; i++) {
		const struct states_module *module = &states->modules[i];
		const struct states_plan *plan = module->plan;

		/* Other functions are connected after dlopen(). */
		if (module->opening && !module->listed &&
		    !(plan->ready && !(plan->plan && plan->plan->moves.count)))
			return false;
	}
	return true;
}

void states_end_openings(struct states *states)
{
	/* relaxed: as in states_opening_now() */
	uint32_t seen = atom_load_rlx(opening_word(states));
	uint64_t now = clock_boottime_ns();

	if (seen != states->opening_seen)
		states->opening_ns = now;
	states->opening_seen = seen;
	/* The process was killed. */
	if (seen && now - states->opening_ns > STATES_HOLD_NS)
		/* order: sc, OPENING: nothing is written under this number */
		(void)atom_cas_sc(opening_word(states), seen, OPENING_NONE);
	if (!states->has_openings)
		return;
	states->has_openings = false;
	for (uint32_t i = 0; i < states->module_count; i++) {
		struct states_module *module = &states->modules[i];

		if (module->opening == seen / OPENING_STEP) {
			states->has_openings |= module->opening != 0;
			continue;
		}
		if (module->opening)
			states_leave_alone(states, i);
		module->opening = 0;
	}
}

bool states_opening_write(struct states *states, struct states_hold *hold)
{
	const uint32_t number = states->opening.number * OPENING_STEP;
	bool many;

	*hold = (struct states_hold){
		.process = find_opener(states, &many),
		.text = { .word = opening_word(states),
			  .mask = UINT32_MAX,
			  .value = number | OPENING_WRITES },
		.opening = true,
	};
	return number && hold->process && !many && hold->process->image &&
	       /* order: sc, OPENING: the program sees it, or we see that it has
		* gone on */
	       atom_cas_sc(opening_word(states), number | OPENING_WAITS,
			   hold->text.value);
}

void states_opening_written(struct states *states)
{
	const uint32_t number = states->opening.number * OPENING_STEP;

	/* order: sc, OPENING: the text is whole before the program goes on */
	(void)atom_cas_sc(opening_word(states), number | OPENING_WRITES,
			  number | OPENING_WAITS);
}

/* Returns true while a child that was forked a moment ago, and waits, is not known
 * yet. */
static bool is_opener_new(struct states *states)
{
	const struct states_process *opener;
	bool many;

	if (states->opening.number != states->opening_seen / OPENING_STEP ||
	    clock_boottime_ns() - states->opening_ns > CHILD_NS)
		return false;
	opener = find_opener(states, &many);
	return !opener || (!opener->image && !opener->failed);
}

bool states_opening_finish(struct states *states)
{
	uint32_t *word = opening_word(states);
	/* All its modules were reported before this visit. */
	uint32_t seen = states->opening_seen;

	if ((seen & OPENING_STATE) == OPENING_WAITS && !is_opener_new(states) &&
	    /* order: sc, OPENING: the text is whole */
	    atom_cas_sc(word, seen, OPENING_NONE))
		syscall(SYS_futex, word, FUTEX_OP_WAKE, INT_MAX, NULL, NULL, 0);
	return !states_opening_now(states);
}
