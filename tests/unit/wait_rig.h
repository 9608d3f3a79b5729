/* SPDX-License-Identifier: Apache-2.0
 *
 * wait_rig - a trace of several threads with calls, waits, holds and flows, in the
 * form that perfrec writes. Times are ns from START_NS. Threads have numbers from
 * 0 on; thread N of process 7 has tid 100 + N and the name "tN".
 */
#ifndef PERFREC_TESTS_UNIT_WAIT_RIG_H
#define PERFREC_TESTS_UNIT_WAIT_RIG_H

#include <string.h>

#include "collector/trace/out_perfetto.h"
#include "collector/trace/out_sched.h"
#include "tests/unit/trace_rig.h"

#define US UINT64_C(1000)
#define RIG_PROCESS(thread) (PROCESS + 1000 * ((thread) / 100))
#define RIG_THREAD(thread) (3000 + (thread))
#define RIG_WAITS(thread) (4000 + (thread))
#define RIG_LOCKS(thread) (5000 + (thread))

static uint32_t g_sequence;
static struct encoder g_threads[8];

static const struct out_name g_functions[] = {
	{ 1, "main" },
	{ 2, "take" },
	{ 3, "work" },
	{ 4, "put" },
	{ 5, "perfrec: waiting for collector" },
};
enum { MAIN = 1, TAKE, WORK, PUT, STALL };

static inline void rig_start(int threads)
{
	const struct out_clocks clocks = { .boottime = START_NS };
	const uint8_t uuid[16] = { 1 };
	char *command[] = { "./app", NULL };
	const struct out_process process = {
		.uuid = PROCESS, .pid = 7, .name = "app", .cmdline = command
	};

	g_bytes = 0;
	g_sequence = 100;
	wrote(out_perfetto_preamble(ROOM, &clocks, uuid, NULL, 0));
	wrote(out_perfetto_process(ROOM, &process));
	for (int i = 0; i < threads; i++) {
		char name[8];
		const struct out_thread thread = {
			.uuid = (uint64_t)RIG_THREAD(i),
			.sequence = 2 + (uint32_t)i,
			.pid = 7,
			.tid = 100 + i,
			.name = name,
			.start_ns = START_NS,
		};

		snprintf(name, sizeof(name), "t%d", i);
		wrote(out_perfetto_thread(ROOM, &thread));
		wrote(out_perfetto_names(ROOM, thread.sequence, g_functions,
					 ARRAY_SIZE(g_functions)));
		encoder_init(&g_threads[i], thread.sequence, START_NS);
	}
}

static inline void rig_begin(int thread, uint32_t function, uint64_t ns)
{
	g_encoder = g_threads[thread];
	write_begin(function, ns);
	g_threads[thread] = g_encoder;
}

static inline void rig_end(int thread, uint64_t ns)
{
	g_encoder = g_threads[thread];
	write_end(ns);
	g_threads[thread] = g_encoder;
}

static inline void rig_call(int thread, uint32_t function, uint64_t from,
			    uint64_t to)
{
	rig_begin(thread, function, from);
	rig_end(thread, to);
}

/* Each slice has a sequence of its own, so slices come in any order. */
static inline void rig_sequence(uint64_t uuid, int thread, const char *name,
				uint64_t ns)
{
	const struct out_context track = {
		.uuid = uuid,
		.thread_uuid = (uint64_t)RIG_THREAD(thread),
		.sequence = ++g_sequence,
		.name = name,
		.start_ns = START_NS + ns,
	};

	wrote(out_perfetto_context(ROOM, &track));
}

static inline void rig_event(struct out_event event)
{
	event.sequence = g_sequence;
	wrote(out_perfetto_event(ROOM, &event));
}

/* @text: "KEY=TEXT,KEY=TEXT..."; a text of digits is a number. @flow, if not 0,
 * ends at the last ns of the wait. */
