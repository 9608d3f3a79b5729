/* SPDX-License-Identifier: Apache-2.0
 *
 * kernel_counts - data from the kernel about a stretch of time: how much of it
 * was off the CPU, and the counts of its events.
 */
#ifndef PERFREC_COLLECTOR_REPLAY_KERNEL_COUNTS_H
#define PERFREC_COLLECTOR_REPLAY_KERNEL_COUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KERNEL_COUNTERS_MAX 4

/* All members are uint64_t: they are added up as an array, and profiles keep
 * them as values. */
struct kernel_counts {
	uint64_t runnable_ns;
	uint64_t blocked_ns;
	uint64_t unknown_ns; /* the kernel lost records */
	uint64_t spread_ns; /* part of these times and of the time on the CPU
			     * that was shared out, not measured */
	uint64_t switches;
	uint64_t migrations;
	uint64_t waits; /* switches that were blocked */
	/* Waits whose stack and object are known: */
	uint64_t told_waits, told_ns;
	uint64_t kernel_samples;
	uint64_t faults;
	uint64_t counter[KERNEL_COUNTERS_MAX];
};

#define KERNEL_COUNTS (sizeof(struct kernel_counts) / sizeof(uint64_t))

/* The waits of a node with one kind. A vote finds the object and the
 * system call (kernel_event.h) of waits that were read: a wait with another
 * object takes a vote away, so at least this many waits have the object. */
struct kernel_waits {
	const char *object;
	uint32_t call;
	uint32_t object_votes, call_votes;
	uint32_t read;
	uint64_t unread, unread_ns;
};

enum kernel_waits_kind {
	KERNEL_WAITS_SHORT, /* less than CPU_LONG_NS */
	KERNEL_WAITS_LONG,
	KERNEL_WAITS_KINDS,
};

struct cct_kernel {
	struct kernel_counts counts;
	struct kernel_waits waits[KERNEL_WAITS_KINDS];
	/* Stretches that replay/off_times.c has not settled yet. */
	uint64_t open_blocked_ns, open_preempted_ns;
	uint64_t open_waits, open_preemptions;
	struct cct_kernel *next_open;
	bool is_open;
};

struct cct_kernel_sums {
	struct kernel_counts self, total;
	struct kernel_counts entered;
};

static inline void kernel_counts_add(struct kernel_counts *sum,
				     const struct kernel_counts *from)
{
	uint64_t *to = (uint64_t *)sum;
	const uint64_t *add = (const uint64_t *)from;

	for (size_t i = 0; i < KERNEL_COUNTS; i++)
		to[i] += add[i];
}

static inline void kernel_counts_subtract(struct kernel_counts *sum,
					  const struct kernel_counts *part)
{
	uint64_t *to = (uint64_t *)sum;
	const uint64_t *off = (const uint64_t *)part;

	for (size_t i = 0; i < KERNEL_COUNTS; i++)
		to[i] -= off[i];
}

/* Returns the time off the CPU and the unknown time. The rest was on a CPU. */
static inline uint64_t kernel_counts_off_ns(const struct kernel_counts *counts)
{
	return counts->runnable_ns + counts->blocked_ns + counts->unknown_ns;
}

static inline uint64_t kernel_counts_take(uint64_t *ns, uint64_t most)
{
	uint64_t taken = *ns < most ? *ns : most;

	*ns -= taken;
	return taken;
}

/*
 * Fits the time off the CPU in @counts, a part of @measured_ns, into @ns:
 * @measured_ns without perfrec's own time. @wait_ns of the own time were waits
 * for room in the ring, and hooks block nowhere else. Hooks are preempted as
 * often as the program, so the rest is subtracted from the time on a CPU and
 * the runnable time in proportion.
 */
static inline void kernel_counts_fit(struct kernel_counts *counts,
				     uint64_t measured_ns, uint64_t ns,
				     uint64_t wait_ns)
{
	uint64_t part;

	kernel_counts_take(&counts->blocked_ns, wait_ns);
	kernel_counts_take(&measured_ns, wait_ns);
	part = counts->unknown_ns;
	counts->unknown_ns = kernel_counts_take(&ns, part);
	kernel_counts_take(&measured_ns, part);
	part = counts->blocked_ns;
	counts->blocked_ns = kernel_counts_take(&ns, part);
	kernel_counts_take(&measured_ns, part);
	if (ns < measured_ns)
		counts->runnable_ns =
			(uint64_t)((double)counts->runnable_ns * (double)ns /
				   (double)measured_ns);
	counts->runnable_ns = kernel_counts_take(&ns, counts->runnable_ns);
}

#endif
