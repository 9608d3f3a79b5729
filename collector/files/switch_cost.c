/* SPDX-License-Identifier: Apache-2.0
 *
 * Two threads on one CPU hand a byte to each other through two pipes. A round
 * is two switches, each of a thread that blocks to the other. The least time of
 * some rounds with events in both threads, less the least time without, is what
 * the events take. Batches without come before and after those with, as clocks
 * of CPUs change.
 */
#include "collector/files/switch_cost.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "collector/base/clock.h"
#include "collector/base/lock.h"
#include "collector/samples/perf_open.h"
#include "shared/atomic.h"
#include "shared/compiler.h"

#define BATCHES 8 /* with events; as many without */
#define ROUNDS 100 /* of a batch; their records fit into the buffer */
#define BUFFER_PAGES 8 /* a power of two, and less than any user may lock */
#define TIME_NS_MAX 200000000 /* that all of it may take */

/* What the byte says to the other thread, which answers with it, or: */
enum { GO_ON, OPEN, CLOSE, FAILED };

struct pair {
	const struct perf_wanted *wanted;
	int cpu; /* that both run on */
	int there[2], back[2]; /* pipes to the other thread, and from it */
	int output; /* event of the caller, with the buffer of both */
	struct perf_event_mmap_page *page;
	uint64_t end_ns; /* when it has taken too long */
};

/* Two such measurements at a time would measure each other. */
static struct lock g_lock = LOCK_INITIALIZER(CALIBRATE);

/* An event of the calling thread, with its records in those of @output, if that
 * is one; -1: there is none. */
static int open_event(const struct pair *pair, int output)
{
	int fd = perf_open_self_on(pair->wanted, pair->cpu);

	if (fd < 0)
		return -1;
	if (output >= 0 && ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, output) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

static void close_event(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static char do_what(const struct pair *pair, char what, int *event)
{
	if (what == CLOSE)
		close_event(event);
	if (what != OPEN)
		return what;
	*event = open_event(pair, pair->output);
	return *event >= 0 && !ioctl(*event, PERF_EVENT_IOC_ENABLE, 0) ? OPEN
								       : FAILED;
}

/* The other thread: until nobody can write to it. */
static void *answer(void *context)
{
	struct pair *pair = context;
	int event = -1;
	char what;

	pthread_setname_np(pthread_self(), "perfrec-switch");
	while (read(pair->there[0], &what, 1) == 1) {
		what = do_what(pair, what, &event);
		if (write(pair->back[1], &what, 1) != 1)
			break;
	}
	close_event(&event);
	close(pair->back[1]);
	return NULL;
}

/* Whether the other thread has done @what. */
static bool tell(const struct pair *pair, char what)
{
	char done;

	return write(pair->there[1], &what, 1) == 1 &&
	       read(pair->back[0], &done, 1) == 1 && done == what;
}

/* What a batch takes, in ns; UINT64_MAX: it failed. */
static uint64_t batch_ns(const struct pair *pair)
{
	uint64_t start;

	if (pair->page)
		/* relaxed, both: nobody reads the records */
		atom_store_rlx(&pair->page->data_tail,
			       atom_load_rlx(&pair->page->data_head));
	start = clock_boottime_ns();
	if (start > pair->end_ns)
		return UINT64_MAX;
	for (int i = 0; i < ROUNDS; i++)
		if (!tell(pair, GO_ON))
			return UINT64_MAX;
	return clock_boottime_ns() - start;
}

static uint64_t least_ns(const struct pair *pair, int batches, uint64_t least)
{
	for (int i = 0; i < batches; i++)
		least = MIN(least, batch_ns(pair));
	return least;
}

static uint64_t with_events_ns(struct pair *pair)
{
	size_t bytes = (BUFFER_PAGES + 1) * (size_t)sysconf(_SC_PAGESIZE);
	uint64_t least = UINT64_MAX;
	void *page = MAP_FAILED;

	pair->output = open_event(pair, -1);
	if (pair->output >= 0)
		page = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
			    pair->output, 0);
	if (page != MAP_FAILED) {
		pair->page = page;
		if (!ioctl(pair->output, PERF_EVENT_IOC_ENABLE, 0) &&
		    tell(pair, OPEN))
			least = least_ns(pair, BATCHES, UINT64_MAX);
		(void)tell(pair, CLOSE);
		pair->page = NULL;
		munmap(page, bytes);
	}
	close_event(&pair->output);
	return least;
}

/* What a switch takes longer, while the other thread answers. */
static double difference_ns(struct pair *pair)
{
	uint64_t without, with;

	pair->end_ns = clock_boottime_ns() + TIME_NS_MAX;
	without = least_ns(pair, BATCHES / 2, UINT64_MAX);
	with = with_events_ns(pair);
	without = least_ns(pair, BATCHES / 2, without);
	if (with == UINT64_MAX || with <= without)
		return 0;
	return (double)(with - without) / (2.0 * ROUNDS);
}

static double with_other_thread(struct pair *pair)
{
	pthread_t other;
	double ns = 0;

	if (pthread_create(&other, NULL, answer, pair)) {
		close(pair->back[1]);
		close(pair->there[1]);
	} else {
		ns = difference_ns(pair);
		close(pair->there[1]);
		pthread_join(other, NULL);
	}
	return ns;
}

static double with_pipes(struct pair *pair)
{
	double ns = 0;

	if (pipe2(pair->there, O_CLOEXEC) < 0)
		return 0;
	if (pipe2(pair->back, O_CLOEXEC) < 0) {
		close(pair->there[1]);
	} else {
		ns = with_other_thread(pair);
		close(pair->back[0]);
	}
	close(pair->there[0]);
	return ns;
}

double switch_cost_ns(const struct perf_wanted *wanted)
{
	struct pair pair = { .wanted = wanted, .output = -1 };
	cpu_set_t before, one;
	double ns = 0;

	pair.cpu = sched_getcpu();
	if (pair.cpu < 0 || pair.cpu >= CPU_SETSIZE ||
	    sched_getaffinity(0, sizeof(before), &before) < 0)
		return 0;
	CPU_ZERO(&one);
	CPU_SET(pair.cpu, &one);
	lock_acquire(&g_lock);
	/* The other thread inherits it. */
	if (!sched_setaffinity(0, sizeof(one), &one)) {
		ns = with_pipes(&pair);
		(void)sched_setaffinity(0, sizeof(before), &before);
	}
	lock_release(&g_lock);
	return ns;
}
