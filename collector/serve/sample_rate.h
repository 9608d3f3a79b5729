/* SPDX-License-Identifier: Apache-2.0
 *
 * sample_rate - chooses rate and engine of CPU samples for --cpu auto: as many
 * samples as --overhead permits.
 */
#ifndef PERFREC_COLLECTOR_SERVE_SAMPLE_RATE_H
#define PERFREC_COLLECTOR_SERVE_SAMPLE_RATE_H

struct collect_options;
struct collector;

/*
 * Sets @options->cpu_hz to a rate within the budget and the kernel's limits,
 * and @collector->sample_ns if there is a budget. May write a note for the user
 * to @collector->cpu_note. Takes some ms with a budget. Main thread, before the
 * sampler exists.
 */
void sample_rate_choose(struct collect_options *options,
			struct collector *collector);
/* After the kernel refused samples (@collector->cpu_err): with a budget,
 * selects the other engine unless the user has chosen one. Main thread, before
 * programs connect. */
void sample_rate_refused(struct collect_options *options,
			 struct collector *collector);

#endif
