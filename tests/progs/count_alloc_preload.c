/* SPDX-License-Identifier: Apache-2.0
 *
 * count_alloc_preload - counts the allocations and frees of a program, so that
 * tests can compare perfrec's totals with an independent count of the same run.
 * LD_PRELOAD lists it after perfrec's shim. The two share no code.
 *
 * The counts of a process image lie in a file that is mapped shared,
 * $COUNT_OUT.NAME.PID.N, as 64-bit words in the order of struct counts. So they
 * are complete at every moment, without work at exit. A forked child starts
 * from zero, with a file of its own and no blocks.
 *
 * One lock around a table of all live blocks: slow and plain. Counting starts
 * when libc knows its environment, as perfrec does. An operator new and the
 * malloc() inside it count as one. Not for programs that allocate in signal
 * handlers.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define ENTRIES (UINT64_C(1) << 23)
#define EARLY_BYTES (64 << 10)
#define ASM(name) __asm__(name)

struct counts {
	uint64_t allocs, alloc_bytes;
	uint64_t frees, free_bytes; /* of blocks that were counted */
	uint64_t foreign; /* frees of others */
	uint64_t lost; /* no room in the table: all is wrong */
};

struct entry {
	uintptr_t address; /* 0: none */
	uint64_t size;
};

static pthread_mutex_t g_lock = PTHREAD_MUTEX_INITIALIZER;
static struct counts *g_counts;
static struct entry *g_entries;
static uint64_t g_live;

/* Deeper than 0: the allocator is at work in an outer call that counts. */
static __thread int t_depth __attribute__((tls_model("initial-exec")));

static struct {
	void *(*malloc)(size_t);
	void *(*calloc)(size_t, size_t);
	void *(*realloc)(void *, size_t);
	void (*free)(void *);
	int (*posix_memalign)(void **, size_t, size_t);
	void *(*aligned_alloc)(size_t, size_t);
	void *(*memalign)(size_t, size_t);
	void *(*valloc)(size_t);
	void *(*pvalloc)(size_t);
} g_real;

/* --- what dlsym() needs while we look for the real ones ------------------ */

static char g_early[EARLY_BYTES] __attribute__((aligned(16)));
static size_t g_early_used;

static void *early(size_t size)
{
	char *block = g_early + g_early_used;

	g_early_used += (size + 15) & ~(size_t)15;
	if (g_early_used > sizeof(g_early))
		abort();
	return block;
}

static bool is_early(const void *block)
{
	return (const char *)block >= g_early &&
	       (const char *)block < g_early + sizeof(g_early);
}

static void find_real(void)
{
	static bool searching;

	if (g_real.pvalloc || searching)
		return;
	searching = true;
	*(void **)&g_real.malloc = dlsym(RTLD_NEXT, "malloc");
	*(void **)&g_real.calloc = dlsym(RTLD_NEXT, "calloc");
	*(void **)&g_real.realloc = dlsym(RTLD_NEXT, "realloc");
	*(void **)&g_real.free = dlsym(RTLD_NEXT, "free");
	*(void **)&g_real.posix_memalign = dlsym(RTLD_NEXT, "posix_memalign");
	*(void **)&g_real.aligned_alloc = dlsym(RTLD_NEXT, "aligned_alloc");
	*(void **)&g_real.memalign = dlsym(RTLD_NEXT, "memalign");
	*(void **)&g_real.valloc = dlsym(RTLD_NEXT, "valloc");
	*(void **)&g_real.pvalloc = dlsym(RTLD_NEXT, "pvalloc");
	searching = false;
}

/* --- the table ----------------------------------------------------------- */

static void *map(size_t bytes, int fd)
{
	void *address =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		     (fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED) |
			     MAP_NORESERVE,
		     fd, 0);

	if (address == MAP_FAILED)
		abort();
	return address;
}

/* A new file: another image of the process may have one already. */
static int open_file(void)
{
	const char *out = getenv("COUNT_OUT");
	char path[4096], name[16] = "";
	int fd = -1, image;

	prctl(PR_GET_NAME, name);
	for (image = 1; fd < 0 && image < 1000; image++) {
		snprintf(path, sizeof(path), "%s.%s.%d.%d",
			 out ? out : "/dev/null", name, (int)getpid(), image);
		fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	}
	return fd;
}

