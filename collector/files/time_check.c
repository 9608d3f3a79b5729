/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/files/time_check.h"

#include "collector/options/collect_options.h"
#include "collector/output/time_sums.h"
#include "collector/profile/function_table.h"
#include "collector/record/recording.h"
#include "shared/compiler.h"

static struct time_sums time_sums_of(const struct recording *recording)
{
	const struct collect_options *options =
		recording_setup(recording)->options;
	const struct recording_sums *sums = recording_sums(recording);
	const struct command_end *end = &sums->command_end;
	const struct sched_totals *sched = &sums->totals.sched;
	uint64_t waited_ns = end->known ? end->user_ns + end->sys_ns : 0;
	const struct function_total *functions;
	uint64_t functions_ns = 0;
	size_t count;

	functions = recording_functions(recording, &count);
	for (size_t i = 0; i < count; i++)
		functions_ns += functions[i].self_ns -
				kernel_counts_off_ns(&functions[i].kernel_self);
	return (struct time_sums){
		.functions_ns = functions_ns,
		.threads_ns = sched->on_cpu_ns,
		.stolen_ns = sched->stolen_ns,
		.silent_ns = sched->silent_on_ns,
		.cpu_ns = time_sums_cpu_ns(
			waited_ns, sums->totals.sampled.ns,
			options->cpu_hz && options->cpu_engine == CPU_PERF),
	};
}

void time_check(struct recording *recording)
{
	const struct time_sums sums = time_sums_of(recording);
	const struct time_surplus surplus = time_sums_check(&sums);
	struct sched_totals *sched;

	if (!recording_setup(recording)->options->sched)
		return;
	if (surplus.threads_ns) {
		struct process_entry *process =
			recording_sums(recording)->processes;
		double part =
			(double)surplus.threads_ns / (double)sums.threads_ns;

		for (; process; process = process->next)
			for (struct thread_entry *thread = process->threads;
			     thread; thread = thread->next) {
				double on_ns = (double)thread->on_cpu_ns;
				uint64_t ns = MIN((uint64_t)(on_ns * part),
						  thread->on_cpu_ns);

				thread->on_cpu_ns -= ns;
				thread->unknown_ns += ns;
			}
	}
	if (surplus.functions_ns)
		recording_doubt_functions(recording,
					  (double)surplus.functions_ns /
						  (double)sums.functions_ns);
	sched = &recording_lock(recording)->sched;
	sched->surplus_functions_ns = surplus.functions_ns;
	sched->surplus_threads_ns = surplus.threads_ns;
	sched->surplus_silent_ns = surplus.silent_ns;
	sched->on_cpu_ns -= surplus.threads_ns;
	sched->unknown_ns += surplus.threads_ns;
	sched->silent_on_ns -= surplus.silent_ns;
	sched->silent_unknown_ns += surplus.silent_ns;
	recording_unlock(recording);
}
