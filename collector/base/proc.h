/* SPDX-License-Identifier: Apache-2.0
 *
 * proc - what /proc says about other processes. Any thread.
 */
#ifndef PERFREC_COLLECTOR_BASE_PROC_H
#define PERFREC_COLLECTOR_BASE_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Enough for the lines of /proc/PID/status that are asked for below. */
#define PROC_STATUS_BYTES 2048
#define PROC_STAT_BYTES 1024

/* At most @size - 1 bytes of /proc/@pid/@name, with a NUL after them; returns
 * how many, 0 when there are none or it cannot be read. */
size_t proc_read(pid_t pid, const char *name, char *buffer, size_t size);

/* The number after "@key:\t" in @status, the text of a status file; or -1. */
long proc_status_number(const char *status, const char *key);

/* Whether the environment that process @pid was started with has @entry,
 * "NAME=VALUE". False, too, where we may not look, or it is ending. */
bool proc_has_environment(pid_t pid, const char *entry);

/* Field @number (from 1) of @stat, the text of a stat file, or "". */
const char *proc_stat_field(const char *stat, int number);

/* Whether process @pid will run no more instruction of its program: every
 * thread of it is in the kernel's exit, or was killed and has not noticed. Its
 * pidfd may take a while longer to tell. True, too, when there is none. */
bool proc_is_dying(pid_t pid);

/* How a process or thread calls itself, from @status: its id in its own pid
 * namespace, *@inner. Returns in how many namespaces it has one, from ours
 * inwards: 1 when its own is ours; 0 when @status does not tell. */
int proc_status_inner(const char *status, pid_t *inner);

#endif