static inline void rig_slice(uint64_t uuid, int thread, const char *track,
			     const char *name, const char *text, uint64_t from,
			     uint64_t to, uint64_t flow, bool flow_ends)
{
	struct out_attribute arguments[8];
	struct out_event begin = { .type = OUT_BEGIN,
				   .name = name,
				   .arguments = arguments };
	char copy[256], *rest = copy, *pair;

	snprintf(copy, sizeof(copy), "%s", text);
	while (*copy && (pair = strsep(&rest, ",")) != NULL) {
		char *value = strchr(pair, '=');

		*value++ = '\0';
		arguments[begin.argument_count++] = (struct out_attribute){
			.key = pair,
			.text = value[strspn(value, "0123456789")] ? value
								   : NULL,
			.number = atoi(value),
		};
	}
	rig_sequence(uuid, thread, track, from);
	rig_event(begin);
	if (flow && flow_ends)
		rig_event((struct out_event){ .type = OUT_INSTANT,
					      .name = "woken",
					      .delta_ns = to - from,
					      .flow = flow,
					      .flow_ends = true });
	rig_event((struct out_event){ .type = OUT_END,
				      .delta_ns =
					      flow && flow_ends ? 0 : to - from,
				      .flow = flow_ends ? 0 : flow });
}

static inline void rig_wait(int thread, const char *object, const char *text,
			    uint64_t from, uint64_t to, uint64_t flow)
{
	rig_slice((uint64_t)RIG_WAITS(thread), thread, OUT_TRACK_WAITS, object,
		  text, from, to, flow, true);
}

/* Thread @by started @thread. */
static inline void rig_started(int thread, int by, uint64_t ns)
{
	struct out_attribute argument = { .key = "started_by_tid",
					  .number = 100 + by };

	rig_sequence((uint64_t)RIG_WAITS(thread), thread, OUT_TRACK_WAITS, ns);
	rig_event((struct out_event){ .type = OUT_INSTANT,
				      .name = OUT_STARTED,
				      .arguments = &argument,
				      .argument_count = 1 });
}

/* @lock: of the hold. Tracks of @depth above 0 are for holds that overlap. */
static inline void rig_hold(int thread, int depth, const char *lock,
			    const char *in, uint64_t from, uint64_t to,
			    uint64_t flow)
{
	char name[64], text[128];

	snprintf(name, sizeof(name), "holds %s", lock);
	snprintf(text, sizeof(text), "lock=%s,in=%s", lock, in);
	rig_slice((uint64_t)RIG_LOCKS(thread) + 100 * (uint64_t)depth, thread,
		  OUT_TRACK_LOCKS, name, text, from, to, flow, false);
}

/* A waker that holds nothing. */
static inline void rig_signal(int thread, const char *name, uint64_t ns,
			      uint64_t flow)
{
	rig_sequence((uint64_t)RIG_LOCKS(thread), thread, OUT_TRACK_LOCKS, ns);
	rig_event((struct out_event){
		.type = OUT_INSTANT, .name = name, .flow = flow });
}

/* A time on a CPU, in us. */
struct ran {
	int thread;
	uint32_t cpu;
	uint64_t from, to;
	enum out_sched_left why; /* it leaves the CPU */
};
#define WAITS OUT_SCHED_BLOCKED
#define STAYS OUT_SCHED_PREEMPTED

static inline void write_ran(const struct ran *ran, size_t count)
{
	struct out_sched *sched;

	ck_assert_int_eq(out_sched_new(4, 90, wrote_switches, NULL, &sched), 0);
	for (; count; count--, ran++) {
		out_sched_in(sched, ran->cpu, START_NS + ran->from * US,
			     100 + ran->thread);
		out_sched_out(sched, ran->cpu, START_NS + ran->to * US,
			      100 + ran->thread, ran->why);
	}
	out_sched_end(sched, START_NS + 100000 * US);
	out_sched_free(&sched);
}
#define RAN(...)                                                \
	write_ran((const struct ran[]){ __VA_ARGS__ },          \
		  sizeof((const struct ran[]){ __VA_ARGS__ }) / \
			  sizeof(struct ran))

#endif
