/* SPDX-License-Identifier: Apache-2.0
 *
 * jit_files - finds the files with names of generated code (jit_map.h):
 * /tmp/perf-PID.map, in the process's view, and the jitdump it has mapped. They
 * must belong to the user of the process. Any thread; may read files.
 */
#ifndef PERFREC_COLLECTOR_NAMES_JIT_FILES_H
#define PERFREC_COLLECTOR_NAMES_JIT_FILES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct jit_files;
struct symbol_cache;

/* @cache must outlive the result. Returns NULL if out of memory. */
struct jit_files *jit_files_new(struct symbol_cache *cache, pid_t inner_pid,
				uid_t uid);
void jit_files_free(struct jit_files **files);

/* Returns true if a mapped file of this path may be a jitdump. */
bool jit_files_is_dump(const char *path);
/* Replaces an earlier one. @fd may be O_PATH and stays the caller's. */
void jit_files_set_dump(struct jit_files *files, int fd);

/* Returns the name of the code at @address, valid until the cache is freed, or
 * NULL. @proc_fd and @root_fd are O_PATH descriptors of /proc/PID and of the
 * process's root, for after its end. Reads grown files again, within a tenth of
 * the time, or if the process has ended. */
const char *jit_files_find(struct jit_files *files, int proc_fd, int root_fd,
			   uint64_t address);

#endif
