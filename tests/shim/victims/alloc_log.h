/* SPDX-License-Identifier: Apache-2.0
 *
 * alloc_log - the calls of test_alloc's victims, in a file that the victim and
 * the test map: per thread in order, between two blocks of MARK_BYTES that are
 * freed at once. Nothing here allocates. Also for C++.
 */
#ifndef PERFREC_TESTS_SHIM_ALLOC_LOG_H
#define PERFREC_TESTS_SHIM_ALLOC_LOG_H

#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define LOG_THREADS 20
#define LOG_EVENTS 65536
#define MARK_BYTES 31337

enum log_op { LOG_ALLOC = 1, LOG_FREE = 2, LOG_REALLOC = 3 };

struct log_event {
	uint64_t op; /* enum log_op */
	uint64_t address;
	uint64_t size;
	uint64_t old; /* for LOG_REALLOC */
};

struct log_thread {
	uint64_t tid;
	uint64_t count;
	struct log_event event[LOG_EVENTS];
};

struct alloc_log {
	uint64_t steps; /* of alloc_step_victim */
	struct log_thread thread[LOG_THREADS];
};

/* Extends the file at @path. */
static inline struct alloc_log *log_map(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	void *log;

	if (fd < 0 || ftruncate(fd, sizeof(struct alloc_log)))
		_exit(3);
	log = mmap(NULL, sizeof(struct alloc_log), PROT_READ | PROT_WRITE,
		   MAP_SHARED, fd, 0);
	close(fd);
	if (log == MAP_FAILED)
		_exit(3);
	return (struct alloc_log *)log;
}

static inline void log_add(struct log_thread *thread, enum log_op op,
			   const void *block, uint64_t size, const void *old)
{
	struct log_event *event = &thread->event[thread->count++];

	event->op = op;
	event->address = (uintptr_t)block;
	event->size = size;
	event->old = (uintptr_t)old;
}

/* volatile: a compiler may remove a malloc() that is freed at once. */
static inline void log_mark(void)
{
	void *volatile mark = malloc(MARK_BYTES);

	free(mark);
}

#endif
