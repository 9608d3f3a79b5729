/* SPDX-License-Identifier: Apache-2.0
 *
 * The account of CPU time, fed with kernel records in the orders that occur.
 */
#include "collector/record/cpu_account.h"
#include "tests/suite.h"

#define MS 1000000ULL
#define SHELL 5000000 /* beyond all pids in use */

static struct cpu_account *g_account;
static struct cpu_sum g_sum;

static void set_up(void)
{
	ck_assert_int_eq(cpu_account_new(&g_account), 0);
	cpu_account_root(g_account, SHELL, 2);
	cpu_account_name(g_account, SHELL, SHELL, "sh", 1, false);
}

static void tear_down(void)
{
	cpu_account_free(&g_account);
	ck_assert_ptr_null(g_account);
}

static void child(pid_t pid, const char *name, uint64_t ns)
{
	cpu_account_fork(g_account, pid, pid, SHELL);
	cpu_account_name(g_account, pid, pid, name, 2, false);
	cpu_account_exit(g_account, pid);
	cpu_account_count(g_account, pid, ns);
	cpu_account_count(g_account, pid, 0);
}

static void end_shell(uint64_t ns)
{
	cpu_account_exit(g_account, SHELL);
	cpu_account_count(g_account, SHELL, ns);
	cpu_account_count(g_account, SHELL, 0);
}

static void close_with(uint64_t sampled, uint64_t used, uint64_t steal)
{
	const struct cpu_truth truth = { sampled, used != 0, used, steal,
					 10 * MS };

	cpu_account_close(g_account, &truth, &g_sum);
}

static const struct cpu_row *row(const char *name)
{
	for (size_t i = 0; i < g_sum.rows; i++)
		if (!strcmp(g_sum.row[i].name, name))
			return &g_sum.row[i];
	ck_abort_msg("no row for '%s'", name);
}

FIXTURE(set_up, tear_down);

TEST(account_of_short_processes_has_a_row_for_each_command)
{
	for (pid_t i = 1; i <= 300; i++) {
		child(SHELL + 2 * i, "sed", MS);
		child(SHELL + 2 * i + 1, "grep", 2 * MS);
	}
	end_shell(5 * MS);
	cpu_account_total(g_account, 905 * MS);
	close_with(0, 0, 0);
	ck_assert_uint_eq(g_sum.rows, 3);
	ck_assert_str_eq(g_sum.row[0].name, "grep");
	ck_assert_uint_eq(row("grep")->count, 300);
	ck_assert_uint_eq(row("grep")->ns, 600 * MS);
	ck_assert_uint_eq(row("sed")->ns, 300 * MS);
	ck_assert_uint_eq(row("sh")->ns, 5 * MS);
	ck_assert_uint_eq(g_sum.count, 601);
	ck_assert_uint_eq(g_sum.ns, 905 * MS);
	ck_assert_double_eq(g_sum.scale, 1);
}

TEST(account_of_a_sampled_process_gives_it_no_row)
{
	child(SHELL + 1, "xz", 900 * MS);
	cpu_account_tell(g_account, SHELL + 1, "xz", 899 * MS, true);
	child(SHELL + 2, "cat", 3 * MS);
	/* A recorder knows the process but has none of its samples. */
	cpu_account_tell(g_account, SHELL + 2, "sh", 1 * MS, false);
	end_shell(MS);
	cpu_account_total(g_account, 904 * MS);
	close_with(899 * MS, 0, 0);
	ck_assert_uint_eq(g_sum.rows, 2);
	ck_assert_uint_eq(row("cat")->ns, 3 * MS);
}

/* One task ends with the events that were opened first and reports no time. */
TEST(account_gives_the_rest_to_who_did_not_tell)
{
	child(SHELL + 1, "sed", 2 * MS);
	cpu_account_fork(g_account, SHELL + 2, SHELL + 2, SHELL);
	cpu_account_name(g_account, SHELL + 2, SHELL + 2, "grep", 2, false);
	cpu_account_exit(g_account, SHELL + 2);
	end_shell(MS);
	cpu_account_total(g_account, 10 * MS);
	close_with(0, 0, 0);
	ck_assert_uint_eq(row("sed")->ns, 2 * MS);
	ck_assert_uint_eq(row("grep")->ns, 7 * MS);
	ck_assert_uint_eq(row("sh")->ns, MS);
}

