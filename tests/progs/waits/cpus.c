/* SPDX-License-Identifier: Apache-2.0
 *
 * cpus FAMILY [N] - threads that need CPUs, and the truth about their time
 * (truth.h). FAMILY is a line of g_families; N is the amount of work.
 */
#include <dlfcn.h>
#include <linux/futex.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <sys/mman.h>

#include "shared/atomic.h"
#include "truth.h"

static long g_much;

/* split: 30 % in one function, 70 % in another, half of it in the kernel - */

static char g_buffer[1 << 16];

static void in_kernel(long us)
{
	long end = truth_clock(CLOCK_THREAD_CPUTIME_ID) + us * 1000;
	int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);

	do {
		if (read(zero, g_buffer, sizeof(g_buffer)) < 0)
			abort();
	} while (truth_clock(CLOCK_THREAD_CPUTIME_ID) < end);
	close(zero);
}

static void three_tenths(long us)
{
	truth_spend_us(us);
}

static void seven_tenths(long us)
{
	truth_spend_us(us * 2 / 7);
	in_kernel(us * 5 / 7);
}

static void *split_thread(void *sleeps)
{
	for (long i = 0; i < g_much; i++) {
		TRUTH_CALL(three_tenths, 3000);
		TRUTH_CALL(seven_tenths, 7000);
		if (sleeps)
			truth_sleep_us(5000);
	}
	return NULL;
}

static void split(void)
{
	truth_join(truth_start(split_thread, NULL));
}

static void split_sleeping(void)
{
	truth_join(truth_start(split_thread, ""));
}

/* preempted: the same on a CPU that it shares with other threads -------- */

static int g_over;

static void run_until_over(void)
{
	/* relaxed: somewhen */
	while (!atom_load_rlx(&g_over))
		truth_spend_us(500);
}

static void *other_thread(void *unused)
{
	(void)unused;
	TRUTH_CALL(run_until_over);
	return NULL;
}

static void beside(int count, void *(*run)(void *))
{
	struct truth_thread *others[8];

	truth_pin(0);
	for (int i = 0; i < count; i++)
		others[i] = truth_start(other_thread, NULL);
	truth_join(truth_start(run, NULL));
	/* relaxed: somewhen */
	atom_store_rlx(&g_over, 1);
	for (int i = 0; i < count; i++)
		truth_join(others[i]);
}

static void preempted(void)
{
	beside(2, split_thread);
}

static void busy(long us)
{
	truth_spend_us(us);
}

static void *busy_thread(void *unused)
{
	(void)unused;
	TRUTH_CALL(busy, g_much * 1000);
	return NULL;
}

static void busy_alone(void)
{
	truth_join(truth_start(busy_thread, NULL));
}

static void overcommitted(void)
{
	beside(4, busy_thread);
}

/* sleeper: runs 100 us and sleeps 300, beside others or alone ----------- */

static void doze(void)
{
	truth_sleep_us(300);
}

static void *sleeper(void *unused)
{
	(void)unused;
	for (long i = 0; i < g_much; i++) {
		busy(100);
		doze();
	}
	return NULL;
}

static void sleeper_alone(void)
{
	truth_join(truth_start(sleeper, NULL));
}

static void sleeper_loaded(void)
{
	beside(2, sleeper);
}

/* pingpong: two threads on one CPU, by turns ---------------------------- */

struct table {
	_Alignas(64) int turn;
	long turns;
	int cpu;
};

static void take_turns(struct table *table, int me)
{
	for (long i = 0; i < table->turns; i++) {
		/* order: acq: pairs with the store below */
		while (atom_load_acq(&table->turn) != me)
			syscall(SYS_futex, &table->turn, FUTEX_WAIT_PRIVATE,
				!me, NULL, NULL, 0);
		/* order: rel: pairs with the load above */
		atom_store_rel(&table->turn, !me);
		syscall(SYS_futex, &table->turn, FUTEX_WAKE_PRIVATE, 1, NULL,
			NULL, 0);
	}
}

static void *first_player(void *table)
{
	truth_pin(((struct table *)table)->cpu);
	TRUTH_CALL(take_turns, table, 0);
	return NULL;
}

static void *second_player(void *table)
{
	truth_pin(((struct table *)table)->cpu);
	TRUTH_CALL(take_turns, table, 1);
	return NULL;
}

