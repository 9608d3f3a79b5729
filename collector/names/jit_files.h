/* SPDX-License-Identifier: Apache-2.0
 *
 * jit_files - the files in which a process tells the names of code that it has
 * made (see jit_map.h): /tmp/perf-PID.map as it sees that path, and the
 * jitdump that it has mapped. They must belong to the user that the process
 * runs as. Any thread; may read files.
 */
#ifndef PERFREC_COLLECTOR_NAMES_JIT_FILES_H
#define PERFREC_COLLECTOR_NAMES_JIT_FILES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct jit_files;
struct symbol_cache;

/* The process calls itself @inner_pid; @uid owns it. NULL: no memory. @cache
 * must outlive it. */
struct jit_files *jit_files_new(struct symbol_cache *cache, pid_t inner_pid,
				uid_t uid);
/* Also for NULL. */
void jit_files_free(struct jit_files **files);

/* True when a mapped file of this path may be a jitdump. */
bool jit_files_is_dump(const char *path);
/* It has mapped such a file, @fd (O_PATH will do; stays the caller's). The
 * last one counts. */
void jit_files_set_dump(struct jit_files *files, int fd);

/*
 * What the code at @address is called, by files below the root of the process
 * behind @proc_fd, or below @root_fd if that has ended (both O_PATH), as they
 * are now: those that have grown are read again, as long as that takes less
 * than a tenth of the time, or the process has ended. The name lives as long
 * as the cache; NULL: nothing is known.
 */
const char *jit_files_find(struct jit_files *files, int proc_fd, int root_fd,
			   uint64_t address);

#endif
