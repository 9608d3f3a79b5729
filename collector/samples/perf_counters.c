/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/samples/perf_counters.h"

#include <assert.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "collector/base/perf_open.h"
#include "collector/options/collect_options.h"
#include "collector/record/recording.h"
#include "shared/compiler.h"

/* In the order of the words of --counters. Primes, so that a loop is not always
 * sampled at the same place. */
static const struct {
	uint64_t config; /* of PERF_TYPE_HARDWARE */
	uint64_t period; /* events per sample */
} counters[] = {
	{ PERF_COUNT_HW_INSTRUCTIONS, 1000003 },
	{ PERF_COUNT_HW_CPU_CYCLES, 1000003 },
	{ PERF_COUNT_HW_CACHE_REFERENCES, 10007 },
	{ PERF_COUNT_HW_CACHE_MISSES, 10007 },
	{ PERF_COUNT_HW_BRANCH_MISSES, 10007 },
};

struct perf_event_attr perf_counter_attributes(uint32_t number, bool no_kernel)
{
	struct perf_event_attr attr;

	assert(number < ARRAY_SIZE(counters));
	attr = perf_open_counted(PERF_TYPE_HARDWARE, counters[number].config,
				 counters[number].period);
	attr.exclude_kernel = attr.exclude_hv = no_kernel;
	return attr;
}

uint32_t perf_counters_there(uint32_t wanted, int *err)
{
	uint32_t there = 0;

	*err = 0;
	for (uint32_t i = 0; i < ARRAY_SIZE(counters); i++) {
		struct perf_event_attr attr;
		int fd;

		if (!(wanted >> i & 1))
			continue;
		attr = perf_counter_attributes(i, true);
		/* Nobody maps this event. */
		attr.inherit = attr.remove_on_exec = 0;
		fd = perf_open(&attr, 0, -1);
		if (fd < 0) {
			*err = fd;
			continue;
		}
		there |= 1u << i;
		close(fd);
	}
	return there;
}

void perf_counters_explain(struct recording *recording, uint32_t missing,
			   int err)
{
	char names[160] = "", text[320];
	size_t length = 0;

	for (uint32_t i = 0; i < ARRAY_SIZE(counters); i++)
		if (missing >> i & 1)
			length += (size_t)snprintf(
				names + length, sizeof(names) - length, "%s%s",
				length ? ", " : "",
				collect_options_counter_name(i));
	if (!length)
		return;
	if (err == -ENOENT || err == -EOPNOTSUPP || err == -ENODEV)
		snprintf(text, sizeof(text),
			 "no counts of %s: this machine does not have these "
			 "counters (virtual machines mostly have none)",
			 names);
	else if (err == -EACCES || err == -EPERM)
		snprintf(text, sizeof(text),
			 "no counts of %s: perf_event_open is not permitted "
			 "(see sysctl kernel.perf_event_paranoid)",
			 names);
	else
		snprintf(text, sizeof(text),
			 "no counts of %s: perf_event_open: %s", names,
			 strerror(-err));
	recording_note(recording, text);
}