static void play(int tables)
{
	static struct table all[2];
	struct truth_thread *players[4];

	for (int i = 0; i < tables; i++) {
		all[i].turns = g_much;
		all[i].cpu = i;
		players[2 * i] = truth_start(first_player, &all[i]);
		players[2 * i + 1] = truth_start(second_player, &all[i]);
	}
	for (int i = 0; i < 2 * tables; i++)
		truth_join(players[i]);
}

static void pingpong(void)
{
	play(1);
}

/* storm: a pair on each of two CPUs; as many switches as there can be. */
static void storm(void)
{
	play(2);
}

/* swaps: threads of equal contexts run by turns on one CPU, and work in
 * their turns; some are ended while others go on ------------------------- */

static pthread_mutex_t g_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t g_changed = PTHREAD_COND_INITIALIZER;
static long g_turn;

#define SWAPPERS 4

static void await_turn(long turn)
{
	pthread_mutex_lock(&g_lock);
	while (g_turn < turn)
		pthread_cond_wait(&g_changed, &g_lock);
	pthread_mutex_unlock(&g_lock);
}

static void have_turn(long number)
{
	truth_spend_us(50 + 100 * number);
	pthread_mutex_lock(&g_lock);
	g_turn++;
	pthread_cond_broadcast(&g_changed);
	pthread_mutex_unlock(&g_lock);
}

static void *swapper(void *number)
{
	long me = (long)number;

	truth_pin(0);
	for (long i = 0; i < g_much; i++) {
		TRUTH_CALL(await_turn, i * SWAPPERS + me);
		TRUTH_CALL(have_turn, me);
	}
	return NULL;
}

/* A library that is there before the recording makes threads of its own, which
 * wait for something to run (tests/e2e/waits/at-hello.sh). */
typedef pthread_t early_go(void *(*run)(void *), void *argument);

static struct truth_thread *start_early(long number)
{
	early_go *go = (early_go *)dlsym(RTLD_DEFAULT, "early_go");
	struct truth_thread *truth;

	if (!go || number >= SWAPPERS / 2)
		return truth_start(swapper, (void *)number);
	truth = truth_new(swapper, (void *)number);
	truth->thread = go(truth_run, truth);
	return truth;
}

static void swaps(void)
{
	struct truth_thread *threads[SWAPPERS];

	for (long i = 0; i < SWAPPERS; i++)
		threads[i] = start_early(i);
	for (long i = 0; i < SWAPPERS; i++)
		truth_join(threads[i]);
}

/* faults: touches pages, which are new --------------------------------- */

static void touch(long pages)
{
	size_t bytes = (size_t)pages * 4096;
	char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		abort();
	madvise(memory, bytes, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < bytes; i += 4096)
		memory[i] = 1;
	munmap(memory, bytes);
}

static void *touching(void *unused)
{
	(void)unused;
	TRUTH_CALL(touch, g_much);
	return NULL;
}

static void faults(void)
{
	truth_join(truth_start(touching, NULL));
}

/* probe: status 77 where switches may not be recorded ------------------- */

static void probe(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.context_switch = 1,
		.exclude_kernel = 1,
		.sample_id_all = 1,
		.use_clockid = 1,
		.clockid = CLOCK_BOOTTIME,
	};

	if (syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0) < 0)
		exit(77);
}

static const struct {
	const char *name;
	void (*run)(void);
	long much;
} g_families[] = {
	{ "split", split, 60 },
	{ "split-sleeping", split_sleeping, 40 },
	{ "preempted", preempted, 25 },
	{ "busy", busy_alone, 300 },
	{ "overcommitted", overcommitted, 150 },
	{ "sleeper", sleeper_alone, 1500 },
	{ "sleeper-loaded", sleeper_loaded, 300 },
	{ "pingpong", pingpong, 50000 },
	{ "storm", storm, 150000 },
	{ "swaps", swaps, 200 },
	{ "faults", faults, 3000 },
	{ "probe", probe, 0 },
};

int main(int argc, char **argv)
{
	truth_main(0);
	for (size_t i = 0; i < sizeof(g_families) / sizeof(g_families[0]); i++)
		if (argc > 1 && strcmp(argv[1], g_families[i].name) == 0) {
			g_much = argc > 2 ? atol(argv[2]) : g_families[i].much;
			g_families[i].run();
			truth_print();
			return 0;
		}
	return 2;
}