/* Under the lock; allocates nothing. */
static void start(void)
{
	int fd = open_file();

	if (fd < 0 || ftruncate(fd, sizeof(*g_counts)) < 0)
		abort();
	g_counts = map(sizeof(*g_counts), fd);
	close(fd);
	g_entries = map(ENTRIES * sizeof(*g_entries), -1);
}

static void before_fork(void)
{
	pthread_mutex_lock(&g_lock);
}

static void after_fork(void)
{
	pthread_mutex_unlock(&g_lock);
}

static void in_child(void)
{
	if (g_counts) {
		munmap(g_entries, ENTRIES * sizeof(*g_entries));
		g_live = 0;
		start();
	}
	pthread_mutex_unlock(&g_lock);
}

__attribute__((constructor)) static void constructor(void)
{
	pthread_atfork(before_fork, after_fork, in_child);
}

static uint64_t home(uintptr_t address)
{
	return (address >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> (64 - 23);
}

static struct entry *find(uintptr_t address)
{
	uint64_t i = home(address);

	while (g_entries[i].address && g_entries[i].address != address)
		i = (i + 1) & (ENTRIES - 1);
	return &g_entries[i];
}

/* Closes the gap, so that no search ends at it. */
static void take_out(struct entry *entry)
{
	uint64_t gap = (uint64_t)(entry - g_entries), i = gap;

	for (;;) {
		i = (i + 1) & (ENTRIES - 1);
		if (!g_entries[i].address)
			break;
		if (((i - home(g_entries[i].address)) & (ENTRIES - 1)) <
		    ((i - gap) & (ENTRIES - 1)))
			continue;
		g_entries[gap] = g_entries[i];
		gap = i;
	}
	g_entries[gap].address = 0;
	g_live--;
}

static void put_in(uintptr_t address, uint64_t size)
{
	struct entry *entry = find(address);

	g_counts->allocs++;
	g_counts->alloc_bytes += size;
	if (entry->address || g_live > ENTRIES / 4 * 3) {
		g_counts->lost++;
		return;
	}
	*entry = (struct entry){ address, size };
	g_live++;
}

/* --- counting ------------------------------------------------------------ */

static void *allocated(void *block, size_t size)
{
	int saved_errno = errno;

	if (!block || t_depth || !environ)
		return block;
	t_depth++;
	pthread_mutex_lock(&g_lock);
	if (!g_counts)
		start();
	put_in((uintptr_t)block, size);
	pthread_mutex_unlock(&g_lock);
	t_depth--;
	errno = saved_errno;
	return block;
}

/* Its size, or -1 if it was not counted. */
static int64_t freed(const void *block)
{
	struct entry *entry;
	int64_t size = -1;

	if (!block || t_depth || !g_counts)
		return -1;
	pthread_mutex_lock(&g_lock);
	entry = find((uintptr_t)block);
	if (entry->address) {
		size = (int64_t)entry->size;
		g_counts->frees++;
		g_counts->free_bytes += entry->size;
		take_out(entry);
	} else {
		g_counts->foreign++;
	}
	pthread_mutex_unlock(&g_lock);
	return size;
}

/* It was not freed after all. */
static void not_freed(void *block, int64_t size)
{
	if (size < 0)
		return;
	pthread_mutex_lock(&g_lock);
	g_counts->frees--;
	g_counts->free_bytes -= (uint64_t)size;
	g_counts->allocs--;
	g_counts->alloc_bytes -= (uint64_t)size;
	put_in((uintptr_t)block, (uint64_t)size);
	pthread_mutex_unlock(&g_lock);
}

EXPORT void *malloc(size_t size)
{
	find_real();
	return g_real.malloc ? allocated(g_real.malloc(size), size)
			     : early(size);
}

EXPORT void *calloc(size_t count, size_t size)
{
	find_real();
	return g_real.calloc
		       ? allocated(g_real.calloc(count, size), count * size)
		       : early(count * size);
}

EXPORT void free(void *block)
{
	int saved_errno = errno;

	find_real();
	if (is_early(block))
		return;
	freed(block);
	errno = saved_errno;
	g_real.free(block);
}

EXPORT void *realloc(void *old, size_t size)
{
	int64_t before;
	void *block;

	find_real();
	if (is_early(old)) {
		block = malloc(size);
		return block ? memcpy(block, old, size) : NULL;
	}
	before = freed(old);
	block = g_real.realloc(old, size);
	/* realloc(p, 0) frees. */
	if (!block && size)
		not_freed(old, before);
	return allocated(block, size);
}

EXPORT void *reallocarray(void *old, size_t count, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(count, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	return realloc(old, bytes);
}

EXPORT int posix_memalign(void **out, size_t alignment, size_t size)
{
	int error;

	find_real();
	t_depth++;
	error = g_real.posix_memalign(out, alignment, size);
	t_depth--;
	if (!error)
		allocated(*out, size);
	return error;
}

#define ALIGNED(name)                                    \
	EXPORT void *name(size_t alignment, size_t size) \
	{                                                \
		void *block;                             \
                                                         \
		find_real();                             \
		t_depth++;                               \
		block = g_real.name(alignment, size);    \
		t_depth--;                               \
		return allocated(block, size);           \
	}
ALIGNED(aligned_alloc)
ALIGNED(memalign)

#define PAGES(name)                            \
	EXPORT void *name(size_t size)         \
	{                                      \
		void *block;                   \
                                               \
		find_real();                   \
		t_depth++;                     \
		block = g_real.name(size);     \
		t_depth--;                     \
		return allocated(block, size); \
	}
PAGES(valloc)
PAGES(pvalloc)

/* --- operators new and delete ------------------------------------------------
 *
 * libstdc++'s ask malloc() for a byte when they are asked for none, and
 * aligned_alloc() for a multiple of the alignment; those of other allocators
 * call neither malloc() nor free(). A new that throws leaves t_depth behind:
 * the programs here have memory enough.
 */

#define NEW(name, symbol, parameters, arguments)                    \
	EXPORT void *name parameters __asm__(symbol);               \
	EXPORT void *name parameters                                \
	{                                                           \
		static void *(*real)parameters;                     \
		void *block;                                        \
                                                                    \
		if (!real)                                          \
			*(void **)&real = dlsym(RTLD_NEXT, symbol); \
		t_depth++;                                          \
		block = real arguments;                             \
		t_depth--;                                          \
		return allocated(block, size);                      \
	}
NEW(new_plain, "_Znwm", (size_t size), (size))
NEW(new_array, "_Znam", (size_t size), (size))
NEW(new_nothrow, "_ZnwmRKSt9nothrow_t", (size_t size, const void *tag),
    (size, tag))
NEW(new_array_nothrow, "_ZnamRKSt9nothrow_t", (size_t size, const void *tag),
    (size, tag))
NEW(new_aligned, "_ZnwmSt11align_val_t", (size_t size, size_t alignment),
    (size, alignment))
NEW(new_array_aligned, "_ZnamSt11align_val_t", (size_t size, size_t alignment),
    (size, alignment))

#define DELETE(name, symbol, parameters, arguments)                 \
	EXPORT void name parameters __asm__(symbol);                \
	EXPORT void name parameters                                 \
	{                                                           \
		static void(*real) parameters;                      \
                                                                    \
		if (!real)                                          \
			*(void **)&real = dlsym(RTLD_NEXT, symbol); \
		freed(block);                                       \
		t_depth++;                                          \
		real arguments;                                     \
		t_depth--;                                          \
	}
DELETE(delete_plain, "_ZdlPv", (void *block), (block))
DELETE(delete_array, "_ZdaPv", (void *block), (block))
DELETE(delete_sized, "_ZdlPvm", (void *block, size_t size), (block, size))
DELETE(delete_array_sized, "_ZdaPvm", (void *block, size_t size), (block, size))
DELETE(delete_aligned, "_ZdlPvSt11align_val_t", (void *block, size_t alignment),
       (block, alignment))
DELETE(delete_aligned_sized, "_ZdlPvmSt11align_val_t",
       (void *block, size_t size, size_t alignment), (block, size, alignment))
