/* SPDX-License-Identifier: Apache-2.0
 *
 * halved KIND [FUNC] - threads that depend on each other. FUNC needs half of its CPU
 * time: the truth for perfrec what-if 'FUNC -50%' (tests/tools/what_if_check.sh). Prints
 * the time of the run in us.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define PLAIN __attribute__((no_instrument_function)) static
#define THREADS_MAX 4

static const char *g_halved = "";

PLAIN long now_us(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

PLAIN void burn(const char *function, long us)
{
	long end = now_us(CLOCK_THREAD_CPUTIME_ID) +
		   (strcmp(function, g_halved) ? us : us / 2);

	while (now_us(CLOCK_THREAD_CPUTIME_ID) < end)
		;
}
#define WORK(function, us)                                   \
	__attribute__((noinline)) static void function(void) \
	{                                                    \
		burn(#function, us);                         \
	}

PLAIN void run(int count, void *(*const functions[])(void *))
{
	pthread_t threads[THREADS_MAX];

	for (int i = 0; i < count; i++)
		pthread_create(&threads[i], NULL, functions[i], NULL);
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
}

/* --- three stages with bounded queues ------------------------------------ */

#define ITEMS 150

struct queue {
	pthread_mutex_t lock;
	pthread_cond_t put, taken;
	int count;
};
#define QUEUE                                                        \
	{                                                            \
		PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, \
			PTHREAD_COND_INITIALIZER, 0                  \
	}
static struct queue g_read = QUEUE, g_parsed = QUEUE;

static void queue_put(struct queue *queue)
{
	pthread_mutex_lock(&queue->lock);
	while (queue->count == 4)
		pthread_cond_wait(&queue->taken, &queue->lock);
	queue->count++;
	pthread_cond_signal(&queue->put);
	pthread_mutex_unlock(&queue->lock);
}

static void queue_take(struct queue *queue)
{
	pthread_mutex_lock(&queue->lock);
	while (!queue->count)
		pthread_cond_wait(&queue->put, &queue->lock);
	queue->count--;
	pthread_cond_signal(&queue->taken);
	pthread_mutex_unlock(&queue->lock);
}

WORK(read_item, 400)
WORK(parse_item, 1500)
WORK(write_item, 600)

static void *reader(void *unused)
{
	for (int i = 0; i < ITEMS; i++) {
		read_item();
		queue_put(&g_read);
	}
	return unused;
}

static void *parser(void *unused)
{
	for (int i = 0; i < ITEMS; i++) {
		queue_take(&g_read);
		parse_item();
		queue_put(&g_parsed);
	}
	return unused;
}

static void *writer(void *unused)
{
	for (int i = 0; i < ITEMS; i++) {
		queue_take(&g_parsed);
		write_item();
	}
	return unused;
}

static void run_stages(void)
{
	run(3, (void *(*const[])(void *)){ reader, parser, writer });
}

/* --- a lock --------------------------------------------------------------- */

static pthread_mutex_t g_lock = PTHREAD_MUTEX_INITIALIZER;

WORK(prepare, 300)
WORK(commit, 1000)
WORK(audit, 200)

static void *locker(void *unused)
{
	const struct timespec disk = { 0, 500000 };

	for (int i = 0; i < 80; i++) {
		prepare();
		pthread_mutex_lock(&g_lock);
		commit();
		nanosleep(&disk, NULL);
		pthread_mutex_unlock(&g_lock);
		audit();
	}
	return unused;
}

static void run_lock(void)
{
	run(3, (void *(*const[])(void *)){ locker, locker, locker });
}

/* --- fork and join -------------------------------------------------------- */

WORK(left, 10000)
WORK(right, 6000)
WORK(serial, 5000)

static void *right_thread(void *unused)
{
	right();
	return unused;
}

static void run_fork(void)
{
	for (int i = 0; i < 15; i++) {
		pthread_t thread;

		pthread_create(&thread, NULL, right_thread, NULL);
		left();
		pthread_join(thread, NULL);
		serial();
	}
}

/* --- semaphores ----------------------------------------------------------- */

static sem_t g_items, g_room;

WORK(produce, 1000)
WORK(consume, 700)
WORK(report, 20000)

static void *producer(void *unused)
{
	for (int i = 0; i < 200; i++) {
		produce();
		sem_wait(&g_room);
		sem_post(&g_items);
	}
	return unused;
}

static void run_queue(void)
{
	pthread_t thread;

	sem_init(&g_items, 0, 0);
	sem_init(&g_room, 0, 4);
	pthread_create(&thread, NULL, producer, NULL);
	for (int i = 0; i < 200; i++) {
		sem_wait(&g_items);
		consume();
		sem_post(&g_room);
	}
	pthread_join(thread, NULL);
	report();
}

/* --- a thread that nobody waits for long ---------------------------------- */

WORK(side, 60000)
WORK(main_work, 150000)
WORK(side_too, 30000)

static void *side_thread(void *unused)
{
	side();
	side_too();
	return unused;
}

static void run_beside(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, side_thread, NULL);
	main_work();
	pthread_join(thread, NULL);
}

/* --- more threads than CPUs ----------------------------------------------- */

WORK(hash, 3000)
WORK(pack, 2000)
WORK(check, 1000)

static void *cpu_thread(void *unused)
{
	for (int i = 0; i < 20; i++) {
		hash();
		pack();
		check();
	}
	return unused;
}

static void run_cpus(void)
{
	run(4, (void *(*const[])(void *)){ cpu_thread, cpu_thread, cpu_thread,
					   cpu_thread });
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} kinds[] = { { "stages", run_stages }, { "lock", run_lock },
		      { "fork", run_fork },	{ "queue", run_queue },
		      { "beside", run_beside }, { "cpus", run_cpus } };

	if (argc > 2)
		g_halved = argv[2];
	for (size_t i = 0; argc > 1 && i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strcmp(argv[1], kinds[i].name)) {
			long began = now_us(CLOCK_MONOTONIC);

			kinds[i].run();
			printf("%ld\n", now_us(CLOCK_MONOTONIC) - began);
			return 0;
		}
	fprintf(stderr, "usage: halved KIND [FUNC]\n");
	return 2;
}
