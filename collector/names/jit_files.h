/* SPDX-License-Identifier: Apache-2.0
 *
 * jit_files - the files in which a process writes the names of code that it has
 * made (jit_map.h): /tmp/perf-PID.map, as the process sees that path, and the
 * jitdump that it has mapped. The files must belong to the user that the
 * process runs as. Any thread; may read files.
 */
#ifndef PERFREC_COLLECTOR_NAMES_JIT_FILES_H
#define PERFREC_COLLECTOR_NAMES_JIT_FILES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct jit_files;
struct symbol_cache;

/* For the process that has the inner id @inner_pid and runs as user @uid.
 * @cache must outlive the result. NULL: no memory. */
struct jit_files *jit_files_new(struct symbol_cache *cache, pid_t inner_pid,
				uid_t uid);
/* Also for NULL. */
void jit_files_free(struct jit_files **files);

/* True when a mapped file of this path may be a jitdump. */
bool jit_files_is_dump(const char *path);
/* The process has mapped a jitdump: @fd, which may be O_PATH and stays the
 * caller's. A later call replaces an earlier one. */
void jit_files_set_dump(struct jit_files *files, int fd);

/*
 * The name of the code at @address; NULL: it is not known. The name lives as
 * long as the cache. @proc_fd and @root_fd are O_PATH descriptors of /proc/PID
 * and of the root of the process; the second is used when the process has
 * ended. Files that have grown are read again: as long as that takes less than
 * a tenth of the time, or when the process has ended.
 */
const char *jit_files_find(struct jit_files *files, int proc_fd, int root_fd,
			   uint64_t address);

#endif
