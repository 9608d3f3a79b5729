/* SPDX-License-Identifier: Apache-2.0
 *
 * nowait - accesses files named by clients without waiting for their file
 * systems, which may never answer (lost servers, FUSE). Uses only data cached
 * in the kernel. Any thread.
 */
#ifndef PERFREC_COLLECTOR_NAMES_NOWAIT_H
#define PERFREC_COLLECTOR_NAMES_NOWAIT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

/* As fstat(), from the cache. */
int nowait_stat(int fd, struct stat *out);
/* Returns an O_PATH descriptor, or -errno. -EAGAIN: the kernel would have to
 * ask the file system, or is older than 5.12. @flags as for open(), @resolve as
 * for openat2(). */
int nowait_open(int dir_fd, const char *path, uint64_t flags, uint64_t resolve);
/* Returns true for files on local block devices or in memory, which open and
 * close without waiting. False: unknown. */
bool nowait_is_local(int fd);
bool nowait_is_local_device(dev_t device);

#endif
