/* SPDX-License-Identifier: Apache-2.0
 *
 * proc - reads other processes' files in /proc. Any thread.
 */
#ifndef PERFREC_COLLECTOR_BASE_PROC_H
#define PERFREC_COLLECTOR_BASE_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Enough for the lines of /proc/PID/status that are read below. */
#define PROC_STATUS_BYTES 2048
#define PROC_STAT_BYTES 1024

/* Returns true if /proc shows our pid namespace with our ids. Also false
 * without /proc. */
bool proc_is_ours(void);

/* Reads at most @size - 1 bytes of /proc/@pid/@name into @buffer and adds a
 * NUL. Returns the length; 0: empty or not readable. */
size_t proc_read(pid_t pid, const char *name, char *buffer, size_t size);

/* Returns the offset of this process' CLOCK_BOOTTIME to the kernel's clock in
 * ns: 0 unless a time namespace shifts it. */
int64_t proc_boottime_offset_ns(void);

/* Returns true if process @pid is in another time namespace, so its clocks
 * differ. Also false if we may not look. */
bool proc_has_other_clocks(pid_t pid);

/* Returns the resident memory of process @pid in bytes, or 0 if it is gone. */
uint64_t proc_resident_bytes(pid_t pid);

/* Returns the number behind "@key:\t" in @status, the text of a status file, or
 * -1. */
long proc_status_number(const char *status, const char *key);

/* Returns true if process @pid has the rights of user @uid and no more; false
 * for a set-user-ID or set-group-ID program that the user runs. Always true for
 * root. Call it after opening a file of the process: the open file belongs to
 * the image of that time, and a program with more rights cannot become one of
 * @uid. */
bool proc_is_of_user(pid_t pid, uid_t uid);

/* Returns field @number (from 1) of @stat, the text of a stat file, or "". The
 * result continues to the end of @stat. */
const char *proc_stat_field(const char *stat, int number);

/* Returns true if process @pid executes no more instructions of its program:
 * each thread is in the kernel's exit, or was killed and has not noticed yet.
 * The pidfd may report the end later. Also true if there is no such process. */
bool proc_is_dying(pid_t pid);

/* Returns the start time of process @pid in ticks since boot, which no later
 * process with this id shares. 0: the process does not exist or has exited.
 * PROC_UNKNOWN: no free descriptor to read it. */
uint64_t proc_began(pid_t pid);
#define PROC_UNKNOWN UINT64_MAX

/* Returns the status of waitpid(2) for process @pid, which has exited, or -1 if
 * unknown. @pidfd is its pidfd, or -1. Before its parent has waited for it, the
 * status comes from /proc if we may read it; afterwards from the pidfd, since
 * Linux 6.15. */
int proc_wait_status(pid_t pid, int pidfd);

/* Sets *@inner to the id of a process or thread in its own pid namespace.
 * @status is the text of its status file. Returns the number of namespaces with
 * an id, counted from ours inwards: 1 if its own namespace is ours, 0 if
 * @status lacks them. */
int proc_status_inner(const char *status, pid_t *inner);

#endif
