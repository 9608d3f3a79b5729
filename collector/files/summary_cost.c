/* SPDX-License-Identifier: Apache-2.0
 *
 * Multiplies the count of each kind of event by the cost of one. The shim's own
 * code (own_cost.h) measures these costs now, for the recorded kinds.
 * docs/OVERHEAD.md compares the sum with CPU time.
 */
#include "collector/files/summary_cost.h"

#include <math.h>

#include "collector/base/perf_open.h"
#include "collector/files/calibrate.h"
#include "collector/files/own_costs.h"
#include "collector/files/switch_cost.h"
#include "collector/options/collect_options.h"
#include "collector/options/limits.h"
#include "collector/output/counters.h"
#include "collector/record/recording.h"
#include "collector/samples/perf_events.h"
#include "collector/states/states.h"
#include "shared/compiler.h"
#include "shared/own_cost.h"

#define SWITCHES_MEASURED 1000
/* A sample of a block, of the usual period, costs this much more than in a
 * loop: neither the stack nor the ring is in a cache (docs/OVERHEAD.md,
 * "Blocks"). */
#define COLD_SAMPLE_NS 12000.0
/* At least this part of the time of a run is the program's. */
#define REST_LEAST 0.01
/* The kernel divides CPU time by its ticks: that much system time may be
 * missing. */
#define TICK_NS 10000000.0

/* The ns of one event of each kind; 0: there was none. */
struct cost_of {
	double span; /* by the fast path of the hooks */
	double general; /* by the general path, of PAGE_GENERAL programs */
	double too_deep, excluded, paused, dropped; /* a call, not recorded */
	double record; /* of a block: its ALLOC or its FREE */
	double heap_sample, cpu_sample;
	double a_switch, told_switch; /* of a thread; for --sched only */
};

/* Programs write their counts, so the cost may be more than fits. */
static uint64_t whole(double ns)
{
	return ns < (double)INT64_MAX ? (uint64_t)ns : (uint64_t)INT64_MAX;
}

static double cost_if(bool wanted, enum own_cost_kind kind,
		      const struct recording *recording)
{
	return wanted ? calibrate_own_ns(kind,
					 recording_setup(recording)->ticks)
		      : 0;
}

/* Returns the ns of all recorded spans, and sets the cost of one. */
static double span_cost(const struct recording *recording,
			const struct own_costs_found *found, struct cost_of *ns)
{
	const struct recording_setup *setup = recording_setup(recording);
	const struct totals *sum = &recording_sums(recording)->totals;
	double general = (double)sum->general_spans;

	ns->span = setup->span_ns;
	ns->general = cost_if(sum->general_spans, OWN_COST_GENERAL, recording);
	if (setup->options->depth)
		ns->span = ns->general =
			calibrate_own_ns(OWN_COST_DEPTH, setup->ticks);
	if (found->sampled)
		ns->span = ns->general =
			found->costs.inner_ns + found->costs.outer_ns;
	return ns->span * ((double)sum->spans - general) +
	       ns->general * general;
}

/* With --overhead, recorded calls are so rare that hooks run with cold caches,
 * so the cost that was measured here is too low. Without enough samples, the
 * controller's estimate raises it. Returns the ns of recorded spans and counted
 * calls. */
static double correct_for_budget(const struct recording *recording,
				 const struct own_costs_found *found,
				 struct cost_of *ns, struct own_costs *costs)
{
	const struct recording_sums *sums = recording_sums(recording);
	const struct state_totals *states = &sums->totals.states;
	double calls = (double)sums->totals.counted_calls;
	/* Behind the gate a counted call costs more, as the controller knows.
	 */
	double counted =
		MAX(costs->counted_ns * calls, (double)states->counting_ns);
	double warm = span_cost(recording, found, ns);
	double more = (double)(states->cost_ns -
			       MIN(states->cost_ns, states->counting_ns)) /
		      MAX(warm, 1);

	if (calls > 0)
		costs->counted_ns = counted / calls;
	if (found->sampled || more <= 1)
		return warm + counted;
	ns->span *= more;
	ns->general *= more;
	return warm * more + counted;
}

