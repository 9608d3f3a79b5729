/* SPDX-License-Identifier: Apache-2.0
 *
 * wait_poller - the thread "perfrec-waits": asks which threads have been
 * blocked for a while, reads from outside what they wait on, and tells that. It
 * has a budget of CPU time of its own (wait_pace.h).
 */
#ifndef PERFREC_COLLECTOR_WAITS_WAIT_POLLER_H
#define PERFREC_COLLECTOR_WAITS_WAIT_POLLER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct cpu_blocked;
struct cpu_sampler;
struct cpu_wait_sums;
struct sample;
struct wait_poller;

#define WAIT_POLLER_STUCK_MAX 16u

/* Where the poller learns of threads that are blocked, and whom it tells. All
 * calls are made by its thread, with @context. */
struct wait_source {
	/* As cpu_take_blocked(), cpu_tell_wait(), cpu_tell_anchor(). */
	size_t (*take)(void *context, uint64_t before_ns,
		       struct cpu_blocked *out, size_t room,
		       struct cpu_wait_sums *sums);
	void (*tell)(void *context, const struct cpu_blocked *blocked,
		     struct sample *wait);
	void (*anchor)(void *context, const struct cpu_blocked *blocked,
		       uint64_t on_ns, uint64_t delay_ns);
	/* As cpu_list_processes(). */
	size_t (*list)(void *context, pid_t pid, pid_t *out, size_t room);
	void *context;
};

/* What reads the threads that @sampler knows. It must outlive the poller. */
struct wait_source wait_source_of(struct cpu_sampler *sampler);

/* Start a poller of @source, which is copied, that copies at most @stack_bytes
 * of a stack. The caller ends *@out with wait_poller_free(). 0 or -errno. */
int wait_poller_new(const struct wait_source *source, uint32_t stack_bytes,
		    struct wait_poller **out);
/* To be called a few times a second by the thread that frees @poller: if a
 * program has kept the poller waiting for a second, it goes on without that
 * program, with a new thread; the old one stays until it is let go. Where
 * WAIT_POLLER_STUCK_MAX threads have been kept so, nobody is read until one of
 * them is let go. Also for NULL. */
void wait_poller_check(struct wait_poller *poller);
/* How many threads are kept waiting. Any thread. */
uint32_t wait_poller_stuck(void);
/* Ends its thread, or leaves it alone if it is kept waiting. Also for NULL. */
void wait_poller_free(struct wait_poller **poller);

/* What a poller has done so far; any thread. */
struct wait_poller_counts {
	uint64_t passes, taken, told, cpu_ns;
};
struct wait_poller_counts wait_poller_counts(const struct wait_poller *poller);

#endif
