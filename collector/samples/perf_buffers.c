/* SPDX-License-Identifier: Apache-2.0
 *
 * perf_buffers - one buffer of the kernel for each CPU, and the records in it:
 * perf_event_open(2), "MMAP layout". The kernel is trusted, but every length
 * is held against what there is all the same.
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

#include "collector/samples/perf_open.h"
#include "shared/atomic.h"
#include "shared/compiler.h"

#define RECORD_BYTES_MAX 65536 /* the size of one has 16 bits */
#define BUFFER_BYTES_MIN 65536u
/* What a user without privileges may lock for each CPU by default, less the
 * first page (kernel.perf_event_mlock_kb: 516). */
#define BUFFER_BYTES_USUAL (512u << 10)
#define BUFFER_BYTES_MAX (4u << 20)
/* A buffer has room for the samples of one thread of this part of a second. */
#define BUFFER_SECONDS_PART 4

/* --- open and close ---------------------------------------------------------
 */

/* Open the event that a buffer belongs to, which counts nothing. */
static int open_owner(int cpu, size_t bytes)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_IDENTIFIER,
		.disabled = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.use_clockid = 1,
		.clockid = CLOCK_BOOTTIME,
		.watermark = 1,
		.wakeup_watermark = (uint32_t)(bytes / 2),
	};

	return perf_open(&attr, 0, cpu);
}

