/* SPDX-License-Identifier: Apache-2.0
 *
 * out_sched - scheduling on the timeline: the running thread of each CPU, as
 * Perfetto's compact ftrace packets, 7 to 8 bytes a switch. Perfetto draws a
 * track for each CPU and the states of each thread from them.
 *
 * The caller reports when threads of the recording come to a CPU and leave it.
 * A CPU without such a thread shows "thread 0". Switches are kept per CPU and
 * passed to the sink as whole packets. When one CPU has some hundred switches,
 * all CPUs are flushed, so the switches of an idle CPU are not written long
 * after those of the others. If all reports are in the order of time, a packet
 * has no switch before the last one in the packet of its CPU before it, and
 * none before any switch of an earlier flush.
 *
 * One thread at a time. A call takes some 10 ns and allocates nothing.
 */
#ifndef PERFREC_COLLECTOR_TRACE_OUT_SCHED_H
#define PERFREC_COLLECTOR_TRACE_OUT_SCHED_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Perfetto rejects the whole trace if a CPU has a larger number. */
#define OUT_SCHED_CPUS_MAX 1024u
/* Most bytes in one call of the sink. */
#define OUT_SCHED_BYTES_MAX 8192u

struct out_sched;

/* Takes one packet with its Trace.packet tag, the @bytes at @packets. They are
 * valid until it returns. */
typedef void out_sched_sink(void *context, const void *packets, size_t bytes);

/* The reason why a thread left its CPU. */
enum out_sched_left {
	OUT_SCHED_PREEMPTED, /* it could have run on */
	OUT_SCHED_BLOCKED, /* it waits */
	OUT_SCHED_ENDED,
	OUT_SCHED_UNKNOWN, /* its further state is unknown */
};

/*
 * Starts without a thread on any CPU. CPUs have numbers below @cpus, which is
 * clamped to OUT_SCHED_CPUS_MAX. The packets have @sequence (> 0), which may
 * also have other packets. Returns 0, and the caller frees *@out with
 * out_sched_free(); -ENOMEM; or -EINVAL if @cpus or @sequence is 0. Uses some 6
 * KiB for each CPU with switches.
 */
int out_sched_new(uint32_t cpus, uint32_t sequence, out_sched_sink *sink,
		  void *context, struct out_sched **out);
/* Frees *@sched, which may be NULL, and clears it. Does not flush: see
 * out_sched_flush(). */
void out_sched_free(struct out_sched **sched);

/*
 * Thread @tid (> 0) runs on @cpu from @ns (CLOCK_BOOTTIME) on. A thread still
 * on @cpu leaves it then as OUT_SCHED_UNKNOWN. Times of one CPU must not fall;
 * an earlier time counts as the last one. A report for an unknown CPU is
 * skipped and counted, here and below.
 */
void out_sched_in(struct out_sched *sched, uint32_t cpu, uint64_t ns,
		  pid_t tid);
/* Thread @tid left @cpu at @ns. The arrival may be unreported. */
void out_sched_out(struct out_sched *sched, uint32_t cpu, uint64_t ns,
		   pid_t tid, enum out_sched_left why);
/* No thread of the recording is on @cpu at @ns; a thread still there leaves it
 * as OUT_SCHED_UNKNOWN. For a CPU whose next switches have another writer:
 * importers show nothing for the very first one. */
void out_sched_none(struct out_sched *sched, uint32_t cpu, uint64_t ns);
/* Switches of @cpu are missing from @ns until its next report. A thread on @cpu
 * has left it at @ns as OUT_SCHED_UNKNOWN. */
void out_sched_lost(struct out_sched *sched, uint32_t cpu, uint64_t ns);
/* The state of thread @tid is unknown from @ns on. It is on @cpu, or on no CPU.
 * In the second case it comes to @cpu for no time, because only a switch ends a
 * state. */
void out_sched_unknown(struct out_sched *sched, uint32_t cpu, uint64_t ns,
		       pid_t tid);
/* Thread @tid has left @cpu at an unknown time: its last stretch there has no
 * length. No effect if @cpu has another thread. */
void out_sched_gone(struct out_sched *sched, uint32_t cpu, pid_t tid);
/* Passes all kept switches to the sink. More may follow. */
void out_sched_flush(struct out_sched *sched);
/* The recording ends at @ns: threads on CPUs leave as OUT_SCHED_UNKNOWN.
 * Flushes. This shows readers that the file has all switches up to @ns;
 * otherwise the trace may have been cut before. */
void out_sched_end(struct out_sched *sched, uint64_t ns);

uint64_t out_sched_left_out(const struct out_sched *sched);

#endif
