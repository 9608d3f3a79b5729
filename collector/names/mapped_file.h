/* SPDX-License-Identifier: Apache-2.0
 *
 * mapped_file - opens the very file that a process has mapped, and no other
 * file that has its path by now. Any thread.
 */
#ifndef PERFREC_COLLECTOR_NAMES_MAPPED_FILE_H
#define PERFREC_COLLECTOR_NAMES_MAPPED_FILE_H

#include <stdbool.h>

struct maps_line;

/*
 * An O_PATH descriptor of the file that @line, a line of the process' map,
 * says. @proc_fd is an O_PATH descriptor of /proc/PID; the paths of the process
 * begin at @root_fd (-1: unknown). Both stay the caller's. Removes the kernel's
 * mark of deleted files from line->path. Returns -1 if the file cannot be had;
 * else the caller closes the descriptor.
 */
int mapped_file_open(int proc_fd, int root_fd, struct maps_line *line);
/* An O_PATH descriptor of whatever has this @path now, below @root_fd; or -1.
 * The caller closes it. */
int mapped_file_at(int root_fd, const char *path);
/* Removes the kernel's mark of deleted files from @path; true if there was
 * one. */
bool mapped_file_strip_deleted(char *path);

#endif