TEST(account_takes_the_records_of_a_process_in_any_order)
{
	cpu_account_count(g_account, SHELL + 1, MS);
	cpu_account_name(g_account, SHELL + 1, SHELL + 1, "sed", 3, false);
	cpu_account_name(g_account, SHELL + 1, SHELL + 1, "earlier", 2, false);
	cpu_account_exit(g_account, SHELL + 1);
	cpu_account_fork(g_account, SHELL + 1, SHELL + 1, SHELL);
	/* Reuses the pid for another process. */
	child(SHELL + 1, "grep", 3 * MS);
	end_shell(MS);
	close_with(0, 0, 0);
	ck_assert_uint_eq(row("sed")->count, 1);
	ck_assert_uint_eq(row("sed")->ns, MS);
	ck_assert_uint_eq(row("grep")->ns, 3 * MS);
}

TEST(account_counts_threads_to_their_process)
{
	cpu_account_fork(g_account, SHELL + 1, SHELL + 1, SHELL);
	cpu_account_fork(g_account, SHELL + 1, SHELL + 2, SHELL + 1);
	cpu_account_name(g_account, SHELL + 1, SHELL + 2, "a thread", 2, false);
	cpu_account_count(g_account, SHELL + 1, MS);
	cpu_account_count(g_account, SHELL + 1, MS);
	close_with(0, 0, 0);
	/* A child before exec() has the name of its parent. */
	ck_assert_uint_eq(g_sum.rows, 1);
	ck_assert_uint_eq(row("sh")->count, 2);
	ck_assert_uint_eq(row("sh")->ns, 2 * MS);
}

TEST(account_tells_short_processes_from_those_not_sampled)
{
	child(SHELL + 1, "busybox", 500 * MS);
	child(SHELL + 2, "busybox", MS);
	close_with(0, 0, 0);
	ck_assert_str_eq(g_sum.row[0].name, "busybox");
	ck_assert(!g_sum.row[0].is_short);
	ck_assert_uint_eq(g_sum.row[0].ns, 500 * MS);
	ck_assert_str_eq(g_sum.row[1].name, "busybox");
	ck_assert(g_sum.row[1].is_short);
}

TEST(account_spreads_what_getrusage_has_more)
{
	child(SHELL + 1, "sed", 10 * MS);
	child(SHELL + 2, "grep", 20 * MS);
	child(SHELL + 3, "xz", 100 * MS);
	cpu_account_tell(g_account, SHELL + 3, "xz", 100 * MS, true);
	end_shell(10 * MS);
	close_with(100 * MS, 144 * MS, 0);
	/* 1 ms for each of four processes, including the one in the profile. */
	ck_assert_uint_eq(row("sed")->ns, 11 * MS);
	ck_assert_uint_eq(row("grep")->ns, 21 * MS);
	ck_assert_uint_eq(row("sh")->ns, 11 * MS);
	ck_assert_double_eq_tol(g_sum.scale, 1.01, 1e-9);
	ck_assert_uint_eq(g_sum.unknown_ns, 0);
}

/* Ordinary users cannot count a set-user-ID program, for example. */
TEST(account_does_not_make_up_what_was_not_seen)
{
	child(SHELL + 1, "sudo", MS);
	end_shell(MS);
	close_with(100 * MS, 1000 * MS, 0);
	ck_assert_uint_le(g_sum.ns, 4 * MS);
	ck_assert_double_le(g_sum.scale, 1.5);
	ck_assert_uint_ge(g_sum.unknown_ns, 846 * MS);
	ck_assert_uint_eq(g_sum.ns + g_sum.unknown_ns +
				  (uint64_t)(100 * MS * g_sum.scale + 0.5),
			  1000 * MS);
}

