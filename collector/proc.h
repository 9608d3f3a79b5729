/* SPDX-License-Identifier: Apache-2.0
 *
 * proc - what /proc says about other processes. Any thread.
 */
#ifndef PERFREC_COLLECTOR_PROC_H
#define PERFREC_COLLECTOR_PROC_H

#include <stddef.h>
#include <sys/types.h>

/* Enough for the lines of /proc/PID/status that are asked for below. */
#define PROC_STATUS_BYTES 2048

/* At most @size - 1 bytes of /proc/@pid/@name, with a NUL after them; returns
 * how many, 0 when there are none or it cannot be read. */
size_t proc_read(pid_t pid, const char *name, char *buffer, size_t size);

/* The number after "@key:\t" in @status, the text of a status file; or -1. */
long proc_status_number(const char *status, const char *key);

/* How a process or thread calls itself, from @status: its id in its own pid
 * namespace, *@inner. Returns in how many namespaces it has one, from ours
 * inwards: 1 when its own is ours; 0 when @status does not tell. */
int proc_status_inner(const char *status, pid_t *inner);

#endif
