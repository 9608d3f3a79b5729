/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/files/calibrate.h"

#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "collector/base/clock.h"
#include "collector/base/lock.h"
#include "collector/base/perf_open.h"
#include "collector/options/collect_options.h"
#include "collector/samples/perf_events.h"
#include "shared/atomic.h"
#include "shared/compiler.h"

#define ROUNDS 10
#define PAGES 64
#define POPULATE_WRITE 23 /* MADV_POPULATE_WRITE */

/* The copy of the shim's code has one ring, and a signal has one handler. */
static struct lock g_lock = LOCK_INITIALIZER(CALIBRATE);

double calibrate_own_ns(enum own_cost_kind kind, bool ticks)
{
	return LOCKED(&g_lock, own_cost_ns(kind, ticks));
}

struct own_cost_halves calibrate_own_halves(enum own_cost_kind kind, bool ticks)
{
	return LOCKED(&g_lock, own_cost_halves(kind, ticks));
}

double calibrate_own_sample_ns(uint32_t stack_bytes)
{
	return LOCKED(&g_lock, own_cost_sample_ns(stack_bytes));
}

/* Returns the ns to touch a page of @fd. Touches several pages at once, as the
 * shim does in its ring. */
static double populate_ns(int fd)
{
	const size_t bytes = PAGES * (size_t)COST_PAGE_BYTES;
	char *pages =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	uint64_t begin = clock_boottime_ns(), end;

	if (pages == MAP_FAILED)
		return 0;
	/* Kernels before 5.14 do not know this: then each page faults. */
	if (madvise(pages, bytes, POPULATE_WRITE) < 0)
		for (size_t i = 0; i < bytes; i += COST_PAGE_BYTES)
			((volatile char *)pages)[i] = 1;
	end = clock_boottime_ns();
	munmap(pages, bytes);
	return (double)(end - begin) / PAGES;
}

struct calibrated_page calibrate_page(void)
{
	struct calibrated_page least = { 0 };

	for (int round = 0; round < 3; round++) {
		int fd = memfd_create("perfrec-page", MFD_CLOEXEC);
		double first, again;

		if (fd < 0 ||
		    ftruncate(fd, PAGES * (off_t)COST_PAGE_BYTES) < 0) {
			if (fd >= 0)
				close(fd);
			return least;
		}
		first = populate_ns(fd);
		again = populate_ns(fd);
		close(fd);
		least.first_ns = round ? MIN(least.first_ns, first) : first;
		least.again_ns = round ? MIN(least.again_ns, again) : again;
	}
	return least;
}

#define SAMPLES 50

static char g_stack[STACK_BYTES_MAX];
static volatile uint32_t g_stack_bytes;

static void copy_stack(int number)
{
	static char copy[STACK_BYTES_MAX];

	(void)number;
	memcpy(copy, g_stack, MIN(g_stack_bytes, sizeof(copy)));
	__asm__ volatile("" : : "r"(copy) : "memory");
}

double calibrate_signal_ns(uint32_t stack_bytes)
{
	struct sigaction sample = { .sa_handler = copy_stack }, before;
	struct sigaction ignore = { .sa_handler = SIG_IGN };
	uint64_t least = UINT64_MAX;
	double ns = 0;

	lock_acquire(&g_lock);
	g_stack_bytes = stack_bytes;
	if (!sigaction(SIGPROF, &sample, &before)) {
		for (int round = 0; round < ROUNDS; round++) {
			uint64_t start = clock_boottime_ns();

			for (int i = 0; i < SAMPLES; i++)
				raise(SIGPROF);
			least = MIN(least, clock_boottime_ns() - start);
		}
		/* If SIGPROF was blocked, one is pending: discard it. */
		sigaction(SIGPROF, &ignore, NULL);
		sigaction(SIGPROF, &before, NULL);
		ns = (double)least / SAMPLES;
	}
	lock_release(&g_lock);
	return ns;
}

#define TRIES 5
#define MIDDLE 5
#define GAPS (2 * MIDDLE + 1)
#define GAP_MIN_NS 1000 /* only an interrupt takes longer */
#define GAP_PERIOD_NS 200000 /* between two samples */
#define GAP_TIME_NS 10000000 /* that one try may take */
#define BUFFER_PAGES 128 /* a power of two; any user may lock as many */

static int compare_gaps(const void *a, const void *b)
{
	const uint64_t *left = a, *right = b;

	return (*left > *right) - (*left < *right);
}

/* Returns the median ns of interruptions of this loop; most interruptions are
 * samples. 0: there were too few. */
static double median_gap_ns(struct perf_event_mmap_page *page)
{
	uint64_t gap[GAPS], now = clock_boottime_ns(), before = now;
	uint64_t end = now + GAP_TIME_NS;
	size_t count = 0;

	while (count < GAPS && now < end) {
		now = clock_boottime_ns();
		if (now - before > GAP_MIN_NS) {
			gap[count++] = now - before;
			/* relaxed, both: nobody reads the samples */
			atom_store_rlx(&page->data_tail,
				       atom_load_rlx(&page->data_head));
			now = clock_boottime_ns();
		}
		before = now;
	}
	if (count < GAPS)
		return 0;
	qsort(gap, GAPS, sizeof(gap[0]), compare_gaps);
	return (double)gap[MIDDLE];
}

/* A sample costs the program this many times the ns that the kernel takes for
 * it, because it also drives the program out of caches and branch predictors.
 * Lua and a C++ parser at 4,000 samples a second, against none, paid 22 to 36
 * us, where the kernel took 14 to 20. */
#define PERF_COLD 1.6

double calibrate_perf_ns(uint32_t stack_bytes)
{
	/* A sample copies what lies above the stack pointer: this. */
	volatile char stack[STACK_BYTES_MAX];
	const size_t bytes = (BUFFER_PAGES + 1) * (size_t)sysconf(_SC_PAGESIZE);
	const struct perf_wanted wanted = {
		.period_ns = GAP_PERIOD_NS,
		.stack_bytes = stack_bytes,
		.no_kernel = !perf_events_kernel(),
	};
	int fd = perf_open_self(&wanted);
	void *page;
	double ns;

	if (fd < 0)
		return 0;
	page = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED) {
		close(fd);
		return 0;
	}
	for (size_t i = 0; i < sizeof(stack); i++)
		stack[i] = 0;
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	/* The least of some tries: another program can only add to one. */
	ns = 0;
	for (int i = 0; i < TRIES; i++) {
		double gap_ns = median_gap_ns(page);

		if (gap_ns > 0 && (ns <= 0 || gap_ns < ns))
			ns = gap_ns;
	}
	munmap(page, bytes);
	close(fd);
	return ns * PERF_COLD;
}
