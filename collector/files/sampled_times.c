/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/files/sampled_times.h"

#include "collector/base/log.h"
#include "collector/options/collect_options.h"
#include "collector/output/own_files.h"
#include "collector/profile/function_table.h"
#include "collector/profile/stack_profile.h"
#include "collector/profile/time_profile.h"
#include "collector/record/recording.h"
#include "shared/compiler.h"

#define SECOND_NS 1000000000u

static struct time_facts find_facts(const struct recording *recording)
{
	const struct totals *sum = &recording_sums(recording)->totals;
	uint64_t own_samples =
		MIN(sum->sampled.library_count + sum->sampled.thunk_count,
		    sum->sampled.count);
	struct time_facts facts = {
		.muted = sum->counted_calls || sum->excluded_hooks ||
			 sum->states.counted || sum->states.off,
		.waits = recording_setup(recording)->profiles.offcpu,
		.samples = sum->sampled.count - own_samples,
	};
	const struct function_total *one;
	size_t count;

	one = recording_functions(recording, &count);
	for (size_t i = 0; i < count; i++) {
		uint64_t off_ns = kernel_counts_off_ns(&one[i].kernel_self);
		uint64_t kept_ns = one[i].self_ns + one[i].own_self.wait_ns;

		/* Clocks that were repaired may leave a time below 0. */
		if ((int64_t)one[i].self_ns >= (int64_t)off_ns &&
		    (int64_t)one[i].measured_self_ns >= (int64_t)kept_ns) {
			time_facts_add(
				&facts, (double)(one[i].self_ns - off_ns),
				(double)one[i].kernel_self.runnable_ns,
				(double)(one[i].measured_self_ns - kept_ns));
		}
	}
	return facts;
}

/* Fills the empty @times from samples and waits, and gives functions these
 * times. Returns 0, or -ENOMEM: functions are as before. */
static int give_functions(struct recording *recording,
			  struct stack_profile *times)
{
	const struct time_functions functions = {
		.table = recording_function_table(recording),
		.inlined = !recording_sums(recording)->totals.entry_build,
	};
	const struct recording_profiles *profiles =
		&recording_setup(recording)->profiles;
	int err = time_profile_add_cpu(times, profiles->cpu);

	if (!err && profiles->offcpu)
		err = time_profile_add_blocked(times, profiles->offcpu,
					       &functions);
	if (!err && profiles->span)
		time_profile_spread_runnable(times, profiles->span);
	if (!err)
		err = time_profile_sum(
			times, &functions,
			SECOND_NS /
				recording_setup(recording)->options->cpu_hz);
	return err;
}

/* Gives the profile of calls @profile (NULL: there is none) the same times. */
static void give_stacks(const struct stack_profile *times,
			struct stack_profile *profile, const char *name)
{
	if (profile && time_profile_give(times, profile))
		log_err("out of memory: stacks of %s have no times", name);
}

enum time_from sampled_times_take(struct recording *recording)
{
	const struct recording_setup *setup = recording_setup(recording);
	const struct time_facts facts = find_facts(recording);
	struct stack_profile *times;
	int err;

	if (!setup->profiles.cpu || !setup->options->cpu_hz ||
	    time_from_choose(&facts) == TIME_FROM_CALLS)
		return TIME_FROM_CALLS;
	err = stack_profile_new(&stack_profile_time, setup->symbols,
				setup->budget, &times);
	if (err) {
		log_err("out of memory: times are those of recorded calls");
		return TIME_FROM_CALLS;
	}
	err = give_functions(recording, times);
	if (err) {
		log_err("out of memory: times are those of recorded calls");
	} else {
		give_stacks(times, setup->profiles.wall, WALL_PROFILE_NAME);
		give_stacks(times, setup->profiles.span, SPAN_PROFILE_NAME);
	}
	stack_profile_free(&times);
	return err ? TIME_FROM_CALLS : TIME_FROM_SAMPLES;
}
