/* SPDX-License-Identifier: Apache-2.0
 *
 * Worker threads: the order of jobs, and the end of threads.
 */
#include <semaphore.h>
#include <sys/resource.h>

#include "collector/base/jobs.h"
#include "tests/suite.h"

#define JOBS 1000

struct numbered {
	struct job job;
	int number;
};

static int g_seen[JOBS], g_count;

static void note_number(struct job *job)
{
	g_seen[g_count++] = ((struct numbered *)job)->number;
}

TEST(jobs_run_in_order)
{
	static struct numbered numbered[JOBS];
	struct jobs *jobs;

	g_count = 0;
	ck_assert_int_eq(jobs_new("test", NULL, &jobs), 0);
	for (int i = 0; i < JOBS; i++) {
		numbered[i] = (struct numbered){ { .run = note_number }, i };
		jobs_post(jobs, &numbered[i].job);
	}
	jobs_free(&jobs);
	ck_assert_ptr_null(jobs);
	ck_assert_int_eq(g_count, JOBS);
	for (int i = 0; i < JOBS; i++)
		ck_assert_int_eq(g_seen[i], i);
}

struct again {
	struct job job;
	struct jobs *jobs;
	int left;
};

static void post_again(struct job *job)
{
	struct again *again = (struct again *)job;

	if (--again->left)
		jobs_post(again->jobs, job);
}

TEST(jobs_wait_waits_for_jobs_of_jobs)
{
	struct again again = { { .run = post_again }, NULL, JOBS };

	ck_assert_int_eq(jobs_new("test", NULL, &again.jobs), 0);
	jobs_wait(again.jobs);
	jobs_post(again.jobs, &again.job);
	jobs_wait(again.jobs);
	ck_assert_int_eq(again.left, 0);
	jobs_free(&again.jobs);
}

struct last {
	struct job job;
	struct jobs *jobs;
	struct job after; /* posted before the end */
	sem_t go;
	bool ran;
};

static void run_after(struct job *job)
{
	struct last *last =
		(struct last *)((char *)job - offsetof(struct last, after));

	last->ran = true;
}

static void end_own_thread(struct job *job)
{
	struct last *last = (struct last *)job;

	while (sem_wait(&last->go))
		;
	last->after.run = run_after;
	jobs_post(last->jobs, &last->after);
	jobs_free(&last->jobs);
}

TEST(jobs_may_be_freed_by_a_job)
{
	struct jobs_group group;
	struct last last[3] = { 0 };

	jobs_group_init(&group);
	jobs_group_wait(&group);
	for (int i = 0; i < 3; i++) {
		sem_init(&last[i].go, 0, 0);
		last[i].job.run = end_own_thread;
		ck_assert_int_eq(jobs_new("test", &group, &last[i].jobs), 0);
		jobs_post(last[i].jobs, &last[i].job);
	}
	for (int i = 0; i < 3; i++)
		sem_post(&last[i].go);
	jobs_group_wait(&group);
	for (int i = 0; i < 3; i++) {
		ck_assert(last[i].ran);
		ck_assert_ptr_null(last[i].jobs);
	}
}

static void wait_for_go(struct job *job)
{
	while (sem_wait(&((struct last *)job)->go))
		;
}

TEST(jobs_of_one_thread_do_not_wait_for_another)
{
	struct last slow = { .job.run = wait_for_go };
	struct last quick = { .after.run = run_after };

	sem_init(&slow.go, 0, 0);
	ck_assert_int_eq(jobs_new("slow", NULL, &slow.jobs), 0);
	ck_assert_int_eq(jobs_new("quick", NULL, &quick.jobs), 0);
	jobs_post(slow.jobs, &slow.job);
	jobs_post(quick.jobs, &quick.after);
	jobs_wait(quick.jobs);
	ck_assert(quick.ran);
	sem_post(&slow.go);
	jobs_free(&slow.jobs);
	jobs_free(&quick.jobs);
}

struct looked {
	struct job job;
	int nice;
};

static void look_how_nice(struct job *job)
{
	((struct looked *)job)->nice = getpriority(PRIO_PROCESS, 0);
}

TEST(jobs_may_be_nicer_than_others)
{
	struct looked before = { .job.run = look_how_nice };
	struct looked after = before, back = before;
	int own = getpriority(PRIO_PROCESS, 0);
	struct jobs *jobs;

	ck_assert_int_eq(jobs_new("test", NULL, &jobs), 0);
	jobs_post(jobs, &before.job);
	jobs_wait(jobs);
	jobs_set_nice(jobs, own + 1);
	jobs_post(jobs, &after.job);
	jobs_wait(jobs);
	jobs_set_nice(jobs, 0);
	jobs_post(jobs, &back.job);
	jobs_free(&jobs);
	ck_assert_int_eq(before.nice, own);
	ck_assert_int_eq(after.nice, MIN(own + 1, 19));
	ck_assert_int_eq(back.nice, after.nice);
	ck_assert_int_eq(getpriority(PRIO_PROCESS, 0), own);
}
