/* SPDX-License-Identifier: Apache-2.0
 *
 * wait_memory - reads memory of other processes, mostly to find what a blocked
 * thread waits for. Any thread.
 */
#ifndef PERFREC_COLLECTOR_SAMPLES_WAIT_MEMORY_H
#define PERFREC_COLLECTOR_SAMPLES_WAIT_MEMORY_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Copies @bytes at @address of process @pid to @out. Returns how many it copied:
 * fewer if an unreadable page follows; 0: the first page is unreadable, or there
 * is no permission. Does not need the process to run, but may block on a page
 * that is not in memory. */
size_t wait_memory_read(pid_t pid, uint64_t address, void *out, size_t bytes);

#endif
