/* SPDX-License-Identifier: Apache-2.0
 *
 * test_figures - at its end a thread leaves its resource usage in its slot
 * (figures_victim): no less than the thread itself read just before, and no
 * more than the kernel reports for the process afterwards.
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/shim/mini_collector.h"
#include "tests/shim/victims/figures_victim.h"
#include "tests/suite.h"

#define TOLD (END_TOLD | END_HAS_DELAY)

struct figures_case {
	const char *name;
	uint32_t slot;
	uint32_t told;
	int signal; /* ends the program; 0: it exits with 0 */
};

static const struct figures_case g_cases[] = {
	{ "thread", 1, TOLD, 0 },	  { "tiny_thread", 1, TOLD, 0 },
	{ "unread_thread", 1, TOLD, 0 },  { "pthread_exit", 1, TOLD, 0 },
	{ "cancel", 1, TOLD, 0 },	  { "raw_exit", 1, TOLD, 0 },
	{ "exit_in_thread", 1, TOLD, 0 }, { "silent_thread", 1, 0, 0 },
	{ "exit", 0, TOLD, 0 },		  { "return", 0, TOLD, 0 },
	{ "_exit", 0, TOLD, 0 },	  { "_Exit", 0, TOLD, 0 },
	{ "raw_exit_group", 0, TOLD, 0 }, { "raw_exec", 0, TOLD, 0 },
	{ "fork", 0, TOLD, SIGKILL },	  { "vfork", 0, 0, SIGKILL },
	{ "clone", 0, 0, SIGKILL },	  { "no_descriptor", 0, END_TOLD, 0 },
	{ "seccomp", 0, 0, 0 },		  { "seccomp", 1, 0, 0 },
};

static struct mini_collector g_mini;

struct whole {
	struct rusage usage;
	uint64_t wall_ns;
};

static uint64_t boottime_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void run(const struct figures_case *test, uint32_t asks,
		struct victim_figures *before, struct whole *whole)
{
	char file[] = "/tmp/figures-XXXXXX";
	char *argv[] = { (char *)mini_build_path(
				 "tests/shim/victims/figures_victim"),
			 (char *)test->name, file, NULL };
	struct wire_reply settings = { .asks = asks,
				       .clock = WIRE_CLOCK_BOOTTIME };
	uint64_t start_ns = boottime_ns();
	int fd = mkstemp(file), status;
	pid_t pid;

	ck_assert_int_ge(fd, 0);
	mini_collector_start(&g_mini);
	pid = mini_spawn(&g_mini, mini_build_path("libperfrec_preload.so"),
			 argv);
	mini_collector_accept(&g_mini, settings, CONTROL_ON);
	ck_assert_int_eq(wait4(pid, &status, 0, &whole->usage), pid);
	whole->wall_ns = boottime_ns() - start_ns;
	if (test->signal)
		ck_assert_int_eq(status, test->signal);
	else
		ck_assert_msg(!status, "%s: %d", test->name, status);
	ck_assert_int_eq(pread(fd, before, sizeof(*before), 0),
			 sizeof(*before));
	unlink(file);
	close(fd);
}

static uint64_t timeval_ns(const struct timeval *time)
{
	return (uint64_t)time->tv_sec * 1000000000 +
	       (uint64_t)time->tv_usec * 1000;
}

static void check_none(const struct slot_shm *slot)
{
	ck_assert_uint_eq(slot->end_told, 0);
	ck_assert_uint_eq(slot->end_ns, 0);
	ck_assert_uint_eq(slot->end_cpu_ns, 0);
	ck_assert_uint_eq(slot->end_delay_ns, 0);
	ck_assert_uint_eq(slot->end_user_ns, 0);
	ck_assert_uint_eq(slot->end_system_ns, 0);
	ck_assert_uint_eq(slot->end_minor_faults, 0);
	ck_assert_uint_eq(slot->end_major_faults, 0);
}

