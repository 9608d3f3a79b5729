/* SPDX-License-Identifier: Apache-2.0
 *
 * perf_buffers - one buffer per CPU. The kernel writes the records of sampled
 * threads there (perf_record.h).
 *
 * Buffers are locked memory, which is scarce for a user. So all programs share
 * those of the collector. Each buffer belongs to an event of its own that
 * counts nothing, and events of threads (perf_events.h) write to it as well.
 *
 * Open and close on one thread; read under a lock of the caller's.
 */
#ifndef PERFREC_COLLECTOR_SAMPLES_PERF_BUFFERS_H
#define PERFREC_COLLECTOR_SAMPLES_PERF_BUFFERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct perf_event_mmap_page;
struct perf_record;
struct perf_wanted;

struct perf_buffers {
	struct perf_buffer {
		int cpu, fd;
		int32_t clock; /* of all events that write to it */
		struct perf_event_mmap_page *page;
		const uint8_t *data; /* behind the page */
		uint64_t last_ns; /* time of the last record read */
		bool full; /* records behind full_at were dropped */
		uint64_t full_at;
	} * buffer;
	size_t count, bytes; /* bytes: data size of each, a power of two */
	/* Offset of the times of records: the kernel writes them without the
	 * time namespace, and by CLOCK_MONOTONIC if the events of
	 * perf_wakings.h are among them. Modulo 2^64. */
	uint64_t offset_ns;
	int32_t clock;
	int epoll;
	/* One per buffer: the state of perf_buffers_read(). */
	struct perf_cursor {
		struct perf_buffer *buffer;
		uint64_t head, tail;
		/* Orders the record at tail: its time, or that of the record
		 * before it if that is later. */
		uint64_t key;
		uint16_t size; /* of the record at tail */
	} * cursor;
	uint8_t *scratch; /* for a record that wraps */
};

typedef void perf_visit(void *context, const struct perf_record *record);

/* Makes a buffer per CPU, large enough for the samples of @wanted, or as large
 * as this user may lock. The caller ends *@out with perf_buffers_free().
 * Returns 0 or -errno: -EACCES or -EPERM without permission. */
int perf_buffers_new(const struct perf_wanted *wanted,
		     struct perf_buffers **out);
void perf_buffers_free(struct perf_buffers **buffers);
/* Returns an epoll descriptor that is ready when a buffer is half full, or
 * before. */
int perf_buffers_fd(const struct perf_buffers *buffers);
/* Returns true if there may be unread records. A hint without a system call.
 * Any thread. */
bool perf_buffers_ready(const struct perf_buffers *buffers);
/*
 * Calls @visit for every record written at @until_ns (BOOTTIME) or before;
 * later records stay. Records of all CPUs come in order of time, those of one
 * CPU in the order of writing.
 *
 * If a buffer was full, even during the read, a PERF_RECORD_LOST with value 0
 * follows the last record that fitted. The kernel's own LOST comes only with
 * its next record in that buffer, which may never come.
 *
 * @until_ns must be a time in the past. Then all records of one thread come in
 * order, on whichever CPUs it ran: the kernel writes the record of leaving a
 * CPU before the thread runs on another. So with a record up to @until_ns, all
 * earlier records of that thread are visited as well.
 */
void perf_buffers_read(struct perf_buffers *buffers, uint64_t until_ns,
		       perf_visit *visit, void *context);

#endif
