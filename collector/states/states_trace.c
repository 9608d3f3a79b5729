/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/states/states_trace.h"

#include <stdio.h>

#include "collector/base/clock.h"
#include "collector/base/random.h"
#include "collector/base/size.h"
#include "collector/record/arena.h"
#include "collector/record/recording.h"
#include "collector/states/states_inner.h"
#include "collector/trace/out_perfetto.h"
#include "collector/trace/out_track.h"
#include "collector/trace/trace_file.h"

#define PACKET_BYTES 2048
/* Most processes that get a change in the trace, the youngest first. */
#define PROCESSES_MAX 64

static struct recording *recording_of_states(const struct states *states)
{
	return arena_setup(states->arena)->recording;
}

static struct trace_file *trace_of_states(const struct states *states)
{
	return recording_setup(recording_of_states(states))->trace;
}

/* Writes the known reasons: ": 9.1 % of the CPU time, 34 ns a call". */
static void put_why(const struct states_change *change, char *text, size_t room)
{
	double percent = 100.0 * change->share / 4294967296.0;
	char mean[SIZE_TEXT];
	size_t used = 0;

	text[0] = '\0';
	if (change->by_hand)
		used += (size_t)snprintf(text, room, ": asked for");
	if (percent >= 0.05)
		used += (size_t)snprintf(text + used, room - used,
					 "%s %.1f %% of the CPU time",
					 used ? "," : ":", percent);
	if (change->mean_ns)
		snprintf(text + used, room - used, "%s %s a call",
			 used ? "," : ":",
			 size_format_ns(change->mean_ns, mean));
}

void states_trace_name(const struct states_change *change,
		       char text[STATES_TRACE_TEXT])
{
	char why[STATES_TRACE_TEXT / 4];

	put_why(change, why, sizeof(why));
	if (change->episode && change->to == FUNCTION_COUNTED)
		snprintf(text, STATES_TRACE_TEXT,
			 "perfrec: %.300s only counted again", change->name);
	else if (change->episode)
		snprintf(text, STATES_TRACE_TEXT,
			 "perfrec: %.300s recorded for a moment%s",
			 change->name,
			 change->last_episode ? " (later moments are not shown)"
					      : "");
	else if (change->to == FUNCTION_COUNTED)
		snprintf(text, STATES_TRACE_TEXT,
			 "perfrec: %.300s only counted%s", change->name, why);
	else if (change->to == FUNCTION_SPAN)
		snprintf(text, STATES_TRACE_TEXT,
			 "perfrec: %.300s recorded again%s", change->name, why);
	else
		snprintf(text, STATES_TRACE_TEXT, "perfrec: %.300s off%s",
			 change->name, why);
}

/* Returns the sequence of these packets; the first call starts it. */
static uint32_t sequence_of_states(struct states *states)
{
	uint8_t packet[PACKET_BYTES];

	if (states->sequence)
		return states->sequence;
	states->sequence = recording_sequence(recording_of_states(states));
	trace_file_append(
		trace_of_states(states), states->sequence, packet,
		out_track_sequence(packet, sizeof(packet), states->sequence));
	return states->sequence;
}

static void write_state_count(struct states *states,
			      const struct states_process *process, uint64_t ns,
			      size_t more)
{
	uint8_t packet[PACKET_BYTES];
	uint32_t sequence = sequence_of_states(states);

	trace_file_append(trace_of_states(states), sequence, packet,
			  out_track_value(packet, sizeof(packet), sequence,
					  process->count_track, ns,
					  (int64_t)(states->muted + more)));
}

static void describe_tracks(struct states *states,
			    struct states_process *process)
{
	const struct out_track track = {
		.uuid = random_u64(),
		.parent = process->uuid,
		.name = "perfrec: states of functions",
		.description = "which functions are recorded, counted or off "
			       "from then on, and why",
	};
	const struct out_counter count = {
		.uuid = random_u64(),
		.parent = process->uuid,
		.name = "perfrec: functions not recorded",
		.description = "functions that are counted or off: their time "
			       "is in the slices of their callers",
		.multiplier = 1,
	};
	uint8_t packet[PACKET_BYTES];

	process->change_track = track.uuid;
	process->count_track = count.uuid;
	trace_file_append(trace_of_states(states), OUT_SEQUENCE_GLOBAL, packet,
			  out_track_track(packet, sizeof(packet), &track));
	trace_file_append(trace_of_states(states), OUT_SEQUENCE_GLOBAL, packet,
			  out_track_counter(packet, sizeof(packet), &count));
}

void states_trace_process(struct states *states, struct states_process *process)
{
	bool known;

	lock_acquire(&states->lock);
	known = process->uuid;
	lock_release(&states->lock);
	if (!known || process->change_track || !states->muted ||
	    !trace_of_states(states))
		return;
	describe_tracks(states, process);
	write_state_count(states, process, clock_boottime_ns(), 0);
}

static void count_muted(struct states *states,
			const struct states_change *change)
{
	bool before = change->from != FUNCTION_SPAN;
	bool after = change->to != FUNCTION_SPAN;

	/* The function stays muted during an episode, and the trace omits some
	 * episodes. */
	if (change->episode)
		return;
	if (after && !before)
		states->muted++;
	else if (before && !after && states->muted)
		states->muted--;
}

static void write_instant(struct states *states, struct states_process *process,
			  uint64_t ns, const char *name)
{
	uint32_t sequence = sequence_of_states(states);
	uint8_t packet[PACKET_BYTES];

	if (!process->change_track)
		describe_tracks(states, process);
	trace_file_append(trace_of_states(states), sequence, packet,
			  out_track_instant(packet, sizeof(packet), sequence,
					    process->change_track, ns, name));
}

/* Writing the trace may wait for a disk, so the lock is not held then. Only
 * this thread removes processes from the list. */
static size_t list_traced_processes(struct states *states,
				    struct states_process *list[PROCESSES_MAX])
{
	size_t count = 0;

	lock_acquire(&states->lock);
	for (struct states_process *process = states->processes;
	     process && count < PROCESSES_MAX; process = process->next)
		if (!process->ended && process->uuid)
			list[count++] = process;
	lock_release(&states->lock);
	return count;
}

void states_trace_change(struct states *states,
			 const struct states_change *change)
{
	struct states_process *list[PROCESSES_MAX];
	char name[STATES_TRACE_TEXT];
	size_t count;

	count_muted(states, change);
	if (!change->name || !arena_setup(states->arena)->recording ||
	    !trace_of_states(states))
		return;
	states_trace_name(change, name);
	count = list_traced_processes(states, list);
	for (size_t i = 0; i < count; i++) {
		write_instant(states, list[i], change->ns, name);
		write_state_count(states, list[i], change->ns, 0);
	}
}

bool states_trace_late(struct states *states, struct states_process *process,
		       const char *path, size_t count, uint64_t from_ns,
		       uint64_t to_ns)
{
	char name[STATES_TRACE_TEXT], time[SIZE_TEXT];
	bool known;

	lock_acquire(&states->lock);
	known = process->uuid;
	lock_release(&states->lock);
	if (!known)
		return false;
	if (!arena_setup(states->arena)->recording || !trace_of_states(states))
		return true;
	snprintf(name, sizeof(name), "perfrec: %.300s not recorded yet", path);
	write_instant(states, process, from_ns, name);
	write_state_count(states, process, from_ns, count);
	snprintf(name, sizeof(name),
		 "perfrec: %.300s recorded from here on (%s after dlopen())",
		 path, size_format_ns(to_ns - from_ns, time));
	write_instant(states, process, to_ns, name);
	write_state_count(states, process, to_ns, 0);
	return true;
}
