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
		struct perf_event_mmap_page *page; /* then the data */
	} * buffer;
	size_t count, bytes; /* bytes: of the data of one, a power of two */
	int epoll;
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
/* An epoll descriptor that is ready when a buffer is half full. */
int perf_buffers_fd(const struct perf_buffers *buffers);
/* Whether there may be something unread. A hint, without a system call. Any
 * thread. */
bool perf_buffers_ready(const struct perf_buffers *buffers);
/* Call @visit for every record that lies in the buffers. The records of one CPU
 * come in the order in which they were written, those of all CPUs nearly so. */
void perf_buffers_read(struct perf_buffers *buffers, perf_visit *visit,
		       void *context);
/* The bytes of data that one buffer holds. */
size_t perf_buffers_bytes(const struct perf_buffers *buffers);

#endif
