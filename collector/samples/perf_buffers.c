/* SPDX-License-Identifier: Apache-2.0
 *
 * perf_buffers - one kernel buffer per CPU: perf_event_open(2), "MMAP layout".
 * The kernel is trusted, but every length is checked against the available
 * bytes all the same.
 */
#include "collector/samples/perf_buffers.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "collector/base/clock.h"
#include "collector/base/perf_open.h"
#include "collector/base/proc.h"
#include "collector/samples/perf_record.h"
#include "shared/atomic.h"
#include "shared/compiler.h"

#define SWITCH_BYTES 64 /* maximum size of a record of a switch */
#define RECORD_BYTES_MAX 65536 /* a record's size has 16 bits */
#define BUFFER_BYTES_MIN 65536u
/* The memory per CPU that an unprivileged user may lock by default, less the
 * first page (kernel.perf_event_mlock_kb: 516). */
#define BUFFER_BYTES_USUAL (512u << 10)
#define BUFFER_BYTES_MAX (4u << 20)
/* Sizes of one buffer, and of all together, if this user may lock as much. With
 * switches a busy CPU writes 10 to 20 MB a second, and the reader may have to
 * wait for a CPU. */
#define SWITCH_BYTES_MAX (2u << 20)
#define SWITCH_BYTES_ALL (32u << 20)
/* The reader wakes up at this many bytes, or half a buffer. */
#define WAKE_BYTES (256u << 10)
/* A suspension is longer. */
#define SUSPEND_NS_MIN 100000000u
/* A buffer holds the samples of one thread for this part of a second. */
#define BUFFER_SECONDS_PART 4

/* --- open and close ------------------------------------------------------ */

static size_t page_bytes(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

/* Follows CLOCK_MONOTONIC, which stops while the machine is suspended. */
static void set_monotonic_offset(struct perf_buffers *buffers)
{
	const uint64_t ns = clock_monotonic_ns();
	const uint64_t offset_ns = clock_boottime_ns() - ns;

	/* Less is the time between the two readings. So is more, if this thread
	 * lost its CPU there; the next call tries again. */
	if (offset_ns - buffers->offset_ns > SUSPEND_NS_MIN &&
	    clock_monotonic_ns() - ns < SUSPEND_NS_MIN)
		buffers->offset_ns = offset_ns;
}

static int open_buffer(struct perf_buffers *buffers, int cpu)
{
	struct perf_buffer *buffer = &buffers->buffer[buffers->count];
	/* The event that the buffer belongs to; it counts nothing. */
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_IDENTIFIER,
		.disabled = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.use_clockid = 1,
		.clockid = buffers->clock,
		.watermark = 1,
		.wakeup_watermark =
			(uint32_t)MIN(buffers->bytes / 2, WAKE_BYTES),
	};
	struct epoll_event event = { .events = EPOLLIN };
	int err;

	buffer->cpu = cpu;
	buffer->clock = buffers->clock;
	buffer->fd = perf_open(&attr, 0, cpu);
	if (buffer->fd < 0)
		return buffer->fd;
	buffer->page = mmap(NULL, page_bytes() + buffers->bytes,
			    PROT_READ | PROT_WRITE, MAP_SHARED, buffer->fd, 0);
	if (buffer->page == MAP_FAILED) {
		err = -errno;
		close(buffer->fd);
		return err;
	}
	buffer->data = (const uint8_t *)buffer->page + page_bytes();
	buffers->count++;
	if (epoll_ctl(buffers->epoll, EPOLL_CTL_ADD, buffer->fd, &event) < 0)
		return -errno;
	return 0;
}

static void close_buffers(struct perf_buffers *buffers)
{
	while (buffers->count) {
		struct perf_buffer *last = &buffers->buffer[--buffers->count];

		munmap(last->page, page_bytes() + buffers->bytes);
		close(last->fd);
	}
}

static int open_buffers(struct perf_buffers *buffers, long cpus)
{
	int err = 0;

	for (int cpu = 0; cpu < cpus && !err; cpu++) {
		err = open_buffer(buffers, cpu);
		if (err == -ENODEV)
			err = 0;
	}
	if (!err && !buffers->count)
		err = -ENODEV;
	if (err)
		close_buffers(buffers);
	return err;
}

