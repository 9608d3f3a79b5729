/* SPDX-License-Identifier: Apache-2.0
 *
 * wait_memory - memory of other processes. Any thread.
 */
#ifndef PERFREC_COLLECTOR_WAITS_WAIT_MEMORY_H
#define PERFREC_COLLECTOR_WAITS_WAIT_MEMORY_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Copies what lies at @address of process @pid, @bytes of it, to @out. Returns
 * how many could be read: fewer, where the memory ends; 0: none, or we may not
 * look. Never waits for the process. */
size_t wait_memory_read(pid_t pid, uint64_t address, void *out, size_t bytes);

#endif
