/* SPDX-License-Identifier: Apache-2.0
 *
 * proc - what /proc says about other processes. Any thread.
 */
#ifndef PERFREC_COLLECTOR_BASE_PROC_H
#define PERFREC_COLLECTOR_BASE_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Enough for the lines of /proc/PID/status that are asked for below. */
#define PROC_STATUS_BYTES 2048
#define PROC_STAT_BYTES 1024

/* Whether /proc shows the processes of our pid namespace by the ids that we
 * have for them. False, too: there is none. */
bool proc_is_ours(void);

/* Reads at most @size - 1 bytes of /proc/@pid/@name into @buffer, and ends them
 * with a NUL. Returns how many; 0: the file is empty or cannot be read. */
size_t proc_read(pid_t pid, const char *name, char *buffer, size_t size);

/* How far CLOCK_BOOTTIME of this process is ahead of the kernel's own clock, in
 * ns: 0 unless a time namespace shifts it. */
int64_t proc_boottime_offset_ns(void);

/* Whether process @pid is in another time namespace, so that its clocks are not
 * ours. Also false if we may not look. */
bool proc_has_other_clocks(pid_t pid);

/* Returns the number behind "@key:\t" in @status, the text of a status file, or
 * -1. */
long proc_status_number(const char *status, const char *key);

/* Whether process @pid has the rights of user @uid and no more: false of a
 * set-user-ID or set-group-ID program that the user runs. Always true of root.
 * To be asked after something of the process was opened: that stays with the
 * image of then, and a program with more rights does not become one of @uid. */
bool proc_is_of_user(pid_t pid, uid_t uid);

/* Whether process @pid was started with the variable @entry, "NAME=VALUE".
 * False as well if we may not look, or if the process is ending. */
bool proc_has_environment(pid_t pid, const char *entry);

/* Returns field @number (from 1) of @stat, the text of a stat file, or "". The
 * field goes on to the end of @stat. */
const char *proc_stat_field(const char *stat, int number);

/* Whether process @pid runs no more instruction of its program: each of its
 * threads is in the kernel's exit, or was killed and has not noticed yet. The
 * pidfd of the process may say so only later. True as well if there is no such
 * process. */
bool proc_is_dying(pid_t pid);

/* When process @pid began, in ticks since the machine did, as no later process
 * of the same id has. 0: there is none, or it has exited and is only not waited
 * for. PROC_UNKNOWN: there is no descriptor to find out. */
uint64_t proc_began(pid_t pid);
#define PROC_UNKNOWN UINT64_MAX

/* The status that waitpid(2) gives for process @pid, which has exited; @pidfd
 * is its pidfd, or -1. Until its parent has waited for it, /proc says so, if we
 * may look; from then on the pidfd does, since Linux 6.15. -1: not known. */
int proc_wait_status(pid_t pid, int pidfd);

/* Sets *@inner to the id that a process or thread has in its own pid namespace,
 * from @status, the text of its status file. Returns in how many namespaces it
 * has an id, from ours inwards: 1 if its own namespace is ours, 0 if @status
 * does not say. */
int proc_status_inner(const char *status, pid_t *inner);

#endif