static size_t choose_bytes(const struct perf_wanted *wanted, long cpus)
{
	uint64_t each = wanted->stack_bytes + 512;
	uint64_t wish = wanted->period_ns
				? each * 1000000000 / wanted->period_ns /
					  BUFFER_SECONDS_PART
				: 0;
	size_t bytes = wanted->tree ? BUFFER_BYTES_MIN : BUFFER_BYTES_USUAL;

	while (bytes < wish && bytes < BUFFER_BYTES_MAX)
		bytes *= 2;
	while (wanted->switches && bytes < SWITCH_BYTES_MAX &&
	       2 * bytes * (size_t)cpus <= SWITCH_BYTES_ALL)
		bytes *= 2;
	return bytes;
}

int perf_buffers_new(const struct perf_wanted *wanted,
		     struct perf_buffers **out)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	struct perf_buffers *buffers = calloc(1, sizeof(*buffers));
	int err = -ENOMEM;

	if (!buffers)
		return err;
	buffers->buffer = calloc((size_t)cpus, sizeof(*buffers->buffer));
	buffers->cursor = calloc((size_t)cpus, sizeof(*buffers->cursor));
	buffers->scratch = malloc(RECORD_BYTES_MAX);
	buffers->epoll = epoll_create1(EPOLL_CLOEXEC);
	buffers->clock = wanted->wakings ? CLOCK_MONOTONIC : CLOCK_BOOTTIME;
	if (wanted->wakings)
		set_monotonic_offset(buffers);
	else
		buffers->offset_ns = (uint64_t)proc_boottime_offset_ns();
	if (buffers->epoll < 0)
		err = -errno;
	if (buffers->buffer && buffers->cursor && buffers->scratch &&
	    buffers->epoll >= 0) {
		buffers->bytes = choose_bytes(wanted, cpus);
		/* EPERM of mmap(): over the limit of locked memory. */
		while ((err = open_buffers(buffers, cpus)) == -EPERM &&
		       buffers->bytes > BUFFER_BYTES_MIN)
			buffers->bytes /= 2;
	}
	if (err)
		perf_buffers_free(&buffers);
	*out = buffers;
	return err;
}

void perf_buffers_free(struct perf_buffers **buffers)
{
	struct perf_buffers *old = *buffers;

	*buffers = NULL;
	if (!old)
		return;
	close_buffers(old);
	if (old->epoll >= 0)
		close(old->epoll);
	free(old->scratch);
	free(old->cursor);
	free(old->buffer);
	free(old);
}

int perf_buffers_fd(const struct perf_buffers *buffers)
{
	return buffers->epoll;
}

/* --- reading ------------------------------------------------------------- */

bool perf_buffers_ready(const struct perf_buffers *buffers)
{
	for (size_t i = 0; i < buffers->count; i++) {
		struct perf_event_mmap_page *page = buffers->buffer[i].page;

		/* order: acq, PERF: as in perf_buffers_read() */
		if (atom_load_acq(&page->data_head) !=
		    /* relaxed: a hint */
		    atom_load_rlx(&page->data_tail))
			return true;
	}
	return false;
}

static const uint8_t *in_one_piece(const struct perf_buffers *buffers,
				   const uint8_t *data, uint64_t tail,
				   size_t size)
{
	size_t at = tail & (buffers->bytes - 1);
	size_t first = MIN(size, buffers->bytes - at);

	if (first == size)
		return data + at;
	memcpy(buffers->scratch, data + at, first);
	memcpy(buffers->scratch + first, data, size - first);
	return buffers->scratch;
}

/* Returns the time of a record; perf_open.h defines where it is. */
static uint64_t time_of_record(const struct perf_event_header *header,
			       const uint8_t *bytes)
{
	/* Samples: after header, id, address, and the ids of process and
	 * thread. All others: before the id at the end. */
	size_t at = header->type == PERF_RECORD_SAMPLE
			    ? sizeof(*header) + 24
			    : header->size - 2 * sizeof(uint64_t);
	uint64_t ns;

	if (header->size < sizeof(*header) + 24 ||
	    header->size < at + sizeof(ns))
		return 0;
	memcpy(&ns, bytes + at, sizeof(ns));
	return ns;
}

/* Looks at the record at the tail. Returns false if none is older than
 * @until_ns. */
static bool cursor_look(const struct perf_buffers *buffers,
			struct perf_cursor *cursor, uint64_t until_ns)
{
	const uint8_t *data = cursor->buffer->data;
	uint64_t unread = cursor->head - cursor->tail;
	struct perf_event_header header = { 0 };
	uint64_t ns;

