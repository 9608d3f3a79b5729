/* SPDX-License-Identifier: Apache-2.0
 *
 * locks FAMILY - threads that wait for each other, and the truth about their
 * time (truth.h). FAMILY is a line of g_families.
 */
#include <linux/futex.h>
#include <semaphore.h>

#include "truth.h"

static pthread_mutex_t g_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t g_room = PTHREAD_COND_INITIALIZER;
static pthread_cond_t g_items = PTHREAD_COND_INITIALIZER;

static void start_and_join(void *(*run)(void *), int count)
{
	struct truth_thread *threads[16];

	for (int i = 0; i < count; i++)
		threads[i] = truth_start(run, NULL);
	for (int i = 0; i < count; i++)
		truth_join(threads[i]);
}

/* convoy: four threads want one lock, and who has it sleeps ------------- */

static void take_lock(void)
{
	pthread_mutex_lock(&g_lock);
}

static void hold_lock(void)
{
	truth_sleep_us(1000);
}

static void *convoy_thread(void *unused)
{
	(void)unused;
	for (int i = 0; i < 40; i++) {
		TRUTH_CALL(take_lock);
		TRUTH_CALL(hold_lock);
		pthread_mutex_unlock(&g_lock);
	}
	return NULL;
}

static void convoy(void)
{
	start_and_join(convoy_thread, 4);
}

/* queue: of four items, whose consumer is slow -------------------------- */

#define QUEUE_ROOM 4
#define QUEUE_ITEMS 200
static int g_queued;

static void put_item(void)
{
	pthread_mutex_lock(&g_lock);
	while (g_queued == QUEUE_ROOM)
		pthread_cond_wait(&g_room, &g_lock);
	g_queued++;
	pthread_cond_signal(&g_items);
	pthread_mutex_unlock(&g_lock);
}

static void take_item(void)
{
	pthread_mutex_lock(&g_lock);
	while (!g_queued)
		pthread_cond_wait(&g_items, &g_lock);
	g_queued--;
	pthread_cond_signal(&g_room);
	pthread_mutex_unlock(&g_lock);
}

static void consume_item(void)
{
	truth_spend_us(1000);
}

static void *producer(void *unused)
{
	(void)unused;
	for (int i = 0; i < QUEUE_ITEMS; i++)
		TRUTH_CALL(put_item);
	return NULL;
}

static void *consumer(void *unused)
{
	(void)unused;
	for (int i = 0; i < QUEUE_ITEMS; i++) {
		TRUTH_CALL(take_item);
		TRUTH_CALL(consume_item);
	}
	return NULL;
}

static void queue(void)
{
	struct truth_thread *from = truth_start(producer, NULL);
	struct truth_thread *to = truth_start(consumer, NULL);

	truth_join(from);
	truth_join(to);
}

/* pool: three workers of a queue; who has an item works or sleeps ------- */

static void do_task(int number)
{
	if (number % 2)
		truth_spend_us(300);
	else
		truth_sleep_us(700);
}

static void *pool_worker(void *unused)
{
	(void)unused;
	for (int i = 0; i < 60; i++) {
		TRUTH_CALL(take_item);
		TRUTH_CALL(do_task, i);
	}
	return NULL;
}

static void pool(void)
{
	struct truth_thread *workers[3];

	for (int i = 0; i < 3; i++)
		workers[i] = truth_start(pool_worker, NULL);
	for (int i = 0; i < 180; i++) {
		TRUTH_CALL(put_item);
		truth_sleep_us(1000);
	}
	for (int i = 0; i < 3; i++)
		truth_join(workers[i]);
}

/* rwlock: three readers and a writer ------------------------------------ */

static pthread_rwlock_t g_rwlock = PTHREAD_RWLOCK_INITIALIZER;

static void lock_to_read(void)
{
	pthread_rwlock_rdlock(&g_rwlock);
}

static void lock_to_write(void)
{
	pthread_rwlock_wrlock(&g_rwlock);
}

static void *reader(void *unused)
{
	(void)unused;
	for (int i = 0; i < 80; i++) {
		TRUTH_CALL(lock_to_read);
		truth_sleep_us(1000);
		pthread_rwlock_unlock(&g_rwlock);
		truth_spend_us(100);
	}
	return NULL;
}

