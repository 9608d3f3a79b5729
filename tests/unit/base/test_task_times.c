/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "collector/base/task_times.h"
#include "tests/suite.h"

#define TAIL " 0 0 20 0 1 0 12345 1000 10\n"

TEST(task_times_of_schedstat_are_its_first_two_numbers)
{
	struct task_times times = { 0 };

	ck_assert_int_eq(task_times_parse_schedstat("123 45 6\n", &times), 0);
	ck_assert_uint_eq(times.on_cpu_ns, 123);
	ck_assert_uint_eq(times.delay_ns, 45);
	ck_assert(times.has_delay);
	ck_assert_int_eq(task_times_parse_schedstat(
				 "18446744073709551615 18446744073709551615 "
				 "18446744073709551615\n",
				 &times),
			 0);
	ck_assert_uint_eq(times.delay_ns, UINT64_MAX);
}

TEST(task_times_of_a_kernel_that_does_not_count_have_no_delay)
{
	struct task_times times = { .has_delay = true };

	ck_assert_int_eq(task_times_parse_schedstat("0 0 0\n", &times), 0);
	ck_assert(!times.has_delay);
}

static const char *const g_bad_schedstats[] = {
	"",
	"\n",
	"1 2\n",
	"1 2 3",
	"1 2 3 4\n",
	"1  2 3\n",
	"-1 2 3\n",
	"1 2 x\n",
	" 1 2 3\n",
	"1 2 3\r\n",
	"1\t2 3\n",
	"0x1 2 3\n",
	"18446744073709551616 2 3\n",
	"1 99999999999999999999 3\n",
};

TEST(task_times_take_no_schedstat_that_is_none,
     EACH(0, ARRAY_SIZE(g_bad_schedstats)))
{
	struct task_times times = { .on_cpu_ns = 7, .delay_ns = 8 };

	ck_assert_int_eq(
		task_times_parse_schedstat(g_bad_schedstats[_i], &times),
		-EBADMSG);
	ck_assert_uint_eq(times.on_cpu_ns, 7);
	ck_assert_uint_eq(times.delay_ns, 8);
}

/* Threads choose their names freely. */
static const char *const g_names[] = {
	"a",
	"",
	" ",
	")",
	") R 1 2 3",
	"a\nb",
	"((((((((((((((",
	"\xff\xfe) Z",
	"x) S 1 1 1 0 -1",
};

TEST(task_times_of_stat_hold_for_any_name, EACH(0, ARRAY_SIZE(g_names)))
{
	struct task_times times = { 0 };
	char text[512];

	snprintf(text, sizeof(text),
		 "17 (%s) S 1 2 3 0 -1 64 1001 9 2002 8 33 44" TAIL,
		 g_names[_i]);
	ck_assert_int_eq(task_times_parse_stat(text, &times), 0);
	ck_assert_int_eq(times.state, 'S');
	ck_assert_uint_eq(times.minor_faults, 1001);
	ck_assert_uint_eq(times.major_faults, 2002);
	ck_assert_uint_eq(times.user_ns,
			  33 * UINT64_C(1000000000) /
				  (uint64_t)sysconf(_SC_CLK_TCK));
	ck_assert_uint_eq(times.system_ns,
			  44 * UINT64_C(1000000000) /
				  (uint64_t)sysconf(_SC_CLK_TCK));
}

static const char *const g_bad_stats[] = {
	"",
	"17 (a",
	"17 (a)",
	"17 (a) ",
	"17 (a) S",
	"17 (a) SS 1 2 3 0 -1 64 1001 9 2002 8 33 44" TAIL,
	"17 (a) S 1 2 3 0 -1 64 1001 9 2002 8 33",
	"17 (a) S 1 2 3 0 -1 64 1001 9 2002 8 33 44",
	"17 (a) S 1 2 3 0 -1 64 -1001 9 2002 8 33 44" TAIL,
	"17 (a) S 1 2 3 0 -1 64 1001 9 2002 8 33 18446744073709551616" TAIL,
	"17 (a) S 1 2 3 0 -1 64 x 9 2002 8 33 44" TAIL,
	"17 (a) S 1 2 3 0 -1 64 1001 9 2002 8 33 44)" TAIL,
};

TEST(task_times_take_no_stat_that_is_none, EACH(0, ARRAY_SIZE(g_bad_stats)))
{
	struct task_times times = { .user_ns = 7, .state = 'R' };

	ck_assert_int_eq(task_times_parse_stat(g_bad_stats[_i], &times),
			 -EBADMSG);
	ck_assert_uint_eq(times.user_ns, 7);
	ck_assert_int_eq(times.state, 'R');
}

