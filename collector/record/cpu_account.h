/* SPDX-License-Identifier: Apache-2.0
 *
 * cpu_account - the CPU time of every process of a recording, whether or not
 * any sample was taken in it. It answers one question at the end: how much
 * time belongs to the processes that have samples, and how much to those that
 * have none, by command. Most of these were too short for one; others are
 * linked statically, so that nothing could be preloaded. See cpu_account.c for
 * where each number comes from.
 *
 * Any thread; it has a lock of its own. Memory is bounded.
 */
#ifndef PERFREC_COLLECTOR_RECORD_CPU_ACCOUNT_H
#define PERFREC_COLLECTOR_RECORD_CPU_ACCOUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Commands that have a row of their own; the rest share the last row. */
#define CPU_ROWS_MAX 256
#define CPU_OTHERS "others"

struct cpu_account;

/* 0 or -ENOMEM. */
int cpu_account_new(struct cpu_account **out);
/* Also for NULL. */
void cpu_account_free(struct cpu_account **account);

/* --- what the kernel tells of a tree of processes ---------------------------
 */

/* Process @pid is the root of the tree: the only one of whose begin no fork
 * tells. Each task tells its time in @events parts, one for each CPU. */
void cpu_account_root(struct cpu_account *account, pid_t pid, uint32_t events);
/* Task @tid of process @pid begins, made by process @parent. */
void cpu_account_fork(struct cpu_account *account, pid_t pid, pid_t tid,
		      pid_t parent);
/* Task @tid of process @pid is called @name from @ns (BOOTTIME) on; @exec: as
 * it runs another program. Such records may come in any order. */
void cpu_account_name(struct cpu_account *account, pid_t pid, pid_t tid,
		      const char *name, uint64_t ns, bool exec);
/* The program of process @pid has said hello at @ns (BOOTTIME). */
void cpu_account_hello(struct cpu_account *account, pid_t pid, uint64_t ns);
/* A task of process @pid has ended, and @ns are a part of its time. */
void cpu_account_count(struct cpu_account *account, pid_t pid, uint64_t ns);
/* A task of @pid has ended. */
void cpu_account_exit(struct cpu_account *account, pid_t pid);
/* The kernel had no room for @records records of the tree: begins, ends and
 * names of tasks are missing. */
void cpu_account_lose(struct cpu_account *account, uint64_t records);
/* Recording was paused, so that getrusage() has time that samples do not have:
 * the two are not compared. */
void cpu_account_paused(struct cpu_account *account);
/* All tasks of the tree together had @ns. */
void cpu_account_total(struct cpu_account *account, uint64_t ns);

/* --- what the profile has ---------------------------------------------------
 */

/*
 * Whoever samples process @pid knows of @ns of its CPU time. With @sampled they
 * are in the profile; without, the process had no sample. @name is used where
 * the kernel told no name. May be called more than once for one process: the
 * times add up.
 */
void cpu_account_tell(struct cpu_account *account, pid_t pid, const char *name,
		      uint64_t ns, bool sampled);

/* --- the end ----------------------------------------------------------------
 */

struct cpu_truth {
	uint64_t sampled_ns; /* what the profile holds */
	bool known; /* used_ns is */
	uint64_t used_ns; /* getrusage() of the whole tree */
	uint64_t steal_ns; /* that the hypervisor took, of all CPUs */
	uint64_t period_ns; /* between two samples of a thread */
};

struct cpu_row {
	char name[16];
	bool is_short; /* they were; else they could not be sampled */
	uint64_t count, ns; /* processes, and their CPU time */
};

#define CPU_UNLOADED_MAX 4

struct cpu_sum {
	/* Processes that ran a program which never said hello: their number,
	 * and the names with the most CPU time. */
	uint64_t unloaded;
	struct cpu_row unloaded_row[CPU_UNLOADED_MAX];
	size_t unloaded_rows, unloaded_names;
	struct cpu_row row[CPU_ROWS_MAX]; /* the most time first */
	size_t rows;
	uint64_t count, ns; /* the sums of the rows */
	double scale; /* for every time in the profile; 1: as it is */
	uint64_t unknown_ns; /* nobody knows whose */
	uint64_t lost; /* records of the tree; not 0: there were more processes
			* than these, or some are called as their parents */
};

/* Sum up. Where truth->used_ns is known, the time of the profile times
 * out->scale, the time of the rows and out->unknown_ns make up that time. Reads
 * the clocks of processes that still run. Nothing may be told after it. */
void cpu_account_close(struct cpu_account *account,
		       const struct cpu_truth *truth, struct cpu_sum *out);

/* What hypervisors took from this machine's CPUs since @account was made. */
uint64_t cpu_account_steal_ns(const struct cpu_account *account);

#endif
