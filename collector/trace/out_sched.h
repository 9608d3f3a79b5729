/* SPDX-License-Identifier: Apache-2.0
 *
 * out_sched - scheduling on the timeline: which thread ran on which CPU, as
 * Perfetto's compact ftrace packets, 7 to 8 bytes a switch. From them Perfetto
 * draws a track for each CPU and the states of each thread.
 *
 * The caller says when threads of the recording come to a CPU and leave it. A
 * CPU that has none of them runs "thread 0", whatever it really does. Switches
 * are kept per CPU and handed to the sink as whole packets. When one CPU has
 * some hundred of them, those of all CPUs are handed over: so what a CPU that
 * does little had is not written long after what the others had later. If all
 * that is told comes in the order of time, a packet has no switch that is
 * earlier than the last one in the packet of its CPU before it, nor earlier
 * than any in packets that were handed over before that flush.
 *
 * One thread at a time. A call takes some 10 ns and allocates nothing.
 */
#ifndef PERFREC_COLLECTOR_TRACE_OUT_SCHED_H
#define PERFREC_COLLECTOR_TRACE_OUT_SCHED_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Perfetto refuses the whole trace if it has a larger number of a CPU. */
#define OUT_SCHED_CPUS_MAX 1024u
/* The most bytes that the sink gets at a time. */
#define OUT_SCHED_BYTES_MAX 8192u

struct out_sched;

/* Takes the @bytes at @packets: one packet with its Trace.packet tag. They are
 * good until it returns. */
typedef void out_sched_sink(void *context, const void *packets, size_t bytes);

/* Why a thread left its CPU. */
enum out_sched_left {
	OUT_SCHED_PREEMPTED, /* it would have run on */
	OUT_SCHED_BLOCKED, /* it waits for something */
	OUT_SCHED_ENDED,
	OUT_SCHED_UNKNOWN, /* what it did from then on is not known */
};

/*
 * Starts with no thread on any CPU. @cpus: CPUs have numbers below it; more
 * than OUT_SCHED_CPUS_MAX are as many. @sequence (> 0) stands in the packets,
 * and may be one that has other packets, too. Returns 0; the caller then owns
 * *@out and ends it by out_sched_free(). Or -ENOMEM, or -EINVAL: @cpus or
 * @sequence is 0; then *@out is as it was. Takes some 6 KiB for each CPU that
 * has switches.
 */
int out_sched_new(uint32_t cpus, uint32_t sequence, out_sched_sink *sink,
		  void *context, struct out_sched **out);
/* Frees *@sched, which may be NULL, and clears it. Hands nothing over: see
 * out_sched_flush(). */
void out_sched_free(struct out_sched **sched);

/*
 * Thread @tid (> 0) runs on @cpu from @ns (CLOCK_BOOTTIME) on. A thread that is
 * on @cpu still has left it then, OUT_SCHED_UNKNOWN. Times of one CPU must not
 * fall; one that does counts as the last one before it. A CPU that there is not
 * is left out, and counted, here and below.
 */
void out_sched_in(struct out_sched *sched, uint32_t cpu, uint64_t ns,
		  pid_t tid);
/* Thread @tid left @cpu at @ns. It need not be known to have been there. */
void out_sched_out(struct out_sched *sched, uint32_t cpu, uint64_t ns,
		   pid_t tid, enum out_sched_left why);
/* No thread of the recording is on @cpu at @ns: one that is there still has
 * left it then, OUT_SCHED_UNKNOWN. For a CPU of which switches follow that
 * somebody else has written: of the first one of all, importers show nothing.
 */
void out_sched_none(struct out_sched *sched, uint32_t cpu, uint64_t ns);
/* Switches of @cpu are missing from @ns on, until the next one that is told: a
 * thread that is on @cpu has left it at @ns, OUT_SCHED_UNKNOWN. */
void out_sched_lost(struct out_sched *sched, uint32_t cpu, uint64_t ns);
/* The state of thread @tid is unknown from @ns on. It is on @cpu, or on no CPU.
 * In that case it comes to @cpu for no time, since only a switch ends a state.
 */
void out_sched_unknown(struct out_sched *sched, uint32_t cpu, uint64_t ns,
		       pid_t tid);
/* Thread @tid is on @cpu no more, and when it left is not known: its last
 * stretch there has no length. Nothing happens if @cpu has another thread. */
void out_sched_gone(struct out_sched *sched, uint32_t cpu, pid_t tid);
/* Hands all over that was told up to now. More may follow. */
void out_sched_flush(struct out_sched *sched);
/* The recording ends at @ns: what is on a CPU has left it then,
 * OUT_SCHED_UNKNOWN. Hands all over. Readers know by it that the file has all
 * switches up to @ns; without it, it may have been cut before. */
void out_sched_end(struct out_sched *sched, uint64_t ns);

/* How many calls were left out, as their CPU is none of @cpus. */
uint64_t out_sched_left_out(const struct out_sched *sched);

#endif