TEST(account_takes_off_no_more_than_was_stolen)
{
	child(SHELL + 1, "sed", 100 * MS);
	end_shell(0);
	/* Nobody waited for half of the time; a hypervisor stole a tenth. */
	close_with(100 * MS, 100 * MS, 20 * MS);
	ck_assert_double_eq_tol(g_sum.scale, 0.9, 1e-9);
	ck_assert_uint_eq(row("sed")->ns, 90 * MS);
}

TEST(account_says_what_was_lost)
{
	child(SHELL + 1, "sed", MS);
	cpu_account_lose(g_account, 3);
	cpu_account_lose(g_account, 4);
	cpu_account_exit(g_account, SHELL + 2);
	cpu_account_fork(g_account, SHELL + 3, SHELL + 3, SHELL);
	end_shell(MS);
	close_with(0, 2 * MS, 0);
	ck_assert_uint_eq(g_sum.lost, 9);
	ck_assert_uint_eq(g_sum.count, 4);
}

TEST(account_bounds_its_rows_and_entries)
{
	char name[16];
	uint64_t ns = 0;

	for (pid_t i = 1; i <= 150000; i++) {
		snprintf(name, sizeof(name), "%d\n\xff%%s", i % 1000);
		child(SHELL + i, name, MS);
	}
	end_shell(0);
	close_with(0, 0, 0);
	ck_assert_uint_eq(g_sum.rows, CPU_ROWS_MAX);
	ck_assert_str_eq(g_sum.row[CPU_ROWS_MAX - 1].name, CPU_OTHERS);
	ck_assert_uint_eq(g_sum.count, 150001);
	for (size_t i = 0; i < g_sum.rows; i++)
		ns += g_sum.row[i].ns;
	ck_assert_uint_eq(ns, 150000 * MS);
	ck_assert_uint_eq(g_sum.ns, ns);
}

static void child_execs(pid_t pid, const char *name, uint64_t ns)
{
	child(pid, "sh", ns);
	cpu_account_name(g_account, pid, pid, "before", 3, true);
	cpu_account_name(g_account, pid, pid, name, 10, true);
}

TEST(account_names_programs_without_a_hello)
{
	child(SHELL + 1, "forked", MS);
	child_execs(SHELL + 2, "loaded", MS);
	cpu_account_hello(g_account, SHELL + 2, 11);
	child_execs(SHELL + 3, "static", 2 * MS);
	child_execs(SHELL + 4, "static", 2 * MS);
	/* This process ran a loaded program before. */
	child_execs(SHELL + 5, "after", 3 * MS);
	cpu_account_hello(g_account, SHELL + 5, 9);
	cpu_account_tell(g_account, SHELL + 5, "sh", 9 * MS, true);
	end_shell(MS);
	close_with(0, 0, 0);
	ck_assert_uint_eq(g_sum.unloaded, 3);
	ck_assert_uint_eq(g_sum.unloaded_names, 2);
	ck_assert_uint_eq(g_sum.unloaded_rows, 2);
	ck_assert_str_eq(g_sum.unloaded_row[0].name, "static");
	ck_assert_uint_eq(g_sum.unloaded_row[0].count, 2);
	ck_assert_str_eq(g_sum.unloaded_row[1].name, "after");
}

TEST(account_names_few_of_many)
{
	char name[16];

	for (int i = 1; i <= 9; i++) {
		snprintf(name, sizeof(name), "static%d", i);
		child_execs(SHELL + i, name, (uint64_t)i * MS);
	}
	end_shell(MS);
	close_with(0, 0, 0);
	ck_assert_uint_eq(g_sum.unloaded, 9);
	ck_assert_uint_eq(g_sum.unloaded_names, 9);
	ck_assert_uint_eq(g_sum.unloaded_rows, CPU_UNLOADED_MAX);
	ck_assert_str_eq(g_sum.unloaded_row[0].name, "static9");
}
