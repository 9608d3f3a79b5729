/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/drain/states_told.h"

#include <stdio.h>
#include <stdlib.h>

#include "collector/profile/function_table.h"
#include "collector/record/arena.h"
#include "collector/record/recording.h"
#include "collector/states/states.h"

#define NOTE_BYTES 512

static void add_totals(struct recording *recording,
		       const struct states_summary *from)
{
	struct state_totals *sum = &recording_lock(recording)->states;

	sum->known += from->functions;
	sum->counted += from->counted;
	sum->off += from->off;
	sum->gated += from->gated;
	sum->refused += from->refused;
	sum->changes += from->changes;
	sum->unpatched_processes += from->unpatched_processes;
	sum->patch_ns += from->patch_ns;
	sum->cost_ns += from->cost_ns;
	sum->cpu_ns += from->cpu_ns;
	sum->unmet |= from->unmet;
	recording_unlock(recording);
}

/* Why functions stay as they are, where somebody wanted them otherwise. */
static void add_notes(struct recording *recording,
		      const struct states_summary *from)
{
	char text[NOTE_BYTES];

	for (const struct states_refusal *refusal = from->refusals;
	     refusal->why; refusal++) {
		if (!refusal->unusual)
			continue;
		snprintf(text, sizeof(text),
			 "%llu %s could not be changed: %s.",
			 (unsigned long long)refusal->functions,
			 refusal->functions == 1 ? "function" : "functions",
			 refusal->why);
		recording_note(recording, text);
	}
	if (!from->unwritable)
		return;
	snprintf(text, sizeof(text),
		 "No hook could be switched off: %s. Functions that are not to "
		 "be recorded still cost some ns a call.",
		 from->unwritable);
	recording_note(recording, text);
	if (!from->unheard)
		return;
	snprintf(text, sizeof(text),
		 "Of entry builds nothing was recorded (%llu functions): their "
		 "hooks could not be switched on, as %s.",
		 (unsigned long long)from->unheard, from->unwritable);
	recording_note(recording, text);
}

static void add_function(struct recording *recording,
			 const struct states_function *from)
{
	const struct function_total total = {
		.name = from->name,
		.module = from->module,
		.state = from->state == FUNCTION_OFF	   ? TOLD_OFF
			 : from->state == FUNCTION_COUNTED ? TOLD_COUNTED
							   : TOLD_SPAN,
	};

	/* What somebody asked to leave out is left out. */
	if (from->by_hand && from->state == FUNCTION_OFF && !from->calls)
		return;
	if (total.state != TOLD_SPAN && total.name && total.module)
		recording_add_function(recording, &total);
}

void states_told(struct arena *arena)
{
	struct recording *recording = arena_setup(arena)->recording;
	struct states_function *list;
	struct states_summary summary;
	size_t count;

	if (!arena_setup(arena)->states || !recording)
		return;
	states_tell_matches(arena);
	states_summary(arena, &summary);
	if (!summary.functions && !summary.unwritable)
		return;
	add_totals(recording, &summary);
	add_notes(recording, &summary);
	count = states_list(arena, &list);
	for (size_t i = 0; i < count; i++)
		add_function(recording, &list[i]);
	free(list);
}