static void check_told(const struct slot_shm *slot, uint32_t told,
		       const struct victim_figures *before,
		       const struct whole *whole)
{
	const struct rusage *usage = &whole->usage;
	/* Two values, each rounded down to us. */
	uint64_t all_ns = timeval_ns(&usage->ru_utime) +
			  timeval_ns(&usage->ru_stime) + 2000;

	ck_assert_uint_eq(slot->end_told, told);
	ck_assert_uint_ge(slot->end_ns, slot->claim_clock);
	ck_assert_uint_le(slot->end_ns, boottime_ns());
	ck_assert_uint_ge(slot->end_cpu_ns, before->cpu_ns);
	ck_assert_uint_le(slot->end_cpu_ns, all_ns);
	ck_assert_uint_ge(slot->end_user_ns, before->user_ns);
	ck_assert_uint_ge(slot->end_system_ns, before->system_ns);
	ck_assert_uint_le(slot->end_user_ns + slot->end_system_ns, all_ns);
	/* Most of the time counts even if no tick hit the thread. */
	ck_assert_uint_ge((slot->end_user_ns + slot->end_system_ns) * 2,
			  slot->end_cpu_ns);
	ck_assert_uint_ge(slot->end_minor_faults, before->minor_faults);
	ck_assert_uint_le(slot->end_minor_faults, (uint64_t)usage->ru_minflt);
	ck_assert_uint_ge(slot->end_major_faults, before->major_faults);
	ck_assert_uint_le(slot->end_major_faults, (uint64_t)usage->ru_majflt);
	if (!(told & END_HAS_DELAY)) {
		ck_assert_uint_eq(slot->end_delay_ns, 0);
		return;
	}
	ck_assert_uint_ge(slot->end_delay_ns, before->delay_ns);
	ck_assert_uint_le(slot->end_delay_ns + slot->end_cpu_ns,
			  whole->wall_ns);
}

static const struct slot_shm *slot_of(const struct figures_case *test)
{
	return mini_slot(&g_mini, test->slot);
}

TEST(figures_of_a_thread_are_told_at_its_end,
     EACH(0, sizeof(g_cases) / sizeof(g_cases[0])))
{
	const struct figures_case *test = &g_cases[_i];
	struct victim_figures before;
	struct whole whole;

	run(test, WIRE_ASK_END, &before, &whole);
	if (test->told)
		check_told(slot_of(test), test->told, &before, &whole);
	else
		check_none(slot_of(test));
	mini_collector_stop(&g_mini);
}

TEST(figures_are_told_only_where_they_are_asked_for,
     EACH(0, sizeof(g_cases) / sizeof(g_cases[0])))
{
	struct victim_figures before;
	struct whole whole;

	run(&g_cases[_i], 0, &before, &whole);
	check_none(slot_of(&g_cases[_i]));
	mini_collector_stop(&g_mini);
}

/* The next thread in the slot must not inherit figures. */
TEST(figures_of_the_thread_before_are_cleared)
{
	struct slot_shm *slot;
	char *argv[] = { (char *)mini_build_path(
				 "tests/shim/victims/figures_victim"),
			 "clone", "/dev/null", NULL };
	struct wire_reply settings = { .asks = WIRE_ASK_END };
	int peer, status;
	pid_t pid;

	settings.magic = WIRE_REPLY_MAGIC;
	settings.version = WIRE_VERSION;
	settings.block_ns = WIRE_BLOCK_NS_MAX;
	mini_collector_start(&g_mini);
	pid = mini_spawn(&g_mini, mini_build_path("libperfrec_preload.so"),
			 argv);
	peer = mini_collector_hear(&g_mini, CONTROL_ON);
	slot = mini_slot(&g_mini, 0);
	slot->end_told = TOLD;
	slot->end_ns = slot->end_cpu_ns = slot->end_delay_ns =
		slot->end_user_ns = 1;
	slot->end_system_ns = slot->end_minor_faults = slot->end_major_faults =
		1;
	mini_collector_answer(peer, &settings, &g_mini.liveness_fd, 1);
	close(peer);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_uint_eq(slot->claims, 1);
	check_none(slot);
	mini_collector_stop(&g_mini);
}

static void begin_suite(void)
{
	setenv("PERFREC_QUIET", "1", 1);
}

SUITE(begin_suite, NULL);