static void *writer(void *unused)
{
	(void)unused;
	for (int i = 0; i < 40; i++) {
		TRUTH_CALL(lock_to_write);
		truth_sleep_us(3000);
		pthread_rwlock_unlock(&g_rwlock);
		truth_sleep_us(500);
	}
	return NULL;
}

static void rwlock(void)
{
	struct truth_thread *threads[4];

	for (int i = 0; i < 4; i++)
		threads[i] = truth_start(i < 3 ? reader : writer, NULL);
	for (int i = 0; i < 4; i++)
		truth_join(threads[i]);
}

/* broadcast: all threads go on at once ---------------------------------- */

#define ROUNDS 40
static int g_round;

static void await_round(int round)
{
	pthread_mutex_lock(&g_lock);
	while (g_round < round)
		pthread_cond_wait(&g_items, &g_lock);
	pthread_mutex_unlock(&g_lock);
}

static void *round_thread(void *unused)
{
	(void)unused;
	for (int i = 1; i <= ROUNDS; i++)
		TRUTH_CALL(await_round, i);
	return NULL;
}

static void next_round(void)
{
	truth_sleep_us(4000);
	pthread_mutex_lock(&g_lock);
	g_round++;
	pthread_cond_broadcast(&g_items);
	pthread_mutex_unlock(&g_lock);
}

static void broadcast(void)
{
	struct truth_thread *threads[8];

	for (int i = 0; i < 8; i++)
		threads[i] = truth_start(round_thread, NULL);
	for (int i = 0; i < ROUNDS; i++)
		TRUTH_CALL(next_round);
	for (int i = 0; i < 8; i++)
		truth_join(threads[i]);
}

/* timed: waits that end by themselves ----------------------------------- */

static struct timespec in_us(long us)
{
	struct timespec time;

	clock_gettime(CLOCK_REALTIME, &time);
	time.tv_nsec += us * 1000;
	time.tv_sec += time.tv_nsec / 1000000000;
	time.tv_nsec %= 1000000000;
	return time;
}

static void timed_condition(void)
{
	struct timespec until = in_us(2500);

	pthread_mutex_lock(&g_lock);
	pthread_cond_timedwait(&g_items, &g_lock, &until);
	pthread_mutex_unlock(&g_lock);
}

static void timed_semaphore(void)
{
	static sem_t semaphore;
	struct timespec until = in_us(1500);

	sem_timedwait(&semaphore, &until);
}

static void timed_futex(void)
{
	static int word;
	struct timespec time = { 0, 700000 };

	syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &time, NULL, 0);
}

static void timed_lock(void)
{
	struct timespec until = in_us(1200);

	pthread_mutex_timedlock(&g_lock, &until);
}

static void *timed_thread(void *unused)
{
	(void)unused;
	for (int i = 0; i < 60; i++) {
		TRUTH_CALL(timed_condition);
		TRUTH_CALL(timed_semaphore);
		TRUTH_CALL(timed_futex);
		truth_spend_us(50);
	}
	return NULL;
}

static void *timed_lock_thread(void *unused)
{
	(void)unused;
	for (int i = 0; i < 60; i++)
		TRUTH_CALL(timed_lock);
	return NULL;
}

static void timed(void)
{
	struct truth_thread *thread = truth_start(timed_thread, NULL);

	truth_join(thread);
	pthread_mutex_lock(&g_lock);
	thread = truth_start(timed_lock_thread, NULL);
	truth_join(thread);
	pthread_mutex_unlock(&g_lock);
}

static const struct {
	const char *name;
	void (*run)(void);
} g_families[] = {
	{ "convoy", convoy }, { "queue", queue },	  { "pool", pool },
	{ "rwlock", rwlock }, { "broadcast", broadcast }, { "timed", timed },
};

int main(int argc, char **argv)
{
	truth_main(0);
	for (size_t i = 0; i < sizeof(g_families) / sizeof(g_families[0]); i++)
		if (argc > 1 && strcmp(argv[1], g_families[i].name) == 0) {
			g_families[i].run();
			truth_print();
			return 0;
		}
	return 2;
}
