/* SPDX-License-Identifier: Apache-2.0
 *
 * sample_rate - chooses the rate and the engine of CPU samples if the user does
 * not (--cpu auto): as many samples as --overhead has room for.
 */
#ifndef PERFREC_COLLECTOR_SERVE_SAMPLE_RATE_H
#define PERFREC_COLLECTOR_SERVE_SAMPLE_RATE_H

struct collect_options;
struct collector;

/* Sets @options->cpu_hz to a rate that the budget and the kernel permit, and
 * @collector->sample_ns if there is a budget. May put a note for the user
 * into @collector->cpu_note. Takes some ms with a budget. On the main thread,
 * before the sampler exists. */
void sample_rate_choose(struct collect_options *options,
			struct collector *collector);
/* The kernel has refused its samples (@collector->cpu_err): with a budget the
 * other engine takes them, if the user has named none. On the main thread,
 * before programs connect. */
void sample_rate_refused(struct collect_options *options,
			 struct collector *collector);

#endif
