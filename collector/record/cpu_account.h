/* SPDX-License-Identifier: Apache-2.0
 *
 * cpu_account - the CPU time of every process of a recording, with or without
 * samples. At the end it reports how much time belongs to processes with
 * samples, and how much to those without, by command. Most of the latter were
 * too short for a sample; others are linked statically, so the shim was not
 * preloaded. cpu_account.c names the source of each number.
 *
 * Any thread; it has a lock of its own. Memory is bounded.
 */
#ifndef PERFREC_COLLECTOR_RECORD_CPU_ACCOUNT_H
#define PERFREC_COLLECTOR_RECORD_CPU_ACCOUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Commands with a row of their own; all others share the last row. */
#define CPU_ROWS_MAX 256
#define CPU_OTHERS "others"

struct cpu_account;

/* Returns 0 or -ENOMEM. */
int cpu_account_new(struct cpu_account **out);
/* Accepts NULL. */
void cpu_account_free(struct cpu_account **account);

/* --- reports of the kernel on a tree of processes ----------------------- */

/* Sets process @pid as the root of the tree: the only process whose start has
 * no fork record. Each task reports its time in @events parts, one for each
 * CPU. */
void cpu_account_root(struct cpu_account *account, pid_t pid, uint32_t events);
/* Adds task @tid of process @pid, created by process @parent. */
void cpu_account_fork(struct cpu_account *account, pid_t pid, pid_t tid,
		      pid_t parent);
/* Names task @tid of process @pid @name from @ns (BOOTTIME) on; @exec: because
 * it runs another program. Calls may come in any order. */
void cpu_account_name(struct cpu_account *account, pid_t pid, pid_t tid,
		      const char *name, uint64_t ns, bool exec);
/* Notes that the program of process @pid said hello at @ns (BOOTTIME). */
void cpu_account_hello(struct cpu_account *account, pid_t pid, uint64_t ns);
/* Adds @ns, a part of the time of an ended task of process @pid. */
void cpu_account_count(struct cpu_account *account, pid_t pid, uint64_t ns);
/* Counts the end of a task of @pid. */
void cpu_account_exit(struct cpu_account *account, pid_t pid);
/* Counts @records records of the tree that the kernel dropped: starts, ends and
 * names of tasks are missing. */
void cpu_account_lose(struct cpu_account *account, uint64_t records);
/* Notes a pause: getrusage() then has time that samples do not have, so the two
 * are not compared. */
void cpu_account_paused(struct cpu_account *account);
/* Sets the time of all tasks of the tree together. */
void cpu_account_total(struct cpu_account *account, uint64_t ns);

/* --- the profile -------------------------------------------------------- */

/*
 * Adds @ns of CPU time that the sampler knows of process @pid. @sampled: the
 * profile has this time; otherwise the process had no sample. @name is used if
 * the kernel reported no name. Calls for one process add up.
 */
void cpu_account_tell(struct cpu_account *account, pid_t pid, const char *name,
		      uint64_t ns, bool sampled);

/* --- the end ------------------------------------------------------------- */

struct cpu_truth {
	uint64_t sampled_ns; /* in the profile */
	bool known; /* used_ns is valid */
	uint64_t used_ns; /* getrusage() of the whole tree */
	uint64_t steal_ns; /* taken by the hypervisor, all CPUs */
	uint64_t period_ns; /* between two samples of a thread */
};

struct cpu_row {
	char name[16];
	bool is_short; /* too short for a sample; else not sampleable */
	uint64_t count, ns; /* processes, and their CPU time */
};

#define CPU_UNLOADED_MAX 4

struct cpu_sum {
	/* Processes that ran a program without a hello: their number, and the
	 * names with the most CPU time. */
	uint64_t unloaded;
	struct cpu_row unloaded_row[CPU_UNLOADED_MAX];
	size_t unloaded_rows, unloaded_names;
	struct cpu_row row[CPU_ROWS_MAX]; /* the most time first */
	size_t rows;
	uint64_t count, ns; /* sums of the rows */
	double scale; /* for every time in the profile; 1: no change */
	uint64_t unknown_ns; /* of unknown processes */
	/* Dropped records of the tree; not 0: processes are missing, or have
	 * the names of their parents. */
	uint64_t lost;
};

/* Sums up. If truth->used_ns is known, it equals the scaled time of the
 * profile, the time of the rows and out->unknown_ns together. Reads the clocks
 * of processes that still run. The last call besides cpu_account_free(). */
void cpu_account_close(struct cpu_account *account,
		       const struct cpu_truth *truth, struct cpu_sum *out);

/* Returns the time that hypervisors took from this machine's CPUs since
 * @account was made. */
uint64_t cpu_account_steal_ns(const struct cpu_account *account);

#endif