static size_t page_bytes(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

static int open_buffer(struct perf_buffers *buffers, int cpu)
{
	struct perf_buffer *buffer = &buffers->buffer[buffers->count];
	struct epoll_event event = { .events = EPOLLIN };
	int err;

	buffer->cpu = cpu;
	buffer->fd = open_owner(cpu, buffers->bytes);
	if (buffer->fd < 0)
		return buffer->fd;
	buffer->page = mmap(NULL, page_bytes() + buffers->bytes,
			    PROT_READ | PROT_WRITE, MAP_SHARED, buffer->fd, 0);
	if (buffer->page == MAP_FAILED) {
		err = -errno;
		close(buffer->fd);
		return err;
	}
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

/* Open a buffer of buffers->bytes for each CPU that is on. 0 or -errno. */
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

static size_t choose_bytes(const struct perf_wanted *wanted)
{
	uint64_t each = wanted->stack_bytes + 512;
	uint64_t wish =
		each * 1000000000 / wanted->period_ns / BUFFER_SECONDS_PART;
	size_t bytes = BUFFER_BYTES_USUAL;

	while (bytes < wish && bytes < BUFFER_BYTES_MAX)
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
	buffers->scratch = malloc(RECORD_BYTES_MAX);
	buffers->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (buffers->epoll < 0)
		err = -errno;
	if (buffers->buffer && buffers->scratch && buffers->epoll >= 0) {
		buffers->bytes = choose_bytes(wanted);
		/* EPERM of mmap(): more than we may lock. */
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
	free(old->buffer);
	free(old);
}

int perf_buffers_fd(const struct perf_buffers *buffers)
{
	return buffers->epoll;
}

size_t perf_buffers_bytes(const struct perf_buffers *buffers)
{
	return buffers->bytes;
}

/* --- records ----------------------------------------------------------------
 */

/* The rest of a record. */
struct reader {
	const uint8_t *at, *end;
	bool bad; /* more was asked for than there is: all is 0 from then on */
};

static const void *take_bytes(struct reader *reader, size_t bytes)
{
	const uint8_t *at = reader->at;

	if ((size_t)(reader->end - at) < bytes) {
		reader->bad = true;
		return NULL;
	}
	reader->at += bytes;
	return at;
}

static uint64_t take_u64(struct reader *reader)
{
	const void *at = take_bytes(reader, 8);
	uint64_t value = 0;

	if (at)
		memcpy(&value, at, sizeof(value));
	return value;
}

static pid_t take_id(struct reader *reader)
{
	const void *at = take_bytes(reader, 4);
	pid_t value = 0;

	if (at)
		memcpy(&value, at, sizeof(value));
	return value;
}

/* linux asm/perf_regs.h to DWARF numbers. */
static void take_regs(struct reader *reader, uint64_t reg[RECORD_REGS])
{
#if defined(__x86_64__)
	/* ax bx cx dx si di bp sp ip, then r8 to r15 */
	static const uint8_t dwarf[RECORD_REGS] = { 0,	3,  2,	1,  4, 5,
						    6,	7,  16, 8,  9, 10,
						    11, 12, 13, 14, 15 };
#endif

	for (int i = 0; i < RECORD_REGS; i++)
#if defined(__x86_64__)
		reg[dwarf[i]] = take_u64(reader);
#else
		reg[i] = take_u64(reader);
#endif
}

static void take_stack(struct reader *reader, struct perf_record *record)
{
	uint64_t asked = take_u64(reader), used;

	if (!asked || asked > RECORD_BYTES_MAX)
		return;
	record->stack = take_bytes(reader, asked);
	used = take_u64(reader);
	record->stack_asked = (uint32_t)asked;
	record->stack_bytes = (uint32_t)MIN(used, asked);
}

static void take_sample(struct reader *reader, uint16_t misc,
			struct perf_record *record)
{
	uint64_t ip;

	record->id = take_u64(reader);
	ip = take_u64(reader);
	(void)ip; /* registers have it, of the user's side */
	record->pid = take_id(reader);
	record->tid = take_id(reader);
	record->ns = take_u64(reader);
	record->in_kernel = (misc & PERF_RECORD_MISC_CPUMODE_MASK) ==
			    PERF_RECORD_MISC_KERNEL;
	if (take_u64(reader) == PERF_SAMPLE_REGS_ABI_64) {
		take_regs(reader, record->reg);
		record->has_user = true;
	} else if (!record->in_kernel) {
		/* 32 bits: not ours; its stack is no use without registers. */
		return;
	}
	take_stack(reader, record);
}

/* What sample_id_all puts behind other records: pid, tid, time, id. */
static void take_trailer(struct reader *reader, struct perf_record *record)
{
	struct reader trailer = { reader->end - 24, reader->end, false };

	if (reader->end - reader->at < 24) {
		reader->bad = true;
		return;
	}
	reader->end -= 24;
	record->pid = take_id(&trailer);
	record->tid = take_id(&trailer);
	record->ns = take_u64(&trailer);
	record->id = take_u64(&trailer);
}

static bool take_other_record(struct reader *reader, uint16_t misc,
			      struct perf_record *record)
{
	take_trailer(reader, record);
	switch (record->type) {
	case PERF_RECORD_LOST:
		take_u64(reader);
		record->value = take_u64(reader);
		return true;
	case PERF_RECORD_COMM:
		record->pid = take_id(reader);
		record->tid = take_id(reader);
		record->exec = misc & PERF_RECORD_MISC_COMM_EXEC;
		record->name = (const char *)reader->at;
		return memchr(reader->at, 0,
			      (size_t)(reader->end - reader->at));
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		record->pid = take_id(reader);
		record->parent_pid = take_id(reader);
		record->tid = take_id(reader);
		record->parent_tid = take_id(reader);
		return true;
	case PERF_RECORD_READ:
		record->pid = take_id(reader);
		record->tid = take_id(reader);
		record->value = take_u64(reader);
		record->id = take_u64(reader);
		return true;
	case PERF_RECORD_THROTTLE:
		return true;
	default:
		return false;
	}
}

static void visit_record(const uint8_t *bytes,
			 const struct perf_event_header *header,
			 perf_visit *visit, void *context)
{
	struct perf_record record = { .type = header->type };
	struct reader reader = { bytes + sizeof(*header), bytes + header->size,
				 false };
	bool known = true;

	if (header->type == PERF_RECORD_SAMPLE)
		take_sample(&reader, header->misc, &record);
	else
		known = take_other_record(&reader, header->misc, &record);
	if (known && !reader.bad)
		visit(context, &record);
}

/* --- reading ----------------------------------------------------------------
 */

bool perf_buffers_ready(const struct perf_buffers *buffers)
{
	for (size_t i = 0; i < buffers->count; i++) {
		struct perf_event_mmap_page *page = buffers->buffer[i].page;

		/* order: acq, PERF: as in read_buffer() */
		if (atom_load_acq(&page->data_head) !=
		    /* relaxed: a glance */
		    atom_load_rlx(&page->data_tail))
			return true;
	}
	return false;
}

/* The record at @tail, in one piece. */
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

static void read_buffer(struct perf_buffers *buffers,
			const struct perf_buffer *buffer, perf_visit *visit,
			void *context)
{
	const uint8_t *data = (const uint8_t *)buffer->page + page_bytes();
	/* order: acq, PERF: what lies below it is whole */
	uint64_t head = atom_load_acq(&buffer->page->data_head);
	/* relaxed: only ours to write */
	uint64_t tail = atom_load_rlx(&buffer->page->data_tail);

	while (head - tail >= sizeof(struct perf_event_header) &&
	       head - tail <= buffers->bytes) {
		struct perf_event_header header;

		/* It is aligned to 8 bytes, so it does not wrap. */
		memcpy(&header, data + (tail & (buffers->bytes - 1)),
		       sizeof(header));
		if (header.size < sizeof(header) || header.size > head - tail)
			break;
		visit_record(in_one_piece(buffers, data, tail, header.size),
			     &header, visit, context);
		tail += header.size;
		/* order: rel, PERF: read before it is given back */
		atom_store_rel(&buffer->page->data_tail, tail);
	}
	/* What cannot be is skipped. */
	atom_store_rel(&buffer->page->data_tail, head); /* order: rel, PERF */
}

void perf_buffers_read(struct perf_buffers *buffers, perf_visit *visit,
		       void *context)
{
	for (size_t i = 0; i < buffers->count; i++)
		read_buffer(buffers, &buffers->buffer[i], visit, context);
}