static double idle_cost(const struct recording *recording, struct cost_of *ns)
{
	const struct totals *sum = &recording_sums(recording)->totals;
	uint64_t paused = sum->paused_spans + sum->paused_notes / 2;
	uint64_t dropped = sum->dropped_spans + sum->unslotted_spans +
			   sum->dropped_notes / 2;

	ns->too_deep =
		cost_if(sum->left_out_hooks, OWN_COST_TOO_DEEP, recording);
	ns->excluded =
		cost_if(sum->excluded_hooks, OWN_COST_EXCLUDED, recording);
	ns->paused = cost_if(paused, OWN_COST_PAUSED, recording);
	ns->dropped = cost_if(dropped, OWN_COST_DROPPED, recording);
	return ns->too_deep * (double)sum->left_out_hooks / 2 +
	       ns->excluded * (double)sum->excluded_hooks / 2 +
	       ns->paused * (double)paused + ns->dropped * (double)dropped;
}

/* Returns the ns of annotations. span_cost() has annotations that are spans,
 * without their arguments and texts. */
static double note_cost(const struct recording *recording)
{
	const struct totals *sum = &recording_sums(recording)->totals;
	double event = cost_if(sum->note_events, OWN_COST_INSTANT, recording);
	double span = cost_if(sum->note_arguments || sum->note_texts,
			      OWN_COST_SPAN, recording);
	double arguments =
		cost_if(sum->note_arguments, OWN_COST_ARGUMENTS, recording);
	double texts = cost_if(sum->note_texts, OWN_COST_TEXT, recording);

	return event * (double)sum->note_events +
	       MAX(arguments - span, 0) * (double)sum->note_arguments +
	       MAX(texts - span, 0) * (double)sum->note_texts;
}

/* Returns the ns of allocations and frees. If blocks were sampled, their number
 * is an estimate. */
static double heap_cost(const struct recording *recording,
			const struct own_costs_found *found, struct cost_of *ns)
{
	const struct totals *all = &recording_sums(recording)->totals;
	const struct heap_sums *sum = &all->heap;
	double frees = (double)(sum->frees + sum->foreign + sum->inherited +
				sum->late + sum->doubled);
	double lost = (double)(sum->dropped_allocs + sum->dropped_frees);
	/* With frequent samples the caches stay warmer. */
	double part =
		(double)recording_setup(recording)->options->alloc_period /
		ALLOC_PERIOD_DEFAULT;
	double recorded, dropped;

	if (found->blocks_exact) {
		ns->record = found->costs.block_ns;
		recorded = ns->record * ((double)sum->allocs + frees);
	} else {
		recorded = (double)sum->allocs * found->unsampled_ns;
	}
	dropped = cost_if(lost > 0, OWN_COST_BLOCK_DROPPED, recording) / 2;
	if (all->heap_samples)
		ns->heap_sample =
			found->costs.heap_sample_ns +
			(found->blocks_exact ? 0
					     : COLD_SAMPLE_NS * MIN(part, 1));
	return recorded + dropped * lost +
	       ns->heap_sample * (double)all->heap_samples;
}

/* For threads' first touches of the pages of rings. */
static double page_cost(const struct recording *recording)
{
	const struct totals *sum = &recording_sums(recording)->totals;
	struct calibrated_page page = { 0 };

	if (sum->pages_first || sum->pages_again)
		page = calibrate_page();
	return page.first_ns * (double)sum->pages_first +
	       page.again_ns * (double)sum->pages_again;
}

/* Returns the most ns that one switch can have cost: all of it is system
 * time. */
static double switch_most_ns(const struct recording *recording)
{
	const struct recording_sums *sums = recording_sums(recording);
	const struct sched_totals *sched = &sums->totals.sched;
	const struct command_end *end = &sums->command_end;

	if (!end->known)
		return INFINITY;
	return ((double)end->sys_ns + TICK_NS) /
	       (double)(sched->waits + sched->preemptions);
}

/* Returns the ns of switches of threads with events. The cost of few switches
 * is below the cost of measuring them. */
