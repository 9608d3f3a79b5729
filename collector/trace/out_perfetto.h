/* SPDX-License-Identifier: Apache-2.0
 *
 * out_perfetto - the rare packets of a trace, made of protobuf-c messages
 * (proto/perfetto_trace.proto). Each function writes one or more whole
 * "Trace.packet" entries to the @size bytes at @buffer and returns their bytes.
 * It returns 0 if they do not fit; the buffer is then undefined. No I/O; any
 * thread. Strings are cleaned: bytes that are not UTF-8 become '?', and texts
 * are cut at OUT_TEXT_BYTES.
 */
#ifndef PERFREC_COLLECTOR_TRACE_OUT_PERFETTO_H
#define PERFREC_COLLECTOR_TRACE_OUT_PERFETTO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define OUT_TEXT_BYTES (32u * 1024)
#define OUT_ATTRIBUTES 32 /* limit of one packet */

/* The sequence of packets outside of threads. Threads have 2 and up. */
#define OUT_SEQUENCE_GLOBAL 1

/* The name of a track of a thread's waits, which do not overlap and are not
 * calls. Readers identify it by this name. */
#define OUT_TRACK_WAITS "perfrec: waits"
/* An instant there: another thread started this one. */
#define OUT_STARTED "started"
/* The name of a track below a thread or a context: its slices are times when
 * the thread ran on another stack, all the time or partly (if it switched too
 * often for one slice each). */
#define OUT_TRACK_SUSPENDED "perfrec: suspended"
#define OUT_SUSPENDED "suspended"
#define OUT_SUSPENDED_OFTEN "suspended often"
/* The name of tracks below a thread: its slices are times when it held a lock
 * that others waited for, its instants are signals and posts. */
#define OUT_TRACK_LOCKS "perfrec: locks"
/* "held_by" of a lock that readers held. */
#define OUT_READERS "readers"
/* Returns true if the @bytes at @name are one of these three names. */
bool out_perfetto_is_waits(const void *name, size_t bytes);
/* A release is stamped before it happens, and its thread may lose its CPU in
 * between. So a wait may begin this long after the release that ends it. */
#define OUT_RELEASE_EARLY_NS 20000u
/* All waits of at least this length are read, and some of the shorter ones. */
#define OUT_LONG_WAIT_NS 1000000u

struct out_clocks { /* one moment of the kernel's clocks, ns */
	uint64_t boottime, monotonic, realtime, monotonic_coarse, monotonic_raw;
};

struct out_attribute { /* for trace_attributes: number or text */
	const char *key;
	const char *text; /* NULL: use number */
	int64_t number;
};

/* The start of a file: clock snapshot (primary BOOTTIME), trace uuid, system
 * info, attributes (at most OUT_ATTRIBUTES). */
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
	char *const *labels; /* NULL-terminated; NULL: none */
};
/* Cuts a long command line to half of @buffer. */
size_t out_perfetto_process(uint8_t *buffer, size_t size,
			    const struct out_process *process);

struct out_thread {
	uint64_t uuid;
	uint32_t sequence;
	pid_t pid, tid;
	const char *name; /* NULL or "": none */
	uint64_t start_ns; /* BOOTTIME: start of clock 64 */
};
/* First packets of a sequence: descriptor, clocks 64 and 6, defaults,
 * SEQ_INCREMENTAL_STATE_CLEARED, first_packet_on_sequence. */
size_t out_perfetto_thread(uint8_t *buffer, size_t size,
			   const struct out_thread *thread);
/* The descriptor alone, for a new name of the thread. */
size_t out_perfetto_thread_name(uint8_t *buffer, size_t size,
				const struct out_thread *thread);

struct out_context { /* a stack from makecontext() */
	uint64_t uuid, thread_uuid; /* thread_uuid: the thread's track */
	uint32_t sequence;
	const char *name;
	uint64_t start_ns;
};
/* First packets of the sequence of a context, whose track lies below its
 * thread's. */
size_t out_perfetto_context(uint8_t *buffer, size_t size,
			    const struct out_context *context);

/* Packets of interned event names for @sequence. OUT_NAME_BYTES is enough room
 * for one name. */
#define OUT_NAME_BYTES (OUT_TEXT_BYTES + 64)
struct out_name {
	uint32_t iid;
	const char *name;
};
size_t out_perfetto_names(uint8_t *buffer, size_t size, uint32_t sequence,
			  const struct out_name *names, size_t count);

/* A packet with a site's category and place in the source, both with the iid of
 * the site's name. OUT_SITE_BYTES is enough for texts of SITE_TEXT_BYTES
 * (sites.h). */
#define OUT_SITE_BYTES 16384
struct out_site {
	uint32_t iid;
	const char *category, *file, *function;
	uint32_t line;
};
size_t out_perfetto_site(uint8_t *buffer, size_t size, uint32_t sequence,
			 const struct out_site *site);

/* An instant or slice with its own name on a thread's sequence. Arguments (at
 * most OUT_ATTRIBUTES) become debug annotations. @delta_ns is the step of clock
 * 64 from the last event of the sequence, as for any event. */
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
 * Losses for the UI and the stats: marks each sequence of @sequences with
 * previous_packet_dropped, then adds one trace_stats. Once a file, as its end
 * (call trace_file_flush() first): readers ignore names after the mark, and
 * keep the last of several trace_stats. Needs at most OUT_LOSSES_BYTES(@count).
 */
#define OUT_LOSSES_BYTES(count) (64 + 32 * (size_t)(count))
size_t out_perfetto_losses(uint8_t *buffer, size_t size,
			   const uint32_t *sequences, size_t count,
			   uint64_t packets_lost);

#endif
