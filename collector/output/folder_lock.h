/* SPDX-License-Identifier: Apache-2.0
 *
 * folder_lock - the lock on the folder of a recording. The collector holds a
 * lock (flock(2)) on the open folder until it has finished the recording. The
 * kernel releases the lock when the collector ends, even by a crash. So the
 * lock, and not a process id, shows whether a recording still runs. Any thread.
 */
#ifndef PERFREC_COLLECTOR_OUTPUT_FOLDER_LOCK_H
#define PERFREC_COLLECTOR_OUTPUT_FOLDER_LOCK_H

/* For the collector: holds a shared lock until @dir_fd, the open folder, is
 * closed. Reports nothing on a file system without locks. */
void folder_lock_hold(int dir_fd);

/*
 * Takes the exclusive lock, for a caller that changes or removes the recording.
 * The lock is held until @dir_fd is closed. Never waits. Returns 0; -EBUSY: a
 * collector is recording, or another process changes the recording; or another
 * -errno: the file system has no locks.
 */
int folder_lock_take(int dir_fd);

/* As folder_lock_take(), but tries for 0.2 seconds: a test has the lock for a
 * moment, and a process that a killed collector was just starting for longer. */
int folder_lock_wait(int dir_fd);

/* Tests the lock of the folder at the path @dir: takes it for a moment, with
 * folder_lock_wait(). Returns 0 if it is free; the errors of that; or -errno if
 * the folder cannot be opened. */
int folder_lock_test(const char *dir);

#endif
