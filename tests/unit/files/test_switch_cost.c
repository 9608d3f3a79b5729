/* SPDX-License-Identifier: Apache-2.0
 *
 * Measuring the cost of switch records leaves the caller unchanged, even if it
 * fails. The measured cost is not tested.
 */
#include "collector/files/switch_cost.h"

#include <dirent.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include "collector/base/perf_open.h"
#include "collector/samples/perf_events.h"
#include "tests/suite.h"

static int count_files(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int count = 0;

	ck_assert_ptr_nonnull(dir);
	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

static struct perf_wanted wanted(uint64_t period_ns)
{
	return (struct perf_wanted){ .period_ns = period_ns,
				     .stack_bytes = 512,
				     .no_kernel = !perf_events_kernel(),
				     .switches = true };
}

/* Measuring pins threads to one CPU. */
TEST(switch_cost_leaves_the_caller_as_it_was, EACH(0, 2))
{
	const struct perf_wanted what = wanted(_i ? 10000000 : 0);
	cpu_set_t before, after;
	struct switch_costs costs;
	int files = count_files();

	ck_assert_int_eq(sched_getaffinity(0, sizeof(before), &before), 0);
	costs = switch_cost_measure(&what);
	ck_assert_int_eq(sched_getaffinity(0, sizeof(after), &after), 0);
	ck_assert(CPU_EQUAL(&before, &after));
	ck_assert_int_eq(count_files(), files);
	ck_assert_double_ge(costs.told_ns, 0);
	ck_assert_double_le(costs.told_ns, costs.all_ns);
	if (!what.period_ns)
		ck_assert_double_eq(costs.told_ns, costs.all_ns);
}

#define FILL 64 /* more than the gaps between open descriptors */

/* Two pipes and two events need six descriptors; _i are free. */
TEST(switch_cost_is_unknown_without_files, EACH(0, 6))
{
	const struct perf_wanted what = wanted(0);
	struct switch_costs costs;
	struct rlimit all, few;
	int filled[FILL], files;

	for (int i = 0; i < FILL; i++)
		filled[i] = dup(STDERR_FILENO);
	files = count_files();
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &all), 0);
	few = all;
	few.rlim_cur = (rlim_t)(filled[FILL - 1] + 1 + _i);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
	costs = switch_cost_measure(&what);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &all), 0);
	ck_assert_double_eq(costs.all_ns, 0);
	ck_assert_double_eq(costs.told_ns, 0);
	ck_assert_int_eq(count_files(), files);
	for (int i = 0; i < FILL; i++)
		close(filled[i]);
}
