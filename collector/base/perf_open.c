/* SPDX-License-Identifier: Apache-2.0
 *
 * perf_open - one set of attributes for all events, with the reasons.
 *
 * inherit: covers threads and children created later.
 * inherit_stat: each of those reports its running time at its end (READ), and
 *   counts stay with their threads when contexts are swapped. Not for events
 *   that report switches, see below.
 * remove_on_exec: another image says hello and gets events of its own. (Before
 *   Linux 5.13: comm_exec reports the exec, and the caller ignores later
 *   records.)
 * task and comm: forks, and names of threads.
 * context_switch: when a thread leaves and enters a CPU; needs no privilege if
 *   the kernel's side is excluded.
 *
 * Events of a tree, and events without samples, have no period: they count and
 * report. Events of a tree go on across execs.
 *
 * Events of a tree are pinned for their place in the kernel's lists; software
 * events need no pinning otherwise. When the kernel swaps contexts, it pairs
 * their events by the order of a list, and moves the counts of each pair. A
 * thread that opens events has them in the order of opening. A thread that
 * inherits them has pinned events first, then the order of CPUs. With events of
 * a tree and of a group, each for two CPUs, none of them pinned, the two orders
 * differ, and counts of one went to the other (Linux 6.18: 0.98 and 1.03 s,
 * where both should have had 1.00).
 *
 * READ and buffers. Only its own CPU may write to a buffer. But a thread that
 * ends writes a READ for its event on each CPU, into that CPU's buffer, while
 * that CPU may write there as well; no lock or atomic instruction keeps them
 * apart. Then the kernel does not publish its head for a while, and its records
 * are lost without a LOST record. (Linux 6.18, two CPUs, 1,000 threads of 100
 * us: in one run of three up to two thirds of all records; in none of 40
 * without READ.) Switches must not be lost, and they give the running time of a
 * thread. So if switches are on, no READ may use the same buffers: the events
 * of a tree have buffers of their own.
 */
#include "collector/base/perf_open.h"

#include <errno.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "shared/compiler.h"

#define PERIOD_MIN_NS 10000 /* the kernel's own timer limit */

int perf_open_beside(struct perf_event_attr *attr, pid_t tid, int cpu,
		     int leader)
{
	long fd = syscall(SYS_perf_event_open, attr, tid, cpu, leader,
			  PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : (int)fd;
}

int perf_open(struct perf_event_attr *attr, pid_t tid, int cpu)
{
	return perf_open_beside(attr, tid, cpu, -1);
}

struct perf_event_attr perf_open_counted(uint32_t type, uint64_t config,
					 uint64_t period)
{
	return (struct perf_event_attr){
		.type = type,
		.size = sizeof(struct perf_event_attr),
		.config = config,
		.sample_period = period,
		.sample_type = PERF_COUNTED,
		.read_format = PERF_FORMAT_ID,
		.disabled = 1,
		.inherit = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.sample_id_all = 1,
		.use_clockid = 1,
		.clockid = CLOCK_BOOTTIME,
		.remove_on_exec = 1,
	};
}

struct perf_event_attr perf_open_attributes(const struct perf_wanted *wanted)
{
	struct perf_event_attr attr =
		perf_open_counted(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK,
				  MAX(wanted->period_ns, PERIOD_MIN_NS));

	attr.sample_type = PERF_SAMPLE;
	attr.inherit_stat = wanted->tree || !wanted->switches;
	attr.exclude_kernel = wanted->no_kernel;
	attr.exclude_hv = wanted->no_kernel;
	attr.exclude_callchain_kernel = !wanted->kernel_stacks;
	attr.exclude_callchain_user = 1;
	attr.comm = 1;
	attr.comm_exec = 1;
	attr.task = 1;
	attr.context_switch = wanted->switches;
	attr.sample_regs_user = PERF_REGS;
	attr.sample_stack_user = wanted->stack_bytes & ~7u;
	if (wanted->tree || !wanted->period_ns) {
		attr.sample_period = 0;
		attr.sample_type = PERF_TREE;
		attr.sample_regs_user = 0;
		attr.sample_stack_user = 0;
	}
	if (wanted->tree) {
		attr.pinned = 1;
		attr.remove_on_exec = 0;
	}
	return attr;
}

struct perf_event_attr perf_open_for_shots(const struct perf_wanted *wanted)
{
	struct perf_event_attr attr = perf_open_attributes(wanted);

	attr.sample_period = PERF_SHOT_NS;
	/* If the collector loses its CPU in a shot, 10,000 whole stacks a
	 * second would fill the buffer in 25 ms, and switches would be lost. */
	attr.sample_stack_user =
		MIN(attr.sample_stack_user, (uint32_t)PERF_SHOT_STACK_BYTES);
	attr.inherit_stat = attr.context_switch = 0;
	attr.comm = attr.comm_exec = attr.task = 0;
	return attr;
}

int perf_open_self_on(const struct perf_wanted *wanted, int cpu)
{
	struct perf_event_attr attr = perf_open_attributes(wanted);

	/* An inherited event cannot have a buffer. Nobody reads forks and names
	 * here. */
	attr.inherit = attr.inherit_stat = 0;
	attr.comm = attr.comm_exec = attr.task = 0;
	attr.remove_on_exec = 0;
	return perf_open(&attr, 0, cpu);
}

int perf_open_self(const struct perf_wanted *wanted)
{
	return perf_open_self_on(wanted, -1);
}
