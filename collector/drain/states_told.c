/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/drain/states_told.h"

#include <stdio.h>
#include <stdlib.h>

#include "collector/base/size.h"
#include "collector/profile/function_table.h"
#include "collector/record/arena.h"
#include "collector/record/recording.h"
#include "collector/states/states.h"
#include "shared/compiler.h"

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
	sum->late += from->late;
	sum->unpatched_processes += from->unpatched_processes;
	sum->patch_ns += from->patch_ns;
	sum->held_ns += from->held_ns;
	sum->hooked += from->hooked;
	sum->recalled += from->recalled;
	sum->patched += from->patched;
	sum->unpatched += from->unpatched;
	sum->unplanned_files += from->unplanned_files;
	sum->called += from->called;
	sum->uncalled += from->uncalled;
	sum->cost_ns += from->cost_ns;
	sum->counting_ns += from->counting_ns;
	sum->cpu_ns += from->cpu_ns;
	sum->unmet |= from->unmet;
	sum->late_modules += from->modules.late;
	sum->missed_modules += from->modules.missed;
	sum->late_ns = MAX(sum->late_ns, from->modules.late_ns);
	recording_unlock(recording);
}

/* Notes that @count functions are as @what says, because of @why. */
static void add_refusal(struct recording *recording, uint64_t count,
			const char *what, const char *why, const char *way_out)
{
	char text[NOTE_BYTES];

	if (!count)
		return;
	snprintf(text, sizeof(text), "%llu %s %s: %s.%s",
		 (unsigned long long)count,
		 count == 1 ? "function" : "functions", what, why, way_out);
	recording_note(recording, text);
}

/* Notes why functions keep their state. Unchangeable functions of a calls build
 * are always recorded, those of an entry build never. */
static void add_notes(struct recording *recording,
		      const struct states_summary *from)
{
	char text[NOTE_BYTES];

	for (const struct states_refusal *refusal = from->refusals;
	     refusal->why; refusal++) {
		add_refusal(recording, refusal->functions - refusal->unheard,
			    "could not be changed", refusal->why, "");
		if (from->unwritable)
			continue;
		add_refusal(recording, refusal->unheard,
			    "of an entry build could not be recorded",
			    refusal->why,
			    " Build with perfrec cc --hooks=calls to record "
			    "them.");
	}
	if (!from->unwritable)
		return;
	snprintf(text, sizeof(text),
		 "No hook could be switched off: %s. Excluded functions still "
		 "cost some ns a call.",
		 from->unwritable);
	recording_note(recording, text);
	if (!from->unheard)
		return;
	snprintf(text, sizeof(text),
		 "No function of entry builds was recorded (%llu functions): "
		 "their hooks could not be switched on, because %s.",
		 (unsigned long long)from->unheard, from->unwritable);
	recording_note(recording, text);
}

/* Notes the files that --patch has left out. */
static void add_file_notes(struct recording *recording,
			   const struct states_summary *from)
{
	char text[NOTE_BYTES];

	for (size_t i = 0; i < STATES_UNPLANNED_MAX && from->unplanned[i].path;
	     i++) {
		snprintf(text, sizeof(text),
			 "No function of %.300s was recorded: %s.",
			 from->unplanned[i].path, from->unplanned[i].why);
		recording_note(recording, text);
	}
}

/* Notes the calls that late modules of entry builds lost. */
static void add_module_notes(struct recording *recording,
			     const struct states_modules_told *from)
{
	char text[NOTE_BYTES], time[SIZE_TEXT], where[64];

	for (size_t i = 0; i < from->count; i++) {
		const struct states_module_told *module = &from->list[i];
		const char *path = module->path[0] ? module->path : "A library";

		where[0] = '\0';
		if (module->loads > module->processes)
			snprintf(where, sizeof(where),
				 ", %llu times in %llu process%s",
				 (unsigned long long)module->loads,
				 (unsigned long long)module->processes,
				 module->processes > 1 ? "es" : "");
		else if (module->processes > 1)
			snprintf(where, sizeof(where), ", in %llu processes",
				 (unsigned long long)module->processes);
		if (module->ns)
			snprintf(text, sizeof(text),
				 "%.300s was connected %s%s after dlopen()%s: "
				 "its calls before that are not recorded (load "
				 "it with the program, or build it with "
				 "--hooks=calls).",
				 path, module->loads > 1 ? "up to " : "",
				 size_format_ns(module->ns, time), where);
		else if (module->slots)
			snprintf(text, sizeof(text),
				 "%.300s was closed before perfrec had read "
				 "it, or cannot be read%s: calls of library "
				 "functions by it, if any, are not recorded "
				 "(load it with the program).",
				 path, where);
		else
			snprintf(text, sizeof(text),
				 "%.300s was loaded by dlopen() and never "
				 "connected%s: none of its calls is recorded "
				 "(load it with the program, or build it with "
				 "--hooks=calls).",
				 path, where);
		recording_note(recording, text);
	}
}

static void add_told_function(struct recording *recording,
			      const struct states_function *from)
{
	const struct function_total total = {
		.name = from->name,
		.module = from->module,
		.state = from->state == FUNCTION_OFF	   ? TOLD_OFF
			 : from->state == FUNCTION_COUNTED ? TOLD_COUNTED
							   : TOLD_SPAN,
		.late = from->late,
	};

	/* Leaves out functions that the user excluded. */
	if (from->by_hand && from->state == FUNCTION_OFF && !from->calls)
		return;
	if ((total.state != TOLD_SPAN || total.late) && total.name &&
	    total.module)
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
	if (summary.functions || summary.unwritable || summary.modules.count ||
	    summary.unplanned_files) {
		add_totals(recording, &summary);
		add_notes(recording, &summary);
		add_file_notes(recording, &summary);
		add_module_notes(recording, &summary.modules);
	}
	states_summary_release(&summary);
	count = states_list(arena, &list);
	for (size_t i = 0; i < count; i++)
		add_told_function(recording, &list[i]);
	free(list);
}