static double switch_cost(const struct recording *recording, struct cost_of *ns)
{
	const struct collect_options *options =
		recording_setup(recording)->options;
	const struct sched_totals *sum =
		&recording_sums(recording)->totals.sched;
	struct perf_wanted wanted = { .switches = true };
	struct switch_costs costs;

	if (sum->waits + sum->preemptions < SWITCHES_MEASURED)
		return 0;
	wanted.no_kernel = !perf_events_kernel();
	if (options->cpu_hz && options->cpu_engine == CPU_PERF) {
		wanted.period_ns = 1000000000 / options->cpu_hz;
		wanted.stack_bytes = options->stack_bytes;
	}
	costs = switch_cost_measure(&wanted);
	ns->a_switch = MIN(costs.all_ns, switch_most_ns(recording));
	ns->told_switch = MIN(costs.told_ns, ns->a_switch);
	return ns->a_switch * (double)(sum->waits + sum->preemptions);
}

/* Returns the CPU time of the programs that were recorded; 0: not known.
 * perfrec record knows the time of the processes that it waited for, not of
 * those in the background; a daemon waits for nobody. The CPU profile has all
 * processes, also those without a sample: cpu_profile_write() has been called
 * before. */
static double known_cpu_ns(const struct recording *recording)
{
	const struct recording_sums *sums = recording_sums(recording);
	const struct command_end *end = &sums->command_end;
	uint64_t waited = end->known ? end->user_ns + end->sys_ns : 0;

	return (double)MAX(waited, sums->totals.sampled.ns);
}

/*
 * How many times as long the run took because it was recorded, about. It has
 * @cpu ns of CPU time; perfrec used @cost ns of it, known to a tenth. Idle
 * time (no thread ran, wanted a CPU or waited for its ring) was as long without
 * perfrec. It is the wall time minus the sums of these times, as if threads ran
 * one after the other. Where threads run at the same time and also wait at the
 * same time, this idle time is too short and the result too high. 0: not known.
 */
static double dilation(const struct recording *recording, double cpu,
		       double cost, uint64_t wall_ns)
{
	const struct totals *sum = &recording_sums(recording)->totals;
	double waited = (double)sum->wait_ns;
	double idle =
		(double)wall_ns - cpu - waited - (double)sum->sched.runnable_ns;

	if (cpu <= 0)
		return 0;
	idle = MAX(idle, 0);
	return (cpu + waited + idle) / (cpu - 0.9 * MIN(cost, cpu) + idle);
}

/* Hooks run on all threads at once, so the base of the share is the CPU time of
 * the programs, if that is known, and not wall time. */
void summary_cost(const struct recording *recording,
		  const struct own_costs_found *found, uint64_t wall_ns,
		  struct summary_cost *out)
{
	const struct totals *sum = &recording_sums(recording)->totals;
	struct own_costs copy = found->costs, *costs = &copy;
	struct cost_of ns = { .cpu_sample = costs->cpu_sample_ns };
	const double pages = page_cost(recording);
	const double hooks = correct_for_budget(recording, found, &ns, costs) +
			     idle_cost(recording, &ns);
	const double heap = heap_cost(recording, found, &ns);
	const double samples = ns.cpu_sample * (double)sum->sampled.count;
	const double switches = switch_cost(recording, &ns);
	/* Cost of the calls build itself, for recorded and counted calls. */
	const double build =
		sum->states.hooked
			? STATES_CALLS_BUILD_NS *
				  (double)(sum->spans + sum->counted_calls)
			: 0;
	const double all = hooks + build + note_cost(recording) + heap +
			   samples + switches + pages + (double)sum->start_ns;
	const double patching = (double)sum->states.patch_ns;
	const double cpu = known_cpu_ns(recording);
	const double run = cpu > 0 ? cpu : (double)wall_ns;
	const bool capped = run > 0 && all > run;
	const double total = capped ? run : all;
	/* Where nearly all of the time would be ours, the cost is not known. */
	const double rest = MAX(run - total, run * REST_LEAST);
	bool is_general = sum->general_spans > sum->spans / 2;

	/* The column value of the rows COST() of counters.def uses the
	 * names above. */
	*out = (struct summary_cost){
#define COST(kind, name, value, text) .name = value,
#include "collector/output/counters.def"
	};
}
