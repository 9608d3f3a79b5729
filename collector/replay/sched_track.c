/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/replay/sched_track.h"

#include "collector/replay/kernel_event.h"
#include "shared/compiler.h"

/* Ends the current stretch at @ns. @known: the thread was in that state all the
 * time. */
static struct sched_step end_track_stretch(struct sched_track *track,
					   uint64_t ns, bool known)
{
	struct sched_stretches *sums = &track->sums;
	struct sched_step step = { .state = known ? track->state
						  : SCHED_UNKNOWN };

	if (track->state == SCHED_NONE || track->state == SCHED_ENDED)
		return (struct sched_step){ 0 };
	step.ns = ns - MIN(ns, track->since_ns);
	track->since_ns = MAX(ns, track->since_ns);
	switch (step.state) {
	case SCHED_RUNS:
		sums->on_ns += step.ns;
		break;
	case SCHED_PREEMPTED:
		sums->preempted_ns += step.ns;
		break;
	case SCHED_BLOCKED:
		sums->blocked_ns += step.ns;
		break;
	default:
		sums->unknown_ns += step.ns;
	}
	return step;
}

static bool is_off_cpu(enum sched_state state)
{
	return state == SCHED_PREEMPTED || state == SCHED_BLOCKED;
}

static void begin_base(struct sched_track *track, uint64_t on_ns,
		       uint64_t delay_ns)
{
	track->base = (struct sched_base){ true, on_ns, delay_ns, track->sums };
}

struct sched_step sched_track_apply(struct sched_track *track,
				    const struct kernel_event *event)
{
	struct sched_step step = { 0 };

	if (track->state == SCHED_ENDED)
		return step;
	switch (event->kind) {
	case KERNEL_IN:
		step = end_track_stretch(track, event->ns,
					 track->state != SCHED_RUNS);
		step.came = is_off_cpu(step.state);
		step.whole = step.came && !track->fresh;
		track->sums.waits += step.whole && step.state == SCHED_BLOCKED;
		track->sums.preemptions +=
			step.whole && step.state == SCHED_PREEMPTED;
		track->fresh = false;
		step.migrated = track->has_cpu && track->cpu != event->cpu;
		track->sums.migrations += step.migrated;
		track->has_cpu = true;
		track->cpu = event->cpu;
		track->state = SCHED_RUNS;
		break;
	case KERNEL_PREEMPTED:
	case KERNEL_BLOCKED:
		step = end_track_stretch(track, event->ns,
					 !is_off_cpu(track->state));
		track->state = event->kind == KERNEL_BLOCKED ? SCHED_BLOCKED
							     : SCHED_PREEMPTED;
		break;
	case KERNEL_START:
		if (track->state == SCHED_NONE)
			begin_base(track, 0, 0);
		step = end_track_stretch(track, event->ns, false);
		track->state = SCHED_PREEMPTED;
		track->fresh = true;
		break;
	case KERNEL_UNKNOWN:
		step = end_track_stretch(track, event->ns, true);
		track->state = SCHED_UNKNOWN;
		break;
	case KERNEL_EXIT:
		step = end_track_stretch(track, event->ns,
					 !is_off_cpu(track->state));
		track->state = SCHED_ENDED;
		break;
	case KERNEL_DELAY:
		track->delay_ns = event->value;
		return step;
	case KERNEL_ANCHOR:
		begin_base(track, event->value, track->delay_ns);
		return step;
	default:
		return step;
	}
	track->since_ns = MAX(event->ns, track->since_ns);
	if (!track->begun_ns)
		track->begun_ns = track->since_ns;
	return step;
}

struct sched_step sched_track_look(struct sched_track *track, uint64_t ns)
{
	return end_track_stretch(track, ns, true);
}
