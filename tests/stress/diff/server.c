/* SPDX-License-Identifier: Apache-2.0
 *
 * Threads that share a queue answer four clients. Each thread's share and the
 * number of waits are random.
 */
#include <pthread.h>
#include <stdio.h>

#define CLIENTS 4
#define WORKERS 3
#define REQUESTS 1500

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t more = PTHREAD_COND_INITIALIZER;
static int queued, done;
static volatile unsigned int sum;

__attribute__((noinline)) static void wait_for_more(void)
{
	pthread_cond_wait(&more, &lock);
}

__attribute__((noinline)) static int take(void)
{
	int got;

	pthread_mutex_lock(&lock);
	while (!queued && done < CLIENTS)
		wait_for_more();
	got = queued > 0;
	queued -= got;
	pthread_mutex_unlock(&lock);
	return got;
}

__attribute__((noinline)) static void answer(void)
{
	for (unsigned int i = 0; i < 2000; i++)
		sum = sum * 31 + i;
}

static void *worker(void *arg)
{
	while (take())
		answer();
	return arg;
}

__attribute__((noinline)) static void ask(void)
{
	pthread_mutex_lock(&lock);
	queued++;
	pthread_cond_signal(&more);
	pthread_mutex_unlock(&lock);
}

static void *client(void *arg)
{
	for (int i = 0; i < REQUESTS; i++)
		ask();
	pthread_mutex_lock(&lock);
	done++;
	pthread_cond_broadcast(&more);
	pthread_mutex_unlock(&lock);
	return arg;
}

int main(void)
{
	pthread_t threads[CLIENTS + WORKERS];

	for (int i = 0; i < CLIENTS + WORKERS; i++)
		pthread_create(&threads[i], NULL, i < CLIENTS ? client : worker,
			       NULL);
	for (int i = 0; i < CLIENTS + WORKERS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
