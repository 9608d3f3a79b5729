/* SPDX-License-Identifier: Apache-2.0
 *
 * sample_rate - functions that are counted or off get their times from samples,
 * so a recording with a budget needs samples.
 */
#include "collector/serve/sample_rate.h"

#include <stdio.h>

#include "collector/files/calibrate.h"
#include "collector/options/collect_options.h"
#include "collector/options/cpu_rate.h"
#include "collector/record/collector.h"
#include "collector/samples/cpu_samples.h"

#define UNITS_OF_OVERHEAD 100000.0

void sample_rate_choose(struct collect_options *options,
			struct collector *collector)
{
	const double budget = options->overhead / UNITS_OF_OVERHEAD;

	if (!options->cpu_hz)
		return;
	if (budget > 0 && options->cpu_engine == CPU_PERF)
		collector->sample_ns = calibrate_perf_ns(options->stack_bytes);
	if (!options->cpu_auto) {
		double share = options->cpu_hz * collector->sample_ns / 1e9;

		if (budget > 0 && share > budget)
			snprintf(collector->cpu_note,
				 sizeof(collector->cpu_note),
				 "the samples of --cpu %u take about %.1f %% "
				 "of the CPU time, more than --overhead %g%%: "
				 "leave out --cpu, or raise --overhead",
				 options->cpu_hz, 100 * share, 100 * budget);
	} else if (budget > 0) {
		options->cpu_hz =
			cpu_rate_for_budget(budget, collector->sample_ns);
		if (!options->cpu_hz)
			snprintf(collector->cpu_note,
				 sizeof(collector->cpu_note),
				 "no CPU samples: %u a second, at %.0f us "
				 "each, would take more than half of "
				 "--overhead %g%%; give --cpu HZ to have some",
				 CPU_RATE_LEAST, collector->sample_ns / 1000,
				 100 * budget);
	}
	if (options->cpu_hz && options->cpu_engine == CPU_PERF)
		options->cpu_hz = cpu_permitted_hz(options->cpu_hz);
}

void sample_rate_refused(struct collect_options *options,
			 struct collector *collector)
{
	if (!collector->cpu_err || !options->cpu_auto || !options->cpu_hz ||
	    !options->overhead)
		return;
	options->cpu_engine = CPU_SIGNAL;
	snprintf(collector->cpu_note, sizeof(collector->cpu_note),
		 "CPU samples are taken by timers in the program (--cpu "
		 "%u,signal): the kernel does not permit perf_event_open",
		 options->cpu_hz);
	collector->cpu_err = 0;
}
