/* SPDX-License-Identifier: Apache-2.0
 *
 * mapped_file - opens exactly the file that a process has mapped, not another
 * file at its path. Any thread.
 */
#ifndef PERFREC_COLLECTOR_NAMES_MAPPED_FILE_H
#define PERFREC_COLLECTOR_NAMES_MAPPED_FILE_H

#include <stdbool.h>
#include <stdint.h>

struct maps_line;
struct openers;

/*
 * Returns an O_PATH descriptor of the file in @line of the process's map, or
 * -1. The caller closes it. @proc_fd is an O_PATH descriptor of /proc/PID, and
 * @root_fd of the process's root (-1: unknown); both stay the caller's. Removes
 * " (deleted)" from line->path. Waits for @openers (opener.h); NULL: never
 * waits, and finds only files known to the kernel.
 */
int mapped_file_open(struct openers *openers, int proc_fd, int root_fd,
		     struct maps_line *line);
/* As mapped_file_open() for the event loop: asks no file system. */
int mapped_file_open_nowait(int proc_fd, int root_fd, struct maps_line *line);
/* Finds the current file at @path. Returns -1 with errno. @flags are
 * openat2()'s; @openers as above. */
int mapped_file_at(struct openers *openers, int root_fd, const char *path,
		   uint64_t flags);
/* Returns true if it was there. */
bool mapped_file_strip_deleted(char *path);

#endif
