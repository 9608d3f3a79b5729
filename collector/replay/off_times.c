/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/replay/off_times.h"

#include "collector/replay/cct.h"
#include "collector/replay/cct_kernel.h"
#include "collector/replay/kernel_event.h"
#include "shared/compiler.h"

#define SHARE_ROUNDS 8

/* --- stretches ----------------------------------------------------------- */

static struct cct_kernel *open_node(struct off_times *off,
				    const struct off_place *place)
{
	struct cct_kernel *kernel = cct_kernel_of(place->cct, place->node);

	if (!kernel->is_open) {
		kernel->is_open = true;
		kernel->next_open = off->open;
		off->open = kernel;
	}
	return kernel;
}

/* Counts a finished wait of @ns for @kernel. @told: the event with its object,
 * or NULL. Object and call are chosen by majority vote (Boyer-Moore). */
static void note_wait(struct cct_kernel *kernel, uint64_t ns,
		      const struct kernel_event *told)
{
	struct kernel_waits *waits =
		&kernel->waits[ns < CPU_LONG_NS ? KERNEL_WAITS_SHORT
						: KERNEL_WAITS_LONG];
	const char *object;

	if (!told) {
		waits->unread++;
		waits->unread_ns += ns;
		return;
	}
	object = (const char *)(uintptr_t)told->value;
	if (!waits->object_votes)
		waits->object = object;
	if (!waits->call_votes)
		waits->call = told->call;
	waits->object_votes += waits->object == object ? 1 : -1u;
	waits->call_votes += waits->call == told->call ? 1 : -1u;
	waits->read++;
}

/* Adds @step to the node at @place. @told: the event that ended @step if the
 * wait's object was read, else NULL. */
static void add_off_step(struct off_times *off, const struct sched_step *step,
			 const struct off_place *place,
			 const struct kernel_event *told)
{
	struct cct_kernel *kernel;

	if (step->state == SCHED_NONE ||
	    (step->state == SCHED_RUNS && !step->migrated))
		return;
	kernel = open_node(off, place);
	kernel->counts.switches += step->whole;
	kernel->counts.migrations += step->migrated;
	if (step->state == SCHED_BLOCKED) {
		kernel->open_blocked_ns += step->ns;
		kernel->open_waits += step->whole;
		kernel->counts.waits += step->whole;
		kernel->counts.told_waits += told != NULL;
		kernel->counts.told_ns += told ? step->ns : 0;
		if (step->whole)
			note_wait(kernel, step->ns, told);
	} else if (step->state == SCHED_PREEMPTED) {
		kernel->open_preempted_ns += step->ns;
		/* The first run on a CPU also costs a switch. */
		kernel->open_preemptions += step->came;
	} else if (step->state == SCHED_UNKNOWN) {
		kernel->counts.unknown_ns += step->ns;
	}
}

void off_times_begin(struct off_times *off, const struct sched_track *before,
		     const struct off_place *place)
{
	const struct sched_stretches *sums = &before->sums;
	const struct sched_stretches *at = &before->base.at;
	struct cct_kernel *kernel;

	off->track = *before;
	/* No kernel counts exist for the time before the anchor. */
	off->sums = (struct off_sums){ .on_ns = at->on_ns,
				       .runnable_ns = at->preempted_ns,
				       .blocked_ns = at->blocked_ns,
				       .unknown_ns = at->unknown_ns };
	if (before->state == SCHED_NONE)
		return;
	kernel = open_node(off, place);
	kernel->counts.switches += sums->waits + sums->preemptions;
	kernel->counts.migrations += sums->migrations;
	kernel->counts.unknown_ns += sums->unknown_ns;
	kernel->counts.blocked_ns += at->blocked_ns;
	kernel->counts.runnable_ns += at->preempted_ns;
	kernel->counts.waits += sums->waits;
	kernel->open_blocked_ns += sums->blocked_ns - at->blocked_ns;
	kernel->open_waits += sums->waits - at->waits;
	kernel->open_preempted_ns += sums->preempted_ns - at->preempted_ns;
	kernel->open_preemptions += sums->preemptions - at->preemptions;
}

