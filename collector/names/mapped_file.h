/* SPDX-License-Identifier: Apache-2.0
 *
 * mapped_file - open the very file that a process has mapped. Any thread.
 */
#ifndef PERFREC_COLLECTOR_NAMES_MAPPED_FILE_H
#define PERFREC_COLLECTOR_NAMES_MAPPED_FILE_H

#include <stdbool.h>

struct maps_line;

/*
 * An O_PATH descriptor of the file that is mapped as @line of the process
 * behind @proc_fd (O_PATH of /proc/PID) says, whose paths begin at @root_fd
 * (-1: unknown); or -1. Removes the kernel's mark of deleted files from
 * line->path. The caller closes it.
 */
int mapped_file_open(int proc_fd, int root_fd, struct maps_line *line);
/* The same for whatever has this @path now, as the process sees it. */
int mapped_file_at(int root_fd, const char *path);
/* Removes the kernel's mark of deleted files from @path; true if there was
 * one. */
bool mapped_file_strip_deleted(char *path);

#endif
