/* SPDX-License-Identifier: Apache-2.0
 *
 * perf_buffers - one buffer for each CPU, into which the kernel writes what
 * happens to the threads that it samples (perf_record.h).
 *
 * Buffers are locked memory, of which a user may have little. So all programs
 * share those of the collector, and each buffer belongs to an event of its own
 * that counts nothing. Events of threads (perf_events.h) write there, too.
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
		struct perf_event_mmap_page *page;
		const uint8_t *data; /* behind the page */
		uint64_t last_ns; /* when its last record that was read was
				   * written */
		bool full; /* something did not fit behind full_at */
		uint64_t full_at;
	} * buffer;
	size_t count, bytes; /* bytes: of the data of one, a power of two */
	/* To be added to times of records: the kernel knows no time namespace
	 * when it writes them. Modulo 2^64. */
	uint64_t offset_ns;
	int epoll;
	/* One for each: where perf_buffers_read() is. */
	struct perf_cursor {
		struct perf_buffer *buffer;
		uint64_t head, tail;
		uint64_t key; /* orders the record at tail: its time, or that of
			       * the record before it if that is later */
		uint16_t size; /* of the record at tail */
	} * cursor;
	uint8_t *scratch; /* a record that lies around the end */
};

typedef void perf_visit(void *context, const struct perf_record *record);

/* Make a buffer for each CPU, large enough for the samples that @wanted asks
 * for, or as large as this user may lock. The caller ends *@out with
 * perf_buffers_free(). 0 or -errno: -EACCES or -EPERM when the kernel does not
 * allow it. */
int perf_buffers_new(const struct perf_wanted *wanted,
		     struct perf_buffers **out);
void perf_buffers_free(struct perf_buffers **buffers);
/* An epoll descriptor that is ready when a buffer is half full, or before. */
int perf_buffers_fd(const struct perf_buffers *buffers);
/* Whether there may be something unread. A hint, without a system call. Any
 * thread. */
bool perf_buffers_ready(const struct perf_buffers *buffers);
/*
 * Call @visit for every record in the buffers that was written at @until_ns
 * (BOOTTIME) or before; later ones stay. The records of all CPUs come in the
 * order of their times, and those of one CPU in the order in which they were
 * written.
 *
 * Where a buffer was full, also while it was read, a record PERF_RECORD_LOST is
 * told behind the last one that fitted, with the value 0: the kernel's own
 * comes with the next record that it writes there, and there may be none.
 *
 * @until_ns must be a time that has passed. Then all records of one thread come
 * in order, whichever CPUs it ran on: the kernel has written the record of a
 * thread's leaving a CPU before the thread runs on another one. So whoever sees
 * a record that is not later than @until_ns sees all earlier ones of that
 * thread, too.
 */
void perf_buffers_read(struct perf_buffers *buffers, uint64_t until_ns,
		       perf_visit *visit, void *context);
/* The bytes of data that one buffer holds. */
size_t perf_buffers_bytes(const struct perf_buffers *buffers);

#endif