void off_times_event(struct off_times *off, const struct kernel_event *event,
		     const struct off_place *place)
{
	struct sched_step step;

	if (event->kind == KERNEL_ANCHOR) {
		off_times_settle(off, event->value, off->track.delay_ns);
		return;
	}
	step = sched_track_apply(&off->track, event);
	add_off_step(off, &step, place,
		     event->kind == KERNEL_IN && event->flag ? event : NULL);
}

void off_times_look(struct off_times *off, uint64_t ns,
		    const struct off_place *place)
{
	struct sched_step step = sched_track_look(&off->track, ns);

	add_off_step(off, &step, place, NULL);
}

uint64_t off_times_on_ns(const struct off_times *off, uint64_t ns,
			 uint64_t *unknown_ns)
{
	const struct sched_track *track = &off->track;
	uint64_t on_ns = track->sums.on_ns;
	uint64_t open_ns = ns - MIN(ns, track->since_ns);

	*unknown_ns = track->sums.unknown_ns;
	if (track->state == SCHED_RUNS)
		on_ns += open_ns;
	else if (track->state == SCHED_UNKNOWN)
		*unknown_ns += open_ns;
	return on_ns;
}

/* --- settling ------------------------------------------------------------ */

struct share {
	uint64_t left_ns;
	uint64_t given_ns;
	bool waits_only; /* share out to blocked time only; else to all time off
			  * the CPU */
};

static uint64_t weight_of(const struct share *share,
			  const struct cct_kernel *kernel)
{
	return kernel->open_waits +
	       (share->waits_only ? 0 : kernel->open_preemptions);
}

static uint64_t room_of(const struct share *share,
			const struct cct_kernel *kernel)
{
	return kernel->open_blocked_ns +
	       (share->waits_only ? 0 : kernel->open_preempted_ns);
}

/* One round: each node gets a share by its number of switches, at most its
 * room. */
static void share_round(struct cct_kernel *open, struct share *share)
{
	uint64_t weight = 0, left = share->left_ns;

	for (struct cct_kernel *one = open; one; one = one->next_open)
		if (room_of(share, one))
			weight += weight_of(share, one);
	for (struct cct_kernel *one = open; one && weight;
	     one = one->next_open) {
		double part = (double)left * (double)weight_of(share, one) /
			      (double)weight;
		uint64_t ns = (uint64_t)(part + 0.5);
		uint64_t blocked;

		ns = MIN(MIN(ns, share->left_ns), room_of(share, one));
		/* First off the blocked stretches. */
		blocked = MIN(ns, one->open_blocked_ns);
		one->open_blocked_ns -= blocked;
		one->open_preempted_ns -= ns - blocked;
		one->counts.spread_ns += ns;
		if (share->waits_only)
			one->counts.runnable_ns += ns;
		share->left_ns -= ns;
		share->given_ns += ns;
	}
}

static uint64_t share_out(struct cct_kernel *open, uint64_t ns, bool waits_only)
{
	struct share share = { .left_ns = ns, .waits_only = waits_only };

	for (int i = 0; i < SHARE_ROUNDS && share.left_ns; i++) {
		uint64_t before = share.left_ns;

		share_round(open, &share);
		if (share.left_ns == before)
			break;
	}
	return share.given_ns;
}

static void sum_open(const struct off_times *off, uint64_t *blocked_ns,
		     uint64_t *preempted_ns)
{
	*blocked_ns = *preempted_ns = 0;
	for (const struct cct_kernel *one = off->open; one;
	     one = one->next_open) {
		*blocked_ns += one->open_blocked_ns;
		*preempted_ns += one->open_preempted_ns;
	}
}

static void close_open(struct off_times *off)
{
	struct cct_kernel *next;

	for (struct cct_kernel *one = off->open; one; one = next) {
		next = one->next_open;
		one->counts.blocked_ns += one->open_blocked_ns;
		one->counts.runnable_ns += one->open_preempted_ns;
		one->open_blocked_ns = one->open_preempted_ns = 0;
		one->open_waits = one->open_preemptions = 0;
		one->is_open = false;
		one->next_open = NULL;
	}
	off->open = NULL;
}