	if (!unread)
		return false;
	/* A header is aligned to 8 bytes, so it does not wrap. */
	if (unread >= sizeof(header) && unread <= buffers->bytes)
		memcpy(&header, data + (cursor->tail & (buffers->bytes - 1)),
		       sizeof(header));
	if (header.size < sizeof(header) || header.size > unread) {
		/* Skips an impossible record and all after it. */
		cursor->tail = cursor->head;
		/* order: rel, PERF: read before the room is returned */
		atom_store_rel(&cursor->buffer->page->data_tail, cursor->tail);
		return false;
	}
	ns = time_of_record(&header, in_one_piece(buffers, data, cursor->tail,
						  header.size));
	ns += ns ? buffers->offset_ns : 0;
	if (ns > until_ns)
		return false;
	cursor->size = header.size;
	cursor->key = MAX(cursor->buffer->last_ns, ns);
	return true;
}

static void cursor_visit(const struct perf_buffers *buffers,
			 struct perf_cursor *cursor, perf_visit *visit,
			 void *context)
{
	struct perf_buffer *buffer = cursor->buffer;
	struct perf_record record;
	uint64_t head, unread;

	if (perf_record_parse(in_one_piece(buffers, buffer->data, cursor->tail,
					   cursor->size),
			      &record)) {
		record.cpu = buffer->cpu;
		record.ns += buffers->offset_ns;
		record.before_ns = buffer->last_ns;
		visit(context, &record);
	}
	buffer->last_ns = cursor->key;
	/* Records behind full_at are lost if the kernel had no room. The reader
	 * may lose its CPU in the middle of a pass, so it checks at each record,
	 * before the tail moves.
	 * relaxed: nothing below it is read */
	head = atom_load_rlx(&buffer->page->data_head);
	unread = head - cursor->tail;
	if (unlikely(unread + SWITCH_BYTES > buffers->bytes &&
		     unread <= buffers->bytes && !buffer->full)) {
		buffer->full = true;
		buffer->full_at = head;
	}
	cursor->tail += cursor->size;
	/* The kernel's own record of the loss comes with its next record in
	 * this buffer, which may never come. Before the tail moves: a reader
	 * that sees nothing unread stops asking. */
	if (unlikely(buffer->full && cursor->tail >= buffer->full_at)) {
		record = (struct perf_record){ .type = PERF_RECORD_LOST,
					       .cpu = buffer->cpu,
					       .before_ns = buffer->last_ns };
		buffer->full = false;
		visit(context, &record);
	}
	/* order: rel, PERF: read before the room is returned */
	atom_store_rel(&buffer->page->data_tail, cursor->tail);
}

static void sift_cursor_down(struct perf_cursor *heap, size_t count, size_t at)
{
	struct perf_cursor moved = heap[at];

	for (size_t child; (child = 2 * at + 1) < count; at = child) {
		if (child + 1 < count && heap[child + 1].key < heap[child].key)
			child++;
		if (moved.key <= heap[child].key)
			break;
		heap[at] = heap[child];
	}
	heap[at] = moved;
}

void perf_buffers_read(struct perf_buffers *buffers, uint64_t until_ns,
		       perf_visit *visit, void *context)
{
	struct perf_cursor *heap = buffers->cursor;
	size_t count = 0;

	if (buffers->clock == CLOCK_MONOTONIC)
		set_monotonic_offset(buffers);
	for (size_t i = 0; i < buffers->count; i++) {
		struct perf_event_mmap_page *page = buffers->buffer[i].page;

		heap[count] = (struct perf_cursor){
			.buffer = &buffers->buffer[i],
			/* order: acq, PERF: the records below it are whole */
			.head = atom_load_acq(&page->data_head),
			/* relaxed: only we write it */
			.tail = atom_load_rlx(&page->data_tail),
		};
		count += cursor_look(buffers, &heap[count], until_ns);
	}
	for (size_t i = count / 2; i > 0; i--)
		sift_cursor_down(heap, count, i - 1);
	while (count) {
		cursor_visit(buffers, heap, visit, context);
		if (!cursor_look(buffers, heap, until_ns))
			heap[0] = heap[--count];
		if (count)
			sift_cursor_down(heap, count, 0);
	}
}
