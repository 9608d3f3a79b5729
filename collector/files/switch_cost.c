/* SPDX-License-Identifier: Apache-2.0
 *
 * Two threads on one CPU hand a byte to each other through two pipes. A round
 * is two switches, each of a thread that blocks to the other. The least CPU
 * time of some rounds with events in both threads, less the least without, is
 * what the events take. Batches with and without take turns, as clocks of CPUs
 * change. CPU time, as wall time has what other programs do on that CPU: on a
 * busy machine a switch "cost" 94 us.
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
#include <time.h>
#include <unistd.h>

#include "collector/base/clock.h"
#include "collector/base/lock.h"
#include "collector/base/perf_open.h"
#include "shared/compiler.h"

#define BATCHES 24 /* of each kind; short, as others use the CPU, too */
#define ROUNDS 40 /* of a batch; their records fit into the buffer */
#define WARM_ROUNDS 4 /* before these */
#define BUFFER_PAGES 8 /* a power of two, and less than any user may lock */
#define TIME_NS_MAX 200000000 /* that all of it may take */

/* Values of the byte for the other thread, which answers with it or FAILED. */
enum { GO_ON, OPEN, CLOSE, FAILED };

struct pair {
	struct perf_wanted wanted;
	int cpu; /* that both run on */
	int there[2], back[2]; /* pipes to the other thread, and from it */
	int output; /* event of the caller, with the buffer of both */
	uint64_t end_ns; /* when it has taken too long */
	clockid_t other; /* CPU time of the other thread */
};

/* Two such measurements at a time would measure each other. */
static struct lock g_lock = LOCK_INITIALIZER(CALIBRATE);

/* Opens an event of the calling thread. Its records go to the buffer of event
 * @output, unless that is -1. Returns the descriptor, or -1. */
static int open_event(const struct pair *pair, int output)
{
	int fd = perf_open_self_on(&pair->wanted, pair->cpu);

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

/* The other thread of @context, a pair. Runs until the pipe has no writer. */
static void *answer_partner(void *context)
{
	struct pair *pair = context;
	int event = -1;
	char what;

	pthread_setname_np(pthread_self(), "perfrec-switch");
	while (read(pair->there[0], &what, 1) == 1) {
		if (what == CLOSE)
			close_event(&event);
		if (what == OPEN) {
			event = open_event(pair, pair->output);
			if (event < 0 || ioctl(event, PERF_EVENT_IOC_ENABLE, 0))
				what = FAILED;
		}
		if (write(pair->back[1], &what, 1) != 1)
			break;
	}
	close_event(&event);
	close(pair->back[1]);
	return NULL;
}

/* Returns true if the other thread has done @what. */
static bool tell_partner(const struct pair *pair, char what)
{
	char done;

	return write(pair->there[1], &what, 1) == 1 &&
	       read(pair->back[0], &done, 1) == 1 && done == what;
}

static bool go_rounds(const struct pair *pair, int rounds)
{
	while (rounds && tell_partner(pair, GO_ON))
		rounds--;
	return !rounds;
}

static uint64_t read_clock(clockid_t clock)
{
	struct timespec time = { 0 };

	clock_gettime(clock, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static uint64_t both_ns(const struct pair *pair)
{
	return read_clock(CLOCK_THREAD_CPUTIME_ID) + read_clock(pair->other);
}

/* Returns the CPU ns of both threads for a batch; UINT64_MAX: it failed. */
static uint64_t batch_ns(const struct pair *pair)
{
	uint64_t start;

	if (!go_rounds(pair, WARM_ROUNDS))
		return UINT64_MAX;
	start = both_ns(pair);
	if (clock_boottime_ns() > pair->end_ns || !go_rounds(pair, ROUNDS))
		return UINT64_MAX;
	return both_ns(pair) - start;
}

/* As batch_ns(), with events of both threads. */
static uint64_t batch_with_events_ns(struct pair *pair)
{
	size_t bytes = (BUFFER_PAGES + 1) * (size_t)sysconf(_SC_PAGESIZE);
	uint64_t ns = UINT64_MAX;
	void *page = MAP_FAILED;

	pair->output = open_event(pair, -1);
	if (pair->output >= 0)
		page = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
			    pair->output, 0);
	if (page != MAP_FAILED) {
		if (!ioctl(pair->output, PERF_EVENT_IOC_ENABLE, 0) &&
		    tell_partner(pair, OPEN))
			ns = batch_ns(pair);
		(void)tell_partner(pair, CLOSE);
		munmap(page, bytes);
	}
	close_event(&pair->output);
	return ns;
}

static double each_ns(uint64_t with, uint64_t without)
{
	if (with == UINT64_MAX || with <= without)
		return 0;
	return (double)(with - without) / (2.0 * ROUNDS);
}

/* Call while the other thread answers. */
static struct switch_costs compare_switches(struct pair *pair)
{
	uint64_t without = UINT64_MAX, sampled = UINT64_MAX, told = UINT64_MAX;
	struct switch_costs costs;

	pair->end_ns = clock_boottime_ns() + TIME_NS_MAX;
	for (int i = 0; i < BATCHES; i++) {
		without = MIN(without, batch_ns(pair));
		pair->wanted.switches = false;
		/* Without samples there would be no events. */
		if (pair->wanted.period_ns)
			sampled = MIN(sampled, batch_with_events_ns(pair));
		pair->wanted.switches = true;
		told = MIN(told, batch_with_events_ns(pair));
	}
	costs.all_ns = each_ns(told, without);
	costs.told_ns = each_ns(told, MAX(MIN(sampled, told), without));
	if (!pair->wanted.period_ns)
		costs.told_ns = costs.all_ns;
	return costs;
}

static struct switch_costs with_pipes(struct pair *pair)
{
	struct switch_costs costs = { 0 };
	pthread_t other;

	if (pipe2(pair->there, O_CLOEXEC) < 0)
		return costs;
	if (pipe2(pair->back, O_CLOEXEC) < 0) {
		close(pair->there[1]);
	} else {
		if (pthread_create(&other, NULL, answer_partner, pair)) {
			close(pair->back[1]);
			close(pair->there[1]);
		} else {
			if (!pthread_getcpuclockid(other, &pair->other))
				costs = compare_switches(pair);
			close(pair->there[1]);
			pthread_join(other, NULL);
		}
		close(pair->back[0]);
	}
	close(pair->there[0]);
	return costs;
}

struct switch_costs switch_cost_measure(const struct perf_wanted *wanted)
{
	struct pair pair = { .wanted = *wanted, .output = -1 };
	struct switch_costs costs = { 0 };
	cpu_set_t before, one;

	pair.cpu = sched_getcpu();
	if (pair.cpu < 0 || pair.cpu >= CPU_SETSIZE ||
	    sched_getaffinity(0, sizeof(before), &before) < 0)
		return costs;
	CPU_ZERO(&one);
	CPU_SET(pair.cpu, &one);
	lock_acquire(&g_lock);
	/* The other thread inherits it. */
	if (!sched_setaffinity(0, sizeof(one), &one)) {
		costs = with_pipes(&pair);
		(void)sched_setaffinity(0, sizeof(before), &before);
	}
	lock_release(&g_lock);
	return costs;
}