TEST(task_times_too_large_for_ns_stop_at_the_most)
{
	struct task_times times = { 0 };

	ck_assert_int_eq(
		task_times_parse_stat("17 (a) S 1 2 3 0 -1 64 1001 9 2002 8 "
				      "18446744073709551615 44" TAIL,
				      &times),
		0);
	ck_assert_uint_eq(times.user_ns, UINT64_MAX);
}

static uint64_t thread_cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static uint64_t rusage_ns(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) *
		       1000000000 +
	       (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) *
		       1000;
}

TEST(task_times_read_what_a_thread_knows_of_itself)
{
	struct task_times first, second;
	struct rusage before, after;
	pid_t tid = (pid_t)syscall(SYS_gettid);
	uint64_t ns, until = thread_cpu_ns() + 30000000;
	volatile char *memory;

	prctl(PR_SET_NAME, "a) R 1 (2\n");
	while (thread_cpu_ns() < until)
		;
	getrusage(RUSAGE_THREAD, &before);
	ns = thread_cpu_ns();
	ck_assert_int_eq(task_times_read(getpid(), tid, &first), 0);
	ck_assert_int_eq(first.state, 'R');
	ck_assert_uint_ge(first.on_cpu_ns, ns);
	ck_assert_uint_le(first.on_cpu_ns, thread_cpu_ns());
	ck_assert_uint_le(first.user_ns + first.system_ns, rusage_ns() + 2000);
	ck_assert_uint_gt(first.user_ns + first.system_ns, 0);
	memory = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne((void *)memory, MAP_FAILED);
	memory[0] = memory[1 << 19] = 1;
	ck_assert_int_eq(task_times_read(getpid(), tid, &second), 0);
	getrusage(RUSAGE_THREAD, &after);
	ck_assert_uint_ge(first.minor_faults, (uint64_t)before.ru_minflt);
	ck_assert_uint_gt(second.minor_faults, first.minor_faults);
	ck_assert_uint_le(second.minor_faults, (uint64_t)after.ru_minflt);
	ck_assert_uint_le(second.major_faults, (uint64_t)after.ru_majflt);
	ck_assert_uint_ge(second.delay_ns, first.delay_ns);
	munmap((void *)memory, 1 << 20);
}

TEST(task_times_of_a_dead_process_are_there_until_it_is_waited_for)
{
	struct task_times times;
	siginfo_t info;
	pid_t pid = fork();

	if (!pid) {
		uint64_t until = thread_cpu_ns() + 1000000;

		while (thread_cpu_ns() < until)
			;
		_exit(0);
	}
	ck_assert_int_eq(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	ck_assert_int_eq(task_times_read(pid, pid, &times), 0);
	ck_assert_int_eq(times.state, 'Z');
	ck_assert_uint_ge(times.on_cpu_ns, 1000000);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	ck_assert_int_eq(task_times_read(pid, pid, &times), -ESRCH);
	ck_assert_uint_eq(times.on_cpu_ns, 0);
	ck_assert_int_eq(times.state, 0);
}

static bool is_all_zero(pid_t pid)
{
	char path[32], text[64] = "";
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/schedstat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_gt(read(fd, text, sizeof(text) - 1), 0);
	close(fd);
	return strcmp(text, "0 0 0\n") == 0;
}

/* A new thread waits for a CPU; the delay counts when it gets one. */
TEST(task_times_of_a_thread_that_never_ran_have_a_delay)
{
	struct task_times times;
	bool seen = false;
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	ck_assert_int_eq(sched_setaffinity(0, sizeof(one), &one), 0);
	ck_assert(!is_all_zero(getpid()));
	/* On one CPU a child mostly runs later than this. */
	for (int i = 0; i < 10000 && !seen; i++) {
		pid_t pid = fork();

		if (!pid)
			_exit(0);
		ck_assert_int_eq(task_times_read(pid, pid, &times), 0);
		seen = is_all_zero(pid);
		ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	}
	ck_assert(seen);
	ck_assert_int_eq(times.state, 'R');
	ck_assert(times.has_delay);
	ck_assert_uint_eq(times.on_cpu_ns + times.delay_ns, 0);
}

TEST(task_times_without_descriptors_are_not_taken_for_gone)
{
	struct rlimit limit, none;
	struct task_times times;
	int err;

	getrlimit(RLIMIT_NOFILE, &limit);
	none = limit;
	none.rlim_cur = 0;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
	err = task_times_read(getpid(), getpid(), &times);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	ck_assert_int_eq(err, -EMFILE);
	ck_assert_int_eq(task_times_read(getpid(), getpid(), &times), 0);
	ck_assert_int_eq(task_times_read(getpid(), 1, &times), -ESRCH);
	ck_assert_int_eq(task_times_read(0, 0, &times), -ESRCH);
}
