/* SPDX-License-Identifier: Apache-2.0
 *
 * wait_poller - the thread "perfrec-waits": takes threads that have been
 * blocked for a while, reads the objects of their waits from outside, and
 * reports them. It has a budget of CPU time of its own (wait_pace.h).
 */
#ifndef PERFREC_COLLECTOR_SAMPLES_WAIT_POLLER_H
#define PERFREC_COLLECTOR_SAMPLES_WAIT_POLLER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct cpu_blocked;
struct cpu_sampler;
struct cpu_wait_sums;
struct sample;
struct wait_poller;
struct wait_wakers;

#define WAIT_POLLER_STUCK_MAX 16u

/* The poller takes blocked threads from this source, and reports their waits to
 * the source. Its thread makes all calls, with @context. */
struct wait_source {
	/* As cpu_take_blocked(), cpu_tell_wait(), cpu_tell_anchor(). */
	size_t (*take)(void *context, uint64_t before_ns,
		       struct cpu_blocked *out, size_t room,
		       struct cpu_wait_sums *sums);
	void (*tell)(void *context, const struct cpu_blocked *blocked,
		     struct sample *wait);
	/* As cpu_tell_wakers(). */
	void (*wakers)(void *context, const struct cpu_blocked *blocked,
		       const struct wait_wakers *wakers);
	void (*anchor)(void *context, const struct cpu_blocked *blocked,
		       uint64_t on_ns, uint64_t delay_ns);
	/* As cpu_list_processes(). */
	size_t (*list)(void *context, pid_t pid, pid_t *out, size_t room);
	void *context;
};

/* Returns the source for @sampler, which must outlive the poller. */
struct wait_source wait_source_of(struct cpu_sampler *sampler);

/* Starts a poller of @source, which it copies. It copies at most @stack_bytes
 * of a stack. The caller ends *@out with wait_poller_free(). Returns 0 or
 * -errno. */
int wait_poller_new(const struct wait_source *source, uint32_t stack_bytes,
		    struct wait_poller **out);
/* If a program has blocked the poller for a second, abandons the blocked thread
 * and goes on without that program, with a new thread. The old thread stays
 * until its read returns. After WAIT_POLLER_STUCK_MAX such threads no wait is
 * read until one of them returns. Call a few times a second, on the thread that
 * frees @poller. Accepts NULL. */
void wait_poller_check(struct wait_poller *poller);
/* Returns the number of blocked threads. Any thread. */
uint32_t wait_poller_stuck(void);
/* Ends its thread, or abandons it if it is blocked. Accepts NULL. */
void wait_poller_free(struct wait_poller **poller);

/* Counts of a poller so far; any thread. */
struct wait_poller_counts {
	uint64_t passes, taken, told, cpu_ns;
};
struct wait_poller_counts wait_poller_counts(const struct wait_poller *poller);

#endif
