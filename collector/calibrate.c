/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/calibrate.h"

#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "collector/clock_sync.h"
#include "collector/collect_options.h"
#include "shared/compiler.h"

#define ROUNDS 10
#define PAGES 64
#define POPULATE_WRITE 23 /* MADV_POPULATE_WRITE */

/* The shim touches its ring ahead, a piece at a time. */
static double populate_ns(int fd)
{
	const size_t bytes = PAGES * (size_t)COST_PAGE_BYTES;
	char *pages =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	uint64_t begin = clock_boottime_ns(), end;

	if (pages == MAP_FAILED)
		return 0;
	/* Kernels before 5.14 do not know it: then the pages fault. */
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

static void take_sample(int number)
{
	static char copy[STACK_BYTES_MAX];

	(void)number;
	memcpy(copy, g_stack, MIN(g_stack_bytes, sizeof(copy)));
	__asm__ volatile("" : : "r"(copy) : "memory");
}

double calibrate_sample_ns(uint32_t stack_bytes)
{
	struct sigaction sample = { .sa_handler = take_sample }, before;
	struct sigaction ignore = { .sa_handler = SIG_IGN };
	uint64_t least = UINT64_MAX;
	int round, i;

	g_stack_bytes = stack_bytes;
	if (sigaction(SIGPROF, &sample, &before) < 0)
		return 0;
	for (round = 0; round < ROUNDS; round++) {
		uint64_t start = clock_boottime_ns();

		for (i = 0; i < SAMPLES; i++)
			raise(SIGPROF);
		least = MIN(least, clock_boottime_ns() - start);
	}
	/* Takes away what is pending, should it have been blocked. */
	sigaction(SIGPROF, &ignore, NULL);
	sigaction(SIGPROF, &before, NULL);
	return (double)least / SAMPLES;
}
