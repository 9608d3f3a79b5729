/* SPDX-License-Identifier: Apache-2.0
 *
 * Threads' current work, and the watchdog's reports of slow work.
 */
#include <pthread.h>
#include <semaphore.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collector/base/clock.h"
#include "collector/base/pulse.h"
#include "collector/base/watchdog.h"
#include "tests/suite.h"

#define SECOND 1000000000ull

struct worker {
	pthread_t thread;
	pid_t tid;
	sem_t began, go, ended, leave;
};

static void wait_for(sem_t *sem)
{
	while (sem_wait(sem))
		;
}

static void *work(void *context)
{
	struct worker *worker = context;

	worker->tid = (pid_t)syscall(SYS_gettid);
	pulse_begin("counts peas");
	sem_post(&worker->began);
	wait_for(&worker->go);
	pulse_end();
	sem_post(&worker->ended);
	wait_for(&worker->leave);
	return NULL;
}

static void start(struct worker *worker)
{
	sem_init(&worker->began, 0, 0);
	sem_init(&worker->go, 0, 0);
	sem_init(&worker->ended, 0, 0);
	sem_init(&worker->leave, 0, 0);
	ck_assert_int_eq(pthread_create(&worker->thread, NULL, work, worker),
			 0);
	wait_for(&worker->began);
}

static void end_work(struct worker *worker)
{
	sem_post(&worker->go);
	wait_for(&worker->ended);
}

static void leave(struct worker *worker)
{
	sem_post(&worker->leave);
	pthread_join(worker->thread, NULL);
}

static const char *what_does(pid_t tid)
{
	struct pulse pulse;
	size_t at = 0;

	while (pulse_next(&at, &pulse))
		if (pulse.tid == tid)
			return pulse.what;
	return NULL;
}

TEST(pulse_tells_what_threads_do)
{
	struct worker one, two;
	const char *before;

	start(&one);
	start(&two);
	ck_assert_str_eq(what_does(one.tid), "counts peas");
	end_work(&one);
	ck_assert_ptr_null(what_does(one.tid));
	ck_assert_str_eq(what_does(two.tid), "counts peas");
	end_work(&two);
	leave(&one);
	leave(&two);
	ck_assert_ptr_null(pulse_step("is outside of all work"));
	pulse_begin("begins");
	before = pulse_step("goes on");
	ck_assert_str_eq(before, "begins");
	ck_assert_str_eq(what_does((pid_t)syscall(SYS_gettid)), "goes on");
	(void)pulse_step(before);
	ck_assert_str_eq(what_does((pid_t)syscall(SYS_gettid)), "begins");
	pulse_end();
}

TEST(pulse_slots_are_used_again)
{
	for (int i = 0; i < 5000; i++) {
		struct worker worker;

		start(&worker);
		ck_assert_str_eq(what_does(worker.tid), "counts peas");
		end_work(&worker);
		leave(&worker);
	}
}

TEST(watchdog_tells_of_long_work_now_and_then)
{
	struct worker worker;
	uint64_t now;

	start(&worker);
	now = clock_monotonic_ns();
	ck_assert_uint_eq(watchdog_look(now + 5 * SECOND, LOG_WARN), 0);
	ck_assert_uint_eq(watchdog_look(now + 11 * SECOND, LOG_WARN), 1);
	ck_assert_uint_eq(watchdog_look(now + 12 * SECOND, LOG_WARN), 0);
	ck_assert_uint_eq(watchdog_look(now + 21 * SECOND, LOG_WARN), 0);
	ck_assert_uint_eq(watchdog_look(now + 23 * SECOND, LOG_WARN), 1);
	ck_assert_uint_eq(watchdog_look(now + 44 * SECOND, LOG_WARN), 0);
	ck_assert_uint_eq(watchdog_look(now + 47 * SECOND, LOG_WARN), 1);
	end_work(&worker);
	ck_assert_uint_eq(watchdog_look(now + 100 * SECOND, LOG_WARN), 0);
	leave(&worker);
}

TEST(watchdog_has_room_for_many_that_hang)
{
	static struct worker workers[100];
	uint64_t now;

	for (int i = 0; i < 100; i++)
		start(&workers[i]);
	now = clock_monotonic_ns();
	ck_assert_uint_eq(watchdog_look(now + 11 * SECOND, LOG_DBG), 64);
	ck_assert_uint_eq(watchdog_look(now + 12 * SECOND, LOG_DBG), 0);
	for (int i = 0; i < 100; i++) {
		end_work(&workers[i]);
		leave(&workers[i]);
	}
	ck_assert_uint_eq(watchdog_look(now + 13 * SECOND, LOG_DBG), 0);
}

TEST(watchdog_starts_and_stops)
{
	watchdog_stop();
	ck_assert_int_eq(watchdog_start(LOG_WARN), 0);
	watchdog_stop();
	watchdog_stop();
}