static void add_off_sums(struct off_times *off, const struct off_sums *since)
{
	off->sums.on_ns += since->on_ns;
	off->sums.runnable_ns += since->runnable_ns;
	off->sums.blocked_ns += since->blocked_ns;
	off->sums.unknown_ns += since->unknown_ns;
	off->sums.spread_ns += since->spread_ns;
	off->sums.stolen_ns += since->stolen_ns;
	off->track.base.at = off->track.sums;
}

static struct off_sums stretches_since(const struct off_times *off)
{
	const struct sched_stretches *now = &off->track.sums;
	const struct sched_stretches *then = &off->track.base.at;

	return (struct off_sums){
		.on_ns = now->on_ns - then->on_ns,
		.runnable_ns = now->preempted_ns - then->preempted_ns,
		.blocked_ns = now->blocked_ns - then->blocked_ns,
		.unknown_ns = now->unknown_ns - then->unknown_ns,
	};
}

/* Time that found no room between two anchors; it belongs behind the second
 * one. The kernel counts a wait for a CPU just before it reports that the
 * thread runs, and a hypervisor may take the CPU between the two. */
struct leftover {
	uint64_t on_ns, delay_ns;
};

/* Splits the stretches in @rest by the kernel's counts since the last anchor:
 * @on_ns on CPUs, @delay_ns in run queues. Part of these may lie in unknown
 * time; only the amount beyond the unknown time is shared out. */
static struct leftover split_rest(struct off_times *off, struct off_sums *rest,
				  uint64_t on_ns, uint64_t delay_ns)
{
	uint64_t charged = on_ns - MIN(on_ns, rest->on_ns + rest->unknown_ns);
	uint64_t blocked, preempted, waited, charge, wanted = 0, wake = 0;
	uint64_t scaled = 0;

	/* The charge must leave room for the waits for CPUs. */
	sum_open(off, &blocked, &preempted);
	waited = delay_ns - MIN(delay_ns, rest->unknown_ns);
	charge = MIN(charged,
		     blocked + preempted - MIN(blocked + preempted, waited));
	charge = share_out(off->open, charge, false);
	rest->stolen_ns = rest->on_ns - MIN(on_ns, rest->on_ns);
	sum_open(off, &blocked, &preempted);
	if (delay_ns >= preempted) {
		wanted = delay_ns - preempted;
		wanted -= MIN(wanted, rest->unknown_ns);
		wake = share_out(off->open, wanted, true);
	} else {
		/* The kernel counts less time in run queues: each preempted
		 * stretch gives up its part of the excess. */
		scaled = 0;
		for (struct cct_kernel *one = off->open; one;
		     one = one->next_open) {
			double part = (double)one->open_preempted_ns *
				      ((double)(preempted - delay_ns) /
				       (double)preempted);
			uint64_t ns =
				MIN((uint64_t)part, one->open_preempted_ns);

			one->open_preempted_ns -= ns;
			one->open_blocked_ns += ns;
			one->counts.spread_ns += ns;
			scaled += ns;
		}
	}
	rest->on_ns += charge - rest->stolen_ns;
	sum_open(off, &blocked, &preempted);
	rest->runnable_ns = preempted + wake;
	rest->blocked_ns = blocked;
	rest->spread_ns = charge + wake + scaled;
	return (struct leftover){ charged - charge, wanted - wake };
}

void off_times_settle(struct off_times *off, uint64_t on_ns, uint64_t delay_ns)
{
	struct off_sums rest = stretches_since(off);
	struct sched_base *base = &off->track.base;
	struct leftover left = { 0 };

	if (base->known && on_ns >= base->on_ns && delay_ns >= base->delay_ns) {
		left = split_rest(off, &rest, on_ns - base->on_ns,
				  delay_ns - base->delay_ns);
	}
	close_open(off);
	add_off_sums(off, &rest);
	base->known = true;
	base->on_ns = on_ns - left.on_ns;
	base->delay_ns = delay_ns - left.delay_ns;
}

void off_times_close(struct off_times *off)
{
	struct off_sums rest = stretches_since(off);

	close_open(off);
	add_off_sums(off, &rest);
}
