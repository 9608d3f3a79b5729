/* SPDX-License-Identifier: Apache-2.0
 *
 * folder_lock - who works on the folder of a recording. The collector that
 * makes the recording holds a lock (flock(2)) on the open folder until the
 * recording is finished. The kernel gives the lock back when the collector
 * ends, in whatever way. So the lock, and no id of a process, tells whether a
 * recording still goes on. Any thread.
 */
#ifndef PERFREC_COLLECTOR_OUTPUT_FOLDER_LOCK_H
#define PERFREC_COLLECTOR_OUTPUT_FOLDER_LOCK_H

/* For the collector: holds the lock from now on until @dir_fd, the open folder,
 * is closed. Some file systems have no locks; nothing is said there. */
void folder_lock_hold(int dir_fd);

/*
 * Takes the whole lock for somebody who will change or remove the recording.
 * It is held until @dir_fd is closed. Never waits. 0; -EBUSY: a collector
 * makes the recording, or somebody else changes it; or another -errno: the file
 * system has no locks.
 */
int folder_lock_take(int dir_fd);

/*
 * Whether nobody holds the lock of the folder at the path @dir. Takes the lock
 * for a moment, so it tries again for some milliseconds before it says that
 * somebody has it. 0; or as folder_lock_take(), and -errno if the folder
 * cannot be opened.
 */
int folder_lock_test(const char *dir);

#endif
