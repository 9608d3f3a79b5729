/* SPDX-License-Identifier: Apache-2.0
 *
 * mapped_file - opens the very file that a process has mapped, and no other
 * file that has its path by now. Any thread.
 */
#ifndef PERFREC_COLLECTOR_NAMES_MAPPED_FILE_H
#define PERFREC_COLLECTOR_NAMES_MAPPED_FILE_H

#include <stdbool.h>
#include <stdint.h>

struct maps_line;
struct openers;

/*
 * An O_PATH descriptor of the file that @line, a line of the process' map,
 * says. @proc_fd is an O_PATH descriptor of /proc/PID; the paths of the process
 * begin at @root_fd (-1: unknown). Both stay the caller's. Removes the kernel's
 * mark of deleted files from line->path. Returns -1 if the file cannot be had;
 * else the caller closes the descriptor. Waits for @openers, as opener.h says;
 * NULL: for nobody, and what the kernel does not know cannot be had.
 */
int mapped_file_open(struct openers *openers, int proc_fd, int root_fd,
		     struct maps_line *line);
/* The same for the event loop: asks no file system, so that more files cannot
 * be had. */
int mapped_file_open_nowait(int proc_fd, int root_fd, struct maps_line *line);
/* An O_PATH descriptor of whatever has this @path now, below @root_fd; or -1,
 * and errno says why. @flags are of openat2(). The caller closes it. @openers
 * as above. */
int mapped_file_at(struct openers *openers, int root_fd, const char *path,
		   uint64_t flags);
/* Removes the kernel's mark of deleted files from @path; true if there was
 * one. */
bool mapped_file_strip_deleted(char *path);

#endif
