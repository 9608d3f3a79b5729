/* SPDX-License-Identifier: Apache-2.0
 *
 * alloc_victim - allocates and logs its calls (alloc_log.h).
 *
 *   alloc_victim family|threads|fork|outlive|busy LOG [COUNT]
 *
 * family: each function, including failing calls. threads: 16 threads with
 * COUNT blocks each, freed by other threads. fork: a child frees blocks of its
 * parent. outlive: a thread ends before its blocks. busy: COUNT blocks of 1
 * KiB, all kept, for samples.
 */
#include <err.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "shared/atomic.h"
#include "tests/shim/victims/alloc_log.h"

#define THREADS 16
#define HANDED 64

/* Defined by the shim; some C libraries lack them. */
__attribute__((weak)) void free_sized(void *block, size_t size);
__attribute__((weak)) void free_aligned_sized(void *block, size_t alignment,
					      size_t size);

/* volatile: compilers optimize known functions. */
static void *(*volatile g_malloc)(size_t) = malloc;
static void *(*volatile g_calloc)(size_t, size_t) = calloc;
static void *(*volatile g_realloc)(void *, size_t) = realloc;
static void *(*volatile g_reallocarray)(void *, size_t, size_t) = reallocarray;

static struct alloc_log *g_log;
static long g_count;
static void *g_handed[HANDED];

static struct log_thread *log_start(unsigned int index)
{
	struct log_thread *log = &g_log->thread[index];

	log->tid = (uint64_t)syscall(SYS_gettid);
	log_mark();
	return log;
}

static void *logged(struct log_thread *log, void *block, size_t size)
{
	if (!block)
		errx(1, "out of memory");
	log_add(log, LOG_ALLOC, block, size, NULL);
	memset(block, 0x5a, size);
	return block;
}

static void logged_free(struct log_thread *log, void *block)
{
	log_add(log, LOG_FREE, block, 0, NULL);
	free(block);
}

static void *logged_realloc(struct log_thread *log, void *old, size_t size)
{
	uintptr_t was = (uintptr_t)old;
	void *block = g_realloc(old, size);

	log_add(log, LOG_REALLOC, block, size, (void *)was);
	return block;
}

static void must_fail(bool failed)
{
	if (!failed || errno != ENOMEM)
		errx(1, "the call did not fail with ENOMEM");
	errno = 0;
}

static void resize(struct log_thread *log)
{
	size_t huge = SIZE_MAX / 2 + 1;
	void *block = g_realloc(NULL, 10);
	void *kept;

	logged(log, block, 10);
	block = logged_realloc(log, block, 100);
	block = logged_realloc(log, block, 1 << 20);
	block = logged_realloc(log, block, 20);
	kept = block;
	errno = 0;
	must_fail(!g_realloc(block, huge));
	must_fail(!g_reallocarray(block, huge, 4));
	must_fail(!g_malloc(huge));
	must_fail(!g_calloc(huge, 4));
	block = g_reallocarray(kept, 7, 11);
	log_add(log, LOG_REALLOC, block, 77, kept);
	/* glibc frees the block and returns NULL. */
	log_add(log, LOG_FREE, block, 0, NULL);
	if (g_realloc(block, 0))
		errx(1, "realloc(p, 0)");
}

static void family(void)
{
	struct log_thread *log = log_start(0);
	size_t sizes[] = { 0, 1, 8, 100, 32767, 32768, 200000, 5 << 20 };
	void *block;
	unsigned int i;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		size_t size = sizes[i];

		logged_free(log, logged(log, g_malloc(size), size));
		logged_free(log, logged(log, g_calloc(3, size), 3 * size));
		logged_free(log, logged(log, g_reallocarray(NULL, 2, size),
					2 * size));
		logged_free(log, logged(log, memalign(64, size), size));
		logged_free(log, logged(log, aligned_alloc(4096, size), size));
		logged_free(log, logged(log, valloc(size), size));
		block = logged(log, pvalloc(size), size);
		log_add(log, LOG_FREE, block, 0, NULL);
		free_sized(block, size);
		if (posix_memalign(&block, 1 << (3 + i), size))
			err(1, "posix_memalign");
		logged(log, block, size);
		log_add(log, LOG_FREE, block, 0, NULL);
		free_aligned_sized(block, 1 << (3 + i), size);
	}
	block = log;
	if (posix_memalign(&block, 3, 10) != EINVAL || block != log)
		errx(1, "posix_memalign");
	free(NULL);
	resize(log);
	log_mark();
}

/* Each thread replaces another thread's block and frees that. */
static void *pass_on(void *index)
{
	unsigned int self = (unsigned int)(uintptr_t)index;
	struct log_thread *log = log_start(self);
	long i;

	for (i = 0; i < g_count; i++) {
		size_t size = 1 + (size_t)(i * 37 + self) % 500;
		void *block = logged(log, g_malloc(size), size);

		block = atom_xchg_sc(&g_handed[(i + self * 7) % HANDED], block);
		if (block)
			logged_free(log, block);
	}
	log_mark();
	return NULL;
}

static void run_threads(void)
{
	pthread_t threads[THREADS];
	uintptr_t i;

	for (i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, pass_on, (void *)i))
			errx(1, "pthread_create");
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

static void run_fork(void)
{
	struct log_thread *log = log_start(0);
	void *block = logged(log, g_malloc(1000), 1000);
	void *other = logged(log, g_malloc(2000), 2000);
	pid_t child = fork();
	int status;

	if (!child) {
		log = log_start(1);
		logged_free(log, block);
		logged_free(log, logged(log, g_malloc(3000), 3000));
		log_mark();
		_exit(0);
	}
	if (waitpid(child, &status, 0) != child || status)
		errx(1, "the child failed");
	logged_free(log, block);
	logged_free(log, other);
	log_mark();
}

static void *leave_blocks(void *unused)
{
	struct log_thread *log = log_start(1);
	long i;

	(void)unused;
	for (i = 0; i < HANDED; i++)
		g_handed[i] = logged(log, g_malloc(100), 100);
	log_mark();
	return NULL;
}

static void run_outlive(void)
{
	struct log_thread *log;
	pthread_t thread;
	int i;

	if (pthread_create(&thread, NULL, leave_blocks, NULL))
		errx(1, "pthread_create");
	pthread_join(thread, NULL);
	log = log_start(0);
	for (i = 0; i < HANDED; i++)
		logged_free(log, g_handed[i]);
	log_mark();
}

static void run_busy(void)
{
	struct log_thread *log = log_start(0);
	void **kept = g_calloc((size_t)g_count, sizeof(*kept));
	long i;

	for (i = 0; i < g_count; i++)
		kept[i] = g_malloc(1024);
	log_mark();
	for (i = 0; i < g_count; i++)
		free(kept[i]);
	log->count = (uint64_t)g_count;
	free(kept);
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	g_log = log_map(argv[2]);
	g_count = argc > 3 ? strtol(argv[3], NULL, 10) : 0;
	if (!strcmp(argv[1], "family"))
		family();
	else if (!strcmp(argv[1], "threads"))
		run_threads();
	else if (!strcmp(argv[1], "fork"))
		run_fork();
	else if (!strcmp(argv[1], "outlive"))
		run_outlive();
	else if (!strcmp(argv[1], "busy"))
		run_busy();
	else
		return 2;
	return 0;
}
