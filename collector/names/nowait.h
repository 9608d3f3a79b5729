/* SPDX-License-Identifier: Apache-2.0
 *
 * nowait - files that clients name, without waiting for their file system,
 * which may never answer (a server that is gone, FUSE). Only what the kernel
 * knows already is told. Any thread.
 */
#ifndef PERFREC_COLLECTOR_NAMES_NOWAIT_H
#define PERFREC_COLLECTOR_NAMES_NOWAIT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

/* As fstat(), of what was last known of the file behind @fd. */
int nowait_stat(int fd, struct stat *out);
/* An O_PATH descriptor, the caller's, of what lies at @path below folder
 * @dir_fd. @flags are of open(), @resolve of openat2(). Or -errno; -EAGAIN: the
 * kernel would have to ask the file system, or is too old (5.12) to know. */
int nowait_open(int dir_fd, const char *path, uint64_t flags, uint64_t resolve);
/* Whether the file behind @fd lies on a block device of this machine, or in
 * memory (memfd_create()), so that opening and closing it waits for nobody.
 * False: that is not known. */
bool nowait_is_local(int fd);
/* The same of all files of @device. */
bool nowait_is_local_device(dev_t device);

#endif
