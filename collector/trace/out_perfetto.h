/* SPDX-License-Identifier: Apache-2.0
 *
 * out_perfetto - the packets of a trace that are written seldom, by way of
 * protobuf-c messages (proto/perfetto_trace.proto). Each call writes one or
 * more whole "Trace.packet" entries into the @size bytes at @buffer, and
 * returns how many bytes they take; 0: they do not fit, and what is in the
 * buffer then is of no use. No I/O; any thread. Strings are cleaned: a byte
 * that is no UTF-8 becomes '?', and what lies beyond OUT_TEXT_BYTES is cut off.
 */
#ifndef PERFREC_COLLECTOR_TRACE_OUT_PERFETTO_H
#define PERFREC_COLLECTOR_TRACE_OUT_PERFETTO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define OUT_TEXT_BYTES (32u * 1024)
#define OUT_ATTRIBUTES 32 /* the most one packet carries */

/* The sequence of packets that belong to no thread. Threads have 2 and up. */
#define OUT_SEQUENCE_GLOBAL 1

/* The name of a track that has the waits of the thread that it lies below:
 * slices that do not overlap, and are no calls. Readers know it by that. */
#define OUT_TRACK_WAITS "perfrec: waits"

struct out_clocks { /* one moment on the kernel's clocks, ns */
	uint64_t boottime, monotonic, realtime, monotonic_coarse, monotonic_raw;
};

struct out_attribute { /* goes to trace_attributes: number or text */
	const char *key;
	const char *text; /* NULL: number */
	int64_t number;
};

/* What a file starts with: clock snapshot (primary BOOTTIME), trace uuid,
 * system info, attributes (at most OUT_ATTRIBUTES). */
size_t out_perfetto_preamble(uint8_t *buffer, size_t size,
			     const struct out_clocks *clocks,
			     const uint8_t uuid[16],
			     const struct out_attribute *attributes,
			     size_t attribute_count);

/* Attributes alone, at most OUT_ATTRIBUTES. */
size_t out_perfetto_attributes(uint8_t *buffer, size_t size,
			       const struct out_attribute *attributes,
			       size_t attribute_count);

struct out_process {
	uint64_t uuid;
	pid_t pid;
	const char *name;
	char *const *cmdline; /* NULL-terminated; NULL: unknown */
	uint64_t start_ns; /* BOOTTIME; 0: unknown */
};
/* A long command line is cut: it takes at most half of @buffer. */
size_t out_perfetto_process(uint8_t *buffer, size_t size,
			    const struct out_process *process);

struct out_thread {
	uint64_t uuid;
	uint32_t sequence;
	pid_t pid, tid;
	const char *name; /* NULL or "": none */
	uint64_t start_ns; /* BOOTTIME: where clock 64 starts */
};
/* First packets of a sequence: descriptor, clocks 64 and 6, defaults,
 * SEQ_INCREMENTAL_STATE_CLEARED, first_packet_on_sequence. */
size_t out_perfetto_thread(uint8_t *buffer, size_t size,
			   const struct out_thread *thread);
/* Only the descriptor again: the thread has a new name. */
size_t out_perfetto_thread_name(uint8_t *buffer, size_t size,
				const struct out_thread *thread);

struct out_context { /* a stack that a thread made with makecontext() */
	uint64_t uuid, thread_uuid; /* thread_uuid: of the thread's track */
	uint32_t sequence;
	const char *name;
	uint64_t start_ns; /* as of a thread */
};
/* The first packets of the sequence of a context, whose track lies below that
 * of its thread. */
size_t out_perfetto_context(uint8_t *buffer, size_t size,
			    const struct out_context *context);

/* Packets of interned event names for @sequence. OUT_NAME_BYTES are room enough
 * for any one name. */
#define OUT_NAME_BYTES (OUT_TEXT_BYTES + 64)
struct out_name {
	uint32_t iid;
	const char *name;
};
size_t out_perfetto_names(uint8_t *buffer, size_t size, uint32_t sequence,
			  const struct out_name *names, size_t count);

/* A packet with the category of a site and its place in the source. Both have
 * the iid of the site's name. OUT_SITE_BYTES are enough for texts of
 * SITE_TEXT_BYTES (sites.h). */
#define OUT_SITE_BYTES 16384
struct out_site {
	uint32_t iid;
	const char *category, *file, *function; /* "": none */
	uint32_t line;
};
size_t out_perfetto_site(uint8_t *buffer, size_t size, uint32_t sequence,
			 const struct out_site *site);

/* An instant or slice with its own name on a thread's sequence; arguments (at
 * most OUT_ATTRIBUTES) become debug annotations. @delta_ns is the step of clock
 * 64 from the last event of the sequence (an event of this kind moves it as any
 * other). */
enum out_event_type { OUT_BEGIN = 1, OUT_END = 2, OUT_INSTANT = 3 };
struct out_event {
	enum out_event_type type;
	uint32_t sequence;
	uint64_t delta_ns;
	const char *name; /* NULL for OUT_END */
	const struct out_attribute *arguments;
	size_t argument_count;
	uint64_t flow; /* 0: none */
	bool flow_ends;
};
size_t out_perfetto_event(uint8_t *buffer, size_t size,
			  const struct out_event *event);

/*
 * Losses, so that they show in the UI and in stats: marks each sequence in
 * @sequences with previous_packet_dropped, then one trace_stats. Once a file,
 * and last in it (trace_file_flush() first): a reader ignores names that come
 * after the mark, and of several trace_stats it keeps the last. Takes
 * OUT_LOSSES_BYTES(@count) at most.
 */
#define OUT_LOSSES_BYTES(count) (64 + 32 * (size_t)(count))
size_t out_perfetto_losses(uint8_t *buffer, size_t size,
			   const uint32_t *sequences, size_t count,
			   uint64_t packets_lost);

#endif
